"""Finding tokens: ranked hits, slips of the fingers, copies and hostile symbols; the list in
columns, in which a search finds the same as in rows."""

from __future__ import annotations

import hashlib
import random
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cached_catalog import cache_catalog
from corpus.honest_names import HONEST
from corpus.texts import RANKED, look_alikes
from flows.orders import NOW
from rows import each_row
from sampling import examples
from swapdesk.chain.addresses.display import grouped
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.confusables import (
    Suspicion,
    code_points,
    draws_like,
    is_plain,
    skeleton,
    suspicion,
)
from swapdesk.flows.catalog.search import imitated_by, lookalikes, named_contract, search
from swapdesk.flows.catalog.token_list import CanDo, TextColumn, TokenList, TokenRow, Verdict, pack
from swapdesk.flows.catalog.token_safety import row_of
from swapdesk.sandbox.world_generator import build_catalog
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.tokens import Token
from world import sandbox_goods

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


@each_row(
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


@each_row(
    ("symbol", "expected"),
    [
        ("USDC", None),
        ("US\u200bDC", "has hidden characters"),
        (safe_text("US\u200bDC", 40), "has hidden characters"),
        ("UЅDС", "mixes letters of several scripts"),
        ("ЅОС", "is written in look-alike letters"),
        ("ＵＳＤＣ", "has unusual characters"),
        ("柴犬", None),
    ],
)
def test_the_reason_of_a_badge(symbol: str, expected: Suspicion | None) -> None:
    assert suspicion(symbol) == expected
    assert is_plain(symbol) is (symbol == "USDC")


def test_code_points_spell_a_symbol_out() -> None:
    assert code_points("UЅ") == "U+0055 U+0405"


def test_a_row_orders_as_the_service_does() -> None:
    first = row("A", priority=Decimal(0), rank=None)
    second = row("B", priority=Decimal(1), rank=Decimal(1))
    last = row("C", priority=None, rank=Decimal(1))
    assert sorted([last, second, first], key=lambda r: r.order) == [first, second, last]


CHAINS, TOKENS = build_catalog(7, 1_500, NOW)
MANY = sorted((row_of(token, NOW) for token in TOKENS), key=lambda row: row.order)
LIST = TokenList.of(MANY)
LINES = st.lists(st.text(st.characters(exclude_characters="\x1e\x1f", codec="utf-8")), max_size=8)


@given(LINES)
def test_lines_come_back_as_they_were(lines: list[str]) -> None:
    column = TextColumn.of(lines)
    assert [column.text(at) for at in range(len(column))] == lines
    assert len(column.lines()) == len(lines)


@given(st.lists(st.text("abé\n", max_size=6), max_size=12), st.text("abé", min_size=1, max_size=3))
def test_a_column_finds_what_a_walk_finds(lines: list[str], wanted: str) -> None:
    column = TextColumn.of(lines)
    numbers = range(len(lines))
    assert list(column.holding(wanted)) == [at for at in numbers if wanted in lines[at]]
    assert list(column.beginning(wanted)) == [at for at in numbers if lines[at].startswith(wanted)]
    assert list(column.equal(wanted)) == [at for at in numbers if lines[at] == wanted]


def test_rows_come_out_of_the_columns_as_they_went_in() -> None:
    assert list(LIST) == MANY
    assert LIST[3:700:50] == MANY[3:700:50]
    assert LIST[-1] == MANY[-1]
    assert TokenList.of(MANY) == LIST
    assert TokenList.of(MANY[1:]) != LIST
    with pytest.raises(IndexError):
        LIST[len(MANY)]


def test_what_is_disabled_can_nothing() -> None:
    off = [row._replace(enabled=False) for row in MANY]
    columns = TokenList.of(off)
    for what in CanDo:
        assert any(row.can(what) for row in MANY)
        assert not any(row.can(what) for row in off)
        assert not any(columns.can(at, what) for at in range(len(off)))


def test_rows_are_added_at_their_places() -> None:
    some = random.Random(5).sample(MANY, 40)
    rest = TokenList.of(row for row in MANY if row not in some)
    assert list(rest.with_rows(some)) == MANY
    assert list(TokenList.of([]).with_rows(MANY[:1])) == MANY[:1]


def test_a_benign_scan_grows_old_and_no_other() -> None:
    benign = next(row for row in MANY if row.verdict is Verdict.BENIGN)
    warned = next(row for row in MANY if row.verdict is Verdict.WARNING)
    part = pack([(benign, 1000.0), (warned, 1000.0)])
    young, old = TokenList.joined([part], 999.9), TokenList.joined([part], 1000.0)
    assert [row.verdict for row in young] == [Verdict.BENIGN, Verdict.WARNING]
    assert [row.verdict for row in old] == [Verdict.STALE, Verdict.WARNING]


def walked(text: str, chain: str | None, can_do: CanDo | None) -> set[str]:
    """Ids of all rows that hold every word and pass the filters; a dot parts words where no row
    has them as they are."""

    def holding(words: list[str]) -> set[str]:
        return {
            row.id
            for row in MANY
            if all(word in row.text_key for word in words)
            and (chain is None or row.chain == chain)
            and (can_do is None or row.can(can_do))
        }

    found = holding(text.split())
    return found if found or "." not in text else holding(text.replace(".", " ").split())


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(MANY),
    st.integers(1, 5),
    st.sampled_from(["", " usd", " base", " inu"]),
    st.sampled_from([None, "ethereum", "solana"]),
    st.sampled_from([None, *CanDo]),
)
def test_a_search_finds_every_row_that_a_walk_finds(
    row: TokenRow, length: int, more: str, chain: str | None, can_do: CanDo | None
) -> None:
    text = row.symbol_key[:length].strip() + more
    found = [hit.id for hit in search(LIST, text, chain=chain, can_do=can_do, limit=10_000)]
    whole = walked(text, chain, can_do)
    assert len(set(found)) == len(found)
    assert set(found[: len(whole)]) == whole
    assert len(found) == len(whole) or len(whole) < 8
    by_price = search(LIST, text, chain=chain, can_do=can_do, sort="price", limit=10_000)
    assert {hit.id for hit in by_price} == whole
    prices = [hit.price for hit in by_price if hit.price is not None]
    assert prices == sorted(prices, reverse=True)


def slipped(typed: str) -> set[str]:
    """Every text one missing, extra, wrong or swapped character away."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    places = range(len(typed))
    missing = {typed[:at] + typed[at + 1 :] for at in places}
    wrong = {typed[:at] + one + typed[at + 1 :] for at in places for one in letters}
    extra = {typed[:at] + one + typed[at:] for at in [*places, len(typed)] for one in letters}
    swapped = {
        typed[:at] + typed[at + 1] + typed[at] + typed[at + 2 :] for at in places[: len(typed) - 1]
    }
    return missing | wrong | extra | swapped


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(MANY), st.data())
def test_a_slip_finds_every_symbol_that_a_walk_finds(row: TokenRow, data: st.DataObject) -> None:
    near = sorted(slipped(row.symbol_key))
    typed = data.draw(st.sampled_from([one for one in near if " " not in one] or ["usdx"]))
    found = [hit.id for hit in search(LIST, typed, limit=10_000)]
    whole = walked(typed, None, None)
    due = []
    if len(whole) < 8 and 3 <= len(typed) <= 10:
        words = slipped(typed)
        due = [one.id for one in MANY if one.symbol_key in words and one.id not in whole]
        if row.symbol_key in words:
            assert row.id in found
    assert found[len(whole) :] == due


def test_a_limit_keeps_the_best() -> None:
    for text in ("u", "eth", "moon inu", "usdc"):
        whole = search(LIST, text, limit=10_000)
        assert search(LIST, text, limit=5) == whole[:5]


def test_what_draws_alike_is_all_that_a_search_for_copies_needs() -> None:
    for row in MANY[::29]:
        alike = LIST.drawn_like(row)
        assert row in alike
        assert lookalikes(row, alike) == lookalikes(row, MANY)
        assert imitated_by(row, alike) == imitated_by(row, MANY)
        assert all(
            skeleton(row.symbol) & skeleton(one.symbol) or skeleton(row.name) & skeleton(one.name)
            for one in alike
        )


def test_facts_of_a_chain() -> None:
    assert LIST.contracts_on("Base") == {
        row.contract for row in MANY if row.chain == "base" and row.contract
    }


def stored(path: Path, steps: list[list[Token]]) -> TokenList:
    """What a file holds after a refresh that brought these steps."""
    cache_catalog(path, NOW, CHAINS, *steps)
    with closing(Catalog.open(path, ManualClock(NOW))) as catalog:
        catalog.load()
    return catalog.rows


def test_a_list_out_of_order_is_put_in_order(tmp_path: Path) -> None:
    tokens = sorted(TOKENS[:900], key=lambda token: row_of(token, NOW).order)
    tidy = stored(tmp_path / "tidy.db", [tokens[:450], tokens[450:]])
    assert list(tidy) == [row_of(token, NOW) for token in tokens]
    mixed = random.Random(3).sample(tokens, len(tokens))
    assert stored(tmp_path / "mixed.db", [mixed[:450], mixed[450:]]) == tidy


def test_of_a_token_that_comes_twice_the_later_one_is_listed(tmp_path: Path) -> None:
    """Pages shift while they are read."""
    tokens = sorted(TOKENS[:30], key=lambda token: row_of(token, NOW).order)
    dearer = tokens[9].model_copy(update={"price": Decimal(77)})
    found = stored(tmp_path / "catalog.db", [tokens[:10], [dearer, *tokens[10:]]])
    assert [row.id for row in found] == [token.id for token in tokens]
    assert found[9].price == 77


def flagged(shown: str, reads: str) -> bool:
    """Whether the desk says of a symbol, as it came over the wire, that it is not ``reads``."""
    safe = safe_text(shown, 80)
    return suspicion(safe) is not None or draws_like(safe, reads)


def test_of_two_thousand_imitations_nearly_none_passes() -> None:
    cases = look_alikes()
    missed = [(shown, reads) for shown, reads in cases if not flagged(shown, reads)]
    assert len(RANKED) == 50
    assert len(cases) >= 2_000
    assert len(missed) <= 0.005 * len(cases), missed
    # What is written backwards is suspected by its characters alone.
    forwards = [one for one in cases if one[1][::-1] not in one[0]]
    drawn = [one for one in forwards if draws_like(safe_text(one[0], 80), one[1])]
    assert len(drawn) >= 0.99 * len(forwards)


def test_honest_foreign_names_are_not_said_to_imitate() -> None:
    wrong = [(name, symbol) for name in HONEST for symbol in RANKED if draws_like(name, symbol)]
    assert wrong == []


def test_of_two_hundred_honest_names_nearly_none_is_suspected() -> None:
    assert len(set(HONEST)) >= 200
    wrong = [name for name in HONEST if suspicion(safe_text(name, 80)) is not None]
    assert len(wrong) <= 0.01 * len(HONEST), wrong


def test_a_bar_is_a_letter_and_a_separator() -> None:
    assert draws_like("SU|", "SUI")
    assert draws_like("U|S|D|C", "USDC")
    assert not draws_like("SU|", "SU2")
