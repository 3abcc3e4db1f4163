"""Moments of the work at which something dies: just before or just after the n-th call of a
method.

A boundary is ``room.method.before|after.n``, as ``wallet.sign.after.2``. A kind of act is a room
whose methods are ``begin``, ``tell``, and the states it moves into: ``bundle.sent.after.1`` is just
after the commit that has the act in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, get_args

from msgspec import Struct

from swapdesk.client.api import PartnerApi
from swapdesk.flows.journal.batch_log import BatchLog
from swapdesk.flows.journal.dex_log import DexLog
from swapdesk.flows.journal.intent_log import IntentLog
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.ledger import Kind, Ledger, State
from swapdesk.wallet.client import WalletClient

ROOMS = {
    "api": PartnerApi,
    "steps": DexLog,
    "intents": IntentLog,
    "wallet": WalletClient,
    "batches": BatchLog,
}


class Struck(Struct):
    """``met`` once the boundary was reached."""

    met: bool = False


@contextmanager
def striking(boundary: str, strike: Callable[[], Awaitable[None] | None]) -> Iterator[Struck]:
    """Call ``strike`` at a boundary, once; what it returns is awaited where the method is. The
    method itself does what it always does."""
    room, method, when, count = boundary.split(".")
    if room in get_args(Kind):
        with _striking_acts(room, method, when, int(count), strike) as struck:
            yield struck
        return
    kind, left = ROOMS[room], int(count)
    plain: Callable[..., Any] = getattr(kind, method)
    struck = Struck()

    def reached(moment: str) -> Awaitable[None] | None:
        nonlocal left
        if moment == when:
            left -= 1
            if left == 0:
                struck.met = True
                return strike()
        return None

    async def awaited(*arguments: Any, **named: Any) -> Any:
        if (going := reached("before")) is not None:
            await going
        found = await plain(*arguments, **named)
        if (going := reached("after")) is not None:
            await going
        return found

    def called(*arguments: Any, **named: Any) -> Any:
        reached("before")
        found = plain(*arguments, **named)
        reached("after")
        return found

    setattr(kind, method, awaited if asyncio.iscoroutinefunction(plain) else called)
    try:
        yield struck
    finally:
        setattr(kind, method, plain)


@contextmanager
def _striking_acts(
    kind: str, method: str, when: str, count: int, strike: Callable[[], object]
) -> Iterator[Struck]:
    """Strike before the ``count``-th act of a kind that begins, is told or moves so, or after the
    commit of it, which is that of its whole transaction."""
    struck, left, due = Struck(), count, False
    begin, move, tell, write = Ledger.begin, Ledger.move, Ledger.tell, JournalFile.write

    def counted(hit: bool, act: Callable[[], Any]) -> Any:
        nonlocal left, due
        left -= hit
        if not hit or left != 0:
            return act()
        struck.met = True
        if when == "before":
            strike()
            return act()
        due = True
        # Where it is no part of more, it is a transaction of its own.
        with JournalFile.write(ledger_file[0]):
            return act()

    ledger_file: list[JournalFile] = []

    def acted(self: Ledger, id_: str, name: str) -> bool:
        ledger_file[:] = [self._file]
        stands = self.get(id_)
        return stands is not None and stands.kind == kind and method == name

    def begins(self: Ledger, kind_: Kind, *arguments: Any, **named: Any) -> Any:
        ledger_file[:] = [self._file]
        hit = kind_ == kind and method == "begin"
        return counted(hit, lambda: begin(self, kind_, *arguments, **named))

    def moves(self: Ledger, id_: str, state: State, **named: Any) -> Any:
        return counted(acted(self, id_, state), lambda: move(self, id_, state, **named))

    def tells(self: Ledger, id_: str, **named: Any) -> Any:
        return counted(acted(self, id_, "tell"), lambda: tell(self, id_, **named))

    @contextmanager
    def writes(self: JournalFile) -> Iterator[Any]:
        nonlocal due
        with write(self) as db:
            yield db
        if due and not db.in_transaction:
            due = False
            strike()

    Ledger.begin, Ledger.move, Ledger.tell = begins, moves, tells  # type: ignore[method-assign]
    JournalFile.write = writes  # type: ignore[method-assign]
    try:
        yield struck
    finally:
        Ledger.begin, Ledger.move, Ledger.tell = begin, move, tell  # type: ignore[method-assign]
        JournalFile.write = write  # type: ignore[method-assign]
