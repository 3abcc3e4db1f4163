"""The frozen intent as lines to read before it is confirmed at a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.minimum_received import guaranteed_by
from swapdesk.flows.intents.intent import Intent, TokenFacts
from swapdesk.flows.notation import countdown, exact_amount, expected_minutes, grouped_address
from swapdesk.flows.payees.recipients import without

_MARKS = {"ok": "  ", "note": "  ", "warn": "! ", "refuse": "x "}


def review_lines(
    intent: Intent,
    checks: Iterable[CheckLine],
    *,
    live: bool,
    profile: str,
    now: datetime,
    hidden: frozenset[int] = frozenset(),
) -> list[str]:
    """Everything that will be posted and what was compared, the address whole, in groups;
    ``hidden`` places of it are asked for and drawn as dots."""
    seconds = (intent.valid_until - now).total_seconds()
    rows = [
        ("Profile", f"LIVE {profile}: this is real money" if live else "SANDBOX"),
        ("You send", _side(exact_amount(intent.amount_in), intent.token_in)),
        ("You get", _gets(intent)),
        ("At least", _least(intent)),
        ("Rate", "fixed" if intent.fixed else "floating"),
        ("Markup", f"{exact_amount(intent.markup)}%, in price" if intent.markup else ""),
        ("Route", f"{intent.route} {intent.provider_name or ''}".strip()),
        ("ETA", expected_minutes(intent.minutes)),
        ("Recipient", grouped_address(without(intent.recipient, hidden))),
        ("", intent.recipient_label or ""),
        ("Memo", intent.memo or ("none, waived" if intent.memo_waived else "")),
        ("Refund", grouped_address(intent.refund_address) if intent.refund_address else ""),
        ("Refund memo", intent.refund_memo or ""),
        ("Middle", grouped_address(intent.intermediate_refund or "")),
        ("Quote", f"{intent.quote_id}, valid {countdown(seconds)}"),
    ]
    lines = [f"{label:<12}{value}" for label, value in rows if value]
    return lines + [f"{_MARKS[check.level]}{check.text}" for check in checks]


def _gets(intent: Intent) -> str:
    about = "" if intent.fixed else "≈ "
    return about + _side(exact_amount(intent.net_amount_out), intent.token_out)


def _least(intent: Intent) -> str:
    """The least that can arrive, and who stands for it."""
    promise = guaranteed_by(intent)
    if promise.least is None:
        return "not promised: the rate floats until the deposit is exchanged"
    amount = f"{exact_amount(promise.least)} {intent.token_out.symbol}"
    if intent.dex is not None:
        return f"{amount}, or nothing is swapped (slippage {intent.dex.slippage:f}%)"
    return f"{amount}, by the fixed rate of the service"


def _side(amount: str, token: TokenFacts) -> str:
    contract = f", contract {token.contract}" if token.contract else ""
    return f"{amount} {token.symbol} on {token.chain_name}{contract}"
