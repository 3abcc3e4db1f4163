"""Actions that the page of all orders and the pages of one order share: to ask for quotes again, to
put a failed order away, to pay a deposit, and to export orders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

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
from swapdesk.tui.commands.command import HIDDEN, CommandState, Standings
from swapdesk.tui.commands.orders import AGAIN, PUT_AWAY
from swapdesk.tui.page import Page
from swapdesk.tui.session import PLAYED, Session
from swapdesk.tui.spans import LineLike, Span, wrapped
from swapdesk.tui.widgets.overlay import ReadingOverlay, TextOverlay
from swapdesk.tui.widgets.table_layout import MARGIN

if TYPE_CHECKING:
    from swapdesk.flows.orders.tracked_order import TrackedOrder


NOT_THIS_ONE = "A deposit is being paid. This one was not."
FROM_WALLET, FROM_FAUCET, GO_ON = "fund from wallet", "fund from the faucet", "open the payment"


class OrderActions(Page, bare=True):
    """A page with keys to pay for an order, to ask for it again, or to mark its problem as dealt
    with."""

    NAMES_PAYER: ClassVar[bool] = False
    """True if the footer of this page has room for words that name who pays the deposit."""

    def __init__(self, session: Session, **place: Any) -> None:
        super().__init__(session, **place)
        self.paying: set[str] = set()
        """Service ids of the orders for which this page asked the faucet to pay the deposit, until
        they change."""

    @property
    def current(self) -> TrackedOrder | None:
        return None

    def orders_changed(self, ids: frozenset[str]) -> None:
        self.paying -= ids

    def refresh_standing(self) -> CommandState:
        hidden = self.link is None or self.link.connection.read_only
        return CommandState(cost="1 read", locked="reading" if self.fetching else "", hidden=hidden)

    def standings_of(self, tracked: TrackedOrder) -> Standings:
        takes_back = "take back" if tracked.put_away else ""
        return {
            AGAIN: self._again_standing(tracked),
            PUT_AWAY: CommandState(verb=takes_back, hidden=tracked.trouble is None),
        }

    def _again_standing(self, tracked: TrackedOrder) -> CommandState:
        if not came_to_nothing(tracked):
            return HIDDEN
        asked = self.session.quote_options or PLAIN
        receive = tracked.intent is not None and tracked.intent.receive
        return CommandState(cost=cost_in_words(asked.to_receive if receive else asked))

    def do_again(self, tracked: TrackedOrder) -> None:
        """Asks for quotes with the amount and tokens of ``tracked``, for a new order with the same
        recipient and memo."""
        from swapdesk.tui.screens.quotes import QuotesScreen

        try:
            again = same_again(tracked, self.desk.catalog, self.session.quote_options or PLAIN)
        except (NotAgain, WishRefused) as refused:
            self.show_notice(str(refused), "warning")
            return
        recipient = again.typed.recipient
        self.app.push_screen(
            QuotesScreen(self.session, again.request, recipient=recipient, typed=again.typed)
        )

    def do_put_away(self, tracked: TrackedOrder) -> None:
        """Moves a failed order out of the list of orders that need the user. An order that was
        moved out before returns to the list."""
        tracker, name = self.desk.link.tracker, tracked.short_id
        try:
            if tracked.put_away:
                tracker.take_back(tracked.service_id)
                notice = f"Order {name} needs you again."
            else:
                tracker.put_away(tracked.service_id)
                key = self.verbs.shown_key(PUT_AWAY)
                notice = f"Order {name} is put away and stays in the journal. {key} takes it back."
        except JournalUnavailable as error:
            self.show_notice(f"The journal does not take it: {error}.", "error")
            return
        self.show_notice(notice)

    def fund_standing(self, tracked: TrackedOrder, *, payable: bool) -> CommandState:
        """Returns the state of the key that pays the deposit of ``tracked``. If ``payable`` is
        False, the key is hidden unless a payment is under way."""
        ways = self.desk.deposit_ways
        if ways.under_way(tracked):
            return CommandState(verb=GO_ON if self.NAMES_PAYER else "")
        if not payable:
            return HIDDEN
        if tracked.service_id in self.paying:
            return CommandState(locked="on its way")
        by = ways.of(tracked)
        if by is None:
            missing = ways.missing(tracked)
            return CommandState(locked=missing or "", hidden=missing is None)
        faucet = self.desk.link.faucet if by == "faucet" else None
        refusal = ways.refusal(tracked) if faucet is None else faucet.refusal(tracked)
        if refusal is not None:
            return CommandState(locked=refusal.rstrip(".").lower())
        payer = FROM_WALLET if by == "wallet" else FROM_FAUCET
        return CommandState(verb=payer if self.NAMES_PAYER else "")

    def do_fund(self, tracked: TrackedOrder) -> None:
        """Pays the deposit of ``tracked``: the sandbox's faucet at once, the wallet only after the
        user signs on the page that opens."""
        ways = self.desk.deposit_ways
        if ways.under_way(tracked) or ways.of(tracked) == "wallet":
            self.controls.signing.pay_from_wallet(tracked)
        elif self.controls.creates.pay_by_faucet(tracked):
            self.paying.add(tracked.service_id)
            self.step_changed("funding")
        else:
            self.show_notice(NOT_THIS_ONE, "warning")


class OneOrderPage(OrderActions, bare=True):
    """A page about the order with the id ``service_id``. This desk may not know that order yet."""

    def __init__(self, session: Session, service_id: str, context: str) -> None:
        super().__init__(session, context=context)
        self.service_id = service_id

    @property
    def current(self) -> TrackedOrder | None:
        return self.link.tracker.recall(self.service_id) if self.link is not None else None

    def on_tick(self) -> None:
        self.show()

    def orders_changed(self, ids: frozenset[str]) -> None:
        super().orders_changed(ids)
        if not ids or self.service_id in ids:
            self.show()


FORMS: LineLike = [Span("A name that ends in .csv is written as CSV, in .json as JSON.", "muted")]


def _export_path(offered: Path, typed: str) -> Path:
    path = Path(os.path.expanduser(typed.strip()))
    # A directory keeps the name that was offered.
    chosen = path / offered.name if os.path.isdir(path) else path
    form_of(chosen)
    return chosen


def ask_export(page: Page, orders: Sequence[TrackedOrder], now: datetime) -> None:
    """Asks for a path, with a proposal in the export directory, and exports ``orders`` to it."""
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
    """Writes ``orders`` to ``path`` in the format of its extension. A notice tells the result."""
    made = page.desk.journal.orders.transactions()
    try:
        written = write_export(path, export_bytes(orders, now, form_of(path), made))
    except OSError as error:
        reason = error.strerror or str(error)
        page.show_notice(f"{path} was not written: {reason}.", "error")
        return
    notice = f"{len(orders)} {'order' if len(orders) == 1 else 'orders'} written to {written}"
    if len(notice) <= page.app.size.width - 2 * MARGIN:
        page.show_notice(notice)
    else:
        # A path is of no use when it is cut.
        page.app.push_screen(ReadingOverlay(partial(wrapped, notice)))
