"""Something while it is signed: what is shown, and what the trader says to it.

The work asks through :meth:`SigningSession.look` and goes on with the answer; who shows the
session may come and go meanwhile. Nothing here signs: the answer names the review it is for.
A :class:`FlowStep` is one step in the line of steps that a session shows.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from decimal import Decimal
from enum import Enum, StrEnum
from typing import ClassVar

from msgspec import Struct

from swapdesk.clock import Clock, until
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.notation import counted
from swapdesk.flows.transactions import Agreed, NotAgreed, Outcome, Watch
from swapdesk.secret import Secret
from swapdesk.wallet.promise import Payload, TypedDataPayload
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import FINAL, HARMLESS, SignedTransaction, TransactionState


class Mark(StrEnum):
    """Where a step stands."""

    DONE = "done"
    NOW = "now"
    AHEAD = "ahead"
    FAILED = "failed"


class FlowStep(Struct, frozen=True):
    """``name`` in the fewest words: ``sign 1 permit``."""

    name: str
    mark: Mark


class Stage(Enum):
    """What a session waits for."""

    WORKING = "working"
    """The desk, the service or the chain."""
    LOCKED = "locked"
    """The pass phrase of the wallet."""
    REVIEW = "review"
    """The trader: a review is open."""
    STOPPED = "stopped"
    """Nothing: it is open and can be gone on with."""
    ENDED = "ended"
    """Nothing: it is over."""


class SigningSession(Watch, ABC):
    """``changed`` is called after everything that is to be shown.

    ``token`` is what is paid with, ``provider`` who is paid for it, by code and name, None for
    no one venue. ``wallet`` names the account and ``coin`` the coin of its chain;
    ``confirmations`` is how many count there."""

    NOUN: ClassVar[str]
    """What goes on, in one word."""
    PROMISE: ClassVar[str]
    """What a review is compared with, in one word."""
    EXPIRED: ClassVar[str]
    """The code of an end because the trader said nothing in time."""
    DONE: ClassVar[str]
    """The sentence once all is done."""
    ENDS_FOR_GOOD: ClassVar[bool] = True
    """Whether nothing more is done for what ended."""
    SHOWS_ORDER: ClassVar[bool] = False
    """Whether whoever looks on goes to its order once all is done."""
    AFTER: ClassVar[str] = "the venue"
    """Who acts next once all is done."""
    called: str = ""
    """What goes on, in few words, where it is no payment of an amount."""
    run: Callable[[], Awaitable[Outcome | None]]
    """Does the work, or goes on with it; what keeps the session gives it one."""

    def __init__(
        self,
        token: TokenFacts,
        clock: Clock,
        changed: Callable[[], None],
        *,
        provider: tuple[str | None, str | None] = (None, None),
        wallet: str = "",
        coin: str = "",
        confirmations: int = 0,
    ) -> None:
        self.token = token
        self.provider = provider
        self.wallet = wallet
        self.coin = coin
        self.confirmations = confirmations
        self.review: Review | None = None
        """What waits for an answer."""
        self.refused: Review | None = None
        """What the wallet refused to sign, once it did."""
        self.payload: Payload | None = None
        """What the newest review is about."""
        self.transaction: SignedTransaction | None = None
        """The newest one that was sent and is not final."""
        self.outcome: Outcome | None = None
        """How the run ended or where it stopped; None while one goes on."""
        self.said = ""
        """Why the pass phrase is asked for again."""
        self.replacing = False
        """Whether somebody asks for what shall take the place of the transaction that waits."""
        self._agreed: Review | None = None
        self._clock = clock
        self._changed = changed
        self._answer: asyncio.Future[Agreed | None] | None = None
        self._phrase: asyncio.Future[Secret] | None = None

    # What is signed for

    @property
    @abstractmethod
    def id(self) -> str: ...

    @property
    @abstractmethod
    def amount(self) -> Decimal:
        """What is paid, in whole tokens."""

    @property
    @abstractmethod
    def against(self) -> str:
        """What it is paid for, in few words."""

    @property
    def order_id(self) -> str | None:
        """The order, once there is one."""
        return None

    @property
    @abstractmethod
    def steps(self) -> tuple[FlowStep, ...]:
        """The line of steps. Raises JournalUnavailable."""

    @property
    @abstractmethod
    def doing(self) -> str:
        """What goes on while nobody is asked anything. Raises JournalUnavailable."""

    @property
    @abstractmethod
    def whereabouts(self) -> str:
        """Where the money is as far as is known, without a point. Raises JournalUnavailable."""

    @property
    @abstractmethod
    def notice(self) -> str:
        """That all is done and who acts next, after the subject: ``is paid. Next: …``."""

    @property
    def brief(self) -> str | None:
        """The same in few words; None for in the wallet."""
        return None

    # How it stands

    @property
    def stage(self) -> Stage:
        if self.outcome is not None:
            return Stage.STOPPED if self.outcome.open else Stage.ENDED
        if self._phrase is not None:
            return Stage.LOCKED
        return Stage.REVIEW if self.review is not None else Stage.WORKING

    @property
    def waits(self) -> bool:
        """Whether nothing goes on before the trader does something."""
        return self.stage in (Stage.REVIEW, Stage.LOCKED)

    @property
    def over(self) -> bool:
        return self.stage is Stage.ENDED

    @property
    def replaceable(self) -> bool:
        """Whether a transaction waits that another one could take the place of."""
        one = self.transaction
        if one is None or one.nonce is None or self.replacing or self.stage is not Stage.WORKING:
            return False
        return one.state in (TransactionState.SENDING, TransactionState.SENT)

    @property
    def place(self) -> tuple[int, int] | None:
        """Which signature of how many the open review is; None for a transaction."""
        payload = self.payload
        if not isinstance(payload, TypedDataPayload):
            return None
        return payload.step.step + 1, payload.step.total

    def following(self, sent: SignedTransaction) -> str:
        """How a transaction stands on its chain, in a sentence."""
        said = f"{sent.confirmations} of {counted(self.confirmations, 'confirmation')}"
        if not self.confirmations or sent.confirmations > self.confirmations:
            said = counted(sent.confirmations, "confirmation")
        if sent.state is TransactionState.SIGNED:
            return "Signed and written down. The desk sends it."
        where = self.token.chain_name
        problem = f" The node says: {sent.problem}." if sent.problem else ""
        if sent.state is TransactionState.MINED and not sent.confirmations:
            return f"Executed on {where}. It counts once the chain calls it final.{problem}"
        if not sent.confirmations:
            return f"Sent. {where} has not executed it yet.{problem}"
        return f"Executed on {where}, {said}.{problem}"

    def _line(self, names: Sequence[str], at: int) -> tuple[FlowStep, ...]:
        """Steps by name of which one goes on, or where it failed."""
        failed = self.outcome is not None and self.outcome.refused
        now = Mark.FAILED if failed else Mark.NOW
        return tuple(
            FlowStep(name, Mark.DONE if place < at else now if place == at else Mark.AHEAD)
            for place, name in enumerate(names)
        )

    @property
    def lapse(self) -> str:
        """What happened once no time is left for an open review, after whoever acts next."""
        return f"the {self.PROMISE} ended"

    def left(self, now: datetime) -> float | None:
        """Seconds in which the open review can be answered; None without one."""
        if self.review is None:
            return None
        return max(0.0, (self.review.valid_until - now).total_seconds())

    # What the work says

    def started(self) -> None:
        """A run begins, the first one or one more."""
        self.outcome, self._agreed, self.said = None, None, ""
        self._changed()

    async def look(self, review: Review) -> Agreed | None:
        """Wait for the trader, as long as the review is worth something."""
        answer: asyncio.Future[Agreed | None] = asyncio.get_running_loop().create_future()
        self._withdraw()
        self.review, self._answer, self.transaction = review, answer, None
        self._changed()
        over = asyncio.create_task(until(self._clock, review.valid_until))
        over.add_done_callback(lambda _: answer.cancel())
        try:
            await asyncio.wait({answer})
            if answer.cancelled():
                raise NotAgreed(f"The {self.PROMISE} ended before you signed.", self.EXPIRED)
            return answer.result()
        finally:
            over.cancel()
            if self._answer is answer:
                self.review = self._answer = None
                self._changed()

    async def look_beside(self, payload: Payload, review: Review) -> Agreed | None:
        """:meth:`look` at a review that is no step of the work, which goes on meanwhile. Raises
        NotAgreed also when the work needs the trader itself, or is over."""
        self.payload = payload
        return await self.look(review)

    def _withdraw(self) -> None:
        """A review that was overtaken is not open any more."""
        if self._answer is not None:
            self._answer.cancel()
            self.review = self._answer = None

    def signing(self, review: Review) -> None:
        self._agreed = review
        self._changed()

    def reviewed(self, payload: Payload, review: Review) -> None:
        self.payload, self.transaction = payload, None
        if review.refused:
            self.refused = review
        self._changed()

    def seen(self, signed: SignedTransaction) -> None:
        self.transaction = None if signed.state in FINAL else signed
        self._changed()

    def finish(self, outcome: Outcome) -> None:
        """The run came to this."""
        self._withdraw()
        self.outcome, self.transaction = outcome, None
        self._changed()

    # What the trader says

    def agree(self, review_id: str, phrase: str | None = None) -> bool:
        """Yes to this review and no other; False where it is not open any more."""
        return self._say(review_id, Agreed(phrase))

    def refuse(self, review_id: str) -> bool:
        """No to this review: it ends here, nothing of it is signed."""
        return self._say(review_id, None)

    def _say(self, review_id: str, answer: Agreed | None) -> bool:
        if self.review is None or self.review.id != review_id:
            return False
        if self._answer is None or self._answer.done():
            return False
        self._answer.set_result(answer)
        return True

    # The pass phrase of a live wallet

    async def passphrase(self, said: str = "") -> Secret:
        """Wait until it was typed; ``said`` is why it is asked for again."""
        self.said = said
        self._phrase = asyncio.get_running_loop().create_future()
        self._changed()
        try:
            return await self._phrase
        finally:
            self._phrase = None
            self._changed()

    def unlock(self, phrase: Secret) -> bool:
        """Hand it over; False where nobody waits for it."""
        if self._phrase is None or self._phrase.done():
            return False
        self._phrase.set_result(phrase)
        return True


ON_ITS_WAY = "on its way"
_CHECK, _SIGN, _SEND, _CONFIRMED = range(4)
_SENT = frozenset({TransactionState.SENT, TransactionState.MINED, TransactionState.FAILED})


class TransactionSigning(SigningSession):
    """One transaction: checked, signed, sent, confirmed."""

    _signed: SignedTransaction | None = None
    """The newest transaction of this session, also a final one."""

    @property
    def steps(self) -> tuple[FlowStep, ...]:
        at = self._at()
        names = ("check", "sign", "send", self._confirmed(at))
        done = self.outcome is not None and self.outcome.done
        return self._line(names, len(names) if done else at)

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
        if self._agreed is not None:
            return "The wallet looks once more, and signs."
        return "The wallet reads the chain and looks at what is to be signed."

    @property
    def brief(self) -> str | None:
        signed = self._signed
        if signed is None or signed.state in HARMLESS:
            return None
        if signed.state is TransactionState.SUCCEEDED:
            return self._arrived
        return ON_ITS_WAY if signed.state in _SENT else "signed away"

    @property
    @abstractmethod
    def _arrived(self) -> str:
        """Where the money is once the transaction counts."""

    def seen(self, signed: SignedTransaction) -> None:
        self._signed = signed
        super().seen(signed)
