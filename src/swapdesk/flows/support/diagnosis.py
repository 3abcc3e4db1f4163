"""Why an order is where it is: cause, money, who acts next, by when, how sure, from which facts.

The situation of the order (``orders.situations``) gives the words, so that no line of a desk says
another thing. Beside it stands what is wrong with the service or the clock, and what an overdue
order means. Where the service gives no reason, amount or date, that is the diagnosis. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.notation import clock_time, date
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.orders.order_transactions import OrderTransaction
from swapdesk.flows.orders.situations import (
    LAST_HEARD,
    NO_TIME,
    OF_PAYMENT,
    WAITING,
    Certainty,
)
from swapdesk.flows.orders.tracked_order import TrackedOrder

MUCH_LATER = 2
"""From so many times the expected time on, waiting longer is no advice."""
NO_REFUND_ADDRESS = "The order names no address for a refund."
_SUPPORT_ACT = "write to support"


class Owner(StrEnum):
    """Who acts next, as support sees it."""

    CUSTOMER = "the customer"
    SUPPORT = "you"
    SERVICE = "the service"
    CHAIN = "the chain"
    NOBODY = "nobody"


class DeskFacts(Struct, frozen=True):
    """What this desk knows beside the order. Each is None where nothing is wrong."""

    silent_since: datetime | None = None
    """Since when the service has not answered."""
    clock_problem: str | None = None
    """A sentence: this machine's clock differs from the service's."""
    provider_off: str | None = None
    """The name of the order's provider, where the service says that it is switched off."""


class Diagnosis(Struct, frozen=True):
    """Sentences with their points; ``rule`` names what decided."""

    rule: str
    """``held``, ``payment-wrong-token``, ``late``."""
    certainty: Certainty
    cause: str
    money: str
    owner: Owner
    acts: str
    """``you: pass it to the service with order h8Kq2P…, request 6f1d….``"""
    by: str
    facts: tuple[str, ...]
    """What it was concluded from: each with its value, its source and its time."""


def diagnose(
    tracked: TrackedOrder,
    now: datetime,
    *,
    request_id: str | None = None,
    since: datetime | None = None,
    made: Sequence[OrderTransaction] = (),
    known: DeskFacts | None = None,
) -> Diagnosis:
    """``request_id`` is that of the create, where this desk made it; ``since`` is when the present
    state began; ``made`` are the order's transactions."""
    known = known or DeskFacts()
    order, status = tracked.order, status_for_support(tracked, now, made)
    request = f", request {request_id}" if request_id else ""
    pass_on = f"pass it to the service with order {tracked.service_id}{request}"
    found = _of_situation(tracked, status, pass_on, _facts(tracked, status, made, known, now))
    old = status.situation is LAST_HEARD
    ahead = old or status.situation in OF_PAYMENT
    private = tracked.intent is not None and tracked.intent.route == "private"
    if private and not order.anonymous and not ahead:
        found = _on_top(
            found,
            "not-private",
            "A private route was confirmed, and the service tells the order as one that is not"
            " private: whoever watches the chain may join both ends",
            Owner.SUPPORT,
            pass_on,
        )
    elif status.late_by is not None and status.situation.level == "moving" and not ahead:
        found = _overdue(found, status, known, pass_on)
    silent = known.silent_since
    if silent is not None and not status.closed and not old:
        found = _on_top(
            found,
            "service-silent",
            f"The service has not answered since {_moment(silent, now)}. What is said of the order"
            f" is what was heard last",
            Owner.SERVICE,
            "it answers again",
        )
    cause = f"{found.cause}."
    if since is not None and not status.closed and not ahead:
        cause = f"{cause} It has been so since {_moment(since, now)}."
    if known.clock_problem is not None:
        cause = f"{cause} {known.clock_problem}"
    return replace(
        found,
        cause=f"{cause[:1].upper()}{cause[1:]}",
        money=f"{found.money[:1].upper()}{found.money[1:]}",
        acts=f"{found.acts}.",
        by=f"{found.by[:1].upper()}{found.by[1:]}.",
    )


def status_for_support(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction] = ()
) -> OrderStatus:
    """What the order means to whoever helps its customer: that this desk would not pay an order of
    somebody else says nothing of it."""
    if tracked.standing is DepositRelease.FOREIGN and not tracked.in_batch:
        tracked = replace(tracked, withheld=None, standing=DepositRelease.RELEASED)
    return order_status(tracked, now, made)


def _on_top(found: Diagnosis, rule: str, cause: str, owner: Owner, act: str) -> Diagnosis:
    """The same order with something that comes before what is the matter with it."""
    return replace(
        found,
        rule=rule,
        certainty=Certainty.LIKELY,
        cause=f"{cause}. {found.cause}",
        owner=owner,
        acts=f"{owner}: {act}",
        by=NO_TIME,
    )


def _of_situation(
    tracked: TrackedOrder, status: OrderStatus, pass_on: str, facts: tuple[str, ...]
) -> Diagnosis:
    """What the situation says, still without the points of its sentences."""
    cause = for_support(status.told.removesuffix("."))
    if status.situation.asks_where and tracked.order.refund_address is None:
        cause = f"{cause}. {NO_REFUND_ADDRESS.removesuffix('.')}"
    owner, act = _owner(status, tracked), status.act
    # A provider has a name of its own.
    actor = status.actor if owner is Owner.SERVICE else owner
    if owner is Owner.SUPPORT and not tracked.in_batch:
        act = f"if it was paid, {pass_on}" if act.startswith("if you paid") else pass_on
    return Diagnosis(
        rule=status.situation.code.replace(" ", "-"),
        certainty=status.certainty,
        cause=cause,
        # A batch is paid from this desk.
        money=status.money if tracked.in_batch else for_support(_unless_sent(status)),
        owner=owner,
        acts=f"{actor}: {act}",
        by=status.by,
        facts=facts,
    )


def for_support(text: str) -> str:
    """A sentence about an order, for whoever helps: "you" is its customer."""
    for said, told in _CUSTOMER:
        text = text.replace(said, told)
    return text


_CUSTOMER = (
    ("your wallet", "the customer's wallet"),
    ("if you sent nothing", "if nothing was sent"),
    ("the token you sent", "the token that was sent"),
    ("than you confirmed", "than was confirmed"),
)


def _unless_sent(status: OrderStatus) -> str:
    """That the service saw no deposit does not tell that none was sent."""
    if status.said is WAITING and status.money == WAITING.money:
        return "in your wallet, if you sent nothing."
    return status.money


def _owner(status: OrderStatus, tracked: TrackedOrder) -> Owner:
    if status.actor == "you":
        # What a batch waits for is done at this desk.
        mine = tracked.in_batch or _SUPPORT_ACT in status.act
        return Owner.SUPPORT if mine else Owner.CUSTOMER
    if status.actor == "whoever made it":
        return Owner.CUSTOMER
    # Any other name is a provider's, which acts for the service.
    return next((owner for owner in Owner if owner.value == status.actor), Owner.SERVICE)


def _overdue(found: Diagnosis, status: OrderStatus, known: DeskFacts, pass_on: str) -> Diagnosis:
    """An order under way is over the time that the service expected."""
    passed, due = status.elapsed, status.expected
    if passed is not None and due is not None and passed >= due * MUCH_LATER:
        found = replace(found, owner=Owner.SUPPORT, acts=f"{Owner.SUPPORT}: {pass_on}")
    if known.provider_off is None:
        by = "the expected time has passed; the service names no other"
        return replace(found, rule="late", by=by)
    return replace(
        found,
        rule="provider-off",
        certainty=Certainty.LIKELY,
        cause=f"{known.provider_off} is switched off at the service. {found.cause}",
        by=NO_TIME,
    )


def _facts(
    tracked: TrackedOrder,
    status: OrderStatus,
    made: Sequence[OrderTransaction],
    known: DeskFacts,
    now: datetime,
) -> tuple[str, ...]:
    order = tracked.order
    heard = f"{tracked.source} {_moment(tracked.seen_at, now)}"
    legs = " and ".join(str(leg) if leg is not None else "not given" for leg in status.legs)
    said = [
        f"displayStatus {status.display or 'not given'}, {heard}",
        f"leg state{'s' if len(status.legs) > 1 else ''} {legs}, {heard}",
    ]
    for name, value in (
        ("actionRequired", order.action_required),
        ("nonRefundable", order.non_refundable),
        ("rerouted", order.rerouted),
    ):
        if value:
            said.append(f"{name} true, {heard}")
    if order.expires is not None:
        said.append(f"expires {_moment(order.expires, now)}")
    if order.refund_hash or order.refund_amount is not None:
        said.append(f"refund told, {heard}")
    for one in made:
        who = "the service names" if one.fate == "seen" else f"journal: {one.fate}"
        said.append(f"{who} {one.role} {one.hash}")
    for payment in tracked.payments:
        at = f", {_moment(payment.at, now)}" if payment.at is not None else ""
        said.append(f"chain: {payment.said}{at}, {payment.hash}")
    if known.silent_since is not None:
        said.append(f"no answer of the service since {_moment(known.silent_since, now)}")
    if tracked.archived(now):
        said.append("older than the 48 hours that the service answers for")
    elif tracked.gone:
        said.append("the service did not know the order when it was asked last")
    return tuple(said)


def _moment(at: datetime, now: datetime) -> str:
    same = at.date() == now.date()
    return f"{clock_time(at)} UTC" if same else f"{date(at, now)} {clock_time(at)} UTC"
