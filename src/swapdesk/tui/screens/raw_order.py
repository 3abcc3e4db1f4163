"""Pages that show a document as it was received: an order as the service wrote it, and a payload
that is to be signed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.widget import Widget

from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.raw_json import raw_lines
from swapdesk.tui.commands.raw_order import BACK, COPY_ALL
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import plain_text, wrapped
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.table_layout import Column, Row
from swapdesk.wire.encoding.codec import encode_json

if TYPE_CHECKING:
    from swapdesk.flows.orders.tracked_order import TrackedOrder

MARGINS = 4


class RawText(LineTable):
    """A long text as rows of a table, so that the keys of a table scroll it."""

    def __init__(self, **place: Any) -> None:
        super().__init__([Column("text", "", 20, grow=1)], heads=False, **place)
        self._lines: list[str] = []

    @property
    def value(self) -> str:
        return "\n".join(self._lines)

    def show(self, lines: Sequence[str]) -> None:
        """Shows ``lines``, wrapped to the width of the screen, with the cursor on the first row."""
        self._lines = list(lines)
        self._wrap()
        self.action_move(-len(self.rows))

    def on_resize(self) -> None:
        # The table's own handler follows; the toolkit calls both.
        self._wrap()

    def _wrap(self) -> None:
        width = max(20, self.app.size.width - MARGINS)
        rows: list[Row] = []
        for at, line in enumerate(self._lines):
            indent = len(line) - len(line.lstrip()) + 2
            for part, text in enumerate(wrapped(line, width, min(indent, width // 2))):
                rows.append(Row(f"{at}.{part}", {"text": plain_text(text)}))
        self.set_rows(rows)


class RawPage(Page, bare=True):
    """The base of pages that show and copy a document."""

    COPIED: ClassVar[str] = ""

    def __init__(self, session: Session, context: str) -> None:
        super().__init__(session, context=context)
        self._text = RawText()

    def compose_body(self) -> Iterable[Widget]:
        yield self._text

    def do_copy_all(self) -> None:
        self.controls.copy_value(self.COPIED, self._text.value)


class RawOrderScreen(RawPage):
    """The page with one order as the service wrote it. A deposit address that must not be paid is
    left out."""

    NAME = "Raw order"
    VERBS = (COPY_ALL, BACK)
    SPENDS = "read"
    COPIED = "order as JSON"

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, short_id(service_id))
        self.service_id = service_id

    def on_mount(self) -> None:
        self._text.show(self._read())
        self.on_tick()

    @property
    def _tracked(self) -> TrackedOrder | None:
        return self.link.tracker.recall(self.service_id) if self.link is not None else None

    def on_tick(self) -> None:
        if (tracked := self._tracked) is not None:
            summary = order_status(tracked, self.service_time())
            self.set_money(summary.money, summary.brief, where_short=summary.place)

    def _read(self) -> list[str]:
        entry, tracked = self.desk.journal.orders.get(self.service_id), self._tracked
        raw = self.link.api.raw_order(self.service_id) if self.link is not None else None
        source = "as the service wrote it"
        if raw is None:
            if entry is None:
                return ["The service did not write this order to this desk yet."]
            raw, source = encode_json(entry.order), "from this desk's journal"
        self.context = f"{short_id(self.service_id)} · {source}"
        hidden = None
        kept = tracked or entry
        if kept is not None and kept.withheld is not None:
            hidden = kept.order.deposit_address or ""
            self.context += ", deposit address left out"
        self.refresh_frame()
        return raw_lines(raw, hidden=hidden)


class RawPayloadScreen(RawPage):
    """The page with a payload to be signed, field by field as received. No key of this page
    signs."""

    NAME = "Raw fields"
    VERBS = (COPY_ALL, BACK)
    SPENDS = "exchange"
    COPIED = "fields as JSON"

    def __init__(self, session: Session, context: str, lines: Sequence[str]) -> None:
        super().__init__(session, context)
        self._lines = list(lines)

    def on_mount(self) -> None:
        self._text.show(self._lines)
        self.set_money("as on the review.", "you: esc goes back to the review")
