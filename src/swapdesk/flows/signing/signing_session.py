"""One piece of work that needs signatures: what the trader is shown, and what the trader answers.

The work shows a review by :meth:`SigningSession.look` and goes on with the answer. Screens that
show the session may be opened and closed meanwhile. Nothing is signed here: an answer only names
the review that it agrees to.

Swaps, deposits, groups of deposits, revocations and withdrawals each have a :class:`SigningKind`,
which holds the words for such work, the function that carries it out, and the functions that report
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
    """One step of a session, as a screen lists it. ``name`` is as short as possible: ``sign 1
    permit``. ``state`` is SENT while the step runs and None before it begins."""

    name: str
    state: State | None = None


class Stage(Enum):
    """Whom or what a session waits for."""

    WORKING = "working"
    """The desk, the service or the chain."""
    LOCKED = "locked"
    """The pass phrase of the wallet."""
    REVIEW = "review"
    """The trader: a review is open."""
    STOPPED = "stopped"
    """Nobody: the work stopped and can be continued."""
    ENDED = "ended"
    """Nobody: the work ended."""


ON_ITS_WAY = "on its way"
_CHECK, _SIGN, _SEND, _CONFIRMED = range(4)


def _sent(signed: SignedTransaction) -> bool:
    """True if a node has the transaction, or had it and it failed."""
    return signed.state is State.SENT or signed.code == "FAILED"


def line_of(session: SigningSession[Any], names: Sequence[str], at: int) -> tuple[FlowStep, ...]:
    """Returns one step for each name. Steps before index ``at`` are done, and later steps have not
    begun. The step at ``at`` is in progress, or refused if the session's outcome is a refusal."""
    failed = session.outcome is not None and session.outcome.refused
    now = State.REFUSED if failed else State.SENT
    return tuple(
        FlowStep(name, State.DONE if place < at else now if place == at else None)
        for place, name in enumerate(names)
    )


def transaction_steps(session: SigningSession[Any]) -> tuple[FlowStep, ...]:
    """The steps of one transaction: check, sign, send, confirmed."""
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
    """Returns where the money of one transaction is, in a few words; None while it is in the
    wallet."""
    signed = session.signed
    if signed is None or signed.state is State.REFUSED:
        return None
    if signed.state is State.DONE:
        return session.kind.arrived
    return ON_ITS_WAY if _sent(signed) else "signed away"


def promise_ended(session: SigningSession[Any]) -> str:
    return f"the {session.kind.promise} ended"


class SigningKind(Struct, Generic[A], frozen=True):
    """One kind of work that asks for signatures, such as a swap or a revocation.

    The fields that are functions get the session; those that report its state may raise
    JournalUnavailable. The default values are right for work that consists of a single transaction.
    """

    noun: str
    """The work, in one word."""
    promise: str
    """The word for what was confirmed and a review is compared with, such as ``request``."""
    expired: str
    """The code of the outcome if the trader does not answer a review in time."""
    done: str
    """The sentence that is shown once everything is done."""
    work: Callable[[Desk, SigningSession[A]], Awaitable[Outcome | None]]
    """Begins or continues the work and returns its outcome; returns None if another desk does the
    work."""
    pays: Callable[[SigningSession[A]], tuple[Decimal, str]]
    """Returns the amount paid, in whole tokens, and a few words that say what is paid."""
    whereabouts: Callable[[SigningSession[A]], str]
    """Where the money is, as far as is known, without a full stop."""
    brief: Callable[[SigningSession[A]], str | None] = transaction_brief
    """Returns where the money is, in fewer words than ``whereabouts``; None while it is in the
    wallet."""
    steps: Callable[[SigningSession[A]], tuple[FlowStep, ...]] = transaction_steps
    """Returns the steps that the screen shows in a row."""
    doing: Callable[[SigningSession[A]], str] = lambda session: session.busy
    """Says what the work is doing while no answer is awaited; empty while the wallet examines what
    is to be signed."""
    order_id: Callable[[SigningSession[A]], str | None] = lambda _: None
    """The order's id, once there is one."""
    lapse: Callable[[SigningSession[A]], str] = promise_ended
    """Returns a few words that say what happened if the trader left a review unanswered for too
    long."""
    arrived: str = "in your wallet"
    """Where the money is once the transaction is final, in a few words."""
    after: str = "the venue"
    """Who acts next once everything is done."""
    rank: int = 0
    """The place of this kind in a list of sessions; the kind with the lowest number comes first."""
    goes_on: bool = False
    """True if an ended session can be continued."""
    shows_order: bool = False
    """True if the screen moves on to the order once everything is done."""


class SigningSession(Watch, Generic[A]):
    """One piece of work that is signed, from its beginning to its outcome. ``about`` says what the
    work is about, in a form that depends on the kind; ``changed`` is called after every change that
    is to be shown.

    ``token`` is the token that is paid with. ``provider`` is the code and name of the venue that is
    paid, each None if there is no single venue. ``wallet`` names the account, ``coin`` the coin of
    its chain. A transaction counts after ``confirmations`` blocks.

    ``asked`` is True if a key pressed in this run of the desk began the work, False if an earlier
    run left it open. ``called`` describes work that pays no amount; ``notice`` is the end of the
    closing message: ``is paid. Next: …``.
    """

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
        self.journal = journal
        self.clock = clock
        self.provider = provider
        self.wallet = wallet
        self.coin = coin
        self.confirmations = confirmations
        self.asked = asked
        self.called = called
        self.notice = notice
        self.busy: str = ""
        """What the work says that it is doing now."""
        self.review: Review | None = None
        """The review that waits for an answer."""
        self.refused: Review | None = None
        """The review that the wallet refused to sign."""
        self.payload: Payload | None = None
        """The payload that the newest review is about."""
        self.turn: Turn | None = None
        """The signature of a group that is being made now; None before the first one, and for work
        that is no group."""
        self.agreed: Review | None = None
        """The newest review that the trader agreed to."""
        self.transaction: SignedTransaction | None = None
        """The newest transaction that was sent and is not final."""
        self.signed: SignedTransaction | None = None
        """The newest transaction of this session, final or not."""
        self.outcome: Outcome | None = None
        """The result of the last run; None while one is running."""
        self.said = ""
        """The reason why the pass phrase is asked for again; empty when it is asked for the first
        time."""
        self.replacing = False
        """True while a replacement of the waiting transaction is asked for."""
        self._changed = changed
        self._answer: asyncio.Future[Agreed | None] | None = None
        self._phrase: asyncio.Future[Secret] | None = None

    # What is signed for

    @property
    def amount(self) -> Decimal:
        """The amount paid, in whole tokens."""
        return self.kind.pays(self)[0] if self.turn is None else self.turn.need.amount

    @property
    def against(self) -> str:
        """What the amount is paid to or for, in a few words, such as ``your smart account``."""
        turn = self.turn
        if turn is None:
            return self.kind.pays(self)[1]
        return "your smart account" if turn.funding else counted(turn.payees, "deposit")

    @property
    def order_id(self) -> str | None:
        """The order's id, once there is one. Raises JournalUnavailable."""
        return self.kind.order_id(self)

    @property
    def doing(self) -> str:
        """Says what the work is doing while no answer is awaited. Raises JournalUnavailable."""
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
        """True if the work waits for the trader."""
        return self.stage in (Stage.REVIEW, Stage.LOCKED)

    @property
    def over(self) -> bool:
        return self.stage is Stage.ENDED

    @property
    def rests(self) -> bool:
        """True if the work went as far as it was asked to and stopped there without a failure;
        pressing a key continues it."""
        return self.outcome is not None and self.outcome.open and self.outcome.failure is None

    @property
    def replaceable(self) -> bool:
        """True if another transaction could replace the waiting one."""
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
        """Returns which signature of how many the open review is for, as (number from 1, total).
        None for a transaction, and for a group that needs only one signature."""
        if self.turn is not None:
            return None if self.turn.total < 2 else (self.turn.number, self.turn.total)
        payload = self.payload
        if not isinstance(payload, TypedDataPayload):
            return None
        return payload.step.step + 1, payload.step.total

    def following(self, sent: SignedTransaction) -> str:
        """Describes the state of a transaction on its chain, in a sentence."""
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
        """Returns the seconds that are left to answer the open review; None if no review is
        open."""
        if self.review is None:
            return None
        return max(0.0, (self.review.valid_until - now).total_seconds())

    # What the work says

    def started(self) -> None:
        """Begins a run: clears the outcome of the last run and what the trader agreed to in it."""
        self.outcome, self.agreed, self.said = None, None, ""
        self._changed()

    async def look(self, review: Review) -> Agreed | None:
        """Shows the review and waits for the trader's answer; returns None if the trader refuses
        it. Raises NotAgreed if the review expires or is withdrawn first."""
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
        """Closes the open review without an answer, because the work ended or shows another
        review."""
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
        """Sets the sentence that says what the work is doing now. ``wallet`` names the paying
        account; if it is empty, the account stays as it is."""
        self.busy, self.wallet = busy, wallet or self.wallet
        self._changed()

    def finish(self, outcome: Outcome) -> None:
        """Ends the run with its outcome."""
        self._withdraw()
        self.outcome, self.transaction, self.turn = outcome, None, None
        self._changed()

    # What the trader says

    def agree(self, review_id: str, phrase: str | None = None) -> bool:
        """Records that the trader agrees to the review with this id. Returns False if that review
        is not open any more."""
        return self._say(review_id, Agreed(phrase))

    def refuse(self, review_id: str) -> bool:
        """Records that the trader refuses the review with this id, so the work ends and nothing of
        it is signed. Returns False if that review is not open any more."""
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
        """Waits for the pass phrase; ``said`` is why it is asked for again."""
        self.said = said
        self._phrase = asyncio.get_running_loop().create_future()
        self._changed()
        try:
            return await self._phrase
        finally:
            self._phrase = None
            self._changed()

    def unlock(self, phrase: Secret) -> bool:
        """Gives the pass phrase to the work that waits for it; returns False if no work waits for
        it."""
        if self._phrase is None or self._phrase.done():
            return False
        self._phrase.set_result(phrase)
        return True


class RunningSignings:
    """The signing sessions of a desk, by id. ``changed`` is called with the id of a session after
    every change that is to be shown."""

    def __init__(self, desk: Desk, changed: Callable[[str], object]) -> None:
        self.desk = desk
        self._changed = changed
        self._sessions: dict[str, SigningSession[Any]] = {}
        self._working: set[str] = set()

    def get(self, id_: str) -> SigningSession[Any] | None:
        """The session of this id, ended or not."""
        return self._sessions.get(id_)

    @property
    def open(self) -> list[SigningSession[Any]]:
        """Returns the sessions that have not ended, in the order of their kinds' ``rank``; within
        one kind the oldest comes first."""
        sessions = (session for session in self._sessions.values() if not session.over)
        return sorted(sessions, key=lambda session: session.kind.rank)

    def working(self, session: SigningSession[Any]) -> bool:
        """True while the work of the session is being run by this desk."""
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
        """Returns the session of this id: the present one if it has not ended or its kind can be
        continued, otherwise a new one. The work itself is done by :meth:`run`."""
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
        """Begins or continues the work and returns its outcome. Returns None if another desk does
        the work, or if this desk is running it already. If the run is cancelled, the journal still
        has everything that was recorded, so the work can be continued."""
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
    """True if the account cannot sign before the wallet is unlocked. Raises WalletError."""
    return address not in (await wallet.accounts()).unlocked


async def open_keys(wallet: LocalWallet, address: str, session: SigningSession[Any]) -> None:
    """Unlocks the wallet unless the account at ``address`` can sign already. In the sandbox this is
    tried once, whatever the result. In a live profile the session asks for the pass phrase until
    the account can sign. Raises WalletError."""
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
    """Proposes, signs and sends a replacement of the session's waiting transaction. Returns a
    sentence that says why there was no replacement or that it is undecided. Returns None if nothing
    waited, if the trader did not agree, or if the session shows the result itself."""
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
