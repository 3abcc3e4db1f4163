"""What a person agrees to by typing before an order is created, or may not agree to at all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.search import imitated_by
from swapdesk.flows.catalog.token_row import TokenRow
from swapdesk.flows.catalog.token_safety import check_token
from swapdesk.flows.notation import percent
from swapdesk.flows.quotes.quoting import QuoteBoard
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.wire.tokens import Token

AGREED = "yes"
"""The phrase where no number is typed."""


@dataclass(frozen=True)
class Consent:
    """``refused`` says why nothing can be created; else ``phrase`` is typed when not empty."""

    lines: tuple[str, ...] = ()
    phrase: str = ""
    refused: str | None = None

    def also(self, warning: str | None) -> Consent:
        """This consent with one more line to agree to; None adds nothing."""
        if warning is None:
            return self
        return replace(self, lines=(*self.lines, warning), phrase=self.phrase or AGREED)


def consent_for(board: QuoteBoard, row: RankedQuote, catalog: Catalog, now: datetime) -> Consent:
    """Both tokens and the value difference of a route.

    From 10 % of loss the percentage is typed, from 30 % the route is refused; a token with a
    warning, an unverified one, and a difference that cannot be known are agreed to.
    """
    lines: list[str] = []
    for token in {board.token_in.id: board.token_in, board.token_out.id: board.token_out}.values():
        check = check_token(token, now=now, imitates=_imitated(token, catalog))
        if not check.ok:
            return Consent(refused=next(one.text for one in check.lines if one.level == "refuse"))
        if check.needs_consent:
            lines += [one.text for one in check.lines if one.level == "warn"]
    value = board.value_difference(row)
    phrase = AGREED if lines else ""
    if value.level == "refused":
        return Consent(refused=f"This route loses {percent(value.percent)} of the value.")
    if value.typed_text is not None:
        phrase = value.typed_text
        lines.append(f"This route returns {percent(value.percent)} of value, fees included.")
    elif value.needs_consent:
        phrase = phrase or AGREED
        lines.append("No price is known for a token: the desk cannot say what this route costs.")
    return Consent(tuple(lines), phrase)


def _imitated(token: Token, catalog: Catalog) -> TokenRow | None:
    row = catalog.row(token.id)
    return imitated_by(row, catalog.rows.drawn_like(row)) if row is not None else None
