"""The deposit card of an order as it stands; pure. Nothing hidden is ever part of it."""

from __future__ import annotations

from datetime import datetime

from swapdesk.flows.announcements import deadline_passed
from swapdesk.flows.notation import (
    clock_time,
    countdown,
    exact_amount,
    expected,
    expected_minutes,
    table_amount,
)
from swapdesk.flows.order_state import OrderState, deposit_arrived, symbols
from swapdesk.flows.tracked_order import TrackedOrder
from swapdesk.tui.glyphs import ABOUT, DONE
from swapdesk.tui.screens.order_facts import payout_memo
from swapdesk.tui.spans import Line, LineLike, Span
from swapdesk.tui.widgets.check_line import Check, Verdict
from swapdesk.tui.widgets.deposit_card import DepositPhase, DepositState, Payment
from swapdesk.tui.widgets.detail_rows import Fact
from swapdesk.tui.widgets.quote_table import route_word
from swapdesk.tui.widgets.stage_line import Mark, StageState, stage_spans

_MARKS = {
    "waiting": Mark.WAITING,
    "moving": Mark.MOVING,
    "done": Mark.DONE,
    "trouble": Mark.TROUBLE,
    "back": Mark.ENDED,
    "expired": Mark.EXPIRED,
}
COMPARED = "recipient, amount, tokens are as confirmed"


def phase_of(tracked: TrackedOrder, now: datetime) -> DepositPhase:
    """Hidden before anything else; expired as soon as the deadline is over."""
    state = tracked.state(now)
    order = tracked.order
    if tracked.withheld is not None and not state.ended and not deposit_arrived(order):
        return DepositPhase.HIDDEN
    if state.level == "expired" or (state.deadline is not None and state.deadline <= now):
        return DepositPhase.EXPIRED
    if state.deadline is None or state.ended:
        return DepositPhase.SEEN
    if order.deposit_address is None or order.in_amount is None:
        return DepositPhase.HIDDEN
    return DepositPhase.WAITING


def payment_of(tracked: TrackedOrder, now: datetime) -> Payment | None:
    """What to pay and where; None unless the card may show it."""
    order = tracked.order
    if phase_of(tracked, now) is not DepositPhase.WAITING:
        return None
    assert order.deposit_address is not None
    assert order.in_amount is not None
    sent, _ = symbols(order)
    kind = tracked.intent.token_in.kind if tracked.intent else ""
    return Payment(
        network=network_of(tracked),
        amount=f"{exact_amount(order.in_amount)} {sent}",
        address=order.deposit_address,
        memo=order.deposit_tag or None,
        memo_label="Destination tag" if kind == "xrp" else "Memo",
    )


def network_of(tracked: TrackedOrder) -> str:
    """The chain to pay on, in words."""
    order = tracked.order
    if order.in_token is not None:
        return order.in_token.chain_data.name
    return tracked.intent.token_in.chain_name if tracked.intent else "?"


def deposit_state(tracked: TrackedOrder, now: datetime) -> DepositState:
    phase = phase_of(tracked, now)
    state = tracked.state(now)
    order = tracked.order
    facts = tuple(_facts(tracked, state))
    if phase is DepositPhase.HIDDEN:
        said = tracked.withheld or "The service sets up the deposit address."
        nothing = Check(Verdict.REFUSED, "Nothing was sent. Do not pay this order.")
        waits = Check(Verdict.UNKNOWN, "Nothing was sent. The address appears here.")
        verdict = nothing if tracked.withheld else waits
        return DepositState(phase, said, facts=facts, matches=verdict)
    if phase is DepositPhase.EXPIRED:
        head: LineLike = "Expired"
        verdict = Check(Verdict.WARNING, deadline_passed(order, closed=state.ended))
        return DepositState(phase, head, facts=facts, matches=verdict)
    if phase is DepositPhase.SEEN:
        return DepositState(phase, _seen_head(state), facts=facts)
    payment = payment_of(tracked, now)
    created = f"created {clock_time(order.created)}" if order.created is not None else ""
    compared = Check(Verdict.VALID, COMPARED) if tracked.intent is not None else None
    return DepositState(
        phase,
        f"Send this, once, on {network_of(tracked)}",
        created,
        payment,
        _deadline(state, now),
        left_part=_left_part(tracked, now),
        facts=facts,
        matches=compared,
    )


def stage_of(state: OrderState) -> StageState:
    """The stage line of an order."""
    return StageState(state.stage, len(state.stages), _MARKS[state.level])


def _seen_head(state: OrderState) -> Line:
    mark = _MARKS[state.level]
    glyph = DONE if mark is Mark.MOVING else mark.glyph
    return [Span(f"{glyph} ", mark.role), Span(state.sentence)]


def _deadline(state: OrderState, now: datetime) -> Line:
    assert state.deadline is not None
    left = countdown((state.deadline - now).total_seconds())
    until = clock_time(state.deadline, zone=True)
    return [Span(left, "foreground", bold=True), Span(f" left, until {until}", "muted")]


def _left_part(tracked: TrackedOrder, now: datetime) -> float:
    order = tracked.order
    if order.expires is None or order.created is None or order.expires <= order.created:
        return 0.0
    return (order.expires - now) / (order.expires - order.created)


def _facts(tracked: TrackedOrder, state: OrderState) -> list[Fact]:
    order, intent = tracked.order, tracked.intent
    _, received = symbols(order)
    out = order.out_token.chain_data.name if order.out_token is not None else ""
    rate = "" if state.ended else ", floating"
    about = "" if state.ended else f"{ABOUT} "
    get: Line = [
        Span(f"{about}{table_amount(order.out_amount)} {received}", bold=True),
        Span(f" on {out}{rate}" if out else "", "muted"),
    ]
    kind = "private" if order.anonymous else "standard"
    provider = order.swap_name or (intent.provider_name if intent else None) or "two legs"
    if kind == "private":
        provider = "two legs"
    eta = expected_minutes(order.eta)
    mark = _MARKS[state.level]
    facts = [Fact("They get" if intent and intent.kind == "private_send" else "You get", get)]
    if order.receiver_address is not None:
        label = intent.recipient_label if intent else None
        below: list[LineLike] = [Span(label, bold=True)] if label else []
        facts.append(Fact("To", address=order.receiver_address, below=below))
    facts += payout_memo(order, intent)
    route: Line = [route_word(kind), Span(f"  {provider}   "),
                   Span(f"{eta} after the deposit", "muted")]  # fmt: skip
    facts.append(Fact("Route", route))
    now_line: Line = [
        *stage_spans(stage_of(state)),
        Span(f"  {mark.glyph} ", mark.role),
        Span(state.sentence, mark.role),
    ]
    facts.append(Fact("Now", now_line))
    if state.elapsed is not None and state.deadline is None:
        wait = expected(state.expected.total_seconds() if state.expected else None)
        said = f"{expected(state.elapsed.total_seconds()).removeprefix('~')} of {wait}"
        facts.append(Fact("Time", said))
    if order.in_transaction_out_hash:
        facts.append(Fact("Payout tx", order.in_transaction_out_hash))
    return facts
