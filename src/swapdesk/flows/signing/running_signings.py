"""Sessions of one kind that this run of the desk works on: one of each, and one run at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from swapdesk.flows.catalog.coin_price import native_coin
from swapdesk.flows.signing.signing_session import SigningSession

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

S = TypeVar("S", bound=SigningSession)


class RunningSignings(Generic[S]):
    """``changed`` is called with the id of a session after everything that is to be shown of
    it."""

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

    def _kept(self, session: S) -> S:
        self._sessions[session.id] = session
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
