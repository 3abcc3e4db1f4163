"""An application that shows a support file, with the pages of the desk that explain an order.

The pages use only the file, so nothing can be sent, signed or asked. Texts of the file are marked
as written by whoever made the file, and the pages offer no key to copy them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from textual import on
from textual.driver import Driver
from textual.screen import Screen
from textual.widget import Widget

from swapdesk.clock import ManualClock
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.support.case_file import NOT_OUR_REPLY, NOT_OURS, WHOSE, CaseFile
from swapdesk.flows.support.support_case import CaseSheet
from swapdesk.tui.base_screen import DeskScreen
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import Standings
from swapdesk.tui.commands.inspect import BACK as LEAVE_CASE
from swapdesk.tui.commands.inspect import CASE_HISTORY
from swapdesk.tui.commands.order_history import BACK as LEAVE_HISTORY
from swapdesk.tui.commands.order_history import EARLIER_UPDATE, LATER_UPDATE
from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.spans import Span, wrapped
from swapdesk.tui.terminal import SafeApp
from swapdesk.tui.widgets.case_body import CaseBody, TimeLine, say_money
from swapdesk.tui.widgets.frame import FrameState
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import TextRows

HERE = (everywhere.KEYS, everywhere.PALETTE, everywhere.QUIT)
"""The commands that work on every screen and need no running desk."""


class FilePage(DeskScreen, bare=True):
    """The base of the pages that show a support file."""

    NAME: ClassVar[str] = ""

    def __init__(self, file: CaseFile) -> None:
        self.file = file
        super().__init__(self.frame(), ManualClock(file.record.at))

    def frame(self, standing: str = "") -> FrameState:
        order = short_id(self.file.record.sheet.order_id)
        context = standing or f"written {self.file.written:%Y-%m-%d %H:%M} UTC"
        return FrameState(self.NAME, "FILE", f"{order}  {context}")

    def standings(self) -> Standings:
        return {verb: verb in (*self.VERBS, *HERE) for verb in self.verbs_here()}


class FileCasePage(FilePage):
    NAME = "Inspect"
    VERBS = (CASE_HISTORY, LEAVE_CASE)
    AUTO_FOCUS: ClassVar[str | None] = "CaseBody"

    def __init__(self, file: CaseFile) -> None:
        super().__init__(file)
        self._masked = TextRows(id="masked")
        self._body = CaseBody()

    def compose_body(self) -> Iterable[Widget]:
        yield self._masked
        yield self._body

    def on_mount(self) -> None:
        self._show()

    def on_resize(self) -> None:
        self._show()

    def _show(self) -> None:
        sheet = self.file.record.sheet
        masked = ", ".join(self.file.masked)
        said = f"Masked in it: {masked}." if masked else ""
        rows = wrapped([Span(NOT_OURS, "status-waiting")], max(8, self.app.size.width - 4))
        for text in filter(None, (self.file.newer, said)):
            rows += wrapped([Span(text, "muted")], max(8, self.app.size.width - 4))
        self._masked.show(rows)
        self._body.show(sheet, reply=NOT_OUR_REPLY)
        say_money(self, sheet, WHOSE)
        self.refresh_keys()

    @property
    def current(self) -> CaseSheet:
        return self.file.record.sheet

    def do_case_history(self, _: CaseSheet) -> None:
        self.app.push_screen(FileHistoryPage(self.file))

    def do_back(self) -> None:
        self.app.exit()


class FileHistoryPage(FilePage):
    NAME = "History"
    VERBS = (EARLIER_UPDATE, LATER_UPDATE, LEAVE_HISTORY)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"

    def __init__(self, file: CaseFile) -> None:
        super().__init__(file)
        self._line = TimeLine(NOT_OUR_REPLY)

    def compose_body(self) -> Iterable[Widget]:
        yield self._line

    def on_mount(self) -> None:
        self._line.show(self.file.record)
        self._stand()

    @on(LineTable.Highlighted)
    def _stand(self) -> None:
        self._line.show_moment()
        if self._line.sheet is not None:
            say_money(self, self._line.sheet, WHOSE)
        self.set_frame(self.frame(self._line.standing))
        self.refresh_keys()

    def do_step(self, by: int) -> None:
        self._line.step(by)

    def do_back(self) -> None:
        self.app.pop_screen()


class CaseFileApp(SafeApp[int]):
    """The application that shows one support file until the user leaves it."""

    CSS_PATH = "styles/desk.tcss"

    def __init__(
        self,
        file: CaseFile,
        *,
        theme: str,
        glyph_set: GlyphSet | None = None,
        driver_class: type[Driver] | None = None,
    ) -> None:
        super().__init__(theme=theme, glyph_set=glyph_set, driver_class=driver_class)
        self._first = FileCasePage(file)

    def get_default_screen(self) -> Screen[Any]:
        return self._first

    @on(DeskScreen.Go)
    def _go(self, event: DeskScreen.Go) -> None:
        if event.verb is everywhere.QUIT:
            self.exit()
