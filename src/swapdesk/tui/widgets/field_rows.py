"""How the value of a field is drawn: the window around the cursor, or groups of four; pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.cells import cell_len

from swapdesk.flows.notation import address_groups
from swapdesk.tui.glyphs import CURSOR, CUT
from swapdesk.tui.painting import CURSOR_ROLE
from swapdesk.tui.spans import Line, LineLike, Span, fill, line_of, spread, width_of

MARGIN = 2


@dataclass(frozen=True, slots=True)
class FieldState:
    """What a field draws. ``marked`` are positions in the value shown as wrong, ``hidden`` ones
    are drawn as dots."""

    value: str = ""
    cursor: int = 0
    focused: bool = False
    placeholder: str = ""
    prompt: str = ""
    hint: LineLike = ""
    grouped: bool = False
    secret: bool = False
    tall: bool = False
    marked: frozenset[int] = field(default_factory=frozenset)
    hidden: frozenset[int] = field(default_factory=frozenset)


def field_lines(state: FieldState, width: int) -> list[Line]:
    """The rows of a field over its whole width; column 0 has the bar of the focused field."""
    bar = Span(CURSOR if state.focused else " ", "accent")
    room = width - 2 * MARGIN
    rows = _grouped_rows(state, room) if state.grouped else [_row(state, room)]
    if state.tall:
        rows = [[], *rows, []]
    return [fill([bar, Span(" "), *row], width) for row in rows]


def _row(state: FieldState, room: int) -> Line:
    prompt = [Span(f"{state.prompt} ", "accent", bold=True)] if state.prompt else []
    hint = line_of(state.hint, "muted")
    room -= width_of(prompt)
    if not state.value and not state.focused:
        return spread([*prompt, Span(state.placeholder, "muted")], hint, room + width_of(prompt))
    # A hint that leaves no place for the text goes.
    if hint and width_of(hint) + 2 + min(cell_len(state.value) + 1, 24) > room:
        hint = []
    space = room - (width_of(hint) + 2 if hint else 0)
    text = "•" * len(state.value) if state.secret else state.value
    return spread([*prompt, *_window(state, text, space)], hint, room + width_of(prompt))


def _window(state: FieldState, text: str, space: int) -> Line:
    """The part of the text around the cursor; a cut end is marked."""
    start = 0
    while start < state.cursor and cell_len(text[start : state.cursor]) + 2 > space:
        start += 1
    end = len(text)
    while end > state.cursor + 1 and cell_len(text[start:end]) + 2 > space:
        end -= 1
    line: Line = [Span(CUT, "muted")] if start else []
    line += _characters(state, text, range(start + (1 if start else 0), end))
    if state.focused and state.cursor >= len(text):
        line.append(Span(" ", CURSOR_ROLE))
    if end < len(text):
        line.append(Span(CUT, "muted"))
    return line


def _grouped_rows(state: FieldState, room: int) -> list[Line]:
    """All groups, wrapped at group borders; rows after the first stand under the first group."""
    if not state.value:
        return [_row(state, room)]
    rows: list[Line] = [[]]
    used = 0
    at = 0
    groups = address_groups(state.value)
    indent = 3 if groups[0] == "0x" else 0
    for group in groups:
        # One cell stays free for the cursor behind the last group.
        if used and used + 1 + len(group) + 1 > room:
            rows.append([Span(" " * indent)] if indent else [])
            used = indent
        elif used:
            rows[-1].append(Span(" "))
            used += 1
        rows[-1] += _characters(state, state.value, range(at, at + len(group)))
        at += len(group)
        used += cell_len(group)
    if state.focused and state.cursor >= len(state.value):
        rows[-1].append(Span(" ", CURSOR_ROLE))
    return rows


def _characters(state: FieldState, text: str, places: range) -> Line:
    line: Line = []
    for at in places:
        if state.focused and at == state.cursor:
            role = CURSOR_ROLE
        else:
            role = "status-trouble" if at in state.marked else "foreground"
        bold = at in state.marked
        char = "•" if at in state.hidden else text[at]
        if line and line[-1].role == role and line[-1].bold == bold:
            line[-1] = Span(line[-1].text + char, role, bold)
        else:
            line.append(Span(char, role, bold))
    return line
