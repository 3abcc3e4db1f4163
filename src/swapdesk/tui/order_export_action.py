"""Taking the orders shown along: where to, as what, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from swapdesk.flows.orders.order_export import (
    ExportForm,
    export_bytes,
    export_directory,
    export_name,
    form_of,
    write_export,
)
from swapdesk.tui.widgets.export_overlay import ExportOverlay
from swapdesk.tui.widgets.spoken_overlay import SpokenOverlay
from swapdesk.tui.widgets.table_layout import MARGIN

if TYPE_CHECKING:
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.tui.page import Page


def ask_export(page: Page, orders: Sequence[TrackedOrder], now: datetime) -> None:
    """Offer a path, and write to the one that is chosen."""
    directory = export_directory(page.session.settings.home, Path.home())

    def chosen(path: Path | None) -> None:
        if path is not None:
            export_to(page, orders, path, now)

    offered = directory / export_name(now, ExportForm.CSV)
    page.app.push_screen(ExportOverlay(len(orders), offered), chosen)


def export_to(page: Page, orders: Sequence[TrackedOrder], path: Path, now: datetime) -> None:
    """Write and say where; the whole path, however long it is."""
    made = page.desk.journal.transactions.all()
    try:
        written = write_export(path, export_bytes(orders, now, form_of(path), made))
    except OSError as error:
        reason = error.strerror or str(error)
        page.show_notice(f"{path} was not written: {reason}.", "error")
        return
    said = f"{len(orders)} {'order' if len(orders) == 1 else 'orders'} written to {written}"
    if len(said) <= page.app.size.width - 2 * MARGIN:
        page.show_notice(said)
    else:
        # A path is of no use when it is cut.
        page.app.push_screen(SpokenOverlay(said))
