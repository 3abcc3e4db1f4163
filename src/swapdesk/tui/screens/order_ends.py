"""The keys of an order that did not end as it should, alike in the tracker and on its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.tui.commands.command import HIDDEN, READY, Standing

if TYPE_CHECKING:
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.tui.page import Page


def put_away_standing(tracked: TrackedOrder | None) -> Standing:
    if tracked is None or tracked.trouble is None:
        return HIDDEN
    return Standing(verb="take back") if tracked.put_away else READY


def put_away(page: Page, tracked: TrackedOrder | None) -> None:
    """Put it away, or take it back where it is."""
    link = page.link
    if tracked is None or tracked.trouble is None or link is None:
        return
    name = tracked.short_id
    try:
        if tracked.put_away:
            link.tracker.take_back(tracked.service_id)
            said = f"Order {name} needs you again."
        else:
            link.tracker.put_away(tracked.service_id)
            said = f"Order {name} is put away and stays in the journal. D takes it back."
    except JournalUnavailable as error:
        page.show_notice(f"The journal does not take it: {error}.", "error")
        return
    page.show_notice(said)
