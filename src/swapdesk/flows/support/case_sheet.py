"""What is shown of an order to whoever helps its customer, as texts alone.

A sheet is one order at one moment. A record is the sheet of now, one of each moment at which
something new was heard, and the requests between them. Pages and files render the same record, so
that a file shows what the desk showed. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from swapdesk.flows.notation import NOTHING, clock_time
from swapdesk.flows.orders.order_fields import route_of
from swapdesk.flows.orders.order_history import Update, updates_of
from swapdesk.flows.orders.order_sentence import pair_parts
from swapdesk.flows.request_lines import LoggedCall, logged_call
from swapdesk.flows.support.support_case import CaseFacts, support_case

MOST_STEPS = 6


class CaseStep(Struct, frozen=True, rename="camel"):
    at: str
    """``13:24:02``, UTC."""
    level: str
    text: str


class CaseSheet(Struct, frozen=True, rename="camel"):
    """One order at one moment. Sentences have their points; nothing is left to be concluded."""

    order_id: str
    created: datetime | None
    route: str
    pair: tuple[tuple[str, bool], ...]
    """``0.5 BTC → 14.524108 ETH`` in parts; whether a part is an amount."""
    word: str
    """``On hold``."""
    sign: str
    level: str
    """What glyph and hue the state has."""
    stage: int
    stages: int
    signed: bool
    steps: tuple[CaseStep, ...]
    """The newest states, oldest first."""
    earlier: int
    """How many states came before these."""
    receiver: str | None
    memo: str | None
    refund: str | None
    request_id: str | None
    time: str
    """``41m of ~14m``; empty where no time is known."""
    late: bool
    archived: bool
    """Whether the service no longer answers for it."""
    rule: str
    certainty: str
    cause: str
    money: str
    place: str
    """The same as it follows the word Funds: ``0.5 BTC, held at Juniper.``"""
    owner: str
    acts: str
    by: str
    facts: tuple[str, ...]
    reply: tuple[str, ...]
    """Lines of the reply to the customer."""
    escalation: tuple[str, ...]
    """Lines of the text to the service."""


class CaseMoment(Struct, frozen=True, rename="camel"):
    """Something new was heard of the order ``at`` a time. ``written`` is when it happened; None in
    a file whose service did not say."""

    at: datetime
    source: str
    state: str
    level: str
    written: datetime | None
    changed: tuple[str, ...]
    sheet: CaseSheet

    @property
    def happened(self) -> datetime:
        return self.written or self.at


class CaseRecord(Struct, frozen=True, rename="camel"):
    """All that is shown of one order. Moments, and the requests that concerned it without their
    bodies, oldest first."""

    at: datetime
    """When it was looked at."""
    sheet: CaseSheet
    moments: tuple[CaseMoment, ...]
    calls: tuple[LoggedCall, ...]


def record_of(facts: CaseFacts) -> CaseRecord:
    updates = list(reversed(updates_of(facts.seen)))
    moments = tuple(
        CaseMoment(
            one.at,
            one.source,
            one.state,
            one.level,
            one.happened,
            one.changed,
            sheet_of(facts.then(number), updates[: number + 1]),
        )
        for number, one in enumerate(updates)
    )
    calls = tuple(map(logged_call, facts.calls))
    return CaseRecord(facts.at, sheet_of(facts, updates), moments, calls)


def sheet_of(facts: CaseFacts, updates: Sequence[Update] | None = None) -> CaseSheet:
    """``updates``, oldest first, where they are known."""
    if updates is None:
        updates = list(reversed(updates_of(facts.seen)))
    case, order = support_case(facts), facts.tracked.order
    status, found = case.status, case.diagnosis
    steps = tuple(
        CaseStep(clock_time(one.happened), one.level, one.state.replace("_", " ").lower())
        for one in updates[-MOST_STEPS:]
    )
    return CaseSheet(
        order_id=order.service_id,
        created=order.created,
        route=route_of(order),
        pair=pair_parts(facts.tracked),
        word=status.word,
        sign=status.sign,
        level=status.level,
        stage=status.stage,
        stages=len(status.stages),
        signed=not status.not_signed,
        steps=steps,
        earlier=max(0, len(updates) - MOST_STEPS),
        receiver=order.receiver_address,
        memo=order.receiver_tag,
        refund=order.refund_address,
        request_id=facts.request_id,
        time=status.time.text if status.time.text != NOTHING else "",
        late=status.time.late,
        archived=facts.tracked.archived(facts.at),
        rule=found.rule,
        certainty=found.certainty,
        cause=found.cause,
        money=found.money,
        place=f"{found.money[:1].lower()}{found.money[1:]}",
        owner=found.owner,
        acts=found.acts,
        by=found.by,
        facts=found.facts,
        reply=tuple(case.reply.splitlines()),
        escalation=tuple(case.escalation.splitlines()),
    )
