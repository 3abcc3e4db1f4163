"""How an intent line was read, as rows to draw."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from swapdesk.flows.notation import exact_amount, usd
from swapdesk.tui.amount_text import trimmed
from swapdesk.tui.glyphs import ABOUT, DOT
from swapdesk.tui.spans import Line, LineLike, Span, line_of
from swapdesk.tui.widgets.intent_line import IntentReading, Reading

if TYPE_CHECKING:
    from decimal import Decimal

    from swapdesk.flows.quotes.intent_line import IntentLine
    from swapdesk.flows.quotes.quote_request import QuoteOptions
    from swapdesk.wire.pair_limits import PairLimits
    from swapdesk.wire.tokens import Token


def reading_of(
    line: IntentLine,
    limits: PairLimits | None,
    outside: str | None,
    have: Decimal | None = None,
) -> IntentReading:
    """``limits`` of the pair if they are known; ``outside`` says why no route takes the amount;
    ``have`` is what the own wallet has of the token sold, where that is known."""
    reading = Reading[line.state.name]
    if outside is not None and line.ready:
        return IntentReading(Reading.REFUSED, outside, _value(line), _below(line, limits, have))
    marked = frozenset({line.place}) if line.place is not None else frozenset()
    if reading is Reading.REFUSED:
        return IntentReading(reading, line.message, marked=marked)
    if line.token_in is None or line.amount is None:
        return IntentReading(reading, line.message)
    text = _understood(line)
    below: LineLike = _below(line, limits, have)
    if line.token_out is None:
        return IntentReading(reading, text, _value(line), line.message)
    if reading is Reading.AMBIGUOUS:
        below = line.message
    return IntentReading(reading, text, _value(line), below)


def with_options(reading: IntentReading, options: QuoteOptions | None) -> IntentReading:
    """``reading`` with how quotes will be asked for, where that is not as usual."""
    from swapdesk.flows.quotes.quote_request import options_in_words

    words = options_in_words(options) if options is not None else ""
    if not words:
        return reading
    asks: Line = [Span("f2", "accent", bold=True), Span(f" asks for {words}", "muted")]
    below = line_of(reading.below, "muted")
    return replace(reading, below=[*below, Span(f" {DOT} ", "muted"), *asks] if below else asks)


def _understood(line: IntentLine) -> Line:
    assert line.amount is not None
    assert line.token_in is not None
    amount = exact_amount(line.amount)
    if line.receive:
        return _to_arrive(line, amount)
    text: Line = [
        Span("Send privately  " if line.private_send else "Sell  ", "muted"),
        Span(f"{amount} {line.token_in.symbol}", bold=True),
        Span(f"  on {line.token_in.chain_data.name}", "muted"),
    ]
    if line.private_send:
        if line.recipient_name:
            text += [Span("    to  ", "muted"), Span(f"@{line.recipient_name}", bold=True)]
    elif line.token_out is not None:
        text += [Span("    Buy  ", "muted"), *_token(line.token_out)]
    return text


def _to_arrive(line: IntentLine, amount: str) -> Line:
    """The amount is that of the token that is bought: both sides are said in words."""
    assert line.token_in is not None
    bought = f" {line.token_out.symbol}" if line.token_out is not None else ""
    text: Line = [Span("You get exactly  ", "muted"), Span(f"{amount}{bought}", bold=True)]
    if line.token_out is not None:
        text.append(Span(f"  on {line.token_out.chain_data.name}", "muted"))
    return [*text, Span(", you sell  ", "muted"), *_token(line.token_in)]


def _token(token: Token) -> Line:
    return [Span(token.symbol, bold=True), Span(f"  on {token.chain_data.name}", "muted")]


def _value(line: IntentLine) -> Line:
    value = line.value_usd
    return [Span(f"{ABOUT} ", "muted"), Span(usd(value))] if value is not None else []


def held(have: Decimal, symbol: str, amount: Decimal | None) -> Line:
    """What the own wallet has, and whether that is less than ``amount``."""
    if amount is not None and have < amount:
        return [Span(f"you have {exact_amount(have)} {symbol}, too little", "status-trouble")]
    return [Span(f"you have {exact_amount(have)} {symbol}", "muted")]


def _below(line: IntentLine, limits: PairLimits | None, have: Decimal | None) -> Line:
    from swapdesk.flows.quotes.amount_check import bounds_of
    from swapdesk.flows.quotes.token_choice import BOUGHT_KEY, SOLD_KEY

    parts: list[Line] = []
    if have is not None and line.token_in is not None:
        parts.append(held(have, line.token_in.symbol, None if line.receive else line.amount))
    bounds = bounds_of(limits, receive=line.receive) if limits is not None else None
    token = line.token_out if line.receive else line.token_in
    if bounds is not None and token is not None:
        least, symbol = trimmed(bounds.smallest), token.symbol
        text = f"limits {least} {symbol} or more"
        if bounds.largest is not None:
            text = f"limits {least} to {trimmed(bounds.largest)} {symbol}"
        parts.append([Span(text, "muted")])
    if line.both_hints is not None:
        for hint, key in zip(line.both_hints, (SOLD_KEY, BOUGHT_KEY), strict=True):
            parts.append([Span(f"{hint}: ", "muted"), Span(key, "accent", bold=True)])
    else:
        parts += [[Span(hint, "muted")] for hint in line.hints[-1:]]
        if line.choices > 1:
            parts.append([Span(BOUGHT_KEY, "accent", bold=True), Span(" other chain", "muted")])
    joined: Line = []
    for part in parts:
        joined += [Span(f" {DOT} ", "muted"), *part] if joined else part
    return joined
