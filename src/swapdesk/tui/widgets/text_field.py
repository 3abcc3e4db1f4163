"""Text fields of one row. No part of a paste is dropped without a word. A pass phrase is drawn as
dots and forgotten as soon as it is taken; no message contains it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct
from rich.cells import cell_len
from textual import events, on
from textual.message import Message

from swapdesk.flows.notation import address_groups
from swapdesk.secret import Secret
from swapdesk.tui.glyphs import CURSOR, CUT
from swapdesk.tui.painting import CURSOR_ROLE
from swapdesk.tui.spans import Line, LineLike, Span, fill, line_of, spread, width_of
from swapdesk.tui.widgets.lines_view import LinesView

MARGIN = 2


class Edit(Struct, frozen=True):
    """The text in a field and the position of its cursor, from 0 to the length of the text."""

    value: str
    cursor: int

    def insert(self, text: str) -> Edit:
        value = self.value[: self.cursor] + text + self.value[self.cursor :]
        return Edit(value, self.cursor + len(text))

    def after(self, act: str) -> Edit:
        """Returns the text and cursor after the editing action ``act``, such as ``backspace``.
        Raises :class:`KeyError` if there is no such action."""
        value, at = self.value, self.cursor
        left, right = self._word_left(), self._word_right()
        return {
            "left": Edit(value, max(0, at - 1)),
            "right": Edit(value, min(len(value), at + 1)),
            "home": Edit(value, 0),
            "end": Edit(value, len(value)),
            "backspace": Edit(value[: max(0, at - 1)] + value[at:], max(0, at - 1)),
            "delete": Edit(value[:at] + value[at + 1 :], at),
            "word": Edit(value[:left] + value[at:], left),
            "to_start": Edit(value[at:], 0),
            "to_end": Edit(value[:at], at),
            "word_left": Edit(value, left),
            "word_right": Edit(value, right),
        }[act]

    def _word_left(self) -> int:
        at = self.cursor
        while at and self.value[at - 1] == " ":
            at -= 1
        while at and self.value[at - 1] != " ":
            at -= 1
        return at

    def _word_right(self) -> int:
        at = self.cursor
        while at < len(self.value) and self.value[at] != " ":
            at += 1
        while at < len(self.value) and self.value[at] == " ":
            at += 1
        return at


def pasted(text: str, *, grouped: bool = False) -> tuple[str, str]:
    """Returns the text that a paste inserts, and a sentence about what was changed; the sentence is
    empty if nothing was. ``grouped`` removes all spaces."""
    inner = text.strip()
    rows = inner.splitlines()
    flat = ("" if grouped else " ").join(row.strip() for row in rows)
    if grouped:
        flat = "".join(flat.split())
    shown = "".join(char for char in flat.replace("\t", " ") if char.isprintable())
    hidden = len(flat.replace("\t", " ")) - len(shown)
    sentences = []
    if hidden:
        word = "character" if hidden == 1 else "characters"
        sentences.append(f"{hidden} invisible {word} left out of the paste. Check the value.")
    if len(rows) > 1:
        sentences.append(f"{len(rows)} lines were joined into one.")
    if not shown and text:
        return "", "The paste had nothing to insert."
    return shown, " ".join(sentences)


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
"""The editing act of each key, the same in all fields. The keys have Textual's names."""


@dataclass
class FieldMessage(Message):
    """A message about ``field``. ``value`` is the text in the field, unless a subclass says that it
    is a sentence."""

    field: TextField
    value: str

    @property
    def control(self) -> TextField:
        return self.field


class TextField(LinesView, can_focus=True):
    """A text field of one row. While it is empty or resting (see :meth:`rest`), the screen gets a
    key if ``leaves`` returns True for the key's Textual name."""

    DEFAULT_CSS = """
    TextField {
        background: $surface;
        padding: 0;
    }
    """

    class Changed(FieldMessage):
        """The message that the text in the field changed."""

    class Submitted(FieldMessage):
        """The message that the user pressed ``enter`` in the field."""

    class Refused(FieldMessage):
        """Reports that typed or pasted text was refused or changed. ``value`` is a sentence that
        says why."""

    def __init__(
        self,
        value: str = "",
        *,
        prompt: str = "",
        hint: LineLike = "",
        grouped: bool = False,
        secret: bool = False,
        tall: bool = False,
        limit: int = 256,
        leaves: Callable[[str], bool] | None = None,
        **place: Any,
    ) -> None:
        super().__init__(**place)
        self._edit = Edit(value, len(value))
        self._marked: frozenset[int] = frozenset()
        self._hidden: frozenset[int] = frozenset()
        self.prompt = prompt
        self.hint = hint
        self.grouped = grouped
        self.secret = secret
        self.tall = tall
        self.limit = limit
        self.leaves = leaves
        self._rests = False

    @property
    def value(self) -> str:
        return self._edit.value

    @property
    def cursor(self) -> int:
        return self._edit.cursor

    def set_value(self, value: str) -> None:
        """Replaces the text and puts the cursor behind it."""
        self._take(Edit(value, len(value)))

    def rest(self) -> None:
        """Makes the field leave keys to the screen, as an empty field does, until the text is
        edited."""
        self._rests = True

    def mark(self, positions: frozenset[int]) -> None:
        """Draws the characters at ``positions`` (from 0) as wrong."""
        self._marked = positions
        self.redraw()

    def hide(self, positions: frozenset[int]) -> None:
        """Draws the characters at ``positions`` (from 0) as dots."""
        if positions != self._hidden:
            self._hidden = positions
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        bar = Span(CURSOR if self.has_focus else " ", "accent")
        room = width - 2 * MARGIN
        rows = self._grouped_rows(room) if self.grouped else [self._row(room)]
        if self.tall:
            rows = [[], *rows, []]
        return [fill([bar, Span(" "), *row], width) for row in rows]

    def _row(self, room: int) -> Line:
        prompt = [Span(f"{self.prompt} ", "accent", bold=True)] if self.prompt else []
        hint = line_of(self.hint, "muted")
        room -= width_of(prompt)
        # No hint where it leaves the text no room.
        if hint and width_of(hint) + 2 + min(cell_len(self.value) + 1, 24) > room:
            hint = []
        space = room - (width_of(hint) + 2 if hint else 0)
        text = "•" * len(self.value) if self.secret else self.value
        return spread([*prompt, *self._window(text, space)], hint, room + width_of(prompt))

    def _window(self, text: str, space: int) -> Line:
        start = 0
        while start < self.cursor and cell_len(text[start : self.cursor]) + 2 > space:
            start += 1
        end = len(text)
        while end > self.cursor + 1 and cell_len(text[start:end]) + 2 > space:
            end -= 1
        line: Line = [Span(CUT, "muted")] if start else []
        line += self._characters(text, range(start + (1 if start else 0), end))
        if self.has_focus and self.cursor >= len(text):
            line.append(Span(" ", CURSOR_ROLE))
        if end < len(text):
            line.append(Span(CUT, "muted"))
        return line

    def _grouped_rows(self, room: int) -> list[Line]:
        if not self.value:
            return [self._row(room)]
        rows: list[Line] = [[]]
        used = 0
        at = 0
        groups = address_groups(self.value)
        indent = 3 if groups[0] == "0x" else 0
        for group in groups:
            # One cell stays free for the cursor behind the last group.
            if used and used + 1 + len(group) + 1 > room:
                rows.append([Span(" " * indent)] if indent else [])
                used = indent
            elif used:
                rows[-1].append(Span(" "))
                used += 1
            rows[-1] += self._characters(self.value, range(at, at + len(group)))
            at += len(group)
            used += cell_len(group)
        if self.has_focus and self.cursor >= len(self.value):
            rows[-1].append(Span(" ", CURSOR_ROLE))
        return rows

    def _characters(self, text: str, places: range) -> Line:
        line: Line = []
        for at in places:
            if self.has_focus and at == self.cursor:
                role = CURSOR_ROLE
            else:
                role = "status-trouble" if at in self._marked else "foreground"
            bold = at in self._marked
            char = "•" if at in self._hidden else text[at]
            if line and line[-1].role == role and line[-1].bold == bold:
                line[-1] = Span(line[-1].text + char, role, bold)
            else:
                line.append(Span(char, role, bold))
        return line

    def action_edit(self, act: str) -> None:
        self._take(self._edit.after(act))

    def action_submit(self) -> None:
        self.post_message(self.Submitted(self, self.value))

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return self._takes(key, character)

    async def _on_key(self, event: events.Key) -> None:
        """Handles the keys of the field. Key bindings would take effect only after characters that
        were typed later."""
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
        if not event.is_printable or character is None or not self._takes(event.key, character):
            return
        event.stop()
        event.prevent_default()
        self.insert(character)

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        text, refusal = pasted(event.text, grouped=self.grouped)
        self.insert(text)
        if refusal:
            self.post_message(self.Refused(self, refusal))

    @on(events.Focus)
    @on(events.Blur)
    def _focus_moved(self) -> None:
        self.redraw()

    def _takes(self, key: str, character: str | None) -> bool:
        if character is None or not character.isprintable():
            return False
        typed = bool(self.value) and not self._rests
        return typed or self.leaves is None or not self.leaves(key)

    def insert(self, text: str) -> None:
        """Inserts ``text`` at the cursor. If the field would exceed its limit, nothing is inserted
        and :class:`Refused` is posted."""
        if self.grouped:
            text = text.replace(" ", "")
        if not text:
            return
        if len(self.value) + len(text) > self.limit:
            refusal = f"A value here has at most {self.limit} characters. Nothing was inserted."
            self.post_message(self.Refused(self, refusal))
            return
        self._take(self._edit.insert(text))

    def _take(self, edit: Edit) -> None:
        changed = edit.value != self.value
        self._edit, self._rests = edit, False
        if changed:
            self._marked = frozenset()
            self.post_message(self.Changed(self, edit.value))
        self.redraw()


def step_focus(fields: Sequence[TextField], by: int) -> None:
    """Moves the focus by ``by`` fields in ``fields`` (negative: back). The first field follows the
    last."""
    at = next((at for at, field in enumerate(fields) if field.has_focus), 0)
    fields[(at + by) % len(fields)].focus()


MOST = 1024


class PassphraseField(TextField):
    """A field for a pass phrase, drawn as dots. When it posts :class:`Complete`, call :meth:`take`,
    which returns the phrase and empties the field."""

    class Complete(FieldMessage):
        """The message that the user pressed ``enter``. Its ``value`` is empty, because no message
        may contain the phrase."""

    def __init__(self, **place: Any) -> None:
        super().__init__(secret=True, limit=MOST, **place)

    def take(self) -> Secret:
        phrase = Secret(self.value)
        self.forget()
        return phrase

    def forget(self) -> None:
        self._edit = Edit("", 0)
        self._marked = frozenset()
        self.redraw()

    def action_submit(self) -> None:
        self.post_message(self.Complete(self, ""))

    def _take(self, edit: Edit) -> None:
        self._edit = edit
        self.redraw()

    def __rich_repr__(self) -> Any:
        yield "id", self.id
