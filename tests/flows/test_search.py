"""Finding tokens: ranked hits, slips of the fingers, copies and hostile symbols."""

from __future__ import annotations

import hashlib
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.texts import RANKED
from swapdesk.chain.addresses.display import grouped
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.confusables import (
    Suspicion,
    code_points,
    draws_like,
    is_plain,
    suspicion,
)
from swapdesk.flows.catalog.search import (
    CanDo,
    TokenRow,
    Verdict,
    imitated_by,
    lookalikes,
    named_contract,
    search,
)
from swapdesk.flows.catalog.token_safety import row_of
from swapdesk.wire.encoding.text import safe_text
from world import sandbox_goods

NOW = ManualClock().now()
ROWS = sorted(
    (row_of(token, NOW) for token in sandbox_goods(NOW)["tokens"]), key=lambda row: row.order
)
USDC = next(row for row in ROWS if row.symbol == "USDC" and row.chain == "ethereum")


def row(symbol: str, name: str = "", **changes: object) -> TokenRow:
    """A row as it comes from the service: text made safe, keys from it."""
    symbol = safe_text(symbol, 40)
    made = USDC._replace(
        id=hashlib.sha256(f"{symbol} {name}".encode()).hexdigest()[:24],
        symbol=symbol,
        name=name or symbol,
        symbol_key=symbol.lower(),
        text_key=f"{symbol} {name}".lower(),
        priority=None,
        rank=None,
        unverified=True,
    )
    return made._replace(**changes)


def symbols(rows: list[TokenRow]) -> list[tuple[str, str]]:
    return [(found.symbol, found.chain) for found in rows]


def test_nothing_typed_is_the_whole_list_in_its_order() -> None:
    assert search(ROWS, "", limit=10_000) == ROWS
    assert search(ROWS, "  ", limit=3) == ROWS[:3]


def test_the_exact_symbol_comes_first_then_beginnings_then_names() -> None:
    found = search(ROWS, "eth")
    assert {found.symbol for found in found[:6]} == {"ETH"}
    assert found[0].chain == "ethereum"
    names = [hit.symbol_key for hit in found]
    assert names.index("weth") > max(i for i, name in enumerate(names) if name == "eth")
    assert search(ROWS, "wrapped b")[0].symbol == "WBTC"


def test_several_words_and_a_dot_narrow_to_a_chain() -> None:
    assert symbols(search(ROWS, "usdc base"))[0] == ("USDC", "base")
    assert symbols(search(ROWS, "usdc.base"))[0] == ("USDC", "base")
    assert symbols(search(ROWS, "usdc.e"))[0][0] == "USDC.e"


def test_a_contract_is_found_in_any_case() -> None:
    assert search(ROWS, USDC.contract.upper().replace("0X", "0x"))[0] == USDC
    assert search(ROWS, USDC.contract[:12])[0] == USDC


@pytest.mark.parametrize(
    "text",
    [
        "https://etherscan.io/token/{}?a=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed#balances",
        "https://app.example/#/swap?outputCurrency={}",
        "https://explorer.example/address%2F{}",
        "{chain}:{}",
        "eip155:{id}:{}",
        "ethereum:{}@{id}",
        "grouped",
    ],
)
def test_a_contract_is_found_in_a_link_behind_its_chain_and_as_it_is_drawn(text: str) -> None:
    assert USDC.contract is not None
    parts = {"chain": "eth", "id": 1}
    asked = grouped(USDC.contract) if text == "grouped" else text.format(USDC.contract, **parts)
    assert search(ROWS, asked) == search(ROWS, USDC.contract) == [USDC]
    assert named_contract(asked)[0] == USDC.contract


def test_a_contract_of_another_chain_than_the_one_before_it_is_none() -> None:
    assert USDC.contract is not None
    assert search(ROWS, f"avax:{USDC.contract}") == []
    assert search(ROWS, "https://etherscan.io/token/") == []
    for plain in (
        "usdc",
        "wrapped ether on the base network",
        "https://example.com/some/long/page",
    ):
        assert named_contract(plain) == (plain, frozenset())


def test_filters_by_chain_and_ability() -> None:
    on_base = search(ROWS, "", chain="BASE", limit=10_000)
    assert on_base == [row for row in ROWS if row.chain == "base"]
    private = search(ROWS, "", can_do=CanDo.SELF_PRIVATE, limit=10_000)
    assert private == [row for row in ROWS if row.has_self_private and row.enabled]
    assert len(private) < len(ROWS)


def test_sorting_puts_unknown_values_last() -> None:
    prices = [row.price for row in search(ROWS, "", sort="price", limit=10_000)]
    known = [price for price in prices if price is not None]
    assert prices == sorted(known, reverse=True) + [None] * (len(prices) - len(known))
    assert None in prices
    by_symbol = [row.symbol_key for row in search(ROWS, "", sort="symbol", limit=10_000)]
    assert by_symbol == sorted(by_symbol)


@given(st.text(max_size=120), st.integers(0, 20), st.sampled_from(["rank", "price", "change"]))
def test_search_never_fails_and_keeps_its_limit(text: str, limit: int, sort: str) -> None:
    found = search(ROWS, text, limit=limit, sort=sort)  # type: ignore[arg-type]
    assert len(found) <= limit
    assert len({row.id for row in found}) == len(found)


def test_the_copy_of_a_token_is_named() -> None:
    copies = lookalikes(USDC, ROWS)
    assert ("USDC", "USDCoin", Verdict.MALICIOUS) in [
        (copy.symbol, copy.name, copy.verdict) for copy in copies
    ]
    assert not {copy.id for copy in copies} & {
        row.id for row in ROWS if row.symbol == "USDC" and row.verdict is Verdict.BENIGN
    }
    bridged = next(row for row in ROWS if row.symbol == "USDC.e")
    assert bridged not in copies


def test_an_imitation_names_the_original() -> None:
    fake = row("UЅDС", "UЅDС")
    original = imitated_by(fake, [*ROWS, fake])
    assert original.symbol == "USDC"
    honest = [r for r in ROWS if r.verdict is Verdict.BENIGN and not r.unverified]
    assert [r.symbol for r in honest if imitated_by(r, ROWS) is not None] == []


def test_ranked_symbols_do_not_accuse_one_another() -> None:
    pairs = [(a, b) for a in RANKED for b in RANKED if a != b and draws_like(a, b)]
    assert pairs == []
    assert not draws_like("AI", "AL")
    assert draws_like("AI", "Al")
    assert not draws_like("", "USDC")


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("USDC", None),
        ("US\u200bDC", Suspicion.HIDDEN),
        (safe_text("US\u200bDC", 40), Suspicion.HIDDEN),
        ("UЅDС", Suspicion.MIXED_SCRIPT),
        ("ЅОС", Suspicion.LOOK_ALIKE),
        ("ＵＳＤＣ", Suspicion.UNUSUAL),
        ("柴犬", None),
    ],
)
def test_the_reason_of_a_badge(symbol: str, expected: Suspicion | None) -> None:
    assert suspicion(symbol) is expected
    assert is_plain(symbol) is (symbol == "USDC")


def test_code_points_spell_a_symbol_out() -> None:
    assert code_points("UЅ") == "U+0055 U+0405"


def test_a_row_orders_as_the_service_does() -> None:
    first = row("A", priority=Decimal(0), rank=None)
    second = row("B", priority=Decimal(1), rank=Decimal(1))
    last = row("C", priority=None, rank=Decimal(1))
    assert sorted([last, second, first], key=lambda r: r.order) == [first, second, last]
