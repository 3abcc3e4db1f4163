"""How a swap on chains ends or stops: committed to the journal, then told in words.

Every end says the cause, where the money is and who acts next. What may still come of a swap is
left open in the journal, so that it is taken on later.
"""

from __future__ import annotations

from msgspec.structs import replace

from swapdesk.client.errors import AnswerRefused, ApiError, ClientError, OutcomeUnknown
from swapdesk.flows.dex.dex_permission import AGAIN_LATER, SwapFailed
from swapdesk.flows.failure_messages import (
    ANSWER_REFUSED,
    Failure,
    failure_of,
    unsent,
    with_payment,
)
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.creates import acts_of, newest_part, refuse_create, refuse_payment
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import Operation, State
from swapdesk.flows.orders.payment_progress import QUOTE_AGAIN
from swapdesk.flows.orders.told_transaction import NotThisSwap
from swapdesk.flows.tracking.self_paid_orders import wallet_money
from swapdesk.flows.transactions import (
    NotAgreed,
    NotSignable,
    Outcome,
    StillOpen,
    refused,
    still_open,
)
from swapdesk.flows.wallet.wallet_words import failure_of_wallet, sentence
from swapdesk.wallet.protocol import Refused, WalletError

AGAIN = f"you: {QUOTE_AGAIN}"
GOES_ON = "the desk: it goes on where it stopped when it is started again"


def ended(cause: str, money: str) -> Failure:
    return Failure(cause, money, AGAIN)


def goes_on(cause: str, money: str, who: str = GOES_ON) -> Failure:
    return Failure(cause, money, who)


def on_its_way(hash_: str) -> str:
    return f"on its way: transaction {hash_}"


def signed_away(hash_: str) -> str:
    """Signed, and perhaps sent: the chain decides when it is asked again."""
    return f"in your wallet until transaction {hash_}, which you signed, is executed"


def reverted(hash_: str) -> Failure:
    return Failure(
        f"The transaction {hash_} was executed and failed.",
        "in your wallet, but for the gas it cost",
        AGAIN,
    )


class SwapStopped(Exception):
    """Ends the work on a swap from wherever it stands."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.code)
        self.outcome = outcome


Stop = (
    SwapStopped
    | StillOpen
    | NotAgreed
    | NotSignable
    | SwapFailed
    | NotThisSwap
    | WalletError
    | ClientError
)
"""What ends the work on a swap."""


class DexEnding:
    """Of one run over one swap. Methods raise JournalUnavailable."""

    def __init__(self, intent: Intent, journal: Journal) -> None:
        self._intent = intent
        self._journal = journal
        self.order_id: str | None = None
        """The order, once there is one."""

    def of(self, stop: Stop) -> Outcome:
        """What is told of it."""
        match stop:
            case SwapStopped():
                return stop.outcome
            case StillOpen():
                words = goes_on(
                    f"A transaction is not final yet: {stop}.", self._under_way(stop.hash)
                )
                return self.open("NOT_FINAL", words, hash_=stop.hash)
            case NotAgreed() | SwapFailed():
                return self.end(stop.code, str(stop))
            case NotSignable():
                outcome = self.end(stop.code, f"Your wallet refuses to sign this: {stop}")
                failure = outcome.failure
                if failure is not None:
                    failure = replace(failure, next=stop.next(failure.next))
                return replace(outcome, failure=failure, findings=stop.findings)
            case NotThisSwap():
                said = f"The service asks for something else than you confirmed: {stop}."
                return self.end(stop.code, said)
            case WalletError():
                return self._wallet_said(stop)
            case ClientError():
                return self._service_said(stop)

    def end(self, code: str, cause: str) -> Outcome:
        """Nothing was paid and nothing more is tried; committed before it is told."""
        words = self.words(cause)
        if not self.refuse_open_part(code):
            words = ended(cause, self.whereabouts())
        return self.over(code, words)

    def over(self, code: str, words: Failure, hash_: str | None = None) -> Outcome:
        """Nothing more is done for it, and nothing was swapped."""
        return replace(refused(code, words, hash_), order_id=self.order_id)

    def open(self, code: str, words: Failure, hash_: str | None = None) -> Outcome:
        """It is taken on from what stands in the journal."""
        return replace(still_open(code, words, hash_), order_id=self.order_id)

    def refuse_open_part(self, code: str) -> bool:
        """What stands open in the journal is over, and so is the swap. False where what was begun
        is done already."""
        ledger, intent_id = self._journal.ledger, self._intent.id
        create = ledger.get(intent_id)
        if create is not None and create.state is State.PREPARED:
            return refuse_create(ledger, intent_id, code, among=(State.PREPARED,))
        if create is None or create.state is not State.DONE:
            return True
        return refuse_payment(ledger, intent_id, code)

    # Words

    def words(self, cause: str) -> Failure:
        return ended(cause, self.money())

    def money(self) -> str:
        """Where it is while nothing was paid, and who may take it."""
        return wallet_money(self._intent, acts_of(self._journal.ledger, self._intent.id))

    def whereabouts(self) -> str:
        """Where it is as far as the journal knows what became of the order's transaction."""
        swap = self._swap
        if swap is None or swap.hash is None:
            return self.money()
        if swap.state is State.DONE:
            return self.paid_money(swap.hash)
        return signed_away(swap.hash) if swap.left else self.money()

    @property
    def _swap(self) -> Operation | None:
        return newest_part(self._journal.ledger, self._intent.id, "swap")

    def _under_way(self, hash_: str) -> str:
        """Where it is while a transaction that was sent is not final: an approval pays nobody."""
        swap = self._swap
        pays = swap is not None and swap.hash == hash_
        return on_its_way(hash_) if pays else self.money()

    def paid_money(self, hash_: str | None) -> str:
        """Where it is once the order's transaction was executed, or is settled by the venue."""
        if hash_ is None:
            return self.money()
        return (
            f"with the venue, by transaction {hash_}; what it pays goes to {self._intent.recipient}"
        )

    def _wallet_said(self, error: WalletError) -> Outcome:
        """Gone, locked or without its chain: later. Any other refusal ends it unsigned."""
        said = sentence(error.words)
        if isinstance(error, Refused) and error.code not in AGAIN_LATER:
            outcome = self.end(error.code.upper(), said)
            next_ = f"{failure_of_wallet(error).next}, then {QUOTE_AGAIN}"
            failure = outcome.failure and replace(outcome.failure, next=next_)
            return replace(outcome, failure=failure)
        return self.open("WALLET", goes_on(said, self.whereabouts()))

    def _service_said(self, error: ClientError) -> Outcome:
        code = getattr(error, "code", None)
        status = getattr(error, "status", None)
        if isinstance(error, ApiError) and self.order_id is None:
            outcome = self.end(code or f"HTTP_{status}", failure_of(code or "", status).cause)
            return replace(_paid(outcome, error), error=error)
        lost = error.reason if isinstance(error, OutcomeUnknown) else error
        if isinstance(lost, AnswerRefused) and self.order_id is None:
            # Asking created nothing, and was repeated already.
            outcome = self.end(f"ANSWER_{lost.reason.upper()}", ANSWER_REFUSED.cause)
            return replace(_paid(outcome, error), error=lost)
        said = ANSWER_REFUSED if isinstance(lost, AnswerRefused) else unsent(lost)
        words = goes_on(said.cause, self.whereabouts())
        return replace(_paid(self.open("NOT_REACHABLE", words), error), error=error)


def _paid(outcome: Outcome, error: ClientError) -> Outcome:
    """The same with what was signed for the call that failed."""
    failure = outcome.failure
    return outcome if failure is None else replace(outcome, failure=with_payment(failure, error))
