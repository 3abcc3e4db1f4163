"""The deposits of a group on an EVM chain: a smart account that is filled, and its operations, each
of them signed. None leaves here."""

from __future__ import annotations

from swapdesk.clock import Clock
from swapdesk.flows.batch import bundle_promise as promises
from swapdesk.flows.batch.bundle_promise import Payer
from swapdesk.flows.batch.group_orders import GroupOrders
from swapdesk.flows.batch.group_watch import GroupWatch, Turn, item_turn
from swapdesk.flows.batch.holding import require_held
from swapdesk.flows.batch.payable import LEAST_LEFT
from swapdesk.flows.batch.paying import GroupPayments
from swapdesk.flows.batch.settle_words import BUILD_AGAIN, Stopped
from swapdesk.flows.batch.shared_account import blocking, overtaken
from swapdesk.flows.journal.batch_records import (
    Built,
    BundleItem,
    FundingNeed,
    JournaledBundle,
    Paying,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.transactions.transactor import Transactor
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.payload import Payload
from swapdesk.wallet.transactions import Signature


class Operations:
    """Of one group of a batch. ``payments`` are its transactions, ``orders`` what it is to pay."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        client: WalletClient,
        transactor: Transactor,
        account: Account,
        payer: Payer,
        payments: GroupPayments,
        orders: GroupOrders,
        watch: GroupWatch,
        batch_id: str,
        group: int,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._client = client
        self._transactor = transactor
        self._account = account
        self._payer = payer
        self._payments = payments
        self._orders = orders
        self._watch = watch
        self._batch_id = batch_id
        self._group = group

    def require_in_time(self, bundle: JournaledBundle) -> None:
        """Raises Stopped where an order of it expires before its deposit could arrive."""
        if bundle.built.expires - self._clock.now() <= LEAST_LEFT:
            raise Stopped("ORDERS_EXPIRED", "An order of the bundle has expired.", BUILD_AGAIN)

    def require_untouched(self, bundle: JournaledBundle) -> None:
        """Raises Stopped where something left the smart account since it was built."""
        if overtaken(self._journal, bundle):
            said = "The smart account paid another group, or its owner, since this was built."
            raise Stopped("BUILT_BEFORE", said, BUILD_AGAIN)

    def refuse_beside_another(self) -> None:
        """Raises Stopped where another group counts on what the smart account holds."""
        other = blocking(
            self._journal,
            self._batch_id,
            self._group,
            self._account.address,
            self._payer.chain,
            self._clock.now(),
        )
        if other is not None:
            name = f"group {other.group} of batch {other.batch_id[:8]}"
            raise Stopped(
                "OTHER_UNDER_WAY",
                f"What the smart account holds is for {name}, which is {other.state}.",
                f"you: let {name} end first",
            )

    async def sign(self, bundle: JournaledBundle) -> None:
        """Fill the smart account, wait for that, and sign all operations. Raises Stopped, and what
        the wallet raises."""
        self.require_in_time(bundle)
        await self._orders.require_same(bundle.built)
        self.refuse_beside_another()
        self.require_untouched(bundle)
        needs, items = bundle.built.needs, bundle.built.items
        begun = {one.intent_id for one in self._payments.all if one.hash is not None}
        missing = [
            need
            for need in needs
            if promises.funding_intent(self._payer, need, bundle.number) not in begun
        ]
        await require_held(self._client, self._account, self._payer.chain, missing)
        try:
            for number, need in enumerate(needs, start=1):
                self._watch.turns_to(Turn(need, 0, number, len(needs)))
                await self._fund(bundle, need)
        except Exception:
            # What left before is told with what stopped it; a run that is cancelled waits for
            # nothing.
            await self._follow_open(bundle)
            raise
        await self._follow_open(bundle)
        self._require_funded(bundle)
        signatures = []
        for number, item in enumerate(items, start=1):
            self._watch.turns_to(item_turn(item, number, len(items)))
            signed = await self._signature(bundle.built, item)
            signatures.append(signed.signature)
        self._journal.bundles.signed(bundle, signatures)
        self._watch.moved()

    async def _follow_open(self, bundle: JournaledBundle) -> None:
        await self._payments.follow_all(promises.naming(self._payer, bundle.built))
        self._watch.moved()

    async def _fund(self, bundle: JournaledBundle, need: FundingNeed) -> None:
        intent = promises.funding_intent(self._payer, need, bundle.number)
        promise = promises.funding_promise(self._payer, bundle.built, need, intent)

        async def make() -> Payload:
            return promises.funding_payload(bundle.built, need)

        await self._payments.send(Paying.FUND, need, promise, make)
        self._watch.moved()

    def _require_funded(self, bundle: JournaledBundle) -> None:
        """Raises Stopped where a transaction that fills the smart account failed."""
        for need in bundle.built.needs:
            entry = self._payments.of(promises.funding_intent(self._payer, need, bundle.number))
            if entry is None or entry.state is not StepState.ACKED:
                code = "" if entry is None or entry.code is None else f" is {entry.code.lower()}"
                hash_ = None if entry is None else entry.hash
                said = f"The transaction {hash_} that fills the smart account{code}."
                raise Stopped("FUNDING_FAILED", said, BUILD_AGAIN, hash_=hash_)

    async def _signature(self, built: Built, item: BundleItem) -> Signature:
        intent = promises.item_intent(self._payer, item)
        promise = promises.item_promise(self._payer, built, item, intent)
        signed = await self._transactor.agree(promises.operation_payload(item), promise)
        assert isinstance(signed, Signature)
        return signed
