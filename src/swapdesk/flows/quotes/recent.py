"""Reads earlier requests of this desk from the journal as lines to ask again, and how orders ended
at each provider. Only standard orders are counted, because a private order names no provider."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from datetime import datetime
from decimal import Context, Decimal
from statistics import median

from msgspec import Struct

from swapdesk.flows.catalog.catalog import Catalog, resolve
from swapdesk.flows.intents.intent import Intent, IntentKind, Route, TokenFacts
from swapdesk.flows.notation import copied_amount, duration, expected, percent
from swapdesk.flows.orders.order_merge import display_of
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import DisplayStatus

LOOKED_AT = 1_000
"""The number of newest intents that are read, because the journal may hold years of them."""

_WIDE = Context(prec=80)
_ENDS = frozenset({DisplayStatus.SWAP_COMPLETED, DisplayStatus.REFUNDED, DisplayStatus.FAILED})


class Recent(Struct, frozen=True):
    """An earlier request, as a line with which the user can repeat it. ``at`` is when its intent
    was confirmed."""

    text: str
    route: Route
    at: datetime
    private_send: bool = False


def newest_intents(orders: Iterable[TrackedOrder], most: int = LOOKED_AT) -> list[Intent]:
    """Returns the ``most`` newest intents that were confirmed here, newest first."""
    intents = [(order.intent, order.service_id) for order in orders if order.intent is not None]
    newest = heapq.nsmallest(
        most, intents, key=lambda order: (-order[0].frozen_at.timestamp(), order[1])
    )
    return [intent for intent, _ in newest]


def recent_lines(intents: Iterable[Intent], catalog: Catalog, limit: int = 6) -> list[Recent]:
    """Returns at most ``limit`` different lines with which the user can repeat the intents."""
    lines: dict[str, Recent] = {}
    seen: set[tuple[object, ...]] = set()
    for intent in intents:
        # Whoever asks the same every day has it written and looked up once.
        facts = _said(intent)
        if facts in seen:
            continue
        seen.add(facts)
        private = intent.kind is IntentKind.PRIVATE_SEND
        line = Recent(_text(intent, catalog), intent.route, intent.frozen_at, private)
        lines.setdefault(line.text, line)
        if len(lines) >= limit:
            break
    return list(lines.values())


def token_spec(token: TokenFacts, catalog: Catalog) -> str:
    """Returns the shortest text that means this token in the catalogue: symbol, symbol with chain,
    or id."""
    symbol = token.symbol.lower()
    for spec in (symbol, f"{symbol}.{token.chain}"):
        resolved = resolve(spec, catalog).token
        if resolved is not None and resolved.id.lower() == token.id:
            return spec
    return token.id


def _said(intent: Intent) -> tuple[object, ...]:
    private = intent.kind is IntentKind.PRIVATE_SEND
    return (
        intent.kind,
        intent.token_in.id,
        intent.token_out.id,
        intent.receive,
        intent.amount_in,
        intent.amount_out if intent.receive else None,
        (intent.recipient_label or intent.recipient) if private else None,
    )


def _text(intent: Intent, catalog: Catalog) -> str:
    amount = copied_amount(intent.amount_in)
    sold = token_spec(intent.token_in, catalog)
    if intent.kind is IntentKind.PRIVATE_SEND:
        return f"{amount} {sold} {intent.recipient_label or intent.recipient}"
    bought = token_spec(intent.token_out, catalog)
    if intent.receive:
        return f"={copied_amount(intent.amount_out)} {sold} {bought}"
    return f"{amount} {sold} {bought}"


class ProviderRecord(Struct, frozen=True):
    """How this desk's orders ended at one provider. ``minutes`` is the median duration until the
    payout, ``said`` the median estimate of that duration, ``to_quote`` the median difference from
    the quote in percent."""

    completed: int
    refunded: int
    failed: int
    minutes: Decimal | None
    said: Decimal | None
    to_quote: Decimal | None

    @property
    def ended(self) -> int:
        return self.completed + self.refunded + self.failed


def provider_records(orders: Iterable[TrackedOrder]) -> dict[str, ProviderRecord]:
    """Returns how this desk's orders ended, by provider code. Providers without ended orders are
    left out."""
    by_code: dict[str, list[TrackedOrder]] = {}
    for order in orders:
        code = order.order.in_
        if order.intent is None or code is None or order.not_signed:
            continue
        if display_of(order.order) in _ENDS:
            by_code.setdefault(code, []).append(order)
    return {code: _record(ended) for code, ended in by_code.items()}


def _record(ended: list[TrackedOrder]) -> ProviderRecord:
    displays = [display_of(order.order) for order in ended]
    done = [order for order in ended if display_of(order.order) == DisplayStatus.SWAP_COMPLETED]
    return ProviderRecord(
        completed=len(done),
        refunded=displays.count(DisplayStatus.REFUNDED),
        failed=displays.count(DisplayStatus.FAILED),
        minutes=_median(_minutes(order) for order in done),
        said=_median(_estimated(order) for order in done),
        to_quote=_median(_to_quote(order) for order in done),
    )


def _minutes(order: TrackedOrder) -> Decimal | None:
    begun, finished = order.begun, order.order.order_finished_received
    if begun is None or finished is None or finished < begun:
        return None
    return Decimal(int((finished - begun).total_seconds())) / 60


def _estimated(order: TrackedOrder) -> Decimal | None:
    eta, created, begun = order.order.eta, order.order.created, order.begun
    if eta is None or created is None or begun is None:
        return eta
    left = _WIDE.subtract(eta, Decimal(int((begun - created).total_seconds())) / 60)
    return left if left > 0 else eta


def _to_quote(order: TrackedOrder) -> Decimal | None:
    paid, quoted = order.order.out_amount, order.intent.amount_out if order.intent else None
    if paid is None or not quoted:
        return None
    return _WIDE.divide(_WIDE.subtract(paid, quoted) * 100, quoted)


def _median(values: Iterable[Decimal | None]) -> Decimal | None:
    present = [value for value in values if value is not None]
    return median(present) if present else None


def record_lines(record: ProviderRecord | None) -> list[tuple[str, str]]:
    if record is None:
        return [("Your orders there", "none has ended yet")]
    mishaps = (("Refunded", record.refunded), ("Failed", record.failed))
    lines = [
        ("Your orders there", f"{record.completed} of {record.ended} completed"),
        *((label, str(count)) for label, count in mishaps if count),
    ]
    if record.minutes is not None:
        promise = f", said {expected(_seconds(record.said))}" if record.said is not None else ""
        lines.append(("Took, median", f"{duration(_seconds(record.minutes))}{promise}"))
    if record.to_quote is not None:
        lines.append(("Paid to the quote", percent(record.to_quote)))
    return lines


def _seconds(minutes: Decimal) -> float:
    return float(minutes) * 60
