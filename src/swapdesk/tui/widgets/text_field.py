"""One row to type in. The cursor does not blink, and a paste is never dropped silently.

An address field shows its groups of four while typing; its value has no spaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from textual import events
from textual.message import Message

from swapdesk.tui.lines_view import LinesView
from swapdesk.tui.spans import Line, LineLike
from swapdesk.tui.widgets.editing import Edit, pasted
from swapdesk.tui.widgets.field_rows import FieldState, field_lines

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


class TextField(LinesView, can_focus=True):
    """``grouped`` for addresses and hashes, ``secret`` draws dots, ``tall`` takes three rows.

    ``leaves`` says of a key (Textual's name) whether an empty field leaves it to the screen, and
    one that rests.
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
        leaves: Callable[[str], bool] | None = None,
        **place: Any,
    ) -> None:
        super().__init__(**place)
        self._edit = Edit(value, len(value))
        self._marked: frozenset[int] = frozenset()
        self._hidden: frozenset[int] = frozenset()
        self.placeholder = placeholder
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
        """Replace the value and put the cursor behind it."""
        self._take(Edit(value, len(value)))

    def rest(self) -> None:
        """Leave keys to the screen as an empty field does, until the value is edited."""
        self._rests = True

    def mark(self, positions: frozenset[int]) -> None:
        """Show these positions (from 0) as wrong; an empty set ends it."""
        self._marked = positions
        self.redraw()

    def hide(self, positions: frozenset[int]) -> None:
        """Draw these positions (from 0) as dots; an empty set ends it."""
        if positions != self._hidden:
            self._hidden = positions
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
            hidden=self._hidden,
        )
        return field_lines(state, width)

    def action_edit(self, act: str) -> None:
        self._take(self._edit.after(act))

    def action_submit(self) -> None:
        self.post_message(self.Submitted(self, self.value))

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return self._takes(key, character)

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
        if not event.is_printable or character is None or not self._takes(event.key, character):
            return
        event.stop()
        event.prevent_default()
        self.insert(character)

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        text, said = pasted(event.text, grouped=self.grouped)
        self.insert(text)
        if said:
            self.post_message(self.Refused(self, said))

    def on_focus(self) -> None:
        self.redraw()

    def on_blur(self) -> None:
        self.redraw()

    def _takes(self, key: str, character: str | None) -> bool:
        if character is None or not character.isprintable():
            return False
        typed = bool(self.value) and not self._rests
        return typed or self.leaves is None or not self.leaves(key)

    def insert(self, text: str) -> None:
        """Put ``text`` at the cursor, or say why it was not taken."""
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
        self._edit, self._rests = edit, False
        if changed:
            self._marked = frozenset()
            self.post_message(self.Changed(self, edit.value))
        self.redraw()
