"""One piece of work that needs signatures: what the trader is shown, and what the trader answers.

The work shows a review with :meth:`SigningSession.look` and goes on with the answer. Screens that
show the session may be opened and closed meanwhile. Nothing is signed here: an answer only names
the review that it agrees to.

Swaps, deposits, groups of deposits, revocations and withdrawals each have a :class:`SigningKind`.
It holds the words for such work, the function that carries it out, and the functions that report
its state. A higher fee or a cancellation is a review in the session of the transaction that it
would replace. That review is withdrawn if the work ends or shows a review of its own first.

A piece of work has one session, and a session has at most one run at a time
(:class:`RunningSignings`). Keys are opened when they are first needed: automatically in the
sandbox, by pass phrase in a live profile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace as changed

from swapdesk.acts import LEFT, State
from swapdesk.clock import Clock, until
from swapdesk.flows.catalog.catalog import native_coin
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.notation import counted
from swapdesk.flows.transactions import Agreed, NotAgreed, Outcome, Step, Turn, Watch
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.replacement import Replacement
from swapdesk.secret import Secret
from swapdesk.wallet.answers import (
    Review,
    SignedTransaction,
    objections,
)
from swapdesk.wallet.promise import Payload, TypedDataPayload
from swapdesk.wallet.protocol import WalletError, WrongPassphrase

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

A = TypeVar("A")
"""The type of a session's ``about``, which says what the work is about."""


class FlowStep(Struct, frozen=True):
    """One step of a session. ``state`` is None before the step begins, SENT while it runs, DONE
    after it, REFUSED if it failed."""

    name: str
    state: State | None = None


class Stage(Enum):
    """What a session waits for."""

    WORKING = "working"
    """The desk, the service or a chain is at work."""
    LOCKED = "locked"
    """The pass phrase of the wallet is needed."""
    REVIEW = "review"
    """A review is open and waits for the trader."""
    STOPPED = "stopped"
    """Nothing: the work stopped and can be continued."""
    ENDED = "ended"
    """Nothing: the work ended."""


ON_ITS_WAY = "on its way"
_CHECK, _SIGN, _SEND, _CONFIRMED = range(4)


def _sent(signed: SignedTransaction) -> bool:
    return signed.state is State.SENT or signed.code == "FAILED"


def line_of(session: SigningSession[Any], names: Sequence[str], at: int) -> tuple[FlowStep, ...]:
    """Returns one step for each name: done before the index ``at``, not begun after it. The step at
    the index is in progress, or refused if the session's outcome is refused."""
    failed = session.outcome is not None and session.outcome.refused
    now = State.REFUSED if failed else State.SENT
    return tuple(
        FlowStep(name, State.DONE if place < at else now if place == at else None)
        for place, name in enumerate(names)
    )


def transaction_steps(session: SigningSession[Any]) -> tuple[FlowStep, ...]:
    """Returns the steps of work that consists of one transaction: check, sign, send, confirmed."""
    signed, wanted = session.signed, session.confirmations
    if signed is not None:
        at = _CONFIRMED if _sent(signed) else _SEND
    else:
        at = _SIGN if session.payload is not None and session.refused is None else _CHECK
    confirmed = "confirmed"
    if at == _CONFIRMED and signed is not None and wanted:
        confirmed = f"confirmed {min(signed.confirmations, wanted)} of {wanted}"
    names = ("check", "sign", "send", confirmed)
    done = session.outcome is not None and session.outcome.done
    return line_of(session, names, len(names) if done else at)


def transaction_brief(session: SigningSession[Any]) -> str | None:
    """Returns a few words on where the money of the session's transaction is; None while it is in
    the wallet."""
    signed = session.signed
    if signed is None or signed.state is State.REFUSED:
        return None
    if signed.state is State.DONE:
        return session.kind.arrived
    return ON_ITS_WAY if _sent(signed) else "signed away"


def promise_ended(session: SigningSession[Any]) -> str:
    return f"the {session.kind.promise} ended"


class SigningKind(Struct, Generic[A], frozen=True):
    """One kind of work that asks for signatures, such as a swap. The fields that are functions take
    the session and may raise JournalUnavailable. The defaults suit work on a single transaction."""

    noun: str
    """The word for the work, such as ``swap``."""
    promise: str
    """The word for what the user confirmed and a review is compared with, such as ``quote``."""
    expired: str
    """The code of the outcome if the trader does not answer a review in time."""
    done: str
    """The sentence that is shown once the work has succeeded."""
    work: Callable[[Desk, SigningSession[A]], Awaitable[Outcome | None]]
    """Begins or continues the work and returns its outcome; None if another desk does the work."""
    pays: Callable[[SigningSession[A]], tuple[Decimal, str]]
    """Returns the amount paid, in whole tokens, and a few words that say what is paid."""
    whereabouts: Callable[[SigningSession[A]], str]
    """Returns a phrase, without a full stop, that says where the money is, as far as is known."""
    brief: Callable[[SigningSession[A]], str | None] = transaction_brief
    """Returns where the money is, in fewer words than ``whereabouts``; None while it is in the
    wallet."""
    steps: Callable[[SigningSession[A]], tuple[FlowStep, ...]] = transaction_steps
    """Returns the steps that the screen shows in a row."""
    doing: Callable[[SigningSession[A]], str] = lambda session: session.busy
    """Returns a sentence about what the work is doing while no answer is awaited; empty while the
    wallet examines what is to be signed."""
    order_id: Callable[[SigningSession[A]], str | None] = lambda _: None
    """Returns the id of the order; None before there is an order."""
    lapse: Callable[[SigningSession[A]], str] = promise_ended
    """Returns a few words that say what has ended if the trader leaves a review unanswered for too
    long."""
    arrived: str = "in your wallet"
    """The words for where the money is once the transaction is final."""
    after: str = "the venue"
    """Who acts next once the work has succeeded, in words."""
    rank: int = 0
    """The position of this kind in a list of sessions; kinds with a lower number come first."""
    goes_on: bool = False
    """True if a session of this kind can be continued after it ended."""
    shows_order: bool = False
    """True if the screen moves on to the order once the work has succeeded."""


class SigningSession(Watch, Generic[A]):
    """One piece of work that asks for signatures. The type of ``about`` depends on ``kind``.
    ``changed`` is called after every visible change. A transaction is final after ``confirmations``
    blocks."""

    def __init__(
        self,
        kind: SigningKind[A],
        id_: str,
        about: A,
        token: TokenFacts,
        journal: Journal,
        clock: Clock,
        changed: Callable[[], object],
        *,
        provider: tuple[str | None, str | None] = (None, None),
        wallet: str = "",
        coin: str = "",
        confirmations: int = 0,
        asked: bool = True,
        called: str = "",
        notice: str = "",
    ) -> None:
        self.kind = kind
        self.id = id_
        self.about = about
        self.token = token
        """The token that is paid with."""
        self.journal = journal
        self.clock = clock
        self.provider = provider
        """The code and name of the venue that is paid; each None if there is no single venue."""
        self.wallet = wallet
        """The name of the account that pays."""
        self.coin = coin
        """The native coin of the account's chain."""
        self.confirmations = confirmations
        self.asked = asked
        """True if a key pressed in this run of the desk began the work, False if an earlier run
        left it open."""
        self.called = called
        """A description of work that pays no amount."""
        self.notice = notice
        """The end of the closing message: ``is paid. Next: …``."""
        self.busy: str = ""
        """The sentence in which the work says what it is doing; empty if it says nothing."""
        self.review: Review | None = None
        """The review that waits for an answer; None if no review is open."""
        self.refused: Review | None = None
        """The last review that the wallet refused to sign; None if there is none."""
        self.payload: Payload | None = None
        """The payload of the newest review; None before the first review."""
        self.turn: Turn | None = None
        """The signature of a group's payment that is being made now. None before the first one, and
        for work that does not pay a group."""
        self.agreed: Review | None = None
        """The newest review that the trader agreed to in this run; None if there is none."""
        self.transaction: SignedTransaction | None = None
        """The newest transaction of this session while it is not final; None otherwise."""
        self.signed: SignedTransaction | None = None
        """The newest transaction of this session, whether final or not; None if there is none."""
        self.outcome: Outcome | None = None
        """The result of the last run; None before the first run ends and while a run is going
        on."""
        self.said = ""
        """The reason why the pass phrase is asked for a second time; empty when it is asked for the
        first time."""
        self.replacing = False
        """True while the trader is asked to sign a replacement of the waiting transaction."""
        self._changed = changed
        self._answer: asyncio.Future[Agreed | None] | None = None
        self._phrase: asyncio.Future[Secret] | None = None

    # What is signed for

    @property
    def amount(self) -> Decimal:
        """The amount to pay, in whole tokens. If there are several signatures, the amount that the
        current signature pays."""
        return self.kind.pays(self)[0] if self.turn is None else self.turn.need.amount

    @property
    def against(self) -> str:
        """What the session pays, such as ``your smart account`` or ``3 deposits``."""
        turn = self.turn
        if turn is None:
            return self.kind.pays(self)[1]
        return "your smart account" if turn.funding else counted(turn.payees, "deposit")

    @property
    def order_id(self) -> str | None:
        """The order's id; None before there is one. Raises JournalUnavailable."""
        return self.kind.order_id(self)

    @property
    def doing(self) -> str:
        """A sentence about what the work is doing while the trader has nothing to answer. Raises
        JournalUnavailable."""
        if self.transaction is not None:
            return self.following(self.transaction)
        doing = self.kind.doing(self)
        if not doing and self.agreed is not None:
            return "The wallet looks once more, and signs."
        return doing or "The wallet reads the chain and looks at what is to be signed."

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
        """True while the trader has to answer a review or give the pass phrase."""
        return self.stage in (Stage.REVIEW, Stage.LOCKED)

    @property
    def over(self) -> bool:
        return self.stage is Stage.ENDED

    @property
    def rests(self) -> bool:
        """True if the work stopped at the requested step, without a failure; a keypress continues
        the work."""
        return self.outcome is not None and self.outcome.open and self.outcome.failure is None

    @property
    def replaceable(self) -> bool:
        """True if the waiting transaction can be replaced: on an EVM chain, in no block yet, with
        no replacement requested."""
        transaction = self.transaction
        if (
            transaction is None
            or transaction.nonce is None
            or self.replacing
            or self.stage is not Stage.WORKING
        ):
            return False
        return transaction.state in LEFT and not transaction.mined

    @property
    def place(self) -> tuple[int, int] | None:
        """The number of the signature under review, from 1, and the total number of signatures.
        None if there is nothing to count, such as for a transaction."""
        if self.turn is not None:
            return None if self.turn.total < 2 else (self.turn.number, self.turn.total)
        payload = self.payload
        if not isinstance(payload, TypedDataPayload):
            return None
        return payload.step.step + 1, payload.step.total

    def following(self, sent: SignedTransaction) -> str:
        """Returns a sentence about how far the transaction ``sent`` is: signed, sent or
        executed."""
        confirmations = f"{sent.confirmations} of {counted(self.confirmations, 'confirmation')}"
        if not self.confirmations or sent.confirmations > self.confirmations:
            confirmations = counted(sent.confirmations, "confirmation")
        if sent.state is State.PREPARED:
            return "Signed and written down. The desk sends it."
        where = self.token.chain_name
        problem = f" The node says: {sent.problem}." if sent.problem else ""
        if sent.mined and not sent.confirmations:
            return f"Executed on {where}. It counts once the chain calls it final.{problem}"
        if not sent.confirmations:
            return f"Sent. {where} has not executed it yet.{problem}"
        return f"Executed on {where}, {confirmations}.{problem}"

    def left(self, now: datetime) -> float | None:
        """Returns the seconds that are left to answer the open review, at least 0; None if no
        review is open."""
        if self.review is None:
            return None
        return max(0.0, (self.review.valid_until - now).total_seconds())

    # What the work says

    def started(self) -> None:
        """Begins a run: clears the outcome of the last run and the review that the trader agreed
        to."""
        self.outcome, self.agreed, self.said = None, None, ""
        self._changed()

    async def look(self, review: Review) -> Agreed | None:
        """Shows the review and returns the trader's answer; None if the trader refuses. Raises
        NotAgreed if the review expires or is withdrawn."""
        answer: asyncio.Future[Agreed | None] = asyncio.get_running_loop().create_future()
        self._withdraw()
        self.review, self._answer, self.transaction = review, answer, None
        self._changed()
        over = asyncio.create_task(until(self.clock, review.valid_until))
        over.add_done_callback(lambda _: answer.cancel())
        try:
            await asyncio.wait({answer})
            if answer.cancelled():
                reason = f"The {self.kind.promise} ended before you signed."
                raise NotAgreed(reason, self.kind.expired)
            return answer.result()
        finally:
            over.cancel()
            if self._answer is answer:
                self.review = self._answer = None
                self._changed()

    def _withdraw(self) -> None:
        if self._answer is not None:
            self._answer.cancel()
            self.review = self._answer = None

    def signing(self, review: Review) -> None:
        self.agreed = review
        self._changed()

    def reviewed(self, payload: Payload, review: Review) -> None:
        self.payload, self.transaction = payload, None
        if review.refused:
            self.refused = review
        self._changed()

    def seen(self, signed: SignedTransaction) -> None:
        self.signed = signed
        self.transaction = None if signed.final else signed
        self._changed()

    def moved(self) -> None:
        self._changed()

    def turns_to(self, turn: Turn) -> None:
        need = turn.need
        self.turn, self.agreed = turn, None
        self.token = changed(
            self.token, symbol=need.symbol, decimals=need.decimals, contract=need.contract
        )
        self._changed()

    def says(self, busy: str, *, wallet: str = "") -> None:
        """Sets the sentence about what the work is doing and, unless ``wallet`` is empty, the name
        of the paying account."""
        self.busy, self.wallet = busy, wallet or self.wallet
        self._changed()

    def finish(self, outcome: Outcome) -> None:
        """Ends the run: sets its outcome and withdraws an open review."""
        self._withdraw()
        self.outcome, self.transaction, self.turn = outcome, None, None
        self._changed()

    # What the trader says

    def agree(self, review_id: str, phrase: str | None = None) -> bool:
        """Records the trader's consent. ``phrase`` is what the trader typed, None if nothing had to
        be typed. Returns False if that review is no longer open."""
        return self._say(review_id, Agreed(phrase))

    def refuse(self, review_id: str) -> bool:
        """Records the trader's refusal, so that nothing more is signed. Returns False if that
        review is no longer open."""
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
        """Asks the trader for the pass phrase. ``said`` says why the last pass phrase did not
        suffice; it is empty the first time."""
        self.said = said
        self._phrase = asyncio.get_running_loop().create_future()
        self._changed()
        try:
            return await self._phrase
        finally:
            self._phrase = None
            self._changed()

    def unlock(self, phrase: Secret) -> bool:
        """Passes the pass phrase to the work that waits for it. Returns False if no work waits."""
        if self._phrase is None or self._phrase.done():
            return False
        self._phrase.set_result(phrase)
        return True


class RunningSignings:
    """The signing sessions of a desk, by id. ``changed`` is called with the id after every visible
    change."""

    def __init__(self, desk: Desk, changed: Callable[[str], object]) -> None:
        self.desk = desk
        self._changed = changed
        self._sessions: dict[str, SigningSession[Any]] = {}
        self._working: set[str] = set()

    def get(self, id_: str) -> SigningSession[Any] | None:
        """Returns the session with this id, whether it has ended or not; None if there is none."""
        return self._sessions.get(id_)

    @property
    def open(self) -> list[SigningSession[Any]]:
        """The sessions that have not ended, sorted by the ``rank`` of their kinds, and within a
        kind oldest first."""
        sessions = (session for session in self._sessions.values() if not session.over)
        return sorted(sessions, key=lambda session: session.kind.rank)

    def working(self, session: SigningSession[Any]) -> bool:
        """True while this desk runs the work of the session."""
        return session.id in self._working

    def begin(
        self,
        kind: SigningKind[A],
        id_: str,
        about: A,
        token: TokenFacts,
        *,
        provider: tuple[str | None, str | None] = (None, None),
        wallet: str = "",
        asked: bool = True,
        called: str = "",
        notice: str = "",
    ) -> SigningSession[A]:
        """Returns the session ``id_``: the existing one if it is open or can be continued,
        otherwise a new one. The other parameters become attributes of a new session. The work
        begins only with :meth:`run`."""
        known = self._sessions.get(id_)
        if known is not None and (kind.goes_on or not known.over):
            known.asked = known.asked or asked
            return known
        link, coin = self.desk.wallet.link(token.chain), native_coin(self.desk.catalog, token.chain)
        session = self._sessions[id_] = SigningSession(
            kind,
            id_,
            about,
            token,
            self.desk.journal,
            self.desk.clock,
            lambda: self._changed(id_),
            provider=provider,
            wallet=wallet,
            coin=coin.symbol if coin is not None else "",
            confirmations=link.confirmations if link is not None else 0,
            asked=asked,
            called=called,
            notice=notice,
        )
        return session

    async def run(self, session: SigningSession[Any]) -> Outcome | None:
        """Begins or continues a session's work and returns its outcome. Returns None if the work is
        being done already, here or by another desk. A cancelled run can be continued."""
        if self.working(session):
            return None
        if session.over and not session.kind.goes_on:
            return session.outcome
        # What ends a run may be shown only behind it.
        self._working.add(session.id)
        try:
            session.started()
            outcome = await session.kind.work(self.desk, session)
        finally:
            self._working.discard(session.id)
        if outcome is None:
            # Another desk works on it: here it is nobody's.
            del self._sessions[session.id]
            self._changed(session.id)
            return None
        session.finish(outcome)
        return outcome


WRONG = "No key opened with that pass phrase."


async def is_shut(wallet: LocalWallet, address: str) -> bool:
    """True if the account at ``address`` cannot sign until the wallet is unlocked. Raises
    WalletError."""
    return address not in (await wallet.accounts()).unlocked


async def open_keys(wallet: LocalWallet, address: str, session: SigningSession[Any]) -> None:
    """Unlocks the wallet unless the account can sign already. In a live profile, asks the trader
    for the pass phrase until the account can sign. Raises WalletError."""
    if not await is_shut(wallet, address):
        return
    if not wallet.live:
        await wallet.unlock()
        return
    reason = ""
    while await is_shut(wallet, address):
        phrase = await session.passphrase(reason)
        try:
            closed = await wallet.unlock(phrase)
        except WrongPassphrase:
            reason = WRONG
        else:
            reason = " ".join(f"{key.file} stays closed: {key.reason}." for key in closed)


_NOTHING = "Nothing more was signed."


async def replace(replacement: Replacement, session: SigningSession[Any]) -> str | None:
    """Replaces the session's waiting transaction. Returns a sentence if that failed or may still
    succeed. Returns None if no transaction waited, the trader refused, or the session itself shows
    the result."""
    waiting, kind = session.transaction, replacement.kind
    if waiting is None or not session.replaceable:
        return None
    session.replacing = True
    try:
        step, phrase = await replacement.propose(waiting.hash), None
        if isinstance(step, Step):
            if step.review is not None:
                if step.review.refused:
                    return " ".join((*objections(step.review.findings), _NOTHING))
                await open_keys(replacement.wallet, waiting.account, session)
                # No step of the work, which goes on meanwhile and takes the review back if it asks
                # itself.
                session.payload = step.payload
                agreed = await session.look(step.review)
                if agreed is None:
                    return None
                phrase = agreed.phrase
            step = await step.send(phrase)
    except NotAgreed:
        return None
    except WalletError as error:
        return kind.not_sent(error)
    finally:
        session.replacing = False
    if step.open:
        return kind.undecided
    return kind.stays(step) if step.code == kind.kept_code else None
