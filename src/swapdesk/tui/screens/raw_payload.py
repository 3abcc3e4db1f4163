"""What is asked to be signed, field by field as it came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.widget import Widget

from swapdesk.tui.commands.everywhere import Back as EverywhereBack
from swapdesk.tui.commands.raw_order import Back, CopyAll
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.raw_text import RawText


class RawPayloadScreen(Page):
    """What is asked to be signed, field by field as it came.

    Nothing is signed from here.
    """

    NAME = "Raw fields"
    SPENDS = "exchange"
    VERBS = (CopyAll, Back)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"

    def __init__(self, session: Session, context: str, lines: Sequence[str]) -> None:
        super().__init__(session, context=context)
        self._lines = list(lines)
        self._text = RawText()

    def compose_body(self) -> Iterable[Widget]:
        yield self._text

    def on_mount(self) -> None:
        self._text.show(self._lines)
        self._text.focus()
        self.set_money("as on the screen before.", "you: esc goes back to the review")

    def do_copy_all(self) -> None:
        self.controls.copy_value("fields as JSON", self._text.value)

    def do_back(self) -> None:
        self.post_message(self.Go(EverywhereBack))
