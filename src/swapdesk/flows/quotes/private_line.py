"""The intent line of a private send: ``0.5 eth``, ``0.5 eth @bob`` or ``0.5 eth 0x5aAe...``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.quotes.intent_line import (
    NAME_TOKEN,
    IntentLine,
    LineState,
    parse_intent_line,
)
from swapdesk.flows.quotes.picked import Picked


@dataclass(frozen=True)
class PrivateLine:
    """``recipient`` is the address or ``@name`` of the line, empty when the form asks for it."""

    line: IntentLine
    recipient: str = ""


def parse_private_line(
    text: str, catalog: Catalog, book: AddressBook, *, choose: int = 0
) -> PrivateLine:
    """Read the line; never raises. Only tokens that can be sent privately are chosen."""
    words = text.split()
    if len(words) > 2 and words[2].startswith("@"):
        line = parse_intent_line(text, catalog, book, choose=choose)
        return PrivateLine(line, words[2])
    if len(words) > 3:
        line = IntentLine(
            LineState.REFUSED, message="Write an amount, a token and whom to pay.", place=0
        )
        return PrivateLine(replace(line, private_send=True))
    recipient = words[2] if len(words) == 3 else ""
    cut = text.rindex(recipient) if recipient else len(text)
    line = parse_intent_line(text[:cut], catalog, book)
    if line.message == NAME_TOKEN:
        line = replace(line, message="Name the token you send.")
    if line.token_in is None or line.state is LineState.REFUSED:
        return PrivateLine(replace(line, private_send=True), recipient)
    rows = resolve(words[1], catalog).candidates
    private = tuple(row for row in rows if row.has_self_private)
    token = catalog.token(private[choose % len(private)].id) if private else None
    if token is None:
        row = rows[0]
        sentence = f"{row.symbol} on {row.chain_name} cannot be sent privately."
        refused = replace(
            line, state=LineState.REFUSED, message=sentence, place=None, private_send=True
        )
        return PrivateLine(refused, recipient)
    hint = Picked(token, private, choose % len(private)).hint(private=True)
    line = replace(
        line,
        state=LineState.VALID,
        token_in=token,
        token_out=token,
        message="",
        hints=line.hints if hint is None else (hint,),
        rows=private,
        chosen=choose % len(private),
        choices=len(private),
        private_send=True,
    )
    return PrivateLine(line, recipient)
