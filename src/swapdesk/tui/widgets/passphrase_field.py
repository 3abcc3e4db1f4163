"""A row to type a pass phrase in. It is drawn as dots and is gone once it is handed over.

No message carries it as text: whoever shows the field hears that it is complete and takes it.
"""

from __future__ import annotations

from typing import Any

from textual.message import Message

from swapdesk.secret import Secret
from swapdesk.tui.widgets.editing import Edit
from swapdesk.tui.widgets.text_field import TextField

MOST = 1024


class PassphraseField(TextField):
    """Posts :class:`Complete` at ``enter``; :meth:`take` empties it."""

    class Complete(Message):
        """``enter`` in the field."""

        def __init__(self, field: PassphraseField) -> None:
            super().__init__()
            self.field = field

        @property
        def control(self) -> PassphraseField:
            return self.field

    def __init__(self, **place: Any) -> None:
        super().__init__(secret=True, limit=MOST, **place)

    def take(self) -> Secret:
        """What was typed; nothing of it is left here."""
        phrase = Secret(self.value)
        self.forget()
        return phrase

    def forget(self) -> None:
        self._edit = Edit("", 0)
        self._marked = frozenset()
        self.redraw()

    def action_submit(self) -> None:
        self.post_message(self.Complete(self))

    def _take(self, edit: Edit) -> None:
        """As every field, but no message tells the value."""
        self._edit = edit
        self.redraw()

    def __rich_repr__(self) -> Any:
        yield "id", self.id
