"""The amount of a command line, with the place of what is wrong in it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import click

from swapdesk.cli.command_error import CommandError, bad_input

if TYPE_CHECKING:
    from swapdesk.wire.tokens import Token


def read_digits(_: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """As typed. Exit 2 for what is no amount of any token; needs no service."""
    from swapdesk.wire.encoding.numbers import AmountError, parse_amount

    try:
        if text is not None:
            parse_amount(text)
    except AmountError as error:
        name = (option.name or "").replace("_", "-")
        raise _bad_amount(error.message, error.position, name) from None
    return text


def read_amount(text: str, token: Token, field: str = "amount") -> Decimal:
    """The amount of a token. Exit 2 for 0 and for more decimals than the token has."""
    from swapdesk.flows.quotes.amount_check import typed_amount
    from swapdesk.wire.encoding.numbers import AmountError

    try:
        return typed_amount(text, token)
    except AmountError as error:
        raise _bad_amount(error.message, error.position, field) from None


def _bad_amount(message: str, place: int, field: str) -> CommandError:
    said = f"{message} The mistake is at character {place + 1}."
    return bad_input("BAD_AMOUNT", said, field=field, place=place)
