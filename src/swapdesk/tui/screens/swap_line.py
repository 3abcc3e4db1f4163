"""The line of the first screen: its field, and its tokens, amount, limits and recipient as read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.flows.notation import exact_amount, short_address, usd
from swapdesk.tui.amount_text import trimmed
from swapdesk.tui.glyphs import ABOUT, DOT, REFUSED, TROUBLE, VALID, GlyphState
from swapdesk.tui.spans import Line, LineLike, Span, line_of, spread, width_of, wrapped

if TYPE_CHECKING:
    from decimal import Decimal

    from swapdesk.flows.connected_desk import ConnectedDesk
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.quotes.intent_line import IntentLine
    from swapdesk.flows.quotes.quote_request import Named, QuoteOptions
    from swapdesk.flows.wallet.own_accounts import OwnBalance
    from swapdesk.wire.pair_limits import PairLimits
    from swapdesk.wire.tokens import Token


HINT = "amount   you sell   you buy"
TALL_FROM = 28
LONGEST = 1_000
"""Room for a payment link with a message."""


class Reading(GlyphState):
    """How far a line was understood: glyph and role."""

    EMPTY = ("", "muted")
    INCOMPLETE = (DOT, "muted")
    AMBIGUOUS = (TROUBLE, "status-waiting")
    VALID = (VALID, "status-done")
    REFUSED = (REFUSED, "status-trouble")


class IntentReading(Struct, frozen=True):
    """``text``, its ``right`` end (the value in USD), muted ``below``, wrong ``marked`` places."""

    reading: Reading = Reading.EMPTY
    text: LineLike = ""
    right: LineLike = ""
    below: LineLike = ""
    marked: frozenset[int] = field(default_factory=frozenset)


def reading_lines(state: IntentReading, width: int) -> list[Line]:
    """Two rows at most widths: what was understood, then what else could be said."""
    role = "status-trouble" if state.reading is Reading.REFUSED else "muted"
    text = line_of(state.text, role)
    rows: list[Line] = []
    if text:
        glyph = state.reading.glyph
        head: Line = [Span(f"{glyph} ", state.reading.role), *text] if glyph else text
        right = line_of(state.right, "foreground")
        rows += wrapped(head, width, indent=2)
        # The value goes before anything of the sentence would: an amount is never cut.
        if right and width_of(rows[-1]) + 2 + width_of(right) <= width:
            rows[-1] = spread(rows[-1], right, width)
    if state.below:
        below = wrapped(line_of(state.below, "muted"), width - 2)
        rows += [[Span("  "), *row] for row in below]
    return rows


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
        below = f"{line.derived} {DOT} {line.message}" if line.derived else line.message
    return IntentReading(reading, text, _value(line), below)


def places_reading(keys: Sequence[tuple[str, str]], whose: str) -> IntentReading:
    """What stands under an empty line: keys with where they lead, and who ``whose`` is, the
    account of the sandbox that is named above."""
    places: Line = [Span("  ")] if keys else []
    for at, (key, place) in enumerate(keys):
        places += [Span(f" {DOT} ", "rule")] if at else []
        places += [Span(key, "accent"), Span(f" {place}", "muted")]
    said = f"{whose} is this desk's account at the service of the sandbox." if whose else ""
    return IntentReading(Reading.EMPTY, places, below=said)


def with_options(
    reading: IntentReading, options: QuoteOptions | None, named: Named = lambda code: code
) -> IntentReading:
    """``reading`` with how quotes will be asked for, where that is not as usual."""
    from swapdesk.flows.quotes.quote_request import options_in_words

    words = options_in_words(options, named) if options is not None else ""
    if not words:
        return reading
    asks: Line = [Span("f2", "accent", bold=True), Span(f" options: {words}", "muted")]
    below = line_of(reading.below, "muted")
    return replace(reading, below=[*below, Span(f" {DOT} ", "muted"), *asks] if below else asks)


def _understood(line: IntentLine) -> Line:
    assert line.amount is not None
    assert line.token_in is not None
    about = f"{ABOUT} " if line.dollars is not None else ""
    amount = f"{about}{exact_amount(line.amount)}"
    if line.receive:
        return [*_to_arrive(line, amount), *_payee(line)]
    text: Line = [
        Span("Send privately  " if line.private_send else "Sell  ", "muted"),
        Span(f"{amount} {line.token_in.symbol}", bold=True),
        Span(f"  on {line.token_in.chain_data.name}", "muted"),
    ]
    if line.token_out is not None and not line.private_send:
        text += [Span("    Buy  ", "muted"), *_token(line.token_out)]
    return [*text, *_payee(line)]


def _payee(line: IntentLine) -> Line:
    """Whom the line names: by name, or by the ends of the address."""
    from swapdesk.chain.addresses.payment_links import read_payment_link

    to = f"@{line.recipient_name}" if line.recipient_name else line.recipient
    if not to:
        return []
    link = None if line.recipient_name else read_payment_link(to)
    address = to if link is None else link.address
    shown = to if line.recipient_name else short_address(address)
    return [Span("    to  ", "muted"), Span(shown, bold=True)]


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
    from swapdesk.flows.quotes.intent_line import BOUGHT_KEY, SOLD_KEY

    parts: list[Line] = [[Span(line.derived, "muted")]] if line.derived else []
    if have is not None and line.token_in is not None and line.share is None:
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


class SwapLine:
    """Nothing is read before :meth:`read`. ``choose`` counts the keys for another chain, ``sold``
    those for another chain of the token sold."""

    def __init__(self) -> None:
        self.choose = 0
        self.sold = 0
        self.line: IntentLine | None = None
        self.recipient = ""
        self._limits: PairLimits | None = None
        self.held: dict[str, OwnBalance | str] = {}
        """What the own wallet has, by the id of the token, as far as it was asked."""

    @property
    def several(self) -> bool:
        """Whether the tokens of the line stand on more than one chain."""
        return self.line is not None and self.line.choices > 1

    @property
    def sold_elsewhere(self) -> bool:
        """Whether the token sold stands on more than one chain, and the other one too."""
        return self.line is not None and self.line.both_hints is not None

    @property
    def wants_amount(self) -> bool:
        """Whether all is written but the amount."""
        return self.line is not None and self.line.wants_amount

    @property
    def pair(self) -> tuple[Token, Token] | None:
        """The token sold and the token bought, once both are known."""
        line = self.line
        if line is None or line.token_in is None or line.token_out is None:
            return None
        return line.token_in, line.token_out

    @property
    def receive(self) -> bool:
        """Whether the line states what is to arrive."""
        return self.line is not None and self.line.receive

    @property
    def complete(self) -> bool:
        """Whether quotes can be asked for."""
        return self.line is not None and self.line.ready and self.outside() is None

    def read(
        self, text: str, desk: Desk, link: ConnectedDesk | None, *, private: bool
    ) -> IntentReading:
        """Read ``text`` again, without a call, and say how it was understood."""
        from swapdesk.flows.payees.recipients import payee_check
        from swapdesk.flows.quotes.intent_line import (
            LineState,
            parse_intent_line,
            parse_private_line,
        )

        check = payee_check(desk.catalog, desk.book, desk.journal)
        if private:
            choose = self.choose + self.sold
            line = parse_private_line(
                text, desk.catalog, desk.book, choose=choose, held=self.held, check=check
            )
        else:
            line = parse_intent_line(
                text,
                desk.catalog,
                desk.book,
                choose=self.choose,
                sold=self.sold,
                held=self.held,
                check=check,
            )
        self.recipient = f"@{line.recipient_name}" if line.recipient_name else line.recipient
        self.line = line
        self._limits = self.known_limits(link)
        if line.state is LineState.EMPTY:
            return IntentReading(Reading.EMPTY)
        has = self.held.get(line.token_in.id) if line.token_in is not None else None
        have = None if has is None or isinstance(has, str) else has.amount
        return reading_of(line, self._limits, self.outside(), have)

    def outside(self) -> str | None:
        """Why no route takes the amount, as far as the limits of the pair are known."""
        from swapdesk.flows.quotes.amount_check import outside_limits

        line = self.line
        if line is None or line.amount is None or line.token_in is None:
            return None
        token = line.token_out if line.receive else line.token_in
        if token is None:
            return None
        return outside_limits(line.amount, token.symbol, self._limits, receive=line.receive)

    def nearest(self) -> str:
        """The bound that the amount is over or under, in a few words; empty within the limits."""
        from swapdesk.flows.notation import exact_amount
        from swapdesk.flows.quotes.amount_check import bounds_of

        line, limits = self.line, self._limits
        if limits is None or line is None or line.amount is None:
            return ""
        bounds = bounds_of(limits, receive=line.receive)
        token = line.token_out if line.receive else line.token_in
        if bounds is None or token is None:
            return ""
        if line.amount < bounds.smallest:
            return f"Smallest: {exact_amount(bounds.smallest)} {token.symbol}"
        if bounds.largest is not None and line.amount > bounds.largest:
            return f"Largest: {exact_amount(bounds.largest)} {token.symbol}"
        return ""

    def known_limits(self, link: ConnectedDesk | None) -> PairLimits | None:
        """Limits of the pair that were asked for before."""
        return link.quotes.known_limits(*self.pair) if link is not None and self.pair else None

    def named(self, text: str, desk: Desk) -> str | None:
        """``text`` with the name behind its ``@`` completed, or the next one that fits.

        None where it has no ``@``; the same text where no name begins so.
        """
        head, at, begun = text.rpartition("@")
        if not at:
            return None
        sold = self.line.token_in if self.line is not None else None
        known = desk.book.names(sold.chain_data.kind if sold is not None else None)
        names = [name for name in known if name.startswith(begun.lower())]
        if not names:
            return text
        following = names[(names.index(begun) + 1) % len(names)] if begun in names else names[0]
        return f"{head}@{following}"
