"""The payment of one group, from wherever it stands to where it is asked to go.

Build, fund the smart account where it lacks something, wait for that, sign every operation,
submit once, follow to the outcome; on Solana each part is signed and sent by itself. Every step
is in the journal before what it does, so that :meth:`GroupSettling.advance` goes on after any
crash, and what may have left is looked for and never made anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ClientError
from swapdesk.clock import Clock
from swapdesk.flows.batch import bundle_promise as promises
from swapdesk.flows.batch.building import NotBuilt, build_operations, partition
from swapdesk.flows.batch.bundle_promise import Payer
from swapdesk.flows.batch.group_orders import GroupOrders
from swapdesk.flows.batch.group_watch import GroupWatch
from swapdesk.flows.batch.operations import Operations
from swapdesk.flows.batch.parts import Parts
from swapdesk.flows.batch.paying import GroupPayments
from swapdesk.flows.batch.settle_words import (
    BUILD_AGAIN,
    LOOK,
    Stopped,
    outcome_of,
    stopped_outcome,
)
from swapdesk.flows.batch.standing import GroupStanding, Until, group_standing
from swapdesk.flows.batch.submitting import ARRIVES_WITHIN, Submission
from swapdesk.flows.journal.batch_records import BundleState, JournaledBundle, JournaledGroup
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.outgoing_writes import PaidBefore
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.flows.transactions.outcome import Outcome, still_open
from swapdesk.flows.transactions.transactor import (
    Look,
    NotAgreed,
    NotSignable,
    StillOpen,
    Transactor,
)
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import WalletError
from swapdesk.wallet.promise import Asset
from swapdesk.wire.tokens import Token


@dataclass(frozen=True)
class GroupChain:
    """The chain that a group is paid on: its ``coin``, and what that costs in dollars."""

    coin: Token
    price: Decimal | None


class GroupSettling:
    """Of one group. ``token_of`` finds a token of the desk's list; ``look`` shows each review and
    hears what the trader says; ``watch`` hears how it goes. ``arrives``: as Submission says."""

    def __init__(
        self,
        api: PartnerApi,
        journal: Journal,
        clock: Clock,
        client: WalletClient,
        token_of: Callable[[str], Token | None],
        chain: GroupChain,
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
        data = chain.coin.chain_data
        kind = data.kind
        self._api = api
        self._journal = journal
        self._clock = clock
        self._client = client
        self._chain = chain
        self._batch_id = batch_id
        self._group = group
        self._account = account
        self._look = look
        self._pace = pace
        self._watch = watch or GroupWatch()
        self._multi_id = group.multi_id
        self._payer = Payer(
            group.multi_id,
            data.short_name,
            data.chain_id if kind == "evm" else None,
            Asset(chain.coin.symbol, chain.coin.decimals, None),
            chain.price,
        )
        transactor = Transactor(client, clock, pace, look, self._watch)
        self._payments = GroupPayments(transactor, journal, clock, batch_id, group.number)
        self._orders = GroupOrders(
            api, journal, clock, token_of, batch_id, group, group.multi_id, pace
        )
        self._parts = Parts(api, journal, clock, self._payer, self._payments, self._watch)
        self._operations = Operations(
            journal,
            clock,
            client,
            transactor,
            account,
            self._payer,
            self._payments,
            self._orders,
            self._watch,
            batch_id,
            group.number,
        )
        self._submission = Submission(api, journal, clock, group.multi_id, pace, arrives)

    @property
    def standing(self) -> GroupStanding:
        """Raises JournalUnavailable."""
        return group_standing(self._journal, self._batch_id, self._group)

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
        except PaidBefore as before:
            said = f"Order {before.call.service_id} was paid by itself, or may have been."
            return stopped_outcome(Stopped("PAID_BEFORE", said, BUILD_AGAIN), self.standing)
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
        if bundle.built.kind == "solana":
            await self._parts.send(bundle)
            return
        if bundle.state is BundleState.BUILT:
            await self._operations.sign(bundle)
            bundle = self._current()
        if until is Until.SIGNED:
            return
        if bundle.state is BundleState.SIGNED:
            await self._submit(bundle)
            bundle = self._current()
        if bundle.state in (BundleState.SENT, BundleState.UNKNOWN):
            await self._submission.look(bundle)
            self._watch.moved()
            bundle = self._current()
        if until is Until.SETTLED and bundle.state is BundleState.SUBMITTED:
            await self._submission.follow(bundle)
            self._watch.moved()

    def _newest(self) -> JournaledBundle | None:
        return self._journal.bundles.newest(self._batch_id, self._group.number)

    def _current(self) -> JournaledBundle:
        bundle = self._newest()
        if bundle is None:
            raise LookupError("the bundle is not in the journal")
        return bundle

    def _may_build(self, bundle: JournaledBundle) -> bool:
        """Signatures that never left are given up by it."""
        return bundle.state is not BundleState.CONFIRMED and not bundle.under_way

    # What an earlier run left open

    async def _settle_open(self) -> None:
        """Follow every transaction that was begun: nothing is built or signed beside it."""
        bundle = self._newest()
        if bundle is None:
            return
        await self._payments.follow_all(promises.naming(self._payer, bundle.built))
        self._watch.moved()

    # Building

    async def _build(self) -> JournaledBundle:
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
                self._journal.batches.mark_differs(self._batch_id, one.row, one.reason)
        account, price = self._account.address, self._chain.price
        if solana:
            built = await partition(self._api, self._multi_id, account, found.rows, price)
        else:
            built = await build_operations(
                self._api, self._multi_id, account, found.rows, self._chain.coin, price
            )
        await self._orders.require_same(built)
        bundle = self._journal.bundles.add(self._batch_id, self._group.number, built)
        self._watch.moved()
        return bundle

    async def _submit(self, bundle: JournaledBundle) -> None:
        self._operations.require_in_time(bundle)
        self._operations.require_untouched(bundle)
        await self._orders.require_same(bundle.built)
        await self._submission.submit(bundle)
        self._watch.moved()
