"""Moments of the work at which something dies: just before or just after the n-th call of a
method, or the n-th time that an act of a kind comes to a state in the ledger.

A boundary is ``room.method.before|after.n``, as ``wallet.sign.after.2``, or
``ledger.kind_state.before|after.n``, as ``ledger.create_sent.after.1``: before its commit, or once
the commit that it is a part of is done; ``ledger.bundle_told.after.n`` once something more is known
of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from msgspec import Struct

from swapdesk.client.api import PartnerApi
from swapdesk.flows.batch.creation import BatchCreation
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.ledger import Ledger, Operation, State
from swapdesk.wallet.client import WalletClient

ROOMS = {
    "api": PartnerApi,
    "wallet": WalletClient,
    "creation": BatchCreation,
}


class Struck(Struct):
    """``met`` once the boundary was reached."""

    met: bool = False


@contextmanager
def striking(boundary: str, strike: Callable[[], Awaitable[None] | None]) -> Iterator[Struck]:
    """Call ``strike`` at a boundary, once; what it returns is awaited where the method is. The
    method itself does what it always does."""
    room, method, when, count = boundary.split(".")
    left = int(count)
    struck = Struck()

    def reached(moment: str) -> Awaitable[None] | None:
        nonlocal left
        if moment == when:
            left -= 1
            if left == 0:
                struck.met = True
                return strike()
        return None

    wrapping = _moves(method, reached) if room == "ledger" else _calls(ROOMS[room], method, reached)
    with wrapping:
        yield struck


Reached = Callable[[str], Awaitable[None] | None]


@contextmanager
def _calls(kind: type, method: str, reached: Reached) -> Iterator[None]:
    plain: Callable[..., Any] = getattr(kind, method)

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

    with _instead(kind, method, awaited if asyncio.iscoroutinefunction(plain) else called):
        yield


@contextmanager
def _moves(move: str, reached: Reached) -> Iterator[None]:
    """An act is committed with the transaction that it is begun or moved in."""
    begin, moved_by, tell, write = Ledger.begin, Ledger.move, Ledger.tell, JournalFile.write
    due = 0

    def note(ledger: Ledger) -> None:
        nonlocal due
        due += 1
        if not _writes(ledger._file):
            committed()

    def committed() -> None:
        nonlocal due
        while due:
            due -= 1
            reached("after")

    def begun(ledger: Ledger, kind: str, *arguments: Any, **named: Any) -> Operation:
        same = f"{kind}_{named.get('state', State.PREPARED)}" == move
        if same:
            reached("before")
        act = begin(ledger, kind, *arguments, **named)  # type: ignore[arg-type]
        if same:
            note(ledger)
        return act

    def moved(ledger: Ledger, id_: str, state: State, **named: Any) -> bool:
        act = ledger.get(id_)
        same = act is not None and f"{act.kind}_{state}" == move
        if same:
            reached("before")
        done = moved_by(ledger, id_, state, **named)
        if done and same:
            note(ledger)
        return done

    def told(ledger: Ledger, id_: str, **named: Any) -> bool:
        act = ledger.get(id_)
        done = tell(ledger, id_, **named)
        if done and act is not None and f"{act.kind}_told" == move:
            note(ledger)
        return done

    @contextmanager
    def written(file: JournalFile) -> Iterator[Any]:
        with write(file) as db:
            yield db
        if not _writes(file):
            committed()

    with ExitStack() as stack:
        for kind, name, instead in (
            (Ledger, "begin", begun),
            (Ledger, "move", moved),
            (Ledger, "tell", told),
            (JournalFile, "write", written),
        ):
            stack.enter_context(_instead(kind, name, instead))
        yield


def _writes(file: JournalFile) -> bool:
    return file._connection is not None and file._connection.in_transaction


@contextmanager
def _instead(kind: type, name: str, function: Callable[..., Any]) -> Iterator[None]:
    plain = getattr(kind, name)
    setattr(kind, name, function)
    try:
        yield
    finally:
        setattr(kind, name, plain)
