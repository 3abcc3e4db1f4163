"""The list of tokens in columns: nothing is lost in them, and a search in them finds the same."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling import examples
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.catalog_file import CatalogFile
from swapdesk.flows.catalog.confusables import skeleton
from swapdesk.flows.catalog.search import imitated_by, lookalikes, search
from swapdesk.flows.catalog.token_list import TextColumn, TokenList, pack
from swapdesk.flows.catalog.token_row import CanDo, TokenRow, Verdict
from swapdesk.flows.catalog.token_safety import row_of
from swapdesk.sandbox.world_generator import build_catalog
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.tokens import Token

NOW = ManualClock().now()
CHAINS, TOKENS = build_catalog(7, 1_500, NOW)
ROWS = sorted((row_of(token, NOW) for token in TOKENS), key=lambda row: row.order)
LIST = TokenList.of(ROWS)
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
    assert list(LIST) == ROWS
    assert LIST[3:700:50] == ROWS[3:700:50]
    assert LIST[-1] == ROWS[-1]
    assert TokenList.of(ROWS) == LIST
    assert TokenList.of(ROWS[1:]) != LIST
    with pytest.raises(IndexError):
        LIST[len(ROWS)]


def test_what_is_disabled_can_nothing() -> None:
    off = [row._replace(enabled=False) for row in ROWS]
    columns = TokenList.of(off)
    for what in CanDo:
        assert any(row.can(what) for row in ROWS)
        assert not any(row.can(what) for row in off)
        assert not any(columns.can(at, what) for at in range(len(off)))


def test_rows_are_added_at_their_places() -> None:
    some = random.Random(5).sample(ROWS, 40)
    rest = TokenList.of(row for row in ROWS if row not in some)
    assert list(rest.with_rows(some)) == ROWS
    assert list(TokenList.of([]).with_rows(ROWS[:1])) == ROWS[:1]


def test_a_benign_scan_grows_old_and_no_other() -> None:
    benign = next(row for row in ROWS if row.verdict is Verdict.BENIGN)
    warned = next(row for row in ROWS if row.verdict is Verdict.WARNING)
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
            for row in ROWS
            if all(word in row.text_key for word in words)
            and (chain is None or row.chain == chain)
            and (can_do is None or row.can(can_do))
        }

    found = holding(text.split())
    return found if found or "." not in text else holding(text.replace(".", " ").split())


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(ROWS),
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
@given(st.sampled_from(ROWS), st.data())
def test_a_slip_finds_every_symbol_that_a_walk_finds(row: TokenRow, data: st.DataObject) -> None:
    near = sorted(slipped(row.symbol_key))
    typed = data.draw(st.sampled_from([one for one in near if " " not in one] or ["usdx"]))
    found = [hit.id for hit in search(LIST, typed, limit=10_000)]
    whole = walked(typed, None, None)
    due = []
    if len(whole) < 8 and 3 <= len(typed) <= 10:
        words = slipped(typed)
        due = [one.id for one in ROWS if one.symbol_key in words and one.id not in whole]
        if row.symbol_key in words:
            assert row.id in found
    assert found[len(whole) :] == due


def test_a_limit_keeps_the_best() -> None:
    for text in ("u", "eth", "moon inu", "usdc"):
        whole = search(LIST, text, limit=10_000)
        assert search(LIST, text, limit=5) == whole[:5]


def test_what_draws_alike_is_all_that_a_search_for_copies_needs() -> None:
    for row in ROWS[::7]:
        alike = LIST.drawn_like(row)
        assert row in alike
        assert lookalikes(row, alike) == lookalikes(row, ROWS)
        assert imitated_by(row, alike) == imitated_by(row, ROWS)
        assert all(
            skeleton(row.symbol) & skeleton(one.symbol) or skeleton(row.name) & skeleton(one.name)
            for one in alike
        )


def test_facts_of_a_chain() -> None:
    assert LIST.contracts_on("Base") == {
        row.contract for row in ROWS if row.chain == "base" and row.contract
    }


def stored(path: Path, steps: list[list[Token]]) -> TokenList:
    """What a file holds after a refresh that brought these steps."""
    file = CatalogFile.open(path)
    generation = file.begin(NOW)
    for step in steps:
        file.add_tokens(generation, [(token, encode_json(token)) for token in step], NOW)
    for _ in file.finish(generation, NOW):
        pass
    steps_of_reading = file.listing(NOW)
    while True:
        try:
            next(steps_of_reading)
        except StopIteration as end:
            file.close()
            found: TokenList = end.value
            return found


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
