"""Records what the screen showed while a tape was played: an asciicast v2 of everything that was
drawn, and a picture and text for each marked moment."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from textual._compositor import LayoutUpdate
from textual.app import App
from textual.driver import Driver
from textual.drivers.headless_driver import HeadlessDriver

from swapdesk.clock import Clock
from swapdesk.paths import make_directories, write_private

HEAD = "== {} =="
_HEADS = re.compile(r"^== ([a-z0-9-]{1,40}) ==\n", re.MULTILINE)
_ORDERS = re.compile(
    r"(\x1b\[[0-9;]*[HGmJK])"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_].*?(?:\x1b\\|\x07|\Z)"
    r"|\x1b.?|[\x00-\x08\x0b-\x1f\x7f-\x9f]",
    re.DOTALL,
)
"""The control sequences of a terminal. A cast keeps only those of the first group: cursor, colours,
erasing."""
_FONTS = re.compile(r"\s*@font-face \{[^}]*\}")
OPENING = "\x1b[?25l\x1b[H\x1b[2J"
"""The escape sequence with which every cast begins. It hides the cursor and clears the screen."""
TITLE = "swapdesk"


class Moment(Struct, frozen=True):
    """The screen at a moment that the tape marked: its text, and a picture as SVG."""

    name: str
    text: str
    picture: str


def screen_text(app: App[Any]) -> str:
    """Returns the text on the screen, without spaces at the ends of rows and without empty rows at
    the end."""
    # What shows through an overlay belongs to the picture.
    drawn = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    assert isinstance(drawn, LayoutUpdate)  # a full update is one
    rows = ("".join(part.text for strip in row for part in strip) for row in drawn.strips)
    return "\n".join(row.rstrip() for row in rows).rstrip("\n")


def moment(app: App[Any], name: str) -> Moment:
    # Fonts of a foreign host are asked for by whoever opens the picture.
    picture = _FONTS.sub("", app.export_screenshot(title=TITLE))
    return Moment(name, screen_text(app), picture)


def moments_text(moments: Iterable[Moment]) -> str:
    """Returns one document with the text of all moments."""
    return "\n".join(f"{HEAD.format(one.name)}\n{one.text}\n" for one in moments)


def read_moments(document: bytes) -> dict[str, str]:
    """Returns the texts in a document made by :func:`moments_text`. The keys of the result are the
    names of the moments."""
    _, *parts = _HEADS.split(document.decode(errors="replace"))
    return {name: text.rstrip("\n") for name, text in zip(parts[::2], parts[1::2], strict=True)}


class Cast:
    """A recording of everything that the terminal shows from :meth:`begin` to :meth:`end`, timed in
    seconds since :meth:`begin`."""

    size: tuple[int, int] = (0, 0)

    def __init__(self) -> None:
        self._events: list[tuple[float, str, str]] = [(0.0, "o", OPENING)]
        self._ended = False
        self.frames = 0
        """How many times something was drawn."""

    def begin(self, clock: Clock) -> None:
        self._clock = clock
        self._at = clock.now()
        self._began = clock.monotonic()

    def drawn(self, data: str) -> None:
        self.frames += 1
        kept = _ORDERS.sub(lambda order: order[1] or "", data)
        if kept and not self._ended:
            self._events.append((self._seconds(), "o", kept))

    def marked(self, name: str) -> None:
        self._events.append((self._seconds(), "m", name))

    def end(self) -> None:
        self._ended = True

    def lines(self, title: str) -> Iterator[str]:
        columns, rows = self.size
        yield json.dumps(
            {
                "version": 2,
                "width": columns,
                "height": rows,
                "timestamp": int(self._at.timestamp()),
                "title": title,
            }
        )
        for event in self._events:
            yield json.dumps(event, ensure_ascii=False)

    def _seconds(self) -> float:
        return round(self._clock.monotonic() - self._began, 3)


def recording_driver(base: type[Driver], cast: Cast) -> type[Driver]:
    """Returns a subclass of the driver class ``base`` that also records in ``cast`` what it
    draws."""

    class RecordingDriver(base):  # type: ignore[misc, valid-type]
        def write(self, data: str) -> None:
            cast.drawn(data)
            super().write(data)

    return RecordingDriver


class UndrawnDriver(HeadlessDriver):
    """A driver without a terminal that discards what it draws. It claims to have a terminal,
    because otherwise Textual would not draw."""

    @property
    def is_headless(self) -> bool:
        return False


def write_recording(place: Path, name: str, cast: Cast, moments: Iterable[Moment]) -> list[Path]:
    """Writes the cast, the texts of ``moments`` and their SVG pictures into the folder ``place``.
    Only the user can read these files (mode 0600). May raise OSError."""
    listed = list(moments)
    files = {f"{one.name}.svg": one.picture for one in listed}
    files[f"{name}.txt"] = moments_text(listed)
    files[f"{name}.cast"] = "".join(f"{line}\n" for line in cast.lines(name))
    make_directories(place)
    for file, content in files.items():
        write_private(place / file, content.encode(), replace=True)
    return [place / file for file in files]
