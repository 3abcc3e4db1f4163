"""Sessions of one kind that this run of the desk works on: one of each, and one run at a time.

The work goes on without anybody looking, up to the next question. Keys are opened when they are
first needed: in the sandbox by itself, live by the pass phrase. A higher fee or a cancellation is
a review in the same session; one that is overtaken by its transaction is withdrawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from swapdesk.flows.catalog.catalog import native_coin
from swapdesk.flows.signing.review_words import objections
from swapdesk.flows.signing.signing_session import SigningSession
from swapdesk.flows.transactions import Agreed, NotAgreed, Outcome, Proposal
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.replacement import Replacement
from swapdesk.wallet.protocol import WalletError, WrongPassphrase
from swapdesk.wallet.review import Severity
from swapdesk.wallet.transactions import SignedTransaction

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


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
