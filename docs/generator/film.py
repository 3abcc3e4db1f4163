"""A recording of the desk as a picture that moves: one SVG, without a script and without a font
or anything else from elsewhere, so that it plays wherever a picture is shown.

Frames stand side by side and are shown one after the other, by one animation of style. A row that
many frames have is drawn once. Who asks for less motion, or has nothing that moves pictures, sees
the first moment; where the picture is opened by itself, a pointer on it halts it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from xml.sax.saxutils import escape

import pyte
from msgspec import Struct
from pyte.screens import Char

COLUMN, LINE, BASE = 12.2, 24.4, 18.5
"""Of a character: how wide, how high, and how far below the top it stands."""
MARGIN = 16
PAPER, INK = "#0d1115", "#d8dfe6"
SHORTEST = 0.08
"""Seconds. What is drawn within them is one frame: a terminal draws a screen in several goes."""
MOMENT = 3.2
"""Seconds that a marked moment stands, for people who read it."""
LONGEST = 1.2
"""Seconds that another frame stands at most: waiting teaches nobody anything."""

Row = tuple[Char, ...]


class Frame(Struct):
    """A screen, for how long it stands, and whether that moment was marked."""

    rows: tuple[Row, ...]
    seconds: float
    marked: bool = False


def film(cast: str, title: str) -> str:
    """The picture of an asciicast v2, named for those who do not see it."""
    frames = list(_frames(cast))
    width = len(frames[0].rows[0]) * COLUMN + 2 * MARGIN
    height = len(frames[0].rows) * LINE + 2 * MARGIN
    names: dict[Row, str] = {}
    looks: dict[str, str] = {}
    strip = "\n".join(
        f'<g transform="translate({place * width:g} 0)">'
        + "".join(
            f'<use href="#{names.setdefault(row, f"r{len(names)}")}" y="{line * LINE:g}"/>'
            for line, row in enumerate(frame.rows)
            if _is_drawn(row)
        )
        + "</g>"
        for place, frame in enumerate(frames)
    )
    rows = "\n".join(f'<g id="{name}">{_drawn(row, looks)}</g>' for row, name in names.items())
    still = -next((place for place, frame in enumerate(frames) if frame.marked), 0) * width
    style = "\n".join(
        [
            f"text {{ font: 20px ui-monospace, Menlo, Consolas, monospace; fill: {INK}; }}",
            *(f".{name} {{ {look} }}" for look, name in looks.items()),
            f"#film {{ transform: translateX({still:g}px);"
            f" animation: film {_length(frames):g}s steps(1, end) infinite; }}",
            "svg:hover #film { animation-play-state: paused; }",
            "@media (prefers-reduced-motion: reduce) { #film { animation: none; } }",
            "@keyframes film {",
            *_steps(frames, width),
            "}",
        ]
    )
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}\n</style>\n"
        f'<defs>\n{rows}\n</defs>\n<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>\n'
        f'<svg {size}><g transform="translate({MARGIN} {MARGIN})"><g id="film">\n{strip}\n'
        "</g></g></svg>\n</svg>\n"
    )


def _frames(cast: str) -> Iterator[Frame]:
    """What was on the screen, each for as long as it is to be seen."""
    head, *events = map(json.loads, cast.splitlines())
    screen = pyte.Screen(head["width"], head["height"])
    drawn = pyte.Stream(screen)
    ends = [at for at, *_ in events[1:]] + [events[-1][0]]
    shown: Frame | None = None
    since = 0.0
    for (_, kind, data), end in zip(events, ends, strict=True):
        if kind == "o":
            drawn.feed(data)
        held = MOMENT if kind == "m" else 0.0
        if end - since < SHORTEST and not held:
            continue
        rows = _rows(screen)
        seconds = max(min(end - since, LONGEST), held)
        if shown is not None and rows == shown.rows:
            shown.seconds += seconds
        else:
            if shown is not None:
                yield shown
            shown = Frame(rows, seconds)
        shown.marked |= kind == "m"
        since = end
    assert shown is not None
    yield shown


def _rows(screen: pyte.Screen) -> tuple[Row, ...]:
    return tuple(
        tuple(screen.buffer[line][column] for column in range(screen.columns))
        for line in range(screen.lines)
    )


def _length(frames: Iterable[Frame]) -> float:
    return round(sum(frame.seconds for frame in frames), 2)


def _steps(frames: Sequence[Frame], width: float) -> Iterator[str]:
    """Where the strip is at which part of the time."""
    whole, at = sum(frame.seconds for frame in frames), 0.0
    for place, frame in enumerate(frames):
        yield f"{at / whole * 100:.3f}% {{ transform: translateX({-place * width:g}px); }}"
        at += frame.seconds
    yield f"100% {{ transform: translateX({(1 - len(frames)) * width:g}px); }}"


def _is_drawn(row: Row) -> bool:
    return any(char.data != " " or _ground(char) != PAPER for char in row)


def _drawn(row: Row, looks: dict[str, str]) -> str:
    """Grounds, then words, each of which begins where its column is."""
    grounds, words, column = [], [], 0
    for ground, run in groupby(row, _ground):
        long = len(list(run))
        if ground != PAPER:
            at = f'x="{column * COLUMN:g}" width="{long * COLUMN:g}" height="{LINE + 0.3:g}"'
            grounds.append(f'<rect {at} fill="{ground}"/>')
        column += long
    column = 0
    for look, run in groupby(row, _look):
        text = "".join(char.data for char in run)
        words += _words(text, column, looks.setdefault(look, f"c{len(looks)}") if look else "")
        column += len(text)
    return "".join([*grounds, *words])


def _words(text: str, column: int, look: str) -> Iterator[str]:
    """Words with one space between them hold together; more would be joined to one."""
    for part in text.split("  "):
        words = part.strip()
        if words:
            at = column + len(part) - len(part.lstrip())
            fit = f'textLength="{len(words) * COLUMN:g}"'
            named = f' class="{look}"' if look else ""
            yield f'<text x="{at * COLUMN:g}" y="{BASE:g}" {fit}{named}>{escape(words)}</text>'
        column += len(part) + 2


def _ground(char: Char) -> str:
    return _colour(char.fg, INK) if char.reverse else _colour(char.bg, PAPER)


def _look(char: Char) -> str:
    """Style of a character; of none where it is as most are, or there is nothing to see."""
    if char.data == " ":
        return ""
    colour = _colour(char.bg, PAPER) if char.reverse else _colour(char.fg, INK)
    parts = [
        f"fill: {colour};" if colour != INK else "",
        "font-weight: bold;" if char.bold else "",
        "font-style: italic;" if char.italics else "",
        "text-decoration: underline;" if char.underscore else "",
    ]
    return " ".join(part for part in parts if part)


def _colour(name: str, usual: str) -> str:
    return usual if name == "default" else f"#{name}"
