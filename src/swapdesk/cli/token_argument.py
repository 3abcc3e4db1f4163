"""Tokens and amounts of the command line: a token is found, not ambiguous, and may be used."""

from __future__ import annotations

from decimal import Decimal

from swapdesk.cli.command_error import CommandError, bad_input, own_refusal
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.quote_options import bad_amount
from swapdesk.flows.catalog.catalog import resolve
from swapdesk.flows.catalog.search import imitated_by
from swapdesk.flows.catalog.token_safety import TokenCheck, check_token
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.desk import Desk
from swapdesk.wire.tokens import Token

_MOST_NAMED = 20


def find_token(spec: str, desk: Desk, *, field: str) -> Token:
    """The one token ``spec`` names.

    Exit 2 when several fit, listing them as they can be written; 5 when none does; 9 when it
    is disabled.
    """
    found = resolve(spec, desk.catalog)
    if found.token is None:
        raise CommandError(
            Exit.OWN_REFUSAL if found.disabled else Exit.NOT_FOUND,
            "TOKEN_DISABLED" if found.disabled else "TOKEN_NOT_FOUND",
            found.problem or "There is no such token.",
            fields={field: {"message": found.problem or ""}},
        )
    if found.ambiguous:
        named = list(found.specs)
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        message = f'"{spec}" is on several chains: {", ".join(named[:_MOST_NAMED])}{more}.'
        raise bad_input("AMBIGUOUS_TOKEN", message, field=field, candidates=named)
    return found.token


def require_usable(token: Token, desk: Desk, *, accepted: bool) -> tuple[CheckLine, ...]:
    """What the review says of a token. Exit 9 when it cannot be used, or when it is warned
    about and ``accepted`` is False and nobody can be asked."""
    check = usability(token, desk)
    if not check.ok:
        said = next(line.text for line in check.lines if line.level == "refuse")
        raise own_refusal("TOKEN_REFUSED", said)
    if check.needs_consent and not accepted:
        warned = " ".join(line.text for line in check.lines if line.level == "warn")
        raise own_refusal("TOKEN_WARNING", warned)
    return check.lines


def usability(token: Token, desk: Desk) -> TokenCheck:
    """The state of a token now, with whatever it is drawn like."""
    row = desk.catalog.row(token.id)
    imitates = imitated_by(row, desk.catalog.rows.drawn_like(row)) if row is not None else None
    return check_token(token, now=desk.clock.now(), imitates=imitates)


def read_amount(text: str, token: Token, field: str = "amount") -> Decimal:
    """The amount of a token. Exit 2 for 0 and for more decimals than the token has."""
    from swapdesk.flows.quotes.quoting import typed_amount
    from swapdesk.wire.encoding.numbers import AmountError

    try:
        return typed_amount(text, token)
    except AmountError as error:
        raise bad_amount(error.message, error.position, field) from None
