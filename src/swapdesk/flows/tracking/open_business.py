"""Writes sentences about what is open when the desk is left, about what an earlier run left open,
and the news of the first screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice
from typing import Literal

from msgspec import Struct

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.token_list import TokenRow
from swapdesk.flows.creation.order_verification import CreateUnknown, NotCreated
from swapdesk.flows.creation.resume import ResumeReport
from swapdesk.flows.failure_messages import NOT_CREATED, OUTCOME_UNKNOWN, Level
from swapdesk.flows.intents.intent import DepositRelease, Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.orders.order_history import happened
from swapdesk.flows.orders.order_merge import display_of, ended
from swapdesk.flows.orders.order_status import order_status, reported_status
from swapdesk.flows.orders.situations import NOT_SIGNED, situation_of
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.tracking.announcements import found_again
from swapdesk.wire.orders import DisplayStatus


def quit_warning(
    orders: Iterable[TrackedOrder],
    now: datetime,
    *,
    creating: bool = False,
    signing: int = 0,
    paying: int = 0,
) -> str | None:
    """Returns the warning shown before the user leaves the desk; None if nothing is open.
    ``creating`` says that the service has not answered a create request. ``signing`` and ``paying``
    count swaps and deposits under way."""
    if creating:
        return (
            "An order is being created and the service has not answered yet."
            " The desk looks for it at its next start. q quits."
        )
    if count := signing + paying:
        what = "deposit" if not signing else "swap" if not paying else "payment"
        begun = f"A {what} is" if count == 1 else f"{count} {what}s are"
        them = "it" if count == 1 else "them"
        return f"{begun} under way. The desk goes on with {them} at its next start. q quits."
    running = [tracked for tracked in orders if not ended(display_of(tracked.order))]
    yours = sum(waits_for_you(tracked, now) for tracked in running)
    if not running:
        return None
    count = yours or len(running)
    if count == 1:
        what = "order waits for you" if yours else "order is open"
        goes = "It goes on without the desk and is"
    else:
        what = "orders wait for you" if yours else "orders are open"
        goes = "They go on without the desk and are"
    return f"{count} {what}. {goes} here when you come back. q quits."


def waits_for_you(tracked: TrackedOrder, now: datetime) -> bool:
    """Returns whether the user acts next on an open order. Computes :func:`order_status` only if
    necessary."""
    order, hidden = tracked.order, tracked.withheld is not None
    asked = bool(tracked.payments) or tracked.out_of_reach(now)
    if not asked and display_of(order) in (DisplayStatus.WAITING_FOR_DEPOSIT, None):
        if hidden and tracked.standing in (DepositRelease.FOREIGN, DepositRelease.UNREPEATED):
            return False
        asked = hidden or (order.expires is not None and order.expires <= now)
    return (order_status(tracked, now) if asked else situation_of(order)).actor == "you"


class OpenFinding(Struct, frozen=True):
    """The outcome of an intent (a swap confirmed by the user) that an earlier run left open.
    ``service_id`` is the id of its order, if known. ``intent_id`` is set only if the outcome is
    still unknown."""

    kind: Literal["found", "withheld", "not_created", "unknown", "elsewhere"]
    what: str
    said: str
    service_id: str | None = None
    intent_id: str | None = None


def findings(report: ResumeReport) -> list[OpenFinding]:
    """Returns one finding for each intent that an earlier run of the desk left without a known
    outcome."""
    created_orders = [
        OpenFinding(
            "found" if created.withheld is None else "withheld",
            intent_words(intent),
            created.withheld or found_again(created.order),
            created.order.service_id,
        )
        for intent, created in report.found
    ]
    unknown = [
        OpenFinding(
            "unknown",
            intent_words(intent),
            f"{OUTCOME_UNKNOWN.cause} Nothing was paid.",
            intent_id=intent.id,
        )
        for intent, _ in report.unknown
    ]
    gone = [
        OpenFinding("not_created", intent_words(intent), f"{NOT_CREATED.cause} Nothing was paid.")
        for intent in report.not_created
    ]
    elsewhere = [
        OpenFinding("elsewhere", intent_words(intent), "Another desk that runs now looks after it.")
        for intent in report.elsewhere
    ]
    return [*created_orders, *unknown, *gone, *elsewhere]


def create_ended(intent: Intent, outcome: NotCreated | CreateUnknown) -> str:
    """Returns a sentence for a user who had left the screen when the create request ended: no order
    was created, or the outcome is unknown."""
    failure = outcome.failure
    cause = f"{intent_words(intent)}: {failure.cause}"
    if isinstance(outcome, CreateUnknown):
        return f"{cause} Nothing was paid. Next {failure.next}."
    return f"{cause} No order was created, nothing was paid."


def settled_words(report: ResumeReport) -> list[str]:
    """Returns a sentence for each intent whose outcome was unknown and is now known: an order, or
    no order."""
    settled = ("found", "withheld", "not_created")
    return [f"{end.what}: {end.said}" for end in findings(report) if end.kind in settled]


def intent_words(intent: Intent) -> str:
    """Returns a short description of an intent, as ``0.5 BTC to ETH, standard``."""
    amount = f"{exact_amount(intent.amount_in)} {intent.token_in.symbol}"
    label = f", {intent.recipient_label}" if intent.recipient_label else ""
    return f"{amount} to {intent.token_out.symbol}, {intent.route}{label}"


# News of the first screen


class RecentEvent(Struct, frozen=True):
    """A state that an order reached. ``order`` is its shortened id, ``word`` the state's name, and
    ``level`` sets the colour."""

    at: datetime
    order: str
    word: str
    level: Level


def recent_events(
    journal: Journal, limit: int, known: Callable[[str], TrackedOrder | None] = lambda _: None
) -> list[RecentEvent]:
    """Returns the ``limit`` newest states in the journal, newest first. A swap that was never
    signed is listed as not signed, whatever the service reported. ``known`` returns the tracked
    order for an id."""
    events = []
    for at, order in journal.orders.history.latest(limit):
        state = reported_status(order, now=at)
        word, level = state.word, state.level
        tracked = known(order.service_id)
        if tracked is not None and tracked.not_signed and state.ended:
            word, level = NOT_SIGNED.word, NOT_SIGNED.level
        events.append(RecentEvent(happened(order, at), short_id(order.service_id), word, level))
    return sorted(events, key=lambda event: event.at, reverse=True)


def markets_of(intents: Iterable[Intent], catalog: Catalog, limit: int) -> list[TokenRow]:
    ids = dict.fromkeys(
        token.id for intent in intents for token in (intent.token_in, intent.token_out)
    )
    rows = map(catalog.row, ids)
    return list(islice((row for row in rows if row is not None and row.price is not None), limit))
