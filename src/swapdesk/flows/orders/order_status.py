"""Makes an :class:`OrderStatus`, which says what an order means at one moment, by a pure function.

The texts of a row of ``situations`` are filled with facts of the order and its intent. The row
follows from the service's state, unless this desk knows more. The paid amount is the one that a
chain shows, because the service names only the amount asked for. Text from the service fills a
place of a template and is never used as a template.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.acts import State
from swapdesk.flows.failure_messages import Level
from swapdesk.flows.intents.intent import DepositRelease, Intent
from swapdesk.flows.notation import (
    NOTHING,
    Elapsed,
    as_of,
    capital,
    clock_time,
    countdown,
    duration,
    elapsed,
    expected,
    percent,
    short_address,
    short_clock,
)
from swapdesk.flows.orders.deposit_destination import (
    deposit_known,
    kept_of,
    own_payment,
    sent_otherwise,
)
from swapdesk.flows.orders.order_fields import (
    against_promise,
    deposit_arrived,
    deposit_doubted,
    expected_end,
    in_second_leg,
    kept_by_provider,
    pays_otherwise,
    refund_chain,
    symbols,
)
from swapdesk.flows.orders.order_merge import display_of, ended
from swapdesk.flows.orders.order_transactions import OrderTransaction, PaidOnChain
from swapdesk.flows.orders.payment_progress import BatchPayment, venue_of
from swapdesk.flows.orders.situations import (
    COMPLETED,
    EXPIRED,
    LAST_HEARD,
    NO_TIME,
    NOT_SIGNED,
    PAY_BATCH,
    SETTING_UP,
    SITUATIONS,
    STRANDED,
    UNLESS_SENT,
    WAITING,
    WITHHELD_UNREPEATED,
    Certainty,
    Knowledge,
    Sign,
    Situation,
    known_better,
    situation_of,
    unseen_match,
)
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.orders import DisplayStatus, Order

URGENT_SECONDS = 120
LONGEST_NAME = 40

NOT_REFUNDABLE = "A refund is not possible any more"
OTHER_PROVIDER = "Another provider took over from {first}"
PAYS_OTHERWISE = "It {pays} {differs} than you confirmed"
ASKED_FOR = "The order asked for {asked}; the service does not say how much arrived"
SENT_OTHERWISE = "{Paid} arrived on {network}; the order asked for {asked_on}. {cause}"
SENT_AGAIN = "; swapdesk fund, or f, sends the same transaction again and no other"
"""Added while the chain has not confirmed the deposit that the wallet sent."""

_STANDARD_STAGES: dict[str | None, str] = {
    DisplayStatus.WAITING_FOR_DEPOSIT: "waiting",
    DisplayStatus.DEPOSIT_DETECTED: "seen",
    DisplayStatus.EXCHANGE_IN_PROGRESS: "exchange",
    DisplayStatus.SENDING_TO_RECEIVER: "sending",
    DisplayStatus.SWAP_COMPLETED: "done",
}
_PRIVATE_STAGES: dict[str | None, str] = {
    DisplayStatus.WAITING_FOR_DEPOSIT: "waiting",
    DisplayStatus.DEPOSIT_DETECTED: "seen",
    DisplayStatus.EXCHANGE_IN_PROGRESS: "exchange 1",
    DisplayStatus.SENDING_TO_INTERMEDIARY: "to middle",
    DisplayStatus.REACHED_INTERMEDIARY: "at middle",
    DisplayStatus.INITIATING_SECOND_EXCHANGE: "second",
    DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS: "exchange 2",
    DisplayStatus.SENDING_TO_RECEIVER: "sending",
    DisplayStatus.SWAP_COMPLETED: "done",
}


_NO_TIME = Elapsed(NOTHING, NOTHING, late=False)


class OrderStatus(Struct, frozen=True):
    """What an order means at one moment, as texts that contain the facts of the order."""

    situation: Situation
    """The row whose texts are used: ``SITUATIONS["held"]``."""
    reported: Situation
    """The situation by the service's state alone."""
    facts: Mapping[str, str]
    """The values that fill the placeholders in a row's texts, by the names of the placeholders
    (:func:`_facts_of`)."""

    word: str
    """The state in a few words that fit a table cell: ``On hold``."""
    level: Level
    """The level of the state, which selects its colour: ``trouble``."""
    sign: Sign
    """The name of the glyph before ``word``: ``trouble``."""
    cause: str
    """What happened, as a sentence without its full stop."""
    notes: tuple[str, ...]
    """Further sentences without their full stops: ``A refund is not possible any more``."""
    money: str
    """Where the money is, with a full stop: ``0.5 BTC, held at Halyard.``"""
    place: str
    """Where the money is, in a few words: ``in your wallet.``"""
    actor: str
    """Who acts next: ``you``, ``the service``, ``the chain``, ``nobody``, a provider."""
    act: str
    """What ``actor`` does next: ``write to support with order h8Kq2PdT5mXcVbN3wRtY7z``."""
    by: str
    """The time by which ``actor`` acts: ``before 14:32:11``, ``about 14:40``, ``no deadline is
    known``."""
    certainty: Certainty
    """How certain ``cause`` is."""
    display: str | None
    """The displayed state, as :func:`display_of` returns it: ``EXCHANGE_IN_PROGRESS``."""
    legs: tuple[int | None, ...]
    """The status of each leg, of which a private order has two: ``(3,)``, ``(5, 1)``."""

    stage: int
    """The index in ``stages`` of the stage that the order is in."""
    stages: tuple[str, ...]
    deadline: datetime | None
    """When the deposit is due; None if that time no longer matters."""
    left: timedelta | None
    """The time until ``deadline``, negative once it has passed. None if the order waits for no
    deposit."""
    elapsed: timedelta | None
    """How long the order has taken, from its deposit or else its creation; None if unknown."""
    expected: timedelta | None
    """How long the service expects the whole order to take."""
    late_by: timedelta | None
    """How much longer than expected an order under way has taken. None if it is not late."""
    time: Elapsed
    """The time as it is shown: ``26:03 left``, ``6m of ~14m``, ``took 11m``."""

    payable: bool
    """True if the deposit may be sent now."""
    ended: bool
    """True if nothing more is expected of the order."""
    closed: bool
    """True if the service has ended the order."""
    put_away: bool
    """True if the user marked the order's trouble as dealt with."""

    @property
    def not_signed(self) -> bool:
        return self.situation is NOT_SIGNED or (self.ended and not self.closed)

    @property
    def urgent(self) -> bool:
        return self.payable and self.left is not None and self.left.total_seconds() < URGENT_SECONDS

    @property
    def counting(self) -> bool:
        return self.left is not None and self.left > timedelta()

    @property
    def yours(self) -> bool:
        """True if the user acts next. An ended order counts only if its money is stuck, until the
        user has marked the order as dealt with."""
        owed = not self.ended or self.reported in STRANDED or self.situation in STRANDED
        return owed and self.actor == "you" and not self.put_away

    @property
    def told(self) -> str:
        return " ".join(f"{part}." for part in (self.cause, *self.notes))

    @property
    def next(self) -> str:
        """Who acts next and how: ``you: send the deposit within 26:03``."""
        return f"{self.actor}: {self.act}" if self.act else self.actor

    @property
    def brief(self) -> str:
        """Who acts next, in a few words: ``you: write to support`` or, if a duration is expected,
        ``the second exchange, ~8m``."""
        if self.actor == "you":
            return f"{self.actor}: {_BRIEFLY.split(self.act, maxsplit=1)[0]}"
        # Before a deadline the expected time counts from a payment which nobody has seen yet.
        over = self.closed or self.late_by is not None or self.deadline is not None
        if self.elapsed is None or self.expected is None or over:
            return self.actor
        return f"{self.actor}, {expected((self.expected - self.elapsed).total_seconds())}"


_BRIEFLY = re.compile(" with order |, or take the money back: ")
"""Where ``brief`` cuts off a long ``act``."""


def order_status(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction] = ()
) -> OrderStatus:
    """Returns what an order means at ``now`` (the desk's clock). ``made`` are its transactions in
    the journal. If ``made`` is empty, this desk's payment is taken from ``tracked``."""
    order, intent = tracked.order, tracked.intent
    deposit = deposit_known(tracked, made)
    status = _reported(order, intent, now, deposit, tracked.begun)
    own = own_payment(made) if made else tracked.own_payment
    if tracked.withheld is not None or status.display != DisplayStatus.WAITING_FOR_DEPOSIT:
        own = None
    batch = tracked.batch_payment if tracked.standing is DepositRelease.FOREIGN else None
    match = unseen_match(order, deposit) if tracked.payments else None
    better = match or known_better(_knowledge(tracked, status, own, batch))
    if better is not None:
        status = _in_words_of_desk(status, better, tracked, own, batch)
    elif batch is not None and batch.problem and status.reported is EXPIRED:
        status = replace(status, cause=f"{batch.problem} {status.cause}")
    elif batch is not None and batch.begun and status.reported is EXPIRED:
        is_paid = "was" if batch.state is State.DONE else "is being"
        cause = f"Its batch {is_paid} paid, and the service saw no deposit. {status.cause}"
        act = f"write to support with order {order.service_id}"
        status = replace(
            status, cause=cause, money=batch.money, place=batch.place, actor="you", act=act
        )
    arrived = deposit is not None and deposit_arrived(order)
    if deposit is not None and arrived and sent_otherwise(order, deposit):
        status = replace(
            status, cause=SENT_OTHERWISE.format_map({**status.facts, "cause": status.cause})
        )
    if tracked.not_signed:
        # Nobody waits for its deadline.
        status = replace(status, left=None, time=_NO_TIME, payable=False, ended=True)
    if tracked.put_away:
        status = replace(status, put_away=True)
    if own is not None and match is None:
        where = "at" if own.fate == "confirmed" else "on its way to"
        place = f"{where} the deposit address"
        status = replace(status, money=f"{place}, by transaction {own.hash}.", place=f"{place}.")
    if _outdated(tracked, status, now):
        status = _heard_last(tracked, status, now)
    return status


def _outdated(tracked: TrackedOrder, status: OrderStatus, now: datetime) -> bool:
    return tracked.out_of_reach(now) and not status.situation.lasts


def _heard_last(tracked: TrackedOrder, status: OrderStatus, now: datetime) -> OrderStatus:
    at = as_of(tracked.seen_at, now)
    # A payment may have come since.
    money = UNLESS_SENT if status.money == WAITING.money else status.money
    # The first note says how late the order is now.
    notes = status.notes[1:] if status.late_by is not None else status.notes
    text = replace(status, notes=notes).told.removesuffix(".")
    facts = {"told": text, "money": money, "as_of": at, "beyond": tracked.beyond(now)}
    status = replace(status, facts={**status.facts, **facts})
    return replace(
        _in_words_of_desk(status, LAST_HEARD, tracked, None, None),
        notes=(),
        deadline=None,
        left=None,
        late_by=None,
        time=Elapsed(f"as of {at}", at, late=False),
    )


def reported_status(order: Order, intent: Intent | None = None, *, now: datetime) -> OrderStatus:
    """Returns what the service's state means, without what else this desk knows. ``intent`` is what
    the user confirmed; None if the order was not confirmed here."""
    return _reported(order, intent, now)


def cause_of(order: Order) -> str:
    """Returns what happened, judged only by the service's state, as a sentence that stays true at
    any time."""
    return f"{reported_status(order, now=datetime.max.replace(tzinfo=UTC)).cause}."


def withheld_next(tracked: TrackedOrder) -> tuple[str, str]:
    """Returns who acts next, and how, on an order whose deposit address may not be shown yet. The
    service still has to assign the address or to repeat it."""
    awaited = SETTING_UP if tracked.awaits_address else WITHHELD_UNREPEATED
    return awaited.actor, awaited.act


def time_at(status: OrderStatus, tracked: TrackedOrder, now: datetime) -> Elapsed | None:
    """Returns the time to show for the order at ``now``, derived from an earlier ``status``. None
    if the status itself must be computed again."""
    if tracked.not_signed:
        return _NO_TIME
    outdated = _outdated(tracked, status, now)
    if outdated is not (status.situation is LAST_HEARD):
        return None
    if outdated:
        same_day = status.time.short == as_of(tracked.seen_at, now)
        return status.time if same_day else None
    begun = tracked.begun
    passed = status.elapsed if status.closed or begun is None else now - begun
    left = status.deadline - now if status.deadline is not None else None
    if left is not None and (left > timedelta()) != status.counting:
        return None
    return _time(status.reported, passed, status.expected, left, closed=status.closed)


def short_place(money: str) -> str:
    """Returns the beginning of ``money`` (a sentence that says where the money is) without the
    conditions that follow: ``in your wallet.``"""
    for rest in (", if ", ", after ", "; ", " on the chain it came from"):
        head, separator, _ = money.partition(rest)
        if separator:
            return f"{head}."
    return money


def _reported(
    order: Order,
    intent: Intent | None,
    now: datetime,
    deposit: PaidOnChain | None = None,
    begun: datetime | None = None,
) -> OrderStatus:
    display, private = display_of(order), order.anonymous is True
    row = situation_of(order)
    closed = ended(display)
    passed, due, late_by = _times(order, begun or order.created, now, display)
    deadline = order.expires if row.until_deadline else None
    left = deadline - now if deadline is not None else None
    facts = _facts_of(order, intent, row, now, left, deposit)
    money, by = (row.money or "").format_map(facts), (row.by or "").format_map(facts)
    notes = _notes(order, intent, row, facts, deposit)
    if late_by is not None:
        notes = (f"{elapsed(late_by.total_seconds()).text} over the expected time", *notes)
    sign: Sign = "failed" if display == DisplayStatus.FAILED else row.level
    late = late_by is not None and row.level == "moving"
    stages = _PRIVATE_STAGES if private else _STANDARD_STAGES
    return OrderStatus(
        situation=row,
        reported=row,
        facts=facts,
        word=row.word.format_map(facts),
        level=row.level,
        sign=row.sign or sign,
        cause=row.cause.format_map(facts),
        notes=notes,
        money=money,
        place=short_place(money),
        actor=row.actor.format_map(facts),
        act=row.act.format_map(facts),
        by=by,
        certainty=Certainty.NOT_KNOWN if late else row.certainty,
        display=display,
        legs=(order.in_status, order.out_status) if private else (order.in_status,),
        stage=_stage(order, display, list(stages)),
        stages=tuple(stages.values()),
        deadline=deadline,
        left=left,
        elapsed=passed,
        expected=due,
        late_by=late_by,
        time=_time(row, passed, due, left, closed=closed),
        payable=row is WAITING,
        ended=closed,
        closed=closed,
        put_away=False,
    )


def _knowledge(
    tracked: TrackedOrder,
    status: OrderStatus,
    own: OrderTransaction | None,
    batch: BatchPayment | None,
) -> Knowledge:
    display = status.display
    waiting = display == DisplayStatus.WAITING_FOR_DEPOSIT
    withheld = tracked.withheld is not None
    refused = withheld and tracked.standing not in _UNDECIDED
    setting_up = tracked.awaits_address and status.reported is SETTING_UP
    signing = (tracked.not_signed and status.closed) or (waiting and not refused)
    swap = tracked.swap_payment if signing else None
    paid_less = False
    if status.reported is COMPLETED:
        against = pays_otherwise(tracked.order, tracked.intent)
        paid_less = against is not None and against < 0
    late = waiting and status.left is not None and status.left <= timedelta()
    return Knowledge(
        reported=status.reported,
        display=display,
        late=late,
        hidden=withheld and not setting_up,
        over=late and not refused,
        standing=tracked.standing,
        in_batch=tracked.in_batch,
        batch=batch.state if batch is not None else None,
        in_account=batch is not None and batch.in_account,
        swap=swap.state if swap is not None else None,
        swap_failure=swap.failure if swap is not None else None,
        paid=own is not None,
        pays_less=paid_less,
    )


_UNDECIDED = (DepositRelease.FOREIGN, DepositRelease.UNREPEATED, DepositRelease.LOWER)
"""Release states of an order whose deposit address is withheld now and may still be released."""


def _in_words_of_desk(
    status: OrderStatus,
    situation: Situation,
    tracked: TrackedOrder,
    own: OrderTransaction | None,
    batch: BatchPayment | None,
) -> OrderStatus:
    swap = tracked.swap_payment
    again = own is not None and own.by == "wallet" and own.fate != "confirmed"
    facts = {
        **status.facts,
        "wallet": swap.money if swap is not None else "",
        "venue": venue_of(tracked.intent) if tracked.intent is not None else "",
        "withheld": (tracked.withheld or "").rstrip("."),
        "batch_problem": f"{batch.problem} " if batch is not None and batch.problem else "",
        "batch_money": batch.money if batch is not None else status.money,
        "batch_actor": batch.actor if batch is not None else "you",
        "batch_act": batch.due if batch is not None else PAY_BATCH,
        "unpaid": batch.money if batch is not None else UNLESS_SENT,
        "sent_again": SENT_AGAIN if again else "",
    }
    money = status.money if situation.money is None else situation.money.format_map(facts)
    return replace(
        status,
        situation=situation,
        facts=facts,
        payable=False,
        word=situation.word.format_map(facts),
        level=situation.level,
        sign=situation.sign or situation.level,
        cause=situation.cause.format_map(facts),
        money=money,
        place=batch.place if batch is not None and money == batch.money else short_place(money),
        actor=situation.actor.format_map(facts),
        act=situation.act.format_map(facts),
        by=status.by if situation.by is None else situation.by.format_map(facts),
        certainty=situation.certainty,
    )


def _times(
    order: Order, begun: datetime | None, now: datetime, display: str | None
) -> tuple[timedelta | None, timedelta | None, timedelta | None]:
    if begun is None or order.created is None:
        return None, None, None
    end = expected_end(order)
    due = end - begun if end is not None else None
    if end is not None and end <= begun:
        due = end - order.created
    if ended(display):
        finished = order.order_finished_received or order.modified
        return (max(finished - begun, timedelta()) if finished is not None else None), due, None
    passed = now - begun
    waiting = display == DisplayStatus.WAITING_FOR_DEPOSIT
    late = not waiting and due is not None and passed > due
    return passed, due, passed - due if late and due is not None else None


def _time(
    row: Situation,
    passed: timedelta | None,
    due: timedelta | None,
    left: timedelta | None,
    *,
    closed: bool,
) -> Elapsed:
    if left is not None:
        text = countdown(left.total_seconds())
        return Elapsed(f"{text} left" if left > timedelta() else text, text, late=False)
    if passed is None:
        return _NO_TIME
    if closed:
        if row.level == "expired":
            return _NO_TIME
        took = f"took {duration(passed.total_seconds())}"
        return Elapsed(took, took, late=False)
    return elapsed(passed.total_seconds(), due.total_seconds() if due is not None else None)


def _stage(order: Order, display: str | None, stages: list[str | None]) -> int:
    if display in stages:
        return stages.index(display)
    if display == DisplayStatus.EXPIRED or not deposit_arrived(order):
        return 0
    second = DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS
    return stages.index(second if in_second_leg(order) else DisplayStatus.EXCHANGE_IN_PROGRESS)


def _facts_of(
    order: Order,
    intent: Intent | None,
    row: Situation,
    now: datetime,
    left: timedelta | None,
    deposit: PaidOnChain | None = None,
) -> dict[str, str]:
    sent, received = symbols(order, intent)
    asked, got = _amount(order.in_amount, sent), _amount(order.out_amount, received)
    paid, known = asked if order.is_dex else "the payment", order.is_dex is True
    if deposit is not None and not (order.is_dex or deposit.failed or deposit.missing):
        paid, known = deposit.what, True
    where = order.in_token.chain_data.name if order.in_token is not None else ""
    display = display_of(order) or ""
    holder = _holder(order)
    second = in_second_leg(order)
    label = intent.recipient_label if intent is not None else None
    first = _venue_name(intent.provider_name if intent is not None else None)
    refunded = row in _REFUNDED
    back = _amount(order.refund_amount, sent) if order.refund_amount is not None else f"the {sent}"
    to = f" to {short_address(order.refund_address)}" if order.refund_address else ""
    on = refund_chain(order)
    chain = f" on {on}" if on else ""
    deadline = f"before {clock_time(order.expires)}" if order.expires is not None else ""
    # A service may close an order before its deadline.
    passed = order.expires is not None and order.expires <= now
    against = against_promise(order, intent)
    differs = f", {_versus(against)} than quoted" if against else ""
    within = f" within {countdown(left.total_seconds())}" if left is not None else ""
    return {
        "name": order.service_id,
        "asked": asked,
        "asked_on": f"{asked} on {where}" if where else asked,
        "paid": paid,
        "Paid": capital(paid),
        "network": deposit.chain_name if deposit is not None else where or "its chain",
        "looked": as_of(deposit.seen_at, now) if deposit is not None else "",
        "got": got,
        "moving": "the funds" if second else paid,
        "amount": f"{paid}, " if known and not second else "",
        "holder": holder,
        "Holder": capital(holder),
        "recipient": label or "the recipient",
        "to_label": f" to {label}" if label else "",
        "first": first or "the first provider",
        "First": capital(first or "the first provider"),
        "finisher": _venue_name(order.swap_name) or "another one",
        "compared": differs,
        "back": back,
        "Back": capital(back),
        "to": to if refunded else "",
        "chain": chain,
        "chain_or_origin": chain or " on the chain it came from",
        "kept": _kept(order, sent, deposit),
        "refund_to": to,
        "before": f" {deadline}" if passed else "",
        "within": within,
        "deadline": deadline or "no deadline is known",
        "expected": _expected(order, now),
        "state": display[:64],
        "state_short": display[:12],
    }


_REFUNDED = frozenset(
    SITUATIONS[code] for code in ("refunded", "refunded first token", "part returned")
)


def _notes(
    order: Order,
    intent: Intent | None,
    row: Situation,
    facts: dict[str, str],
    deposit: PaidOnChain | None,
) -> tuple[str, ...]:
    notes: list[str] = []
    over = ended(display_of(order))
    if order.rerouted and not over:
        notes.append(OTHER_PROVIDER.format_map(facts))
    if order.non_refundable and not row.settled:
        notes.append(NOT_REFUNDABLE)
    against = pays_otherwise(order, intent)
    if against is not None:
        pays = "paid" if over else "pays"
        notes.append(PAYS_OTHERWISE.format(pays=pays, differs=_versus(against)))
        if deposit is None and deposit_doubted(order, intent):
            notes.append(ASKED_FOR.format_map(facts))
    return tuple(notes)


def _kept(order: Order, sent: str, deposit: PaidOnChain | None) -> str:
    """Returns the missing part of a refund as the end of a sentence; empty if nothing is missing.
    The sentence blames the provider only if a chain shows the deposit."""
    missing, kept = kept_by_provider(order), kept_of(order, deposit)
    if missing is None:
        return ". The service does not say how much"
    if kept is not None:
        return f". The provider kept {plain(kept)} {sent}" if kept else ""
    if not missing:
        return ""
    return f". That is {plain(missing)} {sent} less than the order asked for"


def _versus(against: Decimal) -> str:
    return f"{percent(abs(against)).lstrip('+')} {'less' if against < 0 else 'more'}"


def _expected(order: Order, now: datetime) -> str:
    end = expected_end(order)
    if end is None:
        return NO_TIME
    return f"about {short_clock(end)}" if end > now else "the expected time has passed"


def _holder(order: Order) -> str:
    if order.anonymous:
        second = display_of(order) == DisplayStatus.REACHED_INTERMEDIARY or in_second_leg(order)
        return "the second exchange" if second else "the first exchange"
    return _venue_name(order.swap_name) or "the exchange"


def _venue_name(name: str | None) -> str | None:
    return f"{name[: LONGEST_NAME - 1]}…" if name and len(name) > LONGEST_NAME else name or None


def _amount(amount: Decimal | None, symbol: str) -> str:
    return f"{plain(amount) if amount is not None else '?'} {symbol}"
