"""Pays one group: continues from the step it has reached up to the step asked for.

The steps are: build the bundle, fund the smart account and wait until the money is there, sign
every operation, submit once, wait for the outcome. On Solana each part is signed and sent by
itself. Every step is journaled before it is done, so :meth:`GroupPayment.advance` can continue
after a crash: what may have been sent is searched for and never made anew.

The wallet's records have every signed transaction before it is sent. A transaction found there is
sent again unchanged, and no other is signed for the same purpose.

All signatures are sent in one journaled request. After a lost answer, or the answer that the group
was submitted before, nothing is sent, and the group's status at the service decides. If the service
has nothing after a minute, the same signatures may be sent again. Hashes and nonces are the same,
so each operation is executed at most once (contract 9.8, 9.16).

Screens use this as a session (:data:`GROUP`), for new groups and for groups that an earlier run
left open.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial, reduce
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

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
from swapdesk.flows.batch.batches import mark_differing, read_group
from swapdesk.flows.batch.building import (
    LEAST_LEFT,
    Payables,
    build_operations,
    changed,
    funding_payload,
    funding_promise,
    item_promise,
    operation_payload,
    part_of,
    partition,
    payables,
)
from swapdesk.flows.batch.bundles import (
    Bundle,
    BundleItem,
    accept_bundle,
    add_bundle,
    begin_transaction,
    funding_intent,
    group_name,
    item_intent,
    move_bundle,
    newest_bundle,
    open_bundles,
    overtaken,
    relying,
    sign_bundle,
    signed_under,
    sum_of,
    transactions_of,
)
from swapdesk.flows.batch.plan import BatchPlan
from swapdesk.flows.batch.progress import (
    GroupStanding,
    Stopped,
    Until,
    group_standing,
    outcome_of,
    stopped_outcome,
)
from swapdesk.flows.batch.rows import Group
from swapdesk.flows.catalog.catalog import native_coin
from swapdesk.flows.failure_messages import NO_JOURNAL, Failure
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import ClaimTaken, Operation, State
from swapdesk.flows.notation import counted, exact_amount
from swapdesk.flows.payments import Sum, paid_orders, payment_of
from swapdesk.flows.signing.signing_session import (
    FlowStep,
    RunningSignings,
    SigningKind,
    SigningSession,
    line_of,
    open_keys,
)
from swapdesk.flows.transactions import (
    ActEntry,
    Look,
    NotAgreed,
    NotSignable,
    Outcome,
    Pace,
    StillOpen,
    Transactor,
    Turn,
    Watch,
    still_open,
)
from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.answers import Signature, SignedTransaction
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Asset, Payload, Promise, Purpose, SolanaPayload
from swapdesk.wallet.protocol import WalletError
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.numbers import ROUGH, from_base_units, short
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.multi import (
    BundleStatus,
    MultiExchangeStatus,
    MultiSubmitRequest,
)
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

ARRIVES_WITHIN = timedelta(seconds=60)
"""The longest time that a request may take to reach the service. If the service does not have the
request after this time, it counts as lost."""
SET_UP_SECONDS = 60.0
"""The longest wait, in seconds, until the service has set up the deposit addresses of the
orders."""

_ENDS: dict[str, tuple[State, str | None]] = {
    BundleStatus.CONFIRMED: (State.DONE, None),
    BundleStatus.FAILED: (State.REFUSED, "FAILED"),
    BundleStatus.WITHDRAWN: (State.REFUSED, "WITHDRAWN"),
}
_BUILD, _FUND, _SIGN, _SUBMIT, _PAID = range(5)
_PURPOSES = {"fund": Purpose.FUND, "part": Purpose.BUNDLE}


class GroupPayment:
    """Pays one group of orders from ``account``. ``look`` shows a review and returns the trader's
    answer. If the service still does not know a request after the time ``arrives``, the request
    counts as lost."""

    def __init__(
        self,
        api: PartnerApi,
        journal: Journal,
        clock: Clock,
        client: WalletClient,
        token_of: Callable[[str], Token | None],
        coin: Token,
        group: Group,
        account: Account,
        look: Look,
        *,
        pace: Pace = Pace(),  # noqa: B008 - it is frozen
        watch: Watch | None = None,
        arrives: timedelta = ARRIVES_WITHIN,
    ) -> None:
        if group.multi_id is None:
            raise ValueError("the group was not created")
        self._api = api
        self._journal = journal
        self._ledger = journal.ledger
        self._clock = clock
        self._client = client
        self._token_of = token_of
        self._coin = coin
        self._chain = coin.chain_data.short_name
        self._group = group
        self._multi_id = group.multi_id
        self._act = group.act.id
        self._account = account
        self._pace = pace
        self._watch = watch or Watch()
        self._transactor = Transactor(client, clock, pace, look, self._watch)
        self._arrives = arrives

    @property
    def standing(self) -> GroupStanding:
        """How far the payment is. Raises JournalUnavailable."""
        return group_standing(self._journal, self._group)

    async def advance(self, until: Until) -> Outcome:
        """Continues the payment up to the step ``until``. For BUILT, a new bundle replaces one that
        ended without paying or was never sent. Raises JournalUnavailable: nothing is sent without
        the journal."""
        try:
            await self._advance(until)
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
        bundle = newest_bundle(self._ledger, self._act)
        if bundle is not None:
            # Nothing is built or signed beside what an earlier run left open.
            await self._follow_transactions(bundle.expires)
            bundle = self._moved()
        # Signatures that never left are given up by a new bundle.
        anew = until is Until.BUILT and bundle and not bundle.paid and not bundle.under_way
        if bundle is None or anew:
            bundle = await self._build()
        if until is Until.BUILT or bundle.over:
            return
        if bundle.kind == "solana":
            await self._pay_parts(bundle)
            self._moved()
            return
        if bundle.unsigned:
            await self._sign(bundle)
            bundle = self._moved()
        if until is Until.SIGNED:
            return
        if bundle.signed:
            await self._submit(bundle)
            bundle = self._moved()
        if bundle.under_way and not bundle.accepted:
            await self._look_for(bundle)
            bundle = self._moved()
        if until is Until.SETTLED and bundle.accepted:
            await self._follow(bundle)
            self._moved()

    def _moved(self) -> Bundle:
        self._watch.moved()
        bundle = newest_bundle(self._ledger, self._act)
        assert bundle is not None  # none is ever deleted
        return bundle

    # Building

    async def _build(self) -> Bundle:
        solana = self._group.paid == "solana"
        if not solana:
            self._refuse_beside_another()
        payable = await self._to_pay()
        if not payable.rows:
            some = "; ".join(f"row {row.number}: {reason}" for row, reason in payable.unpayable[:3])
            raise Stopped("NOT_PAYABLE", reasons=f". {some}" if some else "")
        for row, problem in payable.unpayable:
            if problem.wrong:
                mark_differing(self._ledger, row, str(problem))
        build = partition if solana else build_operations
        address = self._account.address
        built = await build(self._api, self._multi_id, address, payable.rows, self._coin)
        await self._require_same(built)
        add_bundle(self._ledger, self._act, built)
        return self._moved()

    async def _to_pay(self) -> Payables:
        ends = self._clock.monotonic() + SET_UP_SECONDS
        while True:
            payable = await self._payable()
            if not payable.pending or self._clock.monotonic() >= ends:
                return payable
            await self._clock.sleep(self._pace.look)

    async def _require_same(self, bundle: Bundle) -> None:
        differs = changed(bundle.deposits, await self._payable())
        if differs is not None:
            raise Stopped("GROUP_CHANGED", differs=differs)

    async def _payable(self) -> Payables:
        status = await self._api.get_multi_exchange(self._multi_id)
        paid = set(self.standing.paid)
        for row in self._group.rows:
            before = row.service_id and payment_of(self._ledger, row.service_id)
            if row.service_id is not None and before and before.body["by"] != "bundle":
                paid.add(row.service_id)
        return payables(self._group, status, self._token_of, self._clock.now(), paid)

    def _refuse_beside_another(self) -> None:
        address, now = self._account.address, self._clock.now()
        other = relying(self._journal, address, self._chain, now, beside=self._act)
        if other is not None:
            name = group_name(self._ledger, other)
            raise Stopped("OTHER_UNDER_WAY", name=name, word=other.word)

    def _require_in_time(self, expires: datetime, what: str = "bundle") -> None:
        """Raises Stopped if ``expires``, the deadline of an order, is too near. ``what`` names the
        thing that would be late."""
        if expires - self._clock.now() <= LEAST_LEFT:
            raise Stopped("ORDERS_EXPIRED", what=what)

    def _require_untouched(self, bundle: Bundle) -> None:
        if overtaken(self._journal, bundle):
            raise Stopped("BUILT_BEFORE", row="overtaken")

    # Filling the smart account and signing

    async def _sign(self, bundle: Bundle) -> None:
        """Funds the smart account and has the bundle signed. Raises Stopped, NotAgreed,
        NotSignable, WalletError and ClientError."""
        self._require_in_time(bundle.expires)
        await self._require_same(bundle)
        self._refuse_beside_another()
        self._require_untouched(bundle)
        begun = {signed_under(act) for act in self._transactions if act.hash is not None}
        multi_id = self._multi_id
        missing = [
            need for need in bundle.needs if funding_intent(multi_id, bundle, need) not in begun
        ]
        await require_held(self._client, self._account, self._chain, missing)
        try:
            for number, need in enumerate(bundle.needs, start=1):
                self._watch.turns_to(Turn(need, 0, number, len(bundle.needs)))
                await self._fund(bundle, need)
        except Exception:
            # What left before is told with what stopped it; a run that is cancelled waits for
            # nothing.
            await self._follow_transactions(bundle.expires)
            raise
        await self._follow_transactions(bundle.expires)
        self._require_funded(bundle)
        signatures = []
        for number, item in enumerate(bundle.items, start=1):
            self._watch.turns_to(Turn(item.sum, len(item.deposits), number, len(bundle.items)))
            promise = item_promise(self._multi_id, self._coin, bundle, item)
            signed = await self._transactor.agree(operation_payload(item), promise)
            assert isinstance(signed, Signature)
            signatures.append(signed.signature)
        if not sign_bundle(self._ledger, bundle, signatures):
            raise Stopped("BUILT_BEFORE")

    async def _fund(self, bundle: Bundle, need: Sum) -> None:
        promise = funding_promise(self._multi_id, self._coin, bundle, need)

        async def make() -> Payload:
            return funding_payload(bundle, need)

        await self._send("fund", need, promise, make)
        self._watch.moved()

    def _require_funded(self, bundle: Bundle) -> None:
        for need in bundle.needs:
            act = self._transaction(funding_intent(self._multi_id, bundle, need))
            if act is None or act.state is not State.DONE:
                word = "" if act is None or act.code is None else f" is {act.code.lower()}"
                raise Stopped("FUNDING_FAILED", hash_=act.hash if act else None, word=word)

    # Submitting and following

    async def _submit(self, bundle: Bundle) -> None:
        """Sends the bundle's signatures to the service. Raises Stopped, JournalUnavailable, and
        ClientError if nothing was sent."""
        self._require_in_time(bundle.expires)
        self._require_untouched(bundle)
        await self._require_same(bundle)
        if not move_bundle(self._ledger, bundle, State.SENT, server_at=self._api.server_now()):
            raise Stopped("SENT_BEFORE")
        request = MultiSubmitRequest(signatures=list(bundle.signatures))
        try:
            await self._api.submit_multi_transactions(self._multi_id, request)
        except OutcomeUnknown as error:
            self._unknown(bundle, error.code or "NO_ANSWER")
        except ClientError as error:
            code = error.code or f"HTTP_{error.status}" if isinstance(error, ApiError) else ""
            if not isinstance(error, ApiError) or isinstance(error, RateLimited):
                # Definite by the client's own word: nothing left.
                if self._not_there(bundle):
                    raise
            elif isinstance(error, NotFound | Conflict) or code == ErrorCode.ALREADY_SUBMITTED:
                # Somebody was first, which may have been this request; or there is no bundle, or
                # none any more.
                self._unknown(bundle, code)
            else:
                problems = "; ".join(
                    f"{name}: {problem.message}" for name, problem in error.fields.items()
                )
                self._refused(bundle, code, problems or error.message)
        else:
            accept_bundle(self._ledger, bundle)

    async def _look_for(self, bundle: Bundle) -> None:
        left = bundle.operation.server_at or self._api.server_now()
        while True:
            status = await self._api.get_multi_exchange(self._multi_id)
            state = status.bundle_status
            if state in (*_ENDS, BundleStatus.SUBMITTED):
                accept_bundle(self._ledger, bundle)
                self._decided(bundle, status)
                return
            if self._api.server_now() - left >= self._arrives:
                break
            await self._clock.sleep(self._pace.look)
        if state is not None and state not in tuple(BundleStatus):
            # It may be executed by now: neither refused nor sent again.
            raise Stopped("UNKNOWN_STATUS", status=state)
        if state != BundleStatus.PENDING:
            reason = "it has no bundle that awaits these signatures"
            if self._refused(bundle, "NO_BUNDLE", reason):
                raise Stopped("NO_BUNDLE")
        elif self._not_there(bundle):
            raise Stopped("NOT_SUBMITTED")

    async def _follow(self, bundle: Bundle) -> None:
        ends = self._clock.monotonic() + self._pace.patience
        while True:
            status = await self._api.get_multi_exchange(self._multi_id)
            if self._decided(bundle, status):
                return
            if self._clock.monotonic() >= ends:
                state = status.bundle_status
                understood = state is None or state in tuple(BundleStatus)
                raise Stopped("ON_ITS_WAY", row="" if understood else "status", status=state)
            await self._clock.sleep(self._pace.look)

    def _decided(self, bundle: Bundle, status: MultiExchangeStatus) -> bool:
        end = _ENDS.get(status.bundle_status or "")
        if end is None:
            return False
        state, code = end
        hash_, reason = status.tx_hash, status.failure_reason
        move_bundle(self._ledger, bundle, state, code=code, hash=hash_, reason=reason, said="")
        return True

    def _unknown(self, bundle: Bundle, code: str) -> None:
        move_bundle(self._ledger, bundle, State.UNKNOWN, code=code, said=code)

    def _not_there(self, bundle: Bundle) -> bool:
        """Records that the service lacks the signatures, so that they may be sent again. Returns
        False if the service has them."""
        return move_bundle(self._ledger, bundle, State.PREPARED)

    def _refused(self, bundle: Bundle, code: str, reason: str) -> bool:
        return move_bundle(
            self._ledger, bundle, State.REFUSED, code="REFUSED", said=code, reason=reason
        )

    # Parts, on Solana

    async def _pay_parts(self, bundle: Bundle) -> None:
        items = bundle.items
        try:
            for number, item in enumerate(items, start=1):
                self._watch.turns_to(Turn(item.sum, len(item.deposits), number, len(items)))
                part = self._part(bundle, item)
                if part is None or _signed_anew(part):
                    await self._pay_part(bundle, item)
                self._watch.moved()
        except Exception:
            await self._follow_transactions(bundle.expires)
            raise
        await self._follow_transactions(bundle.expires)
        for item in items:
            part = self._part(bundle, item)
            if part is not None and part.code == "LOST":
                raise Stopped("LOST", hash_=part.hash)
            if part is None or part.state is not State.DONE:
                word = "not signed" if part is None or not part.code else part.code.lower()
                raise Stopped("PART_FAILED", hash_=part.hash if part else None, word=word)
        last = next(act.hash for act in reversed(self._transactions) if act.hash is not None)
        move_bundle(self._ledger, bundle, State.DONE, hash=last)

    def _part(self, bundle: Bundle, item: BundleItem) -> Operation | None:
        return self._transaction(item_intent(self._multi_id, bundle, item))

    async def _pay_part(self, bundle: Bundle, item: BundleItem) -> None:
        self._require_in_time(min(deposit.expires for deposit in item.deposits), "group")
        promise = item_promise(self._multi_id, self._coin, bundle, item)

        async def make() -> Payload:
            transaction = await part_of(self._api, self._multi_id, bundle.account, item)
            return SolanaPayload(Purpose.BUNDLE, transaction)

        await self._send("part", item.sum, promise, make, item.service_ids)

    # Transactions of the wallet

    @property
    def _transactions(self) -> tuple[Operation, ...]:
        return transactions_of(self._ledger, self._act)

    def _transaction(self, intent_id: str) -> Operation | None:
        acts = reversed(self._transactions)
        return next((act for act in acts if signed_under(act) == intent_id), None)

    async def _send(
        self,
        kind: Literal["fund", "part"],
        need: Sum,
        promise: Promise,
        make: Callable[[], Awaitable[Payload]],
        service_ids: Sequence[str] = (),
    ) -> None:
        """Signs and sends a wallet transaction. A transaction already signed under the same intent
        id is only sent. Raises NotAgreed and NotSignable if nothing was signed."""
        intent_id, until = promise.intent_id, promise.valid_until
        signed = await self._transactor.resume(intent_id, _PURPOSES[kind])
        act = self._transaction(intent_id)
        payload = await make() if signed is None else None
        if act is not None and signed is None and not act.open:
            act = None  # it is over, and nothing was signed under it

        def begin() -> Operation:
            return begin_transaction(self._ledger, kind, self._act, need, intent_id, service_ids)

        entry = ActEntry(self._ledger, begin, act)
        if payload is not None:
            signed = await self._transactor.confirm(
                entry, lambda: self._transactor.agree(payload, promise)
            )
        assert signed is not None  # found or made above
        if payload is None:
            entry.signed(signed.hash)
        late = self._clock.now() >= until - LEAST_LEFT
        if signed.final or late or not await self._transactor.dispatch(signed):
            await self._settle(entry, signed, until)

    async def _follow_transactions(self, until: datetime) -> None:
        """Waits until all wallet transactions of the group have ended. Transactions that are still
        unsent after ``until`` are given up. Signs nothing. Raises WalletError and StillOpen."""
        for act in self._transactions:
            if not act.open:
                continue
            signed = await self._transactor.resume(signed_under(act), _PURPOSES[act.kind])
            entry = ActEntry(self._ledger, partial(self._begun_anew, act), act)
            if signed is None:
                entry.refused("NOT_SIGNED")
            else:
                await self._settle(entry, signed, until)
        self._watch.moved()

    def _begun_anew(self, act: Operation) -> Operation:
        kind: Literal["fund", "part"] = "fund" if act.kind == "fund" else "part"
        told = sum_of(act), signed_under(act), paid_orders(act)
        return begin_transaction(self._ledger, kind, self._act, *told)

    async def _settle(self, entry: ActEntry, signed: SignedTransaction, until: datetime) -> None:
        if self._clock.now() >= until - LEAST_LEFT:
            # What never left pays no order any more.
            signed = await self._transactor.give_up_unsent(signed)
        await self._transactor.settle(signed, entry)


def _taken(holder: Operation) -> Stopped:
    """Returns the exception to raise if another operation, ``holder``, already pays an order of the
    group or its funding."""
    if holder.kind == "deposit":
        return Stopped("PAID_BEFORE", order=holder.subject)
    return Stopped("OTHER_UNDER_WAY", row="other run")


def _signed_anew(part: Operation) -> bool:
    if part.state is not State.REFUSED:
        return False
    return part.hash is None or part.code in ("LOST", "ABANDONED")


async def require_held(
    client: WalletClient, account: Account, chain: str, needs: Sequence[Sum]
) -> None:
    """Raises Stopped if the account holds less than ``needs``. A balance that cannot be read is
    ignored, because the wallet simulates the transaction before signing. Raises WalletError."""
    sums: dict[str | None, Sum] = {}
    for need in needs:
        before = sums.get(need.contract)
        units = need.units + (before.units if before is not None else 0)
        sums[need.contract] = replace(need, units=units)
    if not sums:
        return
    assets = [Asset(need.symbol, need.decimals, need.contract) for need in sums.values()]
    missing = []
    for balance in (await client.balances(account.address, chain, assets)).balances:
        need, held = sums[balance.asset.contract], balance.units
        if held is None or held >= need.units:
            continue
        if held and balance.asset.decimals != need.decimals:
            # A need in other units than the chain's is nothing to fill up for: the gate refuses it.
            continue
        has = short(from_base_units(held, need.decimals))
        lacking = short(from_base_units(need.units - held, need.decimals))
        missing.append(
            f"{exact_amount(need.amount)} {need.symbol} are needed, and wallet"
            f" {account.name or account.address} has {exact_amount(has)}:"
            f" {exact_amount(lacking)} {need.symbol} are missing"
        )
    if missing:
        raise Stopped("NOT_ENOUGH", missing="; ".join(missing), account=account.address)


# Who pays a group


def first_token(desk: Desk, group: Group) -> Token:
    """Returns the token that a group's first row sells. Raises Stopped if the group was not created
    or the token is unknown."""
    if group.multi_id is None:
        raise Stopped("NOT_CREATED")
    token = desk.catalog.token(group.request.orders[0].from_)
    if token is None:
        raise Stopped("TOKEN_NOT_FOUND", what="token", whose="group")
    return token


async def require_payers(desk: Desk, plan: BatchPlan, named: str) -> None:
    """Raises Stopped unless this desk can sign for the whole plan. ``named`` is the paying
    account's name or address, empty for each chain's first. Raises WalletError."""
    for group in plan.groups:
        await _account_on(desk, group.orders[0].token_in.chain_data, named)


async def _account_on(desk: Desk, chain: Chain, wanted: str, *, begun: bool = False) -> Account:
    wallet = desk.wallet
    if wallet.link(chain.short_name) is None:
        raise Stopped("NO_NODES", chain=chain.name)
    await wallet.prepare_sandbox()
    accounts = await wallet.accounts()
    account = accounts.first(KINDS.get(chain.kind), wanted)
    if account is None:
        raise Stopped("NO_ACCOUNT", called=f" {wanted}" if wanted else "", chain=chain.name)
    if accounts.read_only and not begun:
        raise Stopped("READ_ONLY")
    return account


async def pay_group(
    desk: Desk,
    group: Group,
    named: str,
    until: Until,
    *,
    begin: Callable[[Account, bool], Awaitable[None]],
    look: Look,
    watch: Watch,
) -> Outcome | None:
    """Continues the payment of a group up to ``until``; None while another desk works on it.
    ``named`` is the paying account, empty for the first. ``begin`` gets the account and whether its
    keys are needed. Raises Stopped, WalletError and JournalUnavailable."""
    if not desk.journal.ledger.take_over(str(group.act.parent)):
        return None
    standing = group_standing(desk.journal, group)
    if standing.begun and standing.bundle is not None:
        named = standing.bundle.account
    chain = first_token(desk, group).chain_data
    account = await _account_on(desk, chain, named, begun=standing.begun)
    await begin(account, standing.signs(until))
    coin = native_coin(desk.catalog, group.chain)
    if coin is None:
        raise Stopped("TOKEN_NOT_FOUND", what="coin", whose="chain")
    payment = GroupPayment(
        desk.link.api,
        desk.journal,
        desk.service_clock,
        await desk.wallet.client(),
        desk.catalog.token,
        coin,
        group,
        account,
        look,
        watch=watch,
    )
    return await payment.advance(until)


# While it is signed


class GroupRun(Struct):
    """What a group's signing session is about. ``account`` is the paying address, empty for the
    first account. ``until`` is the step up to which the trader asked to pay."""

    group: Group
    account: str = ""
    until: Until = Until.BUILT


GroupSession = SigningSession[GroupRun]
"""The signing session of a group. Its ``token`` is the one that the open review pays with; before
the first review, the one that the group's first row sells."""


def standing_of(session: GroupSession) -> GroupStanding:
    """Returns how far the payment of the session's group is. Raises JournalUnavailable."""
    return group_standing(session.journal, session.about.group)


def _pays(session: GroupSession) -> tuple[Decimal, str]:
    standing = standing_of(session)
    items = standing.bundle.items if standing.bundle is not None else ()
    amounts = [item.sum.amount for item in items if item.token_id == items[0].token_id]
    deposits = sum(len(item.deposits) for item in items) if items else standing.created
    return reduce(ROUGH.add, amounts, Decimal(0)), counted(deposits, "deposit")


def _steps(session: GroupSession) -> tuple[FlowStep, ...]:
    standing = standing_of(session)
    names = (
        ("build", "sign and send", "paid")
        if standing.solana
        else ("build", "fund", "sign", "submit", "paid")
    )
    return line_of(session, names, _at(session, standing))


def _at(session: GroupSession, standing: GroupStanding) -> int:
    bundle, turn = standing.bundle, session.turn
    if bundle is None or bundle.code == "REPLACED":
        return _BUILD
    if standing.solana:
        return 3 if bundle.paid else 1
    if bundle.unsigned and turn is not None and not turn.funding:
        return _SIGN
    if bundle.unsigned:
        filled = {
            sum_of(act).contract
            for act in standing.fundings
            if act.state is not State.REFUSED and act.hash
        }
        lacking = any(need.contract not in filled for need in bundle.needs)
        return _FUND if lacking or session.transaction is not None else _SIGN
    if bundle.paid:
        return _PAID + 1
    return _PAID if bundle.accepted or bundle.code in ("FAILED", "WITHDRAWN") else _SUBMIT


def _doing(session: GroupSession) -> str:
    if session.agreed is not None:
        return ""
    bundle = standing_of(session).bundle
    if bundle is None:
        return "The desk asks the service what is to be signed."
    if bundle.under_way:
        return "The desk asks the service what became of the bundle."
    if session.turn is None:
        return "The desk compares the bundle with the orders of the group."
    return ""


async def _work(desk: Desk, session: GroupSession) -> Outcome | None:
    try:
        return await _paid(desk, session)
    except JournalUnavailable:
        return still_open("NO_JOURNAL", NO_JOURNAL)
    except Stopped as error:
        failure = Failure(str(error), standing_of(session).whereabouts, error.next)
        return still_open(error.code, failure)
    except WalletError as error:
        return stopped_outcome(error, standing_of(session))


async def _paid(desk: Desk, session: GroupSession) -> Outcome | None:
    run = session.about

    async def begin(account: Account, keys: bool) -> None:
        session.wallet = account.name or account.address
        if keys:
            await open_keys(desk.wallet, account.address, session)

    return await pay_group(
        desk, run.group, run.account, run.until, begin=begin, look=session.look, watch=session
    )


GROUP = SigningKind[GroupRun](
    noun="bundle",
    promise="group",
    expired="ORDERS_EXPIRED",
    done="The deposits of the group are paid. The exchanges act next.",
    work=_work,
    pays=_pays,
    steps=_steps,
    doing=_doing,
    whereabouts=lambda session: standing_of(session).whereabouts,
    brief=lambda session: standing_of(session).brief,
    rank=2,
    goes_on=True,
)


def begin_group(running: RunningSignings, group_id: str, account: str = "") -> GroupSession:
    """Begins the signing session of a created group. ``account`` is the paying address, empty for
    the first. Raises Stopped, JournalUnavailable, and KeyError for an unknown ``group_id``."""
    session = running.get(group_id)
    if session is not None:
        return session
    group = read_group(running.desk.journal.ledger, group_id)
    token = TokenFacts.of(first_token(running.desk, group))
    about = GroupRun(group, account)
    return running.begin(GROUP, group_id, about, token, notice="paid. Next: the exchanges pay out.")


def groups_left_open(running: RunningSignings) -> list[GroupSession]:
    """Begins and returns a session for each partly signed group that has no session. Raises Stopped
    and JournalUnavailable."""
    sessions = []
    journal = running.desk.journal
    for bundle in open_bundles(journal.ledger):
        group_id = str(bundle.operation.parent)
        if running.get(group_id) is not None:
            continue
        if group_standing(journal, read_group(journal.ledger, group_id)).begun:
            sessions.append(begin_group(running, group_id, bundle.account))
    return sessions
