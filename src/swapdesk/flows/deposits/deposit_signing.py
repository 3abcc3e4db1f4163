"""The deposit of one order while it is paid from the wallet: check, sign, send, confirmed."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from swapdesk.clock import Clock
from swapdesk.flows.deposits.deposit_words import on_screen
from swapdesk.flows.deposits.wallet_funding import UNPAID
from swapdesk.flows.dex.dex_words import on_its_way, signed_away
from swapdesk.flows.failure_messages import IN_WALLET
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.signing.flow_step import FlowStep, Mark
from swapdesk.flows.signing.signing_session import SigningSession
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import HARMLESS, SignedTransaction, TransactionState

_CHECK, _SIGN, _SEND, _CONFIRMED = range(4)
_SENT = frozenset({TransactionState.SENT, TransactionState.MINED, TransactionState.FAILED})


class DepositSigning(SigningSession):
    """``asked``: by a key of this run; an earlier run left it open otherwise. ``tracked`` was
    confirmed here: ValueError without its intent."""

    NOUN = "payment"
    PROMISE = "order"
    EXPIRED = "NOT_PAYABLE"
    DONE = "The deposit is paid. The venue acts next."

    def __init__(
        self,
        tracked: TrackedOrder,
        clock: Clock,
        changed: Callable[[], None],
        *,
        asked: bool,
        faucet: bool = False,
        coin: str = "",
        confirmations: int = 0,
    ) -> None:
        intent = _intent_of(tracked)
        super().__init__(
            intent.token_in,
            clock,
            changed,
            provider=(intent.provider, intent.provider_name),
            coin=coin,
            confirmations=confirmations,
        )
        self.intent = intent
        self.tracked = tracked
        self.asked = asked
        self._faucet = faucet
        self._filling = ""
        self._agreed: Review | None = None
        self._signed: SignedTransaction | None = None
        """The newest transaction that pays it, also a final one."""

    @property
    def id(self) -> str:
        return self.tracked.service_id

    @property
    def amount(self) -> Decimal:
        """As the order asks for it."""
        asked = self.tracked.order.in_amount
        return self.intent.amount_in if asked is None else asked

    @property
    def against(self) -> str:
        return f"order {self.tracked.short_id}"

    @property
    def order_id(self) -> str:
        return self.id

    @property
    def steps(self) -> tuple[FlowStep, ...]:
        at, failed = self._at(), self.outcome is not None and self.outcome.refused
        names = ("check", "sign", "send", self._confirmed(at))
        now = Mark.FAILED if failed else Mark.NOW
        if self.outcome is not None and self.outcome.done:
            return tuple(FlowStep(name, Mark.DONE) for name in names)
        return tuple(
            FlowStep(name, Mark.DONE if place < at else now if place == at else Mark.AHEAD)
            for place, name in enumerate(names)
        )

    @property
    def lapse(self) -> str:
        expires = self.tracked.order.expires
        if self.token.kind == "sol" and expires is not None and expires > self._clock.now():
            return "it makes a newer one"
        return super().lapse

    def _at(self) -> int:
        """The step that goes on."""
        signed = self._signed
        if signed is not None:
            return _CONFIRMED if signed.state in _SENT else _SEND
        return _SIGN if self.payload is not None and self.refused is None else _CHECK

    def _confirmed(self, at: int) -> str:
        signed, wanted = self._signed, self.confirmations
        if at != _CONFIRMED or signed is None or not wanted:
            return "confirmed"
        return f"confirmed {min(signed.confirmations, wanted)} of {wanted}"

    @property
    def doing(self) -> str:
        sent = self.transaction
        if sent is not None:
            return self.following(sent)
        if not self.wallet:
            return "The desk asks the wallet for its account and what it holds."
        if self._filling:
            return f"The faucet sends {self._filling} to wallet {self.wallet}."
        if self._agreed is not None:
            return "The wallet looks once more, and signs."
        return "The wallet reads the chain and looks at what is to be signed."

    @property
    def whereabouts(self) -> str:
        signed = self._signed
        if signed is None or signed.state in HARMLESS:
            return UNPAID if self.outcome is not None else IN_WALLET
        if signed.state is TransactionState.SUCCEEDED:
            return f"at the deposit address, by transaction {signed.hash}"
        sent = signed.state in _SENT
        return on_its_way(signed.hash) if sent else signed_away(signed.hash)

    @property
    def notice(self) -> str:
        return "is paid. Next: the venue counts confirmations."

    @property
    def brief(self) -> str | None:
        signed = self._signed
        if signed is None or signed.state in HARMLESS:
            return None
        if signed.state is TransactionState.SUCCEEDED:
            return "at the deposit address"
        return "on its way" if signed.state in _SENT else "signed away"

    # What the work says

    def account(self, name: str, *, filling: str = "") -> None:
        """Which account pays. ``filling``: the token that the faucet sends there first."""
        self.wallet, self._filling = name, filling
        self._changed()

    def started(self) -> None:
        self._agreed = None
        super().started()

    def signing(self, review: Review) -> None:
        self._agreed = review
        self._changed()

    def seen(self, signed: SignedTransaction) -> None:
        self._signed = signed
        super().seen(signed)

    def finish(self, outcome: Outcome) -> None:
        super().finish(on_screen(outcome, self.id, faucet=self._faucet))


def _intent_of(tracked: TrackedOrder) -> Intent:
    if tracked.intent is None:
        raise ValueError("the order was not confirmed at this desk")
    return tracked.intent
