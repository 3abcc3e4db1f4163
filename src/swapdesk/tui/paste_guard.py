"""A paste stays a paste, whatever stands in it.

Textual 8 gives up on a bracketed paste at the first escape character it does not know and acts
on the rest as on pressed keys. Here no escape character of a paste reaches its parser.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from types import FunctionType
from typing import Any

from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.message import Message

START = "\x1b[200~"
END = "\x1b[201~"
ESCAPE = "\x1b"
STAND_IN = "\x7f"
"""What an escape character of a paste becomes: fields leave it out and say so."""


class PasteGuard:
    """Fed with what the terminal sends, in pieces of any size."""

    def __init__(self) -> None:
        self._inside = False
        self._passed = ""
        """The last characters let through outside a paste: a start may come in pieces."""
        self._held = ""
        """Within a paste the beginning of what may be its end."""

    def take(self, data: str) -> str:
        """The same text; within a paste only its own end begins with an escape character."""
        out: list[str] = []
        data = self._held + data
        self._held = ""
        while data:
            part, data = self._within(data) if self._inside else self._before(data)
            out.append(part)
        return "".join(out)

    def _before(self, data: str) -> tuple[str, str]:
        """What passes up to a start of a paste, and the rest."""
        seen = self._passed + data
        at = seen.find(START)
        if at < 0:
            self._passed = seen[-(len(START) - 1) :]
            return data, ""
        self._inside, self._passed = True, ""
        cut = at + len(START) - (len(seen) - len(data))
        return data[:cut], data[cut:]

    def _within(self, data: str) -> tuple[str, str]:
        """What passes up to the next escape character and what that becomes, and the rest."""
        head, escape, rest = data.partition(ESCAPE)
        tail = escape + rest
        if not escape:
            return head, ""
        if tail.startswith(END):
            after = tail[len(END) :]
            if _ends_again(after):
                return head + STAND_IN, rest
            self._inside = False
            return head + END, after
        if END.startswith(tail):
            self._held = tail
            return head, ""
        return head + STAND_IN, rest


def _ends_again(data: str) -> bool:
    """Whether another end follows without a new start: the first one was pasted."""
    return END in data.partition(START)[0]


class GuardedParser(XTermParser):
    """Textual's parser behind a :class:`PasteGuard`."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._guard = PasteGuard()

    def feed(self, data: str) -> Iterable[Message]:
        if not data:
            yield from super().feed(data)
            return
        safe = self._guard.take(data)
        if safe:
            yield from super().feed(safe)


@lru_cache(8)
def guarded_driver(base: type[Driver]) -> type[Driver]:
    """A driver class whose input thread uses :class:`GuardedParser`; drivers without such a
    thread (of tests, of a browser) are returned as they are."""
    thread: Any = getattr(base, "run_input_thread", None)
    if thread is None or "XTermParser" not in thread.__code__.co_names:
        return base
    names = {**thread.__globals__, "XTermParser": GuardedParser}
    # The same code with another parser: the driver offers no other place to put one in.
    guarded = FunctionType(thread.__code__, names, thread.__name__, thread.__defaults__)
    return type(f"Guarded{base.__name__}", (base,), {"run_input_thread": guarded})
