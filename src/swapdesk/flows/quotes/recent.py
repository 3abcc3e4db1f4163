"""What this desk asked before, as intent lines to ask again, and what became of its orders at each
provider, as the journal knows them.

Standard orders alone are counted: a private order names no provider. Nothing is asked of the
service, and nothing is said of orders of other desks.
"""

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
"""So many newest intents tell what is asked now; the journal has those of years."""

_WIDE = Context(prec=80)
_ENDS = frozenset({DisplayStatus.SWAP_COMPLETED, DisplayStatus.REFUNDED, DisplayStatus.FAILED})


class Recent(Struct, frozen=True):
    """``text`` resolves to the same tokens again; ``at`` is when the intent was frozen."""

    text: str
    route: Route
    at: datetime
    private_send: bool = False


def newest_intents(orders: Iterable[TrackedOrder], most: int = LOOKED_AT) -> list[Intent]:
    """What was confirmed here, newest first; of one instant always in the same sequence."""
    found = [(one.intent, one.service_id) for one in orders if one.intent is not None]
    newest = heapq.nsmallest(most, found, key=lambda one: (-one[0].frozen_at.timestamp(), one[1]))
    return [intent for intent, _ in newest]


def recent_lines(intents: Iterable[Intent], catalog: Catalog, limit: int = 6) -> list[Recent]:
    """Each text once, in the sequence of ``intents``."""
    lines: dict[str, Recent] = {}
    told: set[tuple[object, ...]] = set()
    for intent in intents:
        # Whoever asks the same every day has it written and looked up once.
        said = _said(intent)
        if said in told:
            continue
        told.add(said)
        private = intent.kind is IntentKind.PRIVATE_SEND
        line = Recent(_text(intent, catalog), intent.route, intent.frozen_at, private)
        lines.setdefault(line.text, line)
        if len(lines) >= limit:
            break
    return list(lines.values())


def token_spec(token: TokenFacts, catalog: Catalog) -> str:
    """The shortest way to write a token that resolves to it."""
    symbol = token.symbol.lower()
    for spec in (symbol, f"{symbol}.{token.chain}"):
        found = resolve(spec, catalog).token
        if found is not None and found.id.lower() == token.id:
            return spec
    return token.id


def _said(intent: Intent) -> tuple[object, ...]:
    """All that :func:`_text` is made of."""
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
    """Ends of orders that a provider received a deposit for.

    ``minutes`` is the median from creation to payout of the completed ones, ``said`` of what
    the provider had estimated for them; ``to_quote`` the median, in percent, of what arrived
    above or below the quoted payout. None where no order tells.
    """

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
    """The record of every provider that ended an order of this desk, by its short code."""
    by_code: dict[str, list[TrackedOrder]] = {}
    for one in orders:
        code = one.order.in_
        if one.intent is None or code is None or one.not_signed:
            continue
        if display_of(one.order) in _ENDS:
            by_code.setdefault(code, []).append(one)
    return {code: _record(ended) for code, ended in by_code.items()}


def _record(ended: list[TrackedOrder]) -> ProviderRecord:
    displays = [display_of(one.order) for one in ended]
    done = [one for one in ended if display_of(one.order) == DisplayStatus.SWAP_COMPLETED]
    return ProviderRecord(
        completed=len(done),
        refunded=displays.count(DisplayStatus.REFUNDED),
        failed=displays.count(DisplayStatus.FAILED),
        minutes=_median(_minutes(one) for one in done),
        said=_median(_estimated(one) for one in done),
        to_quote=_median(_to_quote(one) for one in done),
    )


def _minutes(one: TrackedOrder) -> Decimal | None:
    begun, finished = one.begun, one.order.order_finished_received
    if begun is None or finished is None or finished < begun:
        return None
    return Decimal(int((finished - begun).total_seconds())) / 60


def _estimated(one: TrackedOrder) -> Decimal | None:
    """Minutes that the service expected, from the deposit on (contract 8.17)."""
    eta, created, begun = one.order.eta, one.order.created, one.begun
    if eta is None or created is None or begun is None:
        return eta
    left = _WIDE.subtract(eta, Decimal(int((begun - created).total_seconds())) / 60)
    return left if left > 0 else eta


def _to_quote(one: TrackedOrder) -> Decimal | None:
    paid, quoted = one.order.out_amount, one.intent.amount_out if one.intent else None
    if paid is None or not quoted:
        return None
    return _WIDE.divide(_WIDE.subtract(paid, quoted) * 100, quoted)


def _median(values: Iterable[Decimal | None]) -> Decimal | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def record_lines(record: ProviderRecord | None) -> list[tuple[str, str]]:
    """The record in words, as labels and values."""
    if record is None:
        return [("Your orders there", "none has ended yet")]
    mishaps = (("Refunded", record.refunded), ("Failed", record.failed))
    lines = [
        ("Your orders there", f"{record.completed} of {record.ended} completed"),
        *((label, str(count)) for label, count in mishaps if count),
    ]
    if record.minutes is not None:
        said = f", said {expected(_seconds(record.said))}" if record.said is not None else ""
        lines.append(("Took, median", f"{duration(_seconds(record.minutes))}{said}"))
    if record.to_quote is not None:
        lines.append(("Paid to the quote", percent(record.to_quote)))
    return lines


def _seconds(minutes: Decimal) -> float:
    return float(minutes) * 60
