"""The deposits of a group on Solana: transactions of a fixed partition, each signed and sent."""

from __future__ import annotations

from swapdesk.client.api import PartnerApi
from swapdesk.clock import Clock
from swapdesk.flows.batch import bundle_promise as promises
from swapdesk.flows.batch.building import part_of
from swapdesk.flows.batch.bundle_promise import Payer
from swapdesk.flows.batch.group_outcomes import BUILD_AGAIN, PAY_OTHERWISE, SIGN_AGAIN, Stopped
from swapdesk.flows.batch.group_transactions import GroupPayments, GroupWatch, item_turn
from swapdesk.flows.batch.payable import LEAST_LEFT
from swapdesk.flows.journal.batch_records import (
    BundleItem,
    BundleState,
    JournaledBundle,
    Paying,
    WalletPayment,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.wallet.payload import Payload


class Parts:
    """Of one group. ``payments`` are its transactions."""

    def __init__(
        self,
        api: PartnerApi,
        journal: Journal,
        clock: Clock,
        payer: Payer,
        payments: GroupPayments,
        watch: GroupWatch,
    ) -> None:
        self._api = api
        self._journal = journal
        self._clock = clock
        self._payer = payer
        self._payments = payments
        self._watch = watch
        self._multi_id = payer.multi_id

    async def send(self, bundle: JournaledBundle) -> None:
        """Sign and send each part that was not paid yet, and wait for all of them. Raises Stopped,
        and what the wallet and the service raise."""
        items = bundle.built.items
        try:
            for number, item in enumerate(items, start=1):
                self._watch.turns_to(item_turn(item, number, len(items)))
                entry = self._part(bundle, item)
                if entry is None or _signed_anew(entry):
                    await self._send_part(bundle, item)
                self._watch.moved()
        except Exception:
            await self._payments.follow_all(promises.naming(self._payer, bundle.built))
            raise
        await self._payments.follow_all(promises.naming(self._payer, bundle.built))
        entries = [self._part(bundle, item) for item in items]
        for entry in entries:
            if entry is not None and entry.code == "LOST":
                said = "A transaction was not executed in time; it paid nobody."
                raise Stopped("LOST", said, SIGN_AGAIN, hash_=entry.hash)
            if entry is None or entry.state is not StepState.ACKED:
                code = "not signed" if entry is None or not entry.code else entry.code.lower()
                hash_ = None if entry is None else entry.hash
                said = f"The transaction {hash_} is {code} and paid nobody."
                raise Stopped("PART_FAILED", said, PAY_OTHERWISE, open_=False, hash_=hash_)
        last = next(one.hash for one in reversed(self._payments.all) if one.hash is not None)
        self._journal.bundles.ended(bundle, BundleState.CONFIRMED, tx_hash=last)
        self._watch.moved()

    def _part(self, bundle: JournaledBundle, item: BundleItem) -> WalletPayment | None:
        """The newest transaction of a part; None where none was begun."""
        return self._payments.of(promises.part_intent(self._payer, item, bundle.number))

    async def _send_part(self, bundle: JournaledBundle, item: BundleItem) -> None:
        late = min(one.expires for one in item.deposits) - self._clock.now() <= LEAST_LEFT
        if late:
            raise Stopped("ORDERS_EXPIRED", "An order of the group has expired.", BUILD_AGAIN)
        intent = promises.part_intent(self._payer, item, bundle.number)
        promise = promises.item_promise(self._payer, bundle.built, item, intent)

        async def make() -> Payload:
            """Fetched when it is shown: its blockhash lives for a minute."""
            account = bundle.built.account
            return promises.part_payload(await part_of(self._api, self._multi_id, account, item))

        ids = [one.service_id for one in item.deposits]
        await self._payments.send(Paying.PART, item_turn(item, 0, 0).need, promise, make, ids)


def _signed_anew(entry: WalletPayment) -> bool:
    """Whether nothing came of it and nothing can: it was never signed, or not executed in time."""
    if entry.state is not StepState.REFUSED:
        return False
    return entry.hash is None or entry.code in ("LOST", "ABANDONED")
