"""The payment of one group, from wherever it stands to where it is asked to go.

Build, fund the smart account where it lacks something, wait for that, sign every operation,
submit once, follow to the outcome; on Solana each part is signed and sent by itself. Every step
is in the journal before what it does, so that :meth:`GroupSettling.advance` goes on after any
crash, and what may have left is looked for and never made anew.

Signatures leave in one request, which the journal knows of before. After an answer that nobody
saw, or one that says somebody was first, the service is looked at and nothing is sent: the
group's own status decides. What the service does not have after a minute may leave again, as it
is: the operations have the same hashes and nonces, so that at most one of each is ever executed
(contract 9.8, 9.16).

Who pays a group, and the work on it with everything it needs of a desk.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import (
    ApiError,
    ClientError,
    Conflict,
    NotFound,
    OutcomeUnknown,
    RateLimited,
)
from swapdesk.clock import Clock
from swapdesk.flows.batch.bundle_promise import Payer
from swapdesk.flows.batch.group_status import (
    BUILD_AGAIN,
    GOES_ON,
    LOOK,
    SUBMIT_AGAIN,
    GroupStanding,
    Stopped,
    Until,
    group_standing,
    outcome_of,
    stopped_outcome,
)
from swapdesk.flows.batch.group_transactions import (
    GroupPayments,
    GroupWatch,
    GroupWork,
    NotBuilt,
    Operations,
    Parts,
    build_operations,
    partition,
)
from swapdesk.flows.batch.payable import GroupOrders
from swapdesk.flows.batch.plan import BatchPlan
from swapdesk.flows.catalog.catalog import native_coin
from swapdesk.flows.journal.batch_records import JournaledGroup
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import ClaimTaken, Operation, State
from swapdesk.flows.journal.payments import (
    Bundle,
    accept_bundle,
    add_bundle,
    move_bundle,
    newest_bundle,
)
from swapdesk.flows.transactions import (
    Look,
    NotAgreed,
    NotSignable,
    Outcome,
    Pace,
    StillOpen,
    Transactor,
    still_open,
)
from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.protocol import WalletError
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.multi import (
    BundleStatus,
    MultiExchangeRequest,
    MultiExchangeStatus,
    MultiSubmitRequest,
)
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


ARRIVES_WITHIN = timedelta(seconds=60)
"""How long a request may be on its way."""

_ENDS: dict[str, tuple[State, str | None]] = {
    BundleStatus.CONFIRMED: (State.DONE, None),
    BundleStatus.FAILED: (State.REFUSED, "FAILED"),
    BundleStatus.WITHDRAWN: (State.REFUSED, "WITHDRAWN"),
}


class Submission:
    """Of one group. A request that left longer ago than ``arrives`` does not arrive any more."""

    def __init__(self, work: GroupWork, arrives: timedelta) -> None:
        self._work = work
        self._ledger = work.journal.ledger
        self._arrives = arrives

    async def submit(self, bundle: Bundle) -> None:
        """Send the signatures. Raises Stopped, ClientError where nothing left, and
        JournalUnavailable; the journal then says how it stands. Where the bundle would not move,
        its outcome was known before, and what the request was answered counts for nothing."""
        now = self._work.api.server_now()
        if not move_bundle(self._ledger, bundle, State.SENT, server_at=now):
            raise Stopped("SENT_BEFORE", "These signatures left before.", GOES_ON)
        request = MultiSubmitRequest(signatures=list(bundle.signatures))
        try:
            await self._work.api.submit_multi_transactions(self._work.multi_id, request)
        except OutcomeUnknown as error:
            self._unknown(bundle, error.code or "NO_ANSWER")
        except RateLimited:
            if self._again(bundle):
                raise
        except ApiError as error:
            code = error.code or f"HTTP_{error.status}"
            if isinstance(error, NotFound | Conflict) or code == ErrorCode.ALREADY_SUBMITTED:
                # Somebody was first, which may have been this request; or there is no bundle, or
                # none any more.
                self._unknown(bundle, code)
                return
            problems = "; ".join(f"{name}: {one.message}" for name, one in error.fields.items())
            reason = problems or error.message
            self._refused(bundle, code, reason)
        except ClientError:
            # Definite by the client's own word: nothing left.
            if self._again(bundle):
                raise
        else:
            accept_bundle(self._ledger, bundle)

    async def look(self, bundle: Bundle) -> None:
        """What the service has of a bundle whose answer was lost, once or until it is decided.
        Raises Stopped and ClientError."""
        left = bundle.operation.server_at or self._work.api.server_now()
        while True:
            status = await self._work.api.get_multi_exchange(self._work.multi_id)
            told = status.bundle_status
            if told in (*_ENDS, BundleStatus.SUBMITTED):
                accept_bundle(self._ledger, bundle)
                self._decided(bundle, status)
                return
            if self._work.api.server_now() - left >= self._arrives:
                break
            await self._work.clock.sleep(self._work.pace.look)
        if told is not None and told not in tuple(BundleStatus):
            # It may be executed by now: neither refused nor sent again.
            raise Stopped("UNKNOWN_STATUS", _not_known(told), GOES_ON)
        if told != BundleStatus.PENDING:
            reason = "it has no bundle that awaits these signatures"
            if not self._refused(bundle, "NO_BUNDLE", reason):
                return
            said = "The service has no bundle that awaits these signatures."
            raise Stopped("NO_BUNDLE", said, BUILD_AGAIN)
        if not self._again(bundle):
            return
        said = "The signatures did not arrive at the service; nothing was submitted."
        raise Stopped("NOT_SUBMITTED", said, SUBMIT_AGAIN)

    async def follow(self, bundle: Bundle) -> None:
        """Wait for the outcome. Raises Stopped when there is none in time, and ClientError."""
        ends = self._work.clock.monotonic() + self._work.pace.patience
        while True:
            status = await self._work.api.get_multi_exchange(self._work.multi_id)
            if self._decided(bundle, status):
                return
            if self._work.clock.monotonic() >= ends:
                said = "The bundle is submitted and not carried out yet."
                told = status.bundle_status
                if told is not None and told not in tuple(BundleStatus):
                    said = _not_known(told)
                raise Stopped("ON_ITS_WAY", said, "the service: it carries the bundle out")
            await self._work.clock.sleep(self._work.pace.look)

    def _decided(self, bundle: Bundle, status: MultiExchangeStatus) -> bool:
        """Whether the bundle is over, which is committed before it is told."""
        end = _ENDS.get(status.bundle_status or "")
        if end is None:
            return False
        told: dict[str, Any] = {"hash": status.tx_hash, "reason": status.failure_reason}
        move_bundle(self._ledger, bundle, end[0], code=end[1], **told)
        return True

    def _unknown(self, bundle: Bundle, code: str) -> None:
        move_bundle(self._ledger, bundle, State.UNKNOWN, code=code, said=code)

    def _again(self, bundle: Bundle) -> bool:
        """The service does not have them for certain: the same ones may leave again."""
        return move_bundle(self._ledger, bundle, State.PREPARED)

    def _refused(self, bundle: Bundle, code: str, reason: str) -> bool:
        return move_bundle(
            self._ledger, bundle, State.REFUSED, code="REFUSED", said=code, reason=reason
        )


def _not_known(told: str) -> str:
    return f"The service says {told} of the bundle, a status that this desk does not know."


class GroupSettling:
    """Of one group, on the chain of ``coin``. ``token_of`` finds a token of the desk's list;
    ``look`` shows each review and hears what the trader says; ``watch`` hears how it goes.
    ``arrives``: as Submission says."""

    def __init__(
        self,
        api: PartnerApi,
        journal: Journal,
        clock: Clock,
        client: WalletClient,
        token_of: Callable[[str], Token | None],
        coin: Token,
        batch_id: str,
        group: JournaledGroup,
        account: Account,
        look: Look,
        *,
        pace: Pace = Pace(),  # noqa: B008 - it is frozen
        watch: GroupWatch | None = None,
        arrives: timedelta = ARRIVES_WITHIN,
    ) -> None:
        if group.multi_id is None:
            raise ValueError("the group was not created")
        chain = coin.chain_data
        self._coin = coin
        self._group = group
        watch = watch or GroupWatch()
        self._work = GroupWork(
            api,
            journal,
            clock,
            client,
            Transactor(client, clock, pace, look, watch),
            account,
            Payer(
                group.multi_id,
                chain.short_name,
                chain.chain_id if chain.kind == "evm" else None,
                Asset(coin.symbol, coin.decimals, None),
                coin.price,
            ),
            watch,
            pace,
            batch_id,
            group.number,
        )
        self._payments = GroupPayments(self._work)
        self._orders = GroupOrders(
            api, journal, clock, token_of, batch_id, group, group.multi_id, pace
        )
        self._parts = Parts(self._work, self._payments)
        self._operations = Operations(self._work, self._payments, self._orders)
        self._submission = Submission(self._work, arrives)

    @property
    def standing(self) -> GroupStanding:
        """Raises JournalUnavailable."""
        return group_standing(self._work.journal, self._work.batch_id, self._group)

    async def advance(self, until: Until) -> Outcome:
        """Go on to ``until``; the ending without a failure says that it stands there.

        Asked to build what is over without having paid, it builds anew. Raises
        JournalUnavailable; nothing leaves without the journal.
        """
        try:
            await self._advance(until)
        except NotBuilt as wrong:
            said = f"The service built no bundle of these deposits: {wrong}."
            stop = Stopped("BUILD_DIFFERS", said, BUILD_AGAIN)
            return stopped_outcome(stop, self.standing)
        except ClaimTaken as taken:
            return stopped_outcome(_taken(taken.holder), self.standing)
        except (Stopped, StillOpen, NotAgreed, NotSignable, WalletError, ClientError) as stop:
            return stopped_outcome(stop, self.standing)
        standing = self.standing
        bundle = standing.bundle
        if bundle is not None and bundle.over:
            return outcome_of(bundle, standing)
        return still_open("", None)

    async def _advance(self, until: Until) -> None:
        await self._settle_open()
        bundle = self._newest()
        if bundle is None or (until is Until.BUILT and self._may_build(bundle)):
            bundle = await self._build()
        if until is Until.BUILT or bundle.over:
            return
        if bundle.kind == "solana":
            await self._parts.send(bundle)
            return
        if bundle.unsigned:
            await self._operations.sign(bundle)
            bundle = self._current()
        if until is Until.SIGNED:
            return
        if bundle.signed:
            await self._submit(bundle)
            bundle = self._current()
        if bundle.under_way and not bundle.accepted:
            await self._submission.look(bundle)
            self._work.watch.moved()
            bundle = self._current()
        if until is Until.SETTLED and bundle.accepted:
            await self._submission.follow(bundle)
            self._work.watch.moved()

    def _newest(self) -> Bundle | None:
        return newest_bundle(self._work.journal.ledger, self._work.group)

    def _current(self) -> Bundle:
        bundle = self._newest()
        if bundle is None:
            raise LookupError("the bundle is not in the journal")
        return bundle

    def _may_build(self, bundle: Bundle) -> bool:
        """Signatures that never left are given up by it."""
        return not bundle.paid and not bundle.under_way

    # What an earlier run left open

    async def _settle_open(self) -> None:
        """Follow every transaction that was begun: nothing is built or signed beside it."""
        bundle = self._newest()
        if bundle is None:
            return
        await self._payments.follow_all(bundle.expires)
        self._work.watch.moved()

    # Building

    async def _build(self) -> Bundle:
        """Ask what is to be signed, compare it with the group, and write it down."""
        solana = self._group.paid == "solana"
        if not solana:
            self._operations.refuse_beside_another()
        found = await self._orders.to_pay()
        if not found.rows:
            reasons = "; ".join(f"row {one.row}: {one.reason}" for one in found.unpayable[:3])
            said = f"No row of this group awaits a deposit. {reasons}".strip().rstrip(".")
            raise Stopped("NOT_PAYABLE", f"{said}.", LOOK, open_=False)
        for one in found.unpayable:
            if one.wrong:
                self._work.journal.batches.mark_differs(self._work.batch_id, one.row, one.reason)
        account = self._work.account.address
        if solana:
            built = await partition(
                self._work.api, self._work.multi_id, account, found.rows, self._coin.price
            )
        else:
            built = await build_operations(
                self._work.api, self._work.multi_id, account, found.rows, self._coin
            )
        await self._orders.require_same(built)
        bundle = add_bundle(self._work.journal.ledger, self._work.group, built)
        self._work.watch.moved()
        return bundle

    async def _submit(self, bundle: Bundle) -> None:
        self._operations.require_in_time(bundle)
        self._operations.require_untouched(bundle)
        await self._orders.require_same(bundle)
        await self._submission.submit(bundle)
        self._work.watch.moved()


def _taken(holder: Operation) -> Stopped:
    """Somebody else pays what this group was to pay."""
    if holder.kind == "deposit":
        said = f"Order {holder.subject} was paid by itself, or may have been."
        return Stopped("PAID_BEFORE", said, BUILD_AGAIN)
    said = "Another run is filling the smart account for this group, or building its bundle."
    return Stopped("OTHER_UNDER_WAY", said, GOES_ON)


REFRESH = "you: refresh the token list"


class NotSettled(Exception):
    """This group cannot be paid from here; the text is a sentence for the trader."""

    def __init__(self, code: str, words: str, next_: str) -> None:
        super().__init__(words)
        self.code = code
        self.next = next_


def first_token(desk: Desk, group: JournaledGroup) -> Token:
    """What the first row of a group sells. Raises NotSettled for a group that is not created."""
    if group.multi_id is None:
        raise NotSettled("NOT_CREATED", "This group was not created.", "you: create it")
    request = decode(MultiExchangeRequest, group.body.encode(), side="service")
    token = desk.catalog.token(request.orders[0].from_)
    if token is None:
        said = "The token of this group is not in the desk's list."
        raise NotSettled("TOKEN_NOT_FOUND", said, REFRESH)
    return token


async def group_account(desk: Desk, standing: GroupStanding, named: str) -> Account:
    """The account that pays: the one of the bundle once something of that was signed, else the
    one of this name or address, else the first of the chain. Raises NotSettled and WalletError."""
    chain = first_token(desk, standing.group).chain_data
    wanted = named
    if standing.begun and standing.bundle is not None:
        wanted = standing.bundle.account
    return await _account_on(desk, chain, wanted, begun=standing.begun)


async def require_payers(desk: Desk, plan: BatchPlan, named: str) -> None:
    """See that this desk can sign for every group of a plan, before anything of it is created.
    Raises NotSettled and WalletError."""
    for group in plan.groups:
        await _account_on(desk, group.orders[0].token_in.chain_data, named)


async def _account_on(desk: Desk, chain: Chain, wanted: str, *, begun: bool = False) -> Account:
    """``begun``: something of the group was signed, so that it is looked at by whoever asks."""
    wallet = desk.wallet
    if wallet.link(chain.short_name) is None:
        said = f"No node of {chain.name} is connected, so nothing can be signed for it there."
        raise NotSettled("NO_NODES", said, "you: configure a node under rpc")
    await wallet.prepare_sandbox()
    accounts = await wallet.accounts()
    own = [one for one in accounts.accounts if one.kind is KINDS.get(chain.kind)]
    if wanted:
        own = [one for one in own if wanted.lower() in (one.name.lower(), one.address.lower())]
    if not own:
        called = f" {wanted}" if wanted else ""
        said = f"This wallet has no account{called} on {chain.name}."
        raise NotSettled("NO_ACCOUNT", said, "you: swapdesk wallet list shows the accounts")
    if accounts.read_only and not begun:
        said = "Another desk has the wallet."
        raise NotSettled("READ_ONLY", said, "you: close the other desk, or sign there")
    return own[0]


async def settling_of(
    desk: Desk,
    standing: GroupStanding,
    account: Account,
    look: Look,
    *,
    pace: Pace,
    watch: GroupWatch | None = None,
) -> GroupSettling:
    """The work on a group. Raises NotSettled and WalletError."""
    coin = native_coin(desk.catalog, standing.group.chain)
    if coin is None:
        said = "The coin of this chain is not in the desk's list."
        raise NotSettled("TOKEN_NOT_FOUND", said, REFRESH)
    return GroupSettling(
        desk.link.api,
        desk.journal,
        desk.service_clock,
        await desk.wallet.client(),
        desk.catalog.token,
        coin,
        standing.batch_id,
        standing.group,
        account,
        look,
        pace=pace,
        watch=watch,
    )
