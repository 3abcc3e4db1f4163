"""Transactions of the wallet for one group: each in the journal before it is signed, once.

What was signed stands in the wallet's own records before a byte leaves, by its intent. They
decide: a transaction found there is sent on as it is, and no other one is signed beside it.
:class:`GroupWatch` hears how the work goes, for whoever shows it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from swapdesk.clock import Clock
from swapdesk.flows.batch.payable import LEAST_LEFT
from swapdesk.flows.journal.batch_records import BundleItem, FundingNeed, Paying, WalletPayment
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.journal.wallet_payment_log import WalletPaymentLog
from swapdesk.flows.transactions.transactor import Entry, Transactor, Watch
from swapdesk.wallet.payload import Payload
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wallet.transactions import FINAL, SignedTransaction

MakePayload = Callable[[], Awaitable[Payload]]
"""What is to be signed, made when nothing was signed before. Raises what its maker raises."""

PromiseOf = Callable[[WalletPayment], Promise]
"""What names a transaction that was begun."""

_PURPOSES = {Paying.FUND: Purpose.FUND, Paying.PART: Purpose.BUNDLE}


class _PaymentEntry(Entry):
    """``payment`` as the journal has it."""

    def __init__(
        self, log: WalletPaymentLog, batch_id: str, group: int, payment: WalletPayment, fresh: bool
    ) -> None:
        self._log = log
        self._batch_id = batch_id
        self._group = group
        self._payment = payment
        self.fresh = fresh

    def signed(self, hash_: str) -> None:
        if self._payment.state is StepState.PREPARED or self._payment.hash != hash_:
            self._set(StepState.SENT, hash_=hash_)

    def done(self, hash_: str) -> None:
        self._set(StepState.ACKED, hash_=hash_)

    def refused(self, code: str, hash_: str | None = None) -> None:
        self._set(StepState.REFUSED, code=code)

    def _set(self, state: StepState, *, hash_: str | None = None, code: str | None = None) -> None:
        self._log.set(self._batch_id, self._group, self._payment, state, hash_=hash_, code=code)


class GroupPayments:
    """Of one group. Methods raise WalletError, StillOpen and JournalUnavailable."""

    def __init__(
        self, transactor: Transactor, journal: Journal, clock: Clock, batch_id: str, group: int
    ) -> None:
        self._transactor = transactor
        self._log = journal.payments
        self._clock = clock
        self._batch_id = batch_id
        self._group = group

    @property
    def all(self) -> list[WalletPayment]:
        return self._log.of(self._batch_id, self._group)

    def of(self, intent_id: str) -> WalletPayment | None:
        """The newest payment under an intent."""
        return next((one for one in reversed(self.all) if one.intent_id == intent_id), None)

    async def send(
        self,
        paying: Paying,
        need: FundingNeed,
        promise: Promise,
        make: MakePayload,
        service_ids: Sequence[str] = (),
    ) -> None:
        """Sign the transaction of an intent and send it, or send what was signed before; what
        becomes of it :meth:`follow_all` says. What does not leave is waited for here, since
        nothing else may be signed before.

        Raises NotAgreed and NotSignable; then nothing was signed."""
        signed = await self._transactor.resume(promise.intent_id, _PURPOSES[paying])
        payment = self.of(promise.intent_id)
        payload = await make() if signed is None else None
        fresh = payment is None or (signed is None and not payment.open)
        if payment is None or fresh:
            payment = self._log.begin(
                self._batch_id, self._group, paying, need, promise.intent_id, service_ids
            )
        if payload is not None:
            signed = await self._transactor.confirm(
                self._entry(payment, fresh=fresh),
                lambda: self._transactor.agree(payload, promise),
            )
            payment = self.of(promise.intent_id) or payment
        assert signed is not None  # found or made above
        if signed.state in FINAL or not await self._sent(signed, promise.valid_until):
            await self._settled(payment, signed, promise.valid_until)

    async def _sent(self, signed: SignedTransaction, until: datetime) -> bool:
        """Whether a node has the bytes."""
        if self._clock.now() >= until - LEAST_LEFT:
            return False
        return await self._transactor.dispatch(signed)

    async def follow_all(self, promise_of: PromiseOf) -> None:
        """Go on with everything that was begun, signing nothing, until each is over."""
        for payment in self.all:
            if payment.open:
                await self._follow(payment, promise_of(payment))

    async def _follow(self, payment: WalletPayment, promise: Promise) -> None:
        """Go on with what was begun, signing nothing; where nothing was signed, that is
        committed."""
        signed = await self._transactor.resume(promise.intent_id, _PURPOSES[payment.paying])
        if signed is None:
            self._entry(payment).refused("NOT_SIGNED")
        else:
            await self._settled(payment, signed, promise.valid_until)

    def _entry(self, payment: WalletPayment, *, fresh: bool = False) -> Entry:
        return _PaymentEntry(self._log, self._batch_id, self._group, payment, fresh)

    async def _settled(
        self, payment: WalletPayment, signed: SignedTransaction, until: datetime
    ) -> None:
        if self._clock.now() >= until - LEAST_LEFT:
            # What never left pays no order any more.
            signed = await self._transactor.give_up_unsent(signed)
        await self._transactor.settle(signed, self._entry(payment))


@dataclass(frozen=True)
class Turn:
    """What is signed now: ``need`` of one token, for ``payees`` deposits, or for the smart account
    itself (0). It is ``number`` of ``total``, both of the fundings or of the signatures."""

    need: FundingNeed
    payees: int
    number: int
    total: int

    @property
    def funding(self) -> bool:
        return self.payees == 0


def item_turn(item: BundleItem, number: int, total: int) -> Turn:
    """The signature of an item, ``number`` of ``total``."""
    need = FundingNeed(item.symbol, item.decimals, item.contract, item.units)
    return Turn(need, len(item.deposits), number, total)


class GroupWatch(Watch):
    """Hears what happens and changes nothing of it; this one shows it to nobody."""

    def moved(self) -> None:
        """The journal says something new of the group."""

    def turns_to(self, turn: Turn) -> None:
        """Something else is signed next."""
