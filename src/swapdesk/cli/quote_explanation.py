"""A waterfall for a command: steps as JSON, or one sentence a step."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from swapdesk.cli.output import Output
from swapdesk.flows.notation import exact_amount, percent, table_amount, usd
from swapdesk.flows.quotes.quoting import QuoteBoard
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.flows.quotes.waterfall import Step, Unit, Waterfall, remark, waterfall
from swapdesk.wire.encoding.numbers import ROUGH

_PLACES = 18


def waterfall_json(board: QuoteBoard, row: RankedQuote) -> dict[str, Any]:
    """Steps in order; ``amount`` in ``unit``, or ``word`` where there is no amount."""
    found = waterfall(board, row)
    return {
        "verdict": found.verdict,
        "lines": _short(found.lines),
        "net": found.net,
        "steps": [
            {
                "label": step.label,
                "part": step.part,
                "amount": _short(step.amount),
                "unit": step.unit if step.amount is not None else None,
                "word": step.word or None,
                "how": step.how,
                "knownFrom": step.known,
            }
            for step in found.steps
        ],
    }


def _short(amount: Decimal | None) -> Decimal | None:
    """Eighteen decimals of a quotient; amounts of the answer alone are exact."""
    if amount is None:
        return None
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and exponent >= -_PLACES:
        return amount
    return ROUGH.quantize(amount, Decimal(1).scaleb(-_PLACES))


def say_waterfalls(output: Output, board: QuoteBoard) -> None:
    """Every usable route, one sentence a step, and what does not add up."""
    for row in board.ranking.rows:
        found = waterfall(board, row)
        name = row.quote.swap_name or row.quote.swap or "two legs"
        get = board.token_out.symbol
        output.say(f"{row.place}. {row.quote.type} {name}, why {exact_amount(found.net)} {get}:")
        output.say(*(f"   {step_sentence(step, board)}" for step in found.steps))
        said = _remark(found)
        if said:
            output.say(f"   {said}")


def step_sentence(step: Step, board: QuoteBoard) -> str:
    """``Provider fee -0.018459 ETH: $61.12 ÷ $3,311.06 (derived).``"""
    return f"{step.label} {_value(step, board)}: {step.how} ({step.known})."


def _value(step: Step, board: QuoteBoard) -> str:
    if step.amount is None:
        return step.word
    if step.unit is Unit.USD:
        return usd(step.amount)
    if step.unit is Unit.PERCENT:
        return percent(step.amount)
    token = board.token_in if step.unit is Unit.SOLD else board.token_out
    return f"{table_amount(step.amount)} {token.symbol}"


def _remark(found: Waterfall) -> str:
    return remark(found, table_amount(found.lines), table_amount(found.net))
