"""What was asked before, as intent lines to ask again."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from swapdesk.flows.catalog.catalog import Catalog, resolve
from swapdesk.flows.intents.intent import Intent, IntentKind, Route, TokenFacts
from swapdesk.flows.notation import copied_amount
from swapdesk.flows.orders.tracked_order import TrackedOrder

LOOKED_AT = 1_000
"""So many newest intents tell what is asked now; the journal has those of years."""


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
