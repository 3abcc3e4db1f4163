"""The entry of a wallet's payment in the journal: made before anything is signed, with the hash
before a byte leaves, and with how it ended.

What cannot be written after the beginning is only logged: an entry that stays open pays nothing
twice, and the wallet's own records say what became of it.
"""

from __future__ import annotations

import logging

from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.journal.outgoing_writes import WALLET_PAYMENT, OutgoingWrite, OutgoingWrites
from swapdesk.flows.transactions.transactor import Entry
from swapdesk.wire.encoding.codec import encode_json

log = logging.getLogger(__name__)


class PaymentEntry(Entry):
    """The payment of an order from an account. ``earlier`` is the entry of an earlier run, which
    is gone on with."""

    def __init__(
        self, calls: OutgoingWrites, service_id: str, account: str, earlier: OutgoingWrite | None
    ) -> None:
        self._calls = calls
        self._service_id = service_id
        self._account = account
        self._id = None if earlier is None else earlier.id
        self.fresh = earlier is None

    def begin(self) -> None:
        """Commit it where there is none. Raises PaidBefore and JournalUnavailable."""
        if self._id is None:
            body = encode_json({"serviceId": self._service_id, "account": self._account})
            self._id = self._calls.add_payment(self._service_id, body, path=WALLET_PAYMENT)

    def signed(self, hash_: str) -> None:
        """Which transaction pays."""
        assert self._id is not None  # begun before anything is signed
        try:
            self._calls.mark_signed(self._id, hash_)
        except JournalUnavailable as unavailable:
            log.warning("transaction %s is not in the journal: %s", hash_, unavailable)

    def done(self, hash_: str) -> None:
        assert self._id is not None
        try:
            self._calls.mark_done(self._id, status=200, request_id=None, hash_=hash_)
        except JournalUnavailable as unavailable:
            self._not_ended(unavailable)

    def refused(self, code: str, hash_: str | None = None) -> None:
        """Nothing was paid, and nothing will be by this payment."""
        if self._id is None:
            return
        try:
            self._calls.mark_refused(self._id, code=code, hash_=hash_)
        except JournalUnavailable as unavailable:
            self._not_ended(unavailable)

    def _not_ended(self, unavailable: JournalUnavailable) -> None:
        log.warning("the end of payment %s is not in the journal: %s", self._id, unavailable)


def settled(call: OutgoingWrite) -> bool:
    """Whether it is known how a payment ended."""
    return call.state not in (StepState.SENT, StepState.UNKNOWN)
