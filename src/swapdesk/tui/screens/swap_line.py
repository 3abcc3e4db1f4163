"""The line of the first screen as the desk understands it: tokens, amount, limits, recipient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.tui.screens.swap_reading import reading_of
from swapdesk.tui.widgets.intent_line import IntentReading, Reading

if TYPE_CHECKING:
    from decimal import Decimal

    from swapdesk.flows.connected_desk import ConnectedDesk
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.quotes.intent_line import IntentLine
    from swapdesk.wire.pair_limits import PairLimits
    from swapdesk.wire.tokens import Token


class SwapLine:
    """Nothing is read before :meth:`read`. ``choose`` counts the keys for another chain, ``sold``
    those for another chain of the token sold."""

    def __init__(self) -> None:
        self.choose = 0
        self.sold = 0
        self.line: IntentLine | None = None
        self.recipient = ""
        self._limits: PairLimits | None = None
        self.balances: dict[str, Decimal] = {}
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
        from swapdesk.flows.quotes.intent_line import (
            LineState,
            parse_intent_line,
            parse_private_line,
        )

        if private:
            choose = self.choose + self.sold
            sent = parse_private_line(text, desk.catalog, desk.book, choose=choose)
            line, self.recipient = sent.line, sent.recipient
        else:
            line = parse_intent_line(
                text, desk.catalog, desk.book, choose=self.choose, sold=self.sold
            )
            self.recipient = f"@{line.recipient_name}" if line.recipient_name else ""
        self.line = line
        self._limits = self.known_limits(link)
        if line.state is LineState.EMPTY:
            return IntentReading(Reading.EMPTY)
        have = self.balances.get(line.token_in.id) if line.token_in is not None else None
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
