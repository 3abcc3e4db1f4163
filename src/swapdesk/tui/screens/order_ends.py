"""The keys of an order that did not end as it should, alike in the tracker and on its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.flows.creation.create_checks import NotAgain, came_to_nothing, same_again
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.quotes.quote_request import PLAIN, WishRefused, cost_in_words
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState

if TYPE_CHECKING:
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.tui.page import Page


def again_standing(page: Page, tracked: TrackedOrder | None) -> CommandState:
    link = page.link
    if tracked is None or link is None or not came_to_nothing(tracked):
        return HIDDEN
    asked = page.session.quote_options or PLAIN
    receive = tracked.intent is not None and tracked.intent.receive
    return CommandState(cost=cost_in_words(asked.to_receive if receive else asked))


def ask_again(page: Page, tracked: TrackedOrder | None) -> None:
    """Quotes for the same input; what was typed stands in the form that follows."""
    if tracked is None or not came_to_nothing(tracked):
        return
    from swapdesk.tui.screens.quotes import QuotesScreen

    try:
        again = same_again(tracked, page.desk.catalog, page.session.quote_options or PLAIN)
    except (NotAgain, WishRefused) as refused:
        page.show_notice(str(refused), "warning")
        return
    recipient = again.typed.recipient
    page.app.push_screen(
        QuotesScreen(page.session, again.wish, recipient=recipient, typed=again.typed)
    )


def put_away_standing(tracked: TrackedOrder | None) -> CommandState:
    if tracked is None or tracked.trouble is None:
        return HIDDEN
    return CommandState(verb="take back") if tracked.put_away else READY


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
