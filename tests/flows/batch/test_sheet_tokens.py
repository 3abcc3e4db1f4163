"""The tokens of a sheet, found and judged once for all its rows."""

from __future__ import annotations

import pytest

from swapdesk.clock import ManualClock
from swapdesk.flows.batch.judging import SheetTokens
from swapdesk.flows.batch.planned import (
    InputRow,
    Level,
    Separator,
    Sheet,
    SheetColumn,
    selling,
)
from swapdesk.flows.catalog.catalog import Catalog


@pytest.fixture
def tokens(catalog: Catalog, clock: ManualClock) -> SheetTokens:
    return SheetTokens(catalog, clock.now())


def row(**cells: str) -> InputRow:
    return InputRow(1, 2, {SheetColumn(name): text for name, text in cells.items()})


@pytest.mark.parametrize(
    ("cells", "symbol", "chain"),
    [
        ({"buy": "ETH.base"}, "ETH", "base"),
        ({"buy": "eth", "chain": "BASE"}, "ETH", "base"),
        ({"buy": "ETH.base", "chain": "base"}, "ETH", "base"),
        ({"buy": "btc", "chain": "Bitcoin"}, "BTC", "bitcoin"),
    ],
)
async def test_a_row_names_its_token_in_one_cell_or_two(
    cells: dict[str, str], symbol: str, chain: str, tokens: SheetTokens
) -> None:
    token, said = tokens.named(row(**cells), SheetColumn.BUY)
    assert (token.symbol, token.chain_data.short_name, said) == (symbol, chain, ())


async def test_the_chain_of_a_row_is_that_of_what_the_recipient_gets(tokens: SheetTokens) -> None:
    both = row(buy="ETH", chain="base", sell="USDC.ethereum")
    sold, _ = tokens.named(both, SheetColumn.SELL)
    assert sold.chain_data.short_name == "ethereum"


async def test_a_row_that_sells_nothing_by_name_sells_what_is_said_beside_the_sheet(
    tokens: SheetTokens,
) -> None:
    rows = (row(buy="ETH.base"), row(buy="ETH.base", sell="ETH.base"), row(sell=" "))
    sheet = selling(Sheet("a.csv", Separator.COMMA, True, (), rows), "USDC.ethereum")
    sold = [tokens.named(one, SheetColumn.SELL) for one in sheet.rows]
    assert [token.symbol for token, _ in sold if token] == ["USDC", "ETH", "USDC"]
    assert selling(sheet, "") is sheet
    none, (finding,) = tokens.named(row(), SheetColumn.SELL)
    assert (none, finding.code, finding.column) == (None, "NO_TOKEN", SheetColumn.SELL)


async def test_a_mistake_is_told_of_every_row_that_makes_it(tokens: SheetTokens) -> None:
    wrong = row(buy="NOPE", chain="base")
    first, again = (tokens.named(wrong, SheetColumn.BUY) for _ in range(2))
    assert first == again
    assert [one.code for one in again[1]] == ["TOKEN_NOT_FOUND"]


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        ({"buy": "avax"}, "TOKEN_DISABLED"),
        ({"buy": "disabled"}, "TOKEN_NOT_FOUND"),
        ({"buy": "disabled", "chain": "base"}, "TOKEN_NOT_FOUND"),
    ],
)
async def test_a_token_is_disabled_by_what_the_list_says_and_not_by_its_name(
    cells: dict[str, str], code: str, tokens: SheetTokens
) -> None:
    token, (finding,) = tokens.named(row(**cells), SheetColumn.BUY)
    assert (token, finding.code, finding.column) == (None, code, SheetColumn.BUY)


async def test_a_token_that_is_never_swapped_is_named_and_refused(
    tokens: SheetTokens, catalog: Catalog
) -> None:
    scam = next(one for one in catalog.rows if one.enabled and one.verdict.value == "malicious")
    token, (finding,) = tokens.named(row(buy=scam.id), SheetColumn.BUY)
    assert token is not None
    assert tokens.refused(token)
    assert (finding.code, finding.level) == ("TOKEN_REFUSED", Level.PROBLEM)
    honest, _ = tokens.named(row(buy="ETH.base"), SheetColumn.BUY)
    assert honest is not None
    assert not tokens.refused(honest)


async def test_the_contracts_of_a_chain_are_those_of_its_tokens(
    tokens: SheetTokens, catalog: Catalog
) -> None:
    token, _ = tokens.named(row(buy="USDC.base"), SheetColumn.BUY)
    assert token is not None
    there = tokens.contracts_on_chain_of(token)
    assert there == catalog.rows.contracts_on("base")
    assert len(there) > 1
