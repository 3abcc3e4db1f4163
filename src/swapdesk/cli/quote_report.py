"""Quotes as a command shows them: asked, ranked, kept on the shelf, printed."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from swapdesk.cli.amount_argument import read_amount
from swapdesk.cli.command_error import CommandError
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.output import Form
from swapdesk.cli.quote_shelf import QuoteShelf
from swapdesk.cli.session import Session
from swapdesk.cli.token_argument import find_token
from swapdesk.flows.notation import (
    clock_time,
    exact_amount,
    expected_minutes,
    percent,
    table_amount,
)
from swapdesk.flows.quote_wish import QuoteWish
from swapdesk.flows.quoting import QuoteBoard
from swapdesk.flows.ranking import RankedQuote, UnusableQuote
from swapdesk.flows.value_difference import ValueDifference
from swapdesk.wire.encoding.numbers import ROUGH
from swapdesk.wire.quotes import RouteType
from swapdesk.wire.tokens import Token

_MILLIONTH = Decimal("0.000001")


async def report_quotes(
    session: Session, amount: str, sell: str, buy: str, types: Sequence[str]
) -> int:
    """Ask, keep and print. Exit 4 when no route is usable."""
    await session.load_catalog()
    desk = session.desk
    token_in = find_token(sell, desk, field="from")
    token_out = find_token(buy, desk, field="to")
    wanted = tuple(RouteType(name) for name in types)
    board = await session.link.quotes.ask(
        QuoteWish(token_in, token_out, read_amount(amount, token_in), types=wanted)
    )
    QuoteShelf.of(session.settings.places).put(board)
    output = session.call.output
    if output.json:
        output.document(board_json(board, session.desk.catalog.provider_name))
    elif output.form is Form.PLAIN:
        output.say(*_sentences(board))
    else:
        _table(session, board)
    if board.ranking.best is None:
        raise no_route(board)
    return Exit.DONE


def no_route(board: QuoteBoard) -> CommandError:
    """Exit 4: the service was asked and no route takes this."""
    amount = f"{exact_amount(board.amount)} {board.token_in.symbol}"
    message = f"No route takes {amount}."
    smallest = board.smallest_usable
    if smallest is not None:
        message += (
            f" The smallest usable amount is {exact_amount(smallest[0])} {board.token_in.symbol}."
        )
    return CommandError(
        Exit.REFUSED,
        "NO_USABLE_ROUTE",
        message,
        next="you: choose another amount or another token",
    )


def board_json(board: QuoteBoard, name_of: Any) -> dict[str, Any]:
    """Ranked rows and unusable ones with their reason; amounts are exact numbers."""
    return {
        "askedAt": board.asked_at,
        "from": token_json(board.token_in),
        "to": token_json(board.token_out),
        "amount": board.amount,
        "quotes": [
            {
                "place": row.place,
                "net": row.key,
                "vsBestPercent": share(row.vs_best_percent),
                "vsBestAmount": row.vs_best_amount,
                "valueDifference": difference_json(board.value_difference(row)),
                "expiresAt": row.expires_at,
                "fees": row.fees_text_kind,
                "badges": list(row.badges),
                "provider": name_of(row.quote.swap),
                **_wire(row.quote),
            }
            for row in board.ranking.rows
        ],
        "unusable": [
            {"reason": entry.reason, "serverSays": entry.server_says, **_wire(entry.quote)}
            for entry in board.ranking.unusable
        ],
    }


def token_json(token: Token) -> dict[str, Any]:
    """What names a token."""
    chain = token.chain_data
    return {
        "id": token.id,
        "symbol": token.symbol,
        "name": token.name,
        "chain": chain.short_name,
        "chainName": chain.name,
        "contract": token.address,
        "decimals": token.decimals,
    }


def difference_json(difference: ValueDifference) -> dict[str, Any]:
    """Percent of value lost or gained, fees included; null when a price is missing."""
    return {"percent": share(difference.percent), "level": difference.level}


def share(percent: Decimal | None) -> Decimal | None:
    """A derived percentage with six decimals; amounts alone are exact."""
    return None if percent is None else ROUGH.quantize(percent, _MILLIONTH)


def _wire(quote: Any) -> dict[str, Any]:
    written: dict[str, Any] = quote.model_dump(by_alias=True)
    return written


def _table(session: Session, board: QuoteBoard) -> None:
    output = session.call.output
    heads = ("", "route", "provider", f"net {board.token_out.symbol}", "to best", "value", "eta")
    rows = [
        (
            str(row.place),
            row.quote.type,
            row.quote.swap_name or "—",
            table_amount(row.key),
            "best" if row.place == 1 else percent(row.vs_best_percent),
            _value(board, row),
            expected_minutes(row.quote.duration),
            clock_time(row.expires_at),
            row.quote_id,
        )
        for row in board.ranking.rows
    ]
    output.table((*heads, "ends", "quote"), rows, numbers=(3,))
    for entry in board.ranking.unusable:
        output.talk(f"{_route(entry)}: {_reason(entry)}")
    count, others = len(rows), len(board.ranking.unusable)
    output.talk(f"{count} usable routes, {others} not. Nothing has moved.")


def _sentences(board: QuoteBoard) -> list[str]:
    pay, get = board.token_in, board.token_out
    sell = f"{exact_amount(board.amount)} {pay.symbol} on {pay.chain_data.name}"
    sentences = [
        f"{row.place}. {_route(row)}: {sell} gives {exact_amount(row.key)} {get.symbol} on"
        f" {get.chain_data.name}, {expected_minutes(row.quote.duration)},"
        f" value {_value(board, row)}, until {clock_time(row.expires_at, zone=True)},"
        f" quote {row.quote_id}."
        for row in board.ranking.rows
    ]
    return sentences + [
        f"{_route(e)} cannot be used: {_reason(e)}." for e in board.ranking.unusable
    ]


def _route(row: RankedQuote | UnusableQuote) -> str:
    name = row.quote.swap_name or row.quote.swap
    return f"{row.quote.type} {name}" if name else row.quote.type


def _reason(entry: UnusableQuote) -> str:
    return f'the service says "{entry.reason}"' if entry.server_says else entry.reason


def _value(board: QuoteBoard, row: RankedQuote) -> str:
    difference = board.value_difference(row)
    return "not known" if difference.percent is None else percent(difference.percent)
