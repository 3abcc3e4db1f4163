"""The entry of a wallet's payment in the journal: made before anything is signed, with the hash
before a byte leaves, and with how it ended.

What cannot be written after the beginning is only logged: an entry that stays open pays nothing
twice, and the wallet's own records say what became of it.
"""

from __future__ import annotations

import logging

from swapdesk.flows.journal.call_log import WALLET_PAYMENT, CallLog, JournaledCall
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.wire.encoding.codec import encode_json

log = logging.getLogger(__name__)


class PaymentEntry:
    """Begin one with :meth:`noted`, or go on with one that an earlier run began."""

    def __init__(self, calls: CallLog, call_id: int) -> None:
        self._calls = calls
        self._id = call_id

    @classmethod
    def noted(
        cls, calls: CallLog, service_id: str, earlier: JournaledCall | None, account: str
    ) -> PaymentEntry:
        """The entry of the payment, made now where there is none. Raises PaidBefore and
        JournalUnavailable."""
        if earlier is not None:
            return cls(calls, earlier.id)
        body = encode_json({"serviceId": service_id, "account": account})
        return cls(calls, calls.add_payment(service_id, body, path=WALLET_PAYMENT))

    def signed(self, hash_: str) -> None:
        """Which transaction pays."""
        try:
            self._calls.mark_signed(self._id, hash_)
        except JournalUnavailable as unavailable:
            log.warning("transaction %s is not in the journal: %s", hash_, unavailable)

    def paid(self, hash_: str) -> None:
        """The transaction that counts."""
        try:
            self._calls.mark_done(self._id, status=200, request_id=None, hash_=hash_)
        except JournalUnavailable as unavailable:
            self._not_ended(unavailable)

    def refused(self, code: str, hash_: str | None = None) -> None:
        """Nothing was paid, and nothing will be by this payment."""
        try:
            self._calls.mark_refused(self._id, code=code, hash_=hash_)
        except JournalUnavailable as unavailable:
            self._not_ended(unavailable)

    def _not_ended(self, unavailable: JournalUnavailable) -> None:
        log.warning("the end of payment %d is not in the journal: %s", self._id, unavailable)


def settled(call: JournaledCall) -> bool:
    """Whether it is known how a payment ended."""
    return call.state not in (StepState.SENT, StepState.UNKNOWN)
