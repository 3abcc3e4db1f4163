"""Actions on orders that the tracker and the page of an order share.

An order that failed is reviewed again or put away, a deposit is paid from the wallet or the
sandbox's faucet, and the orders shown are exported to a file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from swapdesk.flows.creation.confirm_intent import NotAgain, came_to_nothing, same_again
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.orders.order_export import (
    export_bytes,
    export_directory,
    export_name,
    form_of,
    write_export,
)
from swapdesk.flows.quotes.quote_request import PLAIN, WishRefused, cost_in_words
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState
from swapdesk.tui.session import PLAYED
from swapdesk.tui.spans import LineLike, Span
from swapdesk.tui.widgets.overlay import SpokenOverlay, TextOverlay
from swapdesk.tui.widgets.table_layout import MARGIN

if TYPE_CHECKING:
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.tui.page import Page


def refresh_standing(page: Page) -> CommandState:
    hidden = page.link is None or page.link.connection.read_only
    return CommandState(cost="1 read", locked="reading" if page.fetching else "", hidden=hidden)


def again_standing(page: Page, tracked: TrackedOrder | None) -> CommandState:
    if tracked is None or not came_to_nothing(tracked):
        return HIDDEN
    asked = page.session.quote_options or PLAIN
    receive = tracked.intent is not None and tracked.intent.receive
    return CommandState(cost=cost_in_words(asked.to_receive if receive else asked))


def ask_again(page: Page, tracked: TrackedOrder | None) -> None:
    """Quotes for the same input; what was typed stands in the form that follows."""
    if tracked is None:
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
    if tracked is None:
        return HIDDEN
    back = "take back" if tracked.put_away else ""
    return CommandState(verb=back, hidden=tracked.trouble is None)


def put_away(page: Page, tracked: TrackedOrder | None) -> None:
    """Put it away, or take it back where it is."""
    link = page.link
    if tracked is None or link is None:
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


NOT_THIS_ONE = "A deposit is being paid. This one was not."
FROM_WALLET, FROM_FAUCET, GO_ON = "fund from wallet", "fund from the faucet", "open the payment"


def fund_standing(
    page: Page, tracked: TrackedOrder | None, *, payable: bool, paying: bool, brief: bool = True
) -> CommandState:
    """``payable``: the order may be paid now; ``paying``: the faucet pays it from here;
    ``brief``: where the footer has no room to say who pays."""
    link, ways = page.link, page.desk.deposit_ways
    if tracked is None or link is None:
        return HIDDEN
    if ways.under_way(tracked):
        return READY if brief else CommandState(verb=GO_ON)
    if not payable:
        return HIDDEN
    if paying:
        return CommandState(locked="on its way")
    by = ways.of(tracked)
    if by is None:
        missing = ways.missing(tracked)
        return HIDDEN if missing is None else CommandState(locked=missing)
    faucet = link.faucet if by == "faucet" else None
    refusal = ways.refusal(tracked) if faucet is None else faucet.refusal(tracked)
    if refusal is not None:
        return CommandState(locked=refusal.rstrip(".").lower())
    if brief:
        return READY
    return CommandState(verb=FROM_WALLET if by == "wallet" else FROM_FAUCET)


def begin_funding(page: Page, tracked: TrackedOrder | None) -> bool:
    """Whether the faucet pays now. From the wallet nothing is paid yet: the screen that signs
    opens."""
    controls, ways = page.controls, page.desk.deposit_ways
    if tracked is not None and (ways.under_way(tracked) or ways.of(tracked) == "wallet"):
        controls.signing.pay_from_wallet(tracked)
        return False
    if tracked is None or not controls.creates.pay_by_faucet(tracked):
        page.show_notice(NOT_THIS_ONE, "warning")
        return False
    return True


FORMS: LineLike = [Span("A name that ends in .csv is written as CSV, in .json as JSON.", "muted")]


def _export_path(offered: Path, typed: str) -> Path:
    """Where to write. Raises UnknownForm."""
    path = Path(os.path.expanduser(typed.strip()))
    # A directory keeps the name that was offered.
    chosen = path / offered.name if os.path.isdir(path) else path
    form_of(chosen)
    return chosen


def ask_export(page: Page, orders: Sequence[TrackedOrder], now: datetime) -> None:
    """Offer a path, and write to the one that is chosen."""
    if page.session.played:
        page.show_notice(PLAYED, "warning")
        return
    directory = export_directory(page.session.settings.home, Path.home())

    def chosen(path: Path | None) -> None:
        if path is not None:
            export_to(page, orders, path, now)

    offered = directory / export_name(now, "csv")
    noun = "order" if len(orders) == 1 else "orders"
    head = [Span(f"Export {len(orders)} {noun}", bold=True)]
    read = partial(_export_path, offered)
    page.app.push_screen(TextOverlay("write", [head], FORMS, read, str(offered)), chosen)


def export_to(page: Page, orders: Sequence[TrackedOrder], path: Path, now: datetime) -> None:
    """Write and say where; the whole path, however long it is."""
    made = page.desk.journal.orders.transactions()
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
