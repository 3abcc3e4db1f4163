"""A row written colour by colour: what is of one colour comes one after the other.

A change of colour costs up to 19 bytes, a move within the row 5. A row of a table has more
pieces than colours, and the cells are the same whichever of them is written first.
"""

from __future__ import annotations

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from textual.strip import Strip

from swapdesk.tui.ansi_compaction import thrifty


def written(strip: Strip, left: int, console: Console) -> str:
    """The cells of ``strip``, written from column ``left`` (from 0) on where the terminal's
    cursor stands; by colours where that takes fewer bytes."""
    in_sequence = strip.render(console)
    runs: dict[Style | None, list[tuple[int, str]]] = {}
    at = left
    for text, style, _ in strip:
        runs.setdefault(style, []).append((at, text))
        at += cell_len(text)
    repeated = len(runs) < sum(map(len, runs.values()))
    if not repeated or any(style is not None and style.link for style in runs):
        return in_sequence
    return min(in_sequence, _by_colours(runs, left, console), key=_size)


def _by_colours(
    runs: dict[Style | None, list[tuple[int, str]]], left: int, console: Console
) -> str:
    system = console._color_system or ColorSystem.TRUECOLOR
    pieces: list[str] = []
    at = left
    for style, places in runs.items():
        inner: list[str] = []
        for number, (start, text) in enumerate(places):
            if start != at:
                (inner if number else pieces).append(f"\x1b[{start + 1}G")
            inner.append(text)
            at = start + cell_len(text)
        run = "".join(inner)
        pieces.append(run if style is None else Strip.render_style(style, run, color_system=system))
    return "".join(pieces)


def _size(data: str) -> int:
    return len(thrifty(data).encode())
