"""What was asked before, as intent lines to ask again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.intents.intent import Intent, IntentKind, Route, TokenFacts
from swapdesk.flows.notation import copied_amount
from swapdesk.flows.orders.tracked_order import TrackedOrder


@dataclass(frozen=True)
class Recent:
    """``text`` resolves to the same tokens again; ``at`` is when the intent was frozen."""

    text: str
    route: Route
    at: datetime
    private_send: bool = False


def recent_lines(orders: Iterable[TrackedOrder], catalog: Catalog, limit: int = 6) -> list[Recent]:
    """Newest first, each text once."""
    intents = sorted(
        (tracked.intent for tracked in orders if tracked.intent is not None),
        key=lambda intent: intent.frozen_at,
        reverse=True,
    )
    lines: dict[str, Recent] = {}
    for intent in intents:
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


def _text(intent: Intent, catalog: Catalog) -> str:
    amount = copied_amount(intent.amount_in)
    sold = token_spec(intent.token_in, catalog)
    if intent.kind is IntentKind.PRIVATE_SEND:
        return f"{amount} {sold} {intent.recipient_label or intent.recipient}"
    bought = token_spec(intent.token_out, catalog)
    if intent.receive:
        return f"={copied_amount(intent.amount_out)} {sold} {bought}"
    return f"{amount} {sold} {bought}"
