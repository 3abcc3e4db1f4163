"""The first line of the desk, read at every key."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sampling import examples
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.quotes.intent_line import (
    IntentLine,
    LineState,
    parse_intent_line,
    parse_private_line,
)

SCREEN = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(300)
)


def pair(line: IntentLine) -> tuple[str, str]:
    assert line.token_in is not None
    assert line.token_out is not None
    return tuple(  # type: ignore[return-value]
        f"{token.symbol}.{token.chain_data.short_name}" for token in (line.token_in, line.token_out)
    )


async def test_a_swap(catalog: Catalog, book: AddressBook) -> None:
    line = parse_intent_line("0.5 btc eth", catalog, book)
    assert line.ready
    assert (line.state, line.amount, line.private_send) == (LineState.VALID, Decimal("0.5"), False)
    assert pair(line) == ("BTC.bitcoin", "ETH.ethereum")
    assert line.token_in is not None
    assert line.value_usd == Decimal("0.5") * (line.token_in.price or 0)
    chains = len({row.chain for row in line.rows})
    assert f"ETH is on {chains} chains, Ethereum chosen" in line.hints


async def test_a_private_send(catalog: Catalog, book: AddressBook) -> None:
    line = parse_intent_line("0.5 eth @bob", catalog, book)
    assert line.ready
    assert (line.private_send, line.recipient_name) == (True, "bob")
    assert pair(line) == ("ETH.ethereum", "ETH.ethereum")
    assert pair(parse_intent_line("0.5 eth.base @BOB", catalog, book)) == ("ETH.base", "ETH.base")
    (hint,) = line.hints
    chains = len({row.chain for row in line.rows})
    assert hint == f"ETH can be sent on {chains} chains, Ethereum chosen"


async def test_the_line_of_a_private_send_speaks_of_sending(
    catalog: Catalog, book: AddressBook
) -> None:
    begun = parse_private_line("0.5", catalog, book)
    assert (begun.line.message, begun.line.private_send) == ("Name the token you send.", True)
    assert parse_intent_line("0.5", catalog, book).message == "Name the token you sell."
    for text in ("0.5 eth", "0.5 eth @bob"):
        (hint,) = parse_private_line(text, catalog, book).line.hints
        assert hint.startswith("ETH can be sent on ")


async def test_the_chain_of_a_private_send_follows_the_recipient(
    catalog: Catalog, book: AddressBook
) -> None:
    """A bare symbol means the token on the recipient's kind of chain."""
    line = parse_intent_line("5 usdc @sol", catalog, book)
    assert pair(line) == ("USDC.solana", "USDC.solana")
    wrong = parse_intent_line("0.5 btc.bitcoin @bob", catalog, book)
    assert wrong.state is LineState.REFUSED
    assert wrong.message.startswith("@bob: This is an Ethereum address.")
    assert wrong.place == 16


@pytest.mark.parametrize(
    ("to", "says"),
    [
        ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "a Bitcoin address"),
        ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", "checksum"),
        ("foo", "address"),
    ],
)
async def test_what_is_no_address_of_the_token_is_refused_in_the_line(
    to: str, says: str, catalog: Catalog, book: AddressBook
) -> None:
    sent = parse_private_line(f"0.5 eth {to}", catalog, book)
    assert (sent.line.state, sent.line.ready) == (LineState.REFUSED, False)
    assert says in sent.line.message
    assert sent.line.place is not None
    assert 8 <= sent.line.place < 8 + len(to)


async def test_an_address_chooses_the_chain_of_what_is_sent_to_it(
    catalog: Catalog, book: AddressBook
) -> None:
    address = derive_address("sol", b"p" * 32)
    sent = parse_private_line(f"5 usdc {address}", catalog, book)
    assert pair(sent.line) == ("USDC.solana", "USDC.solana")
    assert (sent.recipient, sent.line.recipient) == (address, address)


async def test_a_token_before_its_amount_asks_for_the_amount(
    catalog: Catalog, book: AddressBook
) -> None:
    line = parse_intent_line(" usdt.tron ", catalog, book)
    assert line.state is LineState.INCOMPLETE
    assert line.message == "Type the amount before it."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u", "Type the amount before it."),
        ("usdt.tron ", "Type the amount before it."),
        ("btc e", ""),
        ("btc eth", "How much BTC? Type the amount before it."),
        ("usdc.base @bob", "How much USDC? Type the amount before it."),
    ],
)
async def test_a_line_without_its_amount_asks_for_it(
    text: str, message: str, catalog: Catalog, book: AddressBook
) -> None:
    line = parse_intent_line(text, catalog, book)
    assert (line.state, line.message) == (LineState.INCOMPLETE, message)
    assert line.wants_amount
    private = parse_private_line(text, catalog, book).line
    assert (private.state, private.ready) == (LineState.INCOMPLETE, False)


async def test_each_side_of_a_line_has_its_own_key_for_another_chain(
    catalog: Catalog, book: AddressBook
) -> None:
    first = parse_intent_line("100 usdc eth", catalog, book)
    assert first.both_hints == (
        f"USDC is on {first.sells} chains",
        f"ETH is on {len(first.rows)} chains",
    )
    lines = [
        parse_intent_line("100 usdc eth", catalog, book, choose=1, sold=sold)
        for sold in range(first.sells + 1)
    ]
    ready = [pair(line) for line in lines if line.ready]
    assert len({sold for sold, _ in ready}) > 2
    assert len({bought for _, bought in ready}) == 1, "the token bought stays where it was"
    assert ready[-1] == ready[0], "it goes round"
    assert parse_intent_line("0.5 btc.bitcoin eth", catalog, book).both_hints is None
    alone = [parse_intent_line("100 usdc", catalog, book, sold=sold).token_in for sold in (0, 1)]
    assert alone[0] != alone[1]


@pytest.mark.parametrize(
    "text", ["0.", "0", "0.5", "0.5 ", "0.5 b", "0.5 btc", "0.5 btc ", "0.5 btc e", "0.5 eth @b"]
)
async def test_a_line_being_typed_is_no_mistake(
    text: str, catalog: Catalog, book: AddressBook
) -> None:
    line = parse_intent_line(text, catalog, book)
    assert line.state is LineState.INCOMPLETE
    assert not line.ready


@pytest.mark.parametrize("text", ["", " ", "\t"])
async def test_an_empty_line(text: str, catalog: Catalog, book: AddressBook) -> None:
    assert parse_intent_line(text, catalog, book).state is LineState.EMPTY


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("1,5 btc eth", '"1,5": write 1.5.', 1),
        ("x btc eth", '"x" is not part of an amount.', 0),
        ("0 btc eth", "Type an amount above 0.", 0),
        (
            "= eth btc",
            "Type what is to arrive: =2 btc eth.",
            0,
        ),
        ("=1,5 eth btc", '"1,5": write 1.5.', 2),
        ("=0 eth btc", "Type an amount above 0.", 0),
        ("=0.1234567 eth usdc", "USDC has 6 decimals. 0.1234567 has 7.", 9),
        (
            "=1 eth @bob",
            "A private send states what is sent: leave out the =.",
            0,
        ),
        ("0.1234567 usdc eth", "USDC has 6 decimals. 0.1234567 has 7.", 8),
        (
            "1 usdx eth",
            'No token is called "usdx". Paste a contract address to find one that is not listed.',
            2,
        ),
        (
            "1  btc  usdx",
            'No token is called "usdx". Paste a contract address to find one that is not listed.',
            8,
        ),
        ("1 btc eth sol", "Write an amount and two tokens.", 10),
        ("btc eth 0.5", "Write the amount first: 0.5 btc eth.", 8),
        (
            "btc usdx",
            'No token is called "usdx". Paste a contract address to find one that is not listed.',
            4,
        ),
        ("1 @bob eth", "Name the token before the recipient.", 2),
        ("1 eth @nobody", "@nobody is not in the address book.", 6),
        ("1 avax eth", "AVAX on Avalanche is disabled at the service.", 2),
        ("1 btc avax", "AVAX on Avalanche is disabled at the service.", 6),
        (
            "1 btc.bitcoin btc.bitcoin",
            'Both sides are BTC on Bitcoin. To send it privately, write "0.5 eth @name".',
            14,
        ),
    ],
)
async def test_a_mistake_names_its_place(
    text: str, message: str, place: int, catalog: Catalog, book: AddressBook
) -> None:
    line = parse_intent_line(text, catalog, book)
    assert (line.state, line.message, line.place) == (LineState.REFUSED, message, place)
    assert not line.ready


async def test_a_malicious_token_is_refused(catalog: Catalog, book: AddressBook) -> None:
    bad = next(row for row in catalog.rows if row.verdict == "malicious" and row.enabled)
    line = parse_intent_line(f"1 btc {bad.id}", catalog, book)
    assert line.state is LineState.REFUSED
    assert "malicious" in line.message


async def test_tab_walks_the_bought_token_first_then_the_sold_one(
    catalog: Catalog, book: AddressBook
) -> None:
    first = parse_intent_line("100 usdc eth", catalog, book)
    assert first.choices > len(first.rows) > 1
    seen = []
    for choose in range(first.choices):
        line = parse_intent_line("100 usdc eth", catalog, book, choose=choose)
        if line.ready:
            seen.append(pair(line))
    assert len(set(seen)) == len(seen)
    assert seen[0] == ("USDC.ethereum", "ETH.ethereum")
    assert {buy for sell, buy in seen[: len(first.rows)]} == {buy for _, buy in seen}
    assert {sell for sell, _ in seen[: len(first.rows)]} == {"USDC.ethereum"}
    again = parse_intent_line("100 usdc eth", catalog, book, choose=first.choices)
    assert pair(again) == seen[0]


async def test_the_same_symbol_twice_is_two_chains(catalog: Catalog, book: AddressBook) -> None:
    line = parse_intent_line("100 usdc usdc", catalog, book)
    assert line.ready
    sold, bought = pair(line)
    assert sold == "USDC.ethereum"
    assert bought != sold


async def test_the_chosen_row_is_among_the_rows_tab_walks(
    catalog: Catalog, book: AddressBook
) -> None:
    for choose in range(4):
        line = parse_intent_line("0.5 btc.bitcoin eth", catalog, book, choose=choose)
        assert line.token_out is not None
        assert line.rows[line.chosen].id == line.token_out.id
        assert line.choices == len(line.rows)


WORDS = "0 0.5 1,5 =2 100 btc eth usdc usdc.base usdc.e eth.base @bob @cold @x avax .. 0x12 柴犬"
words = st.sampled_from(WORDS.split())


@SCREEN
@given(parts=st.lists(words, max_size=5), choose=st.integers(0, 50), sold=st.integers(-5, 50))
async def test_a_ready_line_is_whole(
    parts: list[str], choose: int, sold: int, catalog: Catalog, book: AddressBook
) -> None:
    line = parse_intent_line(" ".join(parts), catalog, book, choose=choose, sold=sold)
    if line.ready:
        assert line.amount is not None
        assert line.amount > 0
        assert line.token_in is not None
        assert line.token_out is not None
        assert (line.token_in.id == line.token_out.id) is line.private_send
        assert line.private_send is (line.recipient_name is not None)
    if line.state is LineState.REFUSED:
        assert line.message
        assert line.place is not None


@SCREEN
@given(text=st.text(max_size=250), choose=st.integers(-5, 5))
async def test_no_text_breaks_the_line(
    text: str, choose: int, catalog: Catalog, book: AddressBook
) -> None:
    line = parse_intent_line(text, catalog, book, choose=choose)
    assert line.place is None or 0 <= line.place <= len(text)


async def test_an_equals_sign_states_what_is_to_arrive(catalog: Catalog, book: AddressBook) -> None:
    line = parse_intent_line("=2.123456789012345678 usdc.ethereum eth", catalog, book)
    assert line.ready
    assert line.receive
    assert line.token_in is not None
    assert line.token_out is not None
    assert (line.token_in.symbol, line.token_out.symbol) == ("USDC", "ETH")
    assert line.value_usd is not None
    assert line.value_usd > 2000
    assert parse_intent_line("=", catalog, book).state is LineState.INCOMPLETE
    assert parse_intent_line("=2", catalog, book).state is LineState.INCOMPLETE
