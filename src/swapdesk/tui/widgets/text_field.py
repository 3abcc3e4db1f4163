"""One row to type in. The cursor does not blink, and a paste is never dropped silently.

An address field shows its groups of four while typing; its value has no spaces.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rich.cells import cell_len
from textual import events
from textual.message import Message

from swapdesk.flows.notation import address_groups
from swapdesk.tui.glyphs import CURSOR, CUT
from swapdesk.tui.lines_view import LinesView
from swapdesk.tui.painting import CURSOR_ROLE
from swapdesk.tui.spans import Line, LineLike, Span, fill, line_of, spread, width_of
from swapdesk.tui.widgets.editing import Edit, pasted

MARGIN = 2
EDITING = {
    "left": "left",
    "right": "right",
    "home": "home",
    "ctrl+a": "home",
    "end": "end",
    "ctrl+e": "end",
    "backspace": "backspace",
    "delete": "delete",
    "ctrl+w": "word",
    "ctrl+u": "to_start",
    "ctrl+k": "to_end",
    "ctrl+left": "word_left",
    "ctrl+right": "word_right",
}
"""Keys of every field and what they do."""


@dataclass(frozen=True, slots=True)
class FieldState:
    """What a field draws. ``marked`` are positions in the value shown as wrong."""

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


class TextField(LinesView, can_focus=True):
    """``grouped`` for addresses and hashes, ``secret`` draws dots, ``tall`` takes three rows.

    ``first``: the characters an empty field takes; others go on to the screen's keys.
    """

    DEFAULT_CSS = """
    TextField {
        background: $surface;
        padding: 0;
    }
    """

    @dataclass
    class Changed(Message):
        """The value is another one."""

        field: TextField
        value: str

        @property
        def control(self) -> TextField:
            return self.field

    @dataclass
    class Submitted(Message):
        """``enter`` in the field."""

        field: TextField
        value: str

        @property
        def control(self) -> TextField:
            return self.field

    @dataclass
    class Refused(Message):
        """Something typed or pasted was not taken, and why."""

        field: TextField
        reason: str

        @property
        def control(self) -> TextField:
            return self.field

    def __init__(
        self,
        value: str = "",
        *,
        placeholder: str = "",
        prompt: str = "",
        hint: LineLike = "",
        grouped: bool = False,
        secret: bool = False,
        tall: bool = False,
        limit: int = 256,
        first: str = "",
        **place: Any,
    ) -> None:
        super().__init__(**place)
        self._edit = Edit(value, len(value))
        self._marked: frozenset[int] = frozenset()
        self.placeholder = placeholder
        self.prompt = prompt
        self.hint = hint
        self.grouped = grouped
        self.secret = secret
        self.tall = tall
        self.limit = limit
        self.first = first

    @property
    def value(self) -> str:
        return self._edit.value

    @property
    def cursor(self) -> int:
        return self._edit.cursor

    def set_value(self, value: str) -> None:
        """Replace the value and put the cursor behind it."""
        self._take(Edit(value, len(value)))

    def mark(self, positions: frozenset[int]) -> None:
        """Show these positions (from 0) as wrong; an empty set ends it."""
        self._marked = positions
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        state = FieldState(
            value=self.value,
            cursor=self.cursor,
            focused=self.has_focus,
            placeholder=self.placeholder,
            prompt=self.prompt,
            hint=self.hint,
            grouped=self.grouped,
            secret=self.secret,
            tall=self.tall,
            marked=self._marked,
        )
        return field_lines(state, width)

    def action_edit(self, act: str) -> None:
        self._take(self._edit.after(act))

    def action_submit(self) -> None:
        self.post_message(self.Submitted(self, self.value))

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return self._takes(character)

    async def _on_key(self, event: events.Key) -> None:
        """Editing keys are taken here and not as bindings: those are acted on later, after
        characters that were typed behind them."""
        act = EDITING.get(event.key)
        if act is not None or event.key == "enter":
            event.stop()
            event.prevent_default()
            if act is None:
                self.action_submit()
            else:
                self.action_edit(act)
            return
        character = event.character
        if not event.is_printable or character is None or not self._takes(character):
            return
        event.stop()
        event.prevent_default()
        self._insert(character)

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        text, said = pasted(event.text, grouped=self.grouped)
        if said:
            self.post_message(self.Refused(self, said))
        self._insert(text)

    def on_focus(self) -> None:
        self.redraw()

    def on_blur(self) -> None:
        self.redraw()

    def _takes(self, character: str | None) -> bool:
        if character is None or not character.isprintable():
            return False
        return not (self.first and not self.value and character not in self.first)

    def _insert(self, text: str) -> None:
        if self.grouped:
            text = text.replace(" ", "")
        if not text:
            return
        if len(self.value) + len(text) > self.limit:
            said = f"A value here has at most {self.limit} characters. Nothing was inserted."
            self.post_message(self.Refused(self, said))
            return
        self._take(self._edit.insert(text))

    def _take(self, edit: Edit) -> None:
        changed = edit.value != self.value
        self._edit = edit
        if changed:
            self._marked = frozenset()
            self.post_message(self.Changed(self, edit.value))
        self.redraw()


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
        if line and line[-1].role == role and line[-1].bold == bold:
            line[-1] = Span(line[-1].text + text[at], role, bold)
        else:
            line.append(Span(text[at], role, bold))
    return line
