"""Something while it is signed: what is shown, and what the trader says to it.

The work asks through :meth:`SigningSession.look` and goes on with the answer; who shows the
session may come and go meanwhile. Nothing here signs: the answer names the review it is for.
A :class:`FlowStep` is one step in the line of steps that a session shows.

Of one kind a run of the desk works on one session of each, and one run at a time, up to the next
question (:class:`RunningSignings`). Keys are opened when they are first needed: in the sandbox by
itself, live by the pass phrase. A higher fee or a cancellation is a review in the same session;
one that is overtaken by its transaction is withdrawn.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from enum import Enum, StrEnum
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from msgspec import Struct

from swapdesk.acts import LEFT, State
from swapdesk.clock import Clock, until
from swapdesk.flows.catalog.catalog import native_coin
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.notation import counted
from swapdesk.flows.signing.review_words import objections
from swapdesk.flows.transactions import Agreed, NotAgreed, Outcome, Proposal, Watch
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.replacement import Replacement
from swapdesk.secret import Secret
from swapdesk.wallet.answers import (
    Review,
    Severity,
    SignedTransaction,
)
from swapdesk.wallet.promise import Payload, TypedDataPayload
from swapdesk.wallet.protocol import WalletError, WrongPassphrase

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


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
        return one.state in LEFT and not one.mined

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
        if sent.state is State.PREPARED:
            return "Signed and written down. The desk sends it."
        where = self.token.chain_name
        problem = f" The node says: {sent.problem}." if sent.problem else ""
        if sent.mined and not sent.confirmations:
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
        self.transaction = None if signed.final else signed
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


def _sent(signed: SignedTransaction) -> bool:
    """Whether a node has it, or had it and it failed."""
    return signed.state is State.SENT or signed.code == "FAILED"


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
            return _CONFIRMED if _sent(signed) else _SEND
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
        if signed is None or signed.state is State.REFUSED:
            return None
        if signed.state is State.DONE:
            return self._arrived
        return ON_ITS_WAY if _sent(signed) else "signed away"

    @property
    @abstractmethod
    def _arrived(self) -> str:
        """Where the money is once the transaction counts."""

    def seen(self, signed: SignedTransaction) -> None:
        self._signed = signed
        super().seen(signed)


S = TypeVar("S", bound=SigningSession)


class RunningSignings(ABC, Generic[S]):
    """``changed`` is called with the id of a session after everything that is to be shown of
    it."""

    FAILURES: ClassVar[tuple[type[Exception], ...]] = (WalletError,)
    """What the work may end with instead of an outcome."""

    def __init__(self, desk: Desk, changed: Callable[[str], None]) -> None:
        self._desk = desk
        self._changed = changed
        self._sessions: dict[str, S] = {}
        self._working: set[str] = set()

    def known(self, id_: str) -> S | None:
        """The session of this id, over or not."""
        return self._sessions.get(id_)

    @property
    def open(self) -> list[S]:
        """Those that are not over, oldest first."""
        return [one for one in self._sessions.values() if not one.over]

    def working(self, session: S) -> bool:
        """Whether a run goes on."""
        return session.id in self._working

    async def run(self, session: S) -> Outcome | None:
        """Do the work, or go on with it, up to its end; None while another desk does it, or a run
        goes on here. A run that is cancelled leaves everything as the journal has it."""
        if self.working(session):
            return None
        if session.over and session.ENDS_FOR_GOOD:
            return session.outcome
        with self._running(session):
            try:
                outcome = await self._work(session)
            except self.FAILURES as error:
                outcome = self._failed(session, error)
        if outcome is None:
            self._left(session)
            return None
        session.finish(outcome)
        return outcome

    @abstractmethod
    async def _work(self, session: S) -> Outcome | None:
        """The work on a session; None while another desk does it. Raises :attr:`FAILURES`."""

    @abstractmethod
    def _failed(self, session: S, error: Exception) -> Outcome:
        """What one of :attr:`FAILURES` comes to."""

    def _kept(self, session: S) -> S:
        self._sessions[session.id] = session
        session.run = partial(self.run, session)
        return session

    def _left(self, session: S) -> None:
        """Another desk works on it: here it is nobody's."""
        del self._sessions[session.id]
        self._changed(session.id)

    @contextmanager
    def _running(self, session: S) -> Iterator[None]:
        """One run over a session, from its start. What ends it may be shown only behind this."""
        self._working.add(session.id)
        try:
            session.started()
            yield
        finally:
            self._working.discard(session.id)

    def _coin(self, chain: str) -> str:
        """The symbol of a chain's coin; empty where it is not known."""
        coin = native_coin(self._desk.catalog, chain)
        return coin.symbol if coin is not None else ""


WRONG = "No key opened with that pass phrase."


async def is_shut(wallet: LocalWallet, address: str) -> bool:
    """Whether this account cannot sign before the wallet is unlocked. Raises WalletError."""
    return address not in (await wallet.accounts()).unlocked


async def open_keys(wallet: LocalWallet, address: str, session: SigningSession) -> None:
    """Unlock the wallet. In the sandbox once, whatever comes of it; live until the account is
    open, asking the trader through the session. Raises WalletError."""
    if not await is_shut(wallet, address):
        return
    if not wallet.live:
        await wallet.unlock()
        return
    said = ""
    while await is_shut(wallet, address):
        phrase = await session.passphrase(said)
        try:
            closed = await wallet.unlock(phrase)
        except WrongPassphrase:
            said = WRONG
        else:
            said = " ".join(f"{one.file} stays closed: {one.reason}." for one in closed)


_NOTHING = "Nothing more was signed."


async def replace(
    wallet: LocalWallet, replacement: Replacement, session: SigningSession
) -> str | None:
    """Ask for it, sign and send it. What is to be told, unless the session tells it: why nothing
    came of it."""
    one = session.transaction
    if one is None or not session.replaceable:
        return None
    session.replacing = True
    try:
        return await _replaced(wallet, replacement, session, one)
    except NotAgreed:
        return None
    except WalletError as error:
        return replacement.words.not_sent(error)
    finally:
        session.replacing = False


async def _replaced(
    wallet: LocalWallet, replacement: Replacement, session: SigningSession, one: SignedTransaction
) -> str | None:
    step = await replacement.propose(one.hash)
    phrase = None
    if isinstance(step, Proposal):
        said = await _asked(wallet, session, one, step)
        if not isinstance(said, Agreed):
            return said
        phrase = said.phrase
    outcome = step if isinstance(step, Outcome) else await replacement.replace(step, phrase)
    if outcome.open:
        return replacement.words.undecided
    if outcome.code == replacement.words.kept_code:
        return replacement.words.stays(outcome)
    return None


async def _asked(
    wallet: LocalWallet, session: SigningSession, one: SignedTransaction, proposed: Proposal
) -> Agreed | str | None:
    """Yes, why it cannot be signed, or None for no. Raises NotAgreed once it is overtaken."""
    if proposed.review.refused:
        return " ".join((*objections(proposed.review, Severity.REFUSE), _NOTHING))
    await open_keys(wallet, one.account, session)
    return await session.look_beside(proposed.payload, proposed.review)
