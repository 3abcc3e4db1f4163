"""The grammar of a tape, which has one act in each line.

| Act | Does |
|---|---|
| `size 100x30` | sets the size of a screen without terminal; must be the first act |
| `patience 60s` | sets how long each later `wait` waits: 30 s by default, 600 s at most |
| `press n` | presses keys, one after the other, written as in `[keys]` of the configuration |
| `type 0.5 btc eth` | types a text |
| `wait usable routes` | waits until the text is in a row of the screen |
| `pause 1.5s` | waits for a time in `ms` or `s`, 60 s at most |
| `mark quotes` | keeps this moment as a picture and a text |
| `say Enter takes the best route.` | shows a line to the reader; without a text, removes it |
| `await enter usable routes` | waits for the reader's key, then for the text that it leads to |

Empty lines and lines that begin with ``#`` are ignored. All acts together wait for half an hour at
most.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from swapdesk.tui.commands.key_names import key_name

MOST_BYTES = 64 * 1024
MOST_LINES = 1_000
MOST_LINE = 300
MOST_KEYS = 20
MOST_TYPED = 200
MOST_SAID = 68
"""Most characters of a line for the reader. With a key beside it, it fits into 80 columns."""
MOST_PAUSE = 60.0
MOST_PATIENCE = 600.0
MOST_WAITING = 1_800.0
"""Largest number of seconds that all acts of a tape may wait in total."""
PATIENCE = 30.0
LEAST_SIZE, MOST_SIZE = (60, 15), (200, 60)
SIZE = (100, 30)
SUSPENDS = "ctrl+z"
_SIZE = re.compile(r"(\d{1,3})x(\d{1,3})", re.ASCII)
_SECONDS = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)(ms|s)", re.ASCII)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)


class Act(Struct, frozen=True):
    """One instruction of a tape (a text file that presses keys in the desk)."""

    line: int
    verb: Literal["press", "type", "wait", "pause", "mark", "say", "await"]
    text: str = ""
    """The text that is typed, waited for or shown. For ``mark`` it is the name of the picture."""
    keys: tuple[str, ...] = ()
    """The keys to press, by Textual's names. For ``await`` it is the one key that the reader
    presses."""
    seconds: float = 0.0
    """For ``pause`` how long it lasts, for ``wait`` and ``await`` the longest time to wait, in
    seconds."""


class Tape(Struct, frozen=True):
    """The contents of a tape: its instructions in order, and ``size``, the columns and rows of its
    screen."""

    acts: tuple[Act, ...]
    size: tuple[int, int] = SIZE


class Mistake(Struct, frozen=True):
    line: int
    said: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.said}"


class TapeRefused(ValueError):
    """Raised if a file is not a valid tape (a text file that presses keys in the desk).
    ``mistakes`` has an entry for each wrong line."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        super().__init__("; ".join(map(str, mistakes)))
        self.mistakes = mistakes


class _Wrong(ValueError):
    """Raised for a wrong line of a tape."""


def read_tape(content: bytes) -> Tape:
    """Returns the tape that the bytes ``content`` contain. Raises TapeRefused if a line is wrong,
    or if the size, the number of lines or the waiting time exceeds its limit."""
    if len(content) > MOST_BYTES:
        raise TapeRefused([Mistake(1, f"A tape has at most {MOST_BYTES:,} bytes.")])
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TapeRefused([Mistake(line, "It is not UTF-8.")]) from None
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > MOST_LINES:
        raise TapeRefused([Mistake(MOST_LINES + 1, f"A tape has at most {MOST_LINES:,} lines.")])
    reader = _Reader()
    for number, written in enumerate(lines, 1):
        try:
            reader.read(number, written.removesuffix("\r"))
        except _Wrong as wrong:
            reader.mistakes.append(Mistake(number, str(wrong)))
    if not reader.acts and not reader.mistakes:
        reader.mistakes.append(Mistake(1, "The tape is empty."))
    if reader.waiting > MOST_WAITING:
        said = f"The tape waits {reader.waiting:,.0f} s in all; {MOST_WAITING:,.0f} are the most."
        reader.mistakes.append(Mistake(len(lines), said))
    if reader.mistakes:
        raise TapeRefused(reader.mistakes)
    return Tape(tuple(reader.acts), reader.size)


class _Reader:
    def __init__(self) -> None:
        self.acts: list[Act] = []
        self.mistakes: list[Mistake] = []
        self.size = SIZE
        self.waiting = 0.0
        self._patience = PATIENCE
        self._marks: set[str] = set()
        self._begun = False
        self._verbs: dict[str, Callable[[int, str], Act | None]] = {
            "size": self._size,
            "patience": self._wait_at_most,
            "press": self._press,
            "type": self._type,
            "wait": self._wait,
            "pause": self._pause,
            "mark": self._mark,
            "say": self._say,
            "await": self._await,
        }

    def read(self, number: int, line: str) -> None:
        if len(line) > MOST_LINE:
            raise _Wrong(f"A line has at most {MOST_LINE} characters.")
        line = line.replace("\t", " ")
        if not line.isprintable():
            raise _Wrong("It has a character that cannot be seen.")
        if not line.strip() or line.lstrip().startswith("#"):
            return
        verb, _, rest = line.strip().partition(" ")
        if verb not in self._verbs:
            raise _Wrong(f'There is no act "{verb[:20]}". Acts are {", ".join(self._verbs)}.')
        act = self._verbs[verb](number, rest.strip())
        self._begun = True
        if act is not None:
            self.acts.append(act)
            self.waiting += act.seconds

    def _size(self, number: int, rest: str) -> None:
        found = _SIZE.fullmatch(rest)
        if found is None:
            raise _Wrong("A size is columns x rows, as 100x30.")
        if self._begun:
            raise _Wrong("The size stands before every other act.")
        size = int(found[1]), int(found[2])
        inside = all(
            low <= cells <= high
            for low, cells, high in zip(LEAST_SIZE, size, MOST_SIZE, strict=True)
        )
        if not inside:
            least, most = ("x".join(map(str, one)) for one in (LEAST_SIZE, MOST_SIZE))
            raise _Wrong(f"A size is between {least} and {most}.")
        self.size = size

    def _wait_at_most(self, number: int, rest: str) -> None:
        self._patience = _seconds(rest, MOST_PATIENCE)

    def _press(self, number: int, rest: str) -> Act:
        keys = tuple(_key(word) for word in rest.split())
        if not 0 < len(keys) <= MOST_KEYS:
            raise _Wrong(f"Name 1 to {MOST_KEYS} keys.")
        return Act(number, "press", keys=keys)

    def _type(self, number: int, rest: str) -> Act:
        return Act(number, "type", _text(rest, MOST_TYPED))

    def _wait(self, number: int, rest: str) -> Act:
        return Act(number, "wait", _text(rest, MOST_TYPED), seconds=self._patience)

    def _pause(self, number: int, rest: str) -> Act:
        return Act(number, "pause", seconds=_seconds(rest, MOST_PAUSE))

    def _mark(self, number: int, rest: str) -> Act:
        if _NAME.fullmatch(rest) is None:
            raise _Wrong("A moment has a name of lower-case letters, digits and hyphens.")
        if rest in self._marks:
            raise _Wrong(f"There is a moment {rest} already.")
        self._marks.add(rest)
        return Act(number, "mark", rest)

    def _say(self, number: int, rest: str) -> Act:
        return Act(number, "say", _text(rest, MOST_SAID, least=0))

    def _await(self, number: int, rest: str) -> Act:
        key, _, text = rest.partition(" ")
        shown = _text(text.strip(), MOST_TYPED, least=0)
        return Act(number, "await", shown, (_key(key),), self._patience)


def _text(rest: str, most: int, least: int = 1) -> str:
    if not least <= len(rest) <= most:
        raise _Wrong(f"A text of {least} to {most} characters belongs here.")
    return rest


def _key(word: str) -> str:
    key = key_name(word)
    if key is None:
        raise _Wrong(f'There is no key "{word[:20]}".')
    if key == SUSPENDS:
        raise _Wrong(f"A tape does not press {SUSPENDS}: it leaves the terminal.")
    return key


def _seconds(rest: str, most: float) -> float:
    found = _SECONDS.fullmatch(rest)
    if found is None:
        raise _Wrong("A time is a number with s or ms, as 1.5s.")
    seconds = float(found[1]) / (1_000 if found[2] == "ms" else 1)
    if not 0 < seconds <= most:
        raise _Wrong(f"A time here is at most {most:g}s, and not 0.")
    return seconds
