"""The first line of the desk, read at every key, and a token of it chosen among several.

A change of the spending policy as it is typed on the desk.
"""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flows.marketplace import token
from rows import each_row
from sampling import examples
from swapdesk.chain.addresses.display import grouped
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.catalog.catalog import Catalog, resolve
from swapdesk.flows.catalog.token_list import TokenRow
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.quotes.intent_line import (
    NAME_BOUGHT,
    IntentLine,
    LineState,
    TokenChoice,
    parse_intent_line,
)
from swapdesk.flows.wallet.own_accounts import OwnBalance
from swapdesk.flows.wallet.policy_change import PolicyChange, PolicyProblem, typed_change

SCREEN = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(300)
)


BITCOIN = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
ME = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
BILL = f"bitcoin:{BITCOIN}?amount=0.1&label=Shop"


def held(catalog: Catalog) -> dict[str, OwnBalance | str]:
    """A wallet with dollars on Base and ether, which pays its own fee."""
    return {
        token(catalog, "usdc.base").id: OwnBalance(Decimal(1000), Decimal(1000)),
        token(catalog, "eth").id: OwnBalance(Decimal("2.123456789012345678"), Decimal("2.123")),
        token(catalog, "eth.base").id: OwnBalance(Decimal("0.0001"), Decimal(0)),
        token(catalog, "btc").id: "No wallet is open here.",
    }


def pair(line: IntentLine) -> tuple[str, str]:
    return tuple(  # type: ignore[return-value]
        f"{token.symbol}.{token.chain_data.short_name}" for token in (line.token_in, line.token_out)
    )


def test_the_line_of_a_private_send_speaks_of_sending(catalog: Catalog, book: AddressBook) -> None:
    begun = parse_intent_line("0.5", catalog, book, private=True)
    assert (begun.message, begun.private_send) == ("Name the token you send.", True)
    for private in (False, True):
        (hint,) = parse_intent_line("0.5 eth @bob", catalog, book, private=private).hints
        assert hint.startswith("ETH can be sent on ")
    swap = parse_intent_line("0.5 btc eth", catalog, book)
    assert any(hint.startswith("ETH is on ") for hint in swap.hints)
    assert swap.value_usd == Decimal("0.5") * swap.token_in.price


def test_a_name_on_another_chain_is_refused_in_the_line(
    catalog: Catalog, book: AddressBook
) -> None:
    wrong = parse_intent_line("0.5 btc.bitcoin @bob", catalog, book)
    assert wrong.state == "refused"
    assert wrong.message.startswith("@bob: This is an Ethereum address.")
    assert wrong.place == 16


def test_an_address_chooses_the_chain_of_what_is_sent_to_it(
    catalog: Catalog, book: AddressBook
) -> None:
    address = derive_address("sol", b"p" * 32)
    sent = parse_intent_line(f"5 usdc {address}", catalog, book, private=True)
    again = parse_intent_line(f"5 usdc {grouped(address)}", catalog, book, private=True)
    assert again == sent
    assert pair(sent) == ("USDC.solana", "USDC.solana")
    assert sent.recipient == address


@each_row(
    ("text", "message"),
    [
        ("u", "Type the amount before it."),
        (" usdt.tron ", "Type the amount before it."),
        ("btc e", ""),
        ("btc eth", "How much BTC? Type the amount before it."),
        ("usdc.base @bob", "How much USDC? Type the amount before it."),
    ],
)
def test_a_line_without_its_amount_asks_for_it(
    text: str, message: str, catalog: Catalog, book: AddressBook
) -> None:
    line = parse_intent_line(text, catalog, book)
    assert (line.state, line.message) == ("incomplete", message)
    assert line.wants_amount
    private = parse_intent_line(text, catalog, book, private=True)
    assert (private.state, private.ready) == ("incomplete", False)


def test_each_side_of_a_line_has_its_own_key_for_another_chain(
    catalog: Catalog, book: AddressBook
) -> None:
    first = parse_intent_line("100 usdc eth", catalog, book)
    sells = len(resolve("usdc", catalog).candidates)
    assert first.both_hints == (
        f"USDC is on {sells} chains",
        f"ETH is on {len(first.rows)} chains",
    )
    lines = [
        parse_intent_line("100 usdc eth", catalog, book, choose=1, sold=sold)
        for sold in range(sells + 1)
    ]
    ready = [pair(line) for line in lines if line.ready]
    assert len({sold for sold, _ in ready}) > 2
    assert len({bought for _, bought in ready}) == 1, "the token bought stays where it was"
    assert ready[-1] == ready[0], "it goes round"
    assert parse_intent_line("0.5 btc.bitcoin eth", catalog, book).both_hints is None
    alone = [parse_intent_line("100 usdc", catalog, book, sold=sold).token_in for sold in (0, 1)]
    assert alone[0] != alone[1]


EMPTY, INCOMPLETE, REFUSED = "empty", "incomplete", "refused"


@each_row(
    ("text", "state", "says", "place"),
    [
        ("", EMPTY, "", None),
        (" ", EMPTY, "", None),
        ("\t", EMPTY, "", None),
        # Being typed is no mistake.
        ("0.", INCOMPLETE, "", None),
        ("0", INCOMPLETE, "", None),
        ("0.5", INCOMPLETE, "", None),
        ("0.5 ", INCOMPLETE, "", None),
        ("0.5 b", INCOMPLETE, "", None),
        ("0.5 btc", INCOMPLETE, "", None),
        ("0.5 btc ", INCOMPLETE, "", None),
        ("0.5 btc e", INCOMPLETE, "", None),
        ("0.5 eth @b", INCOMPLETE, "", None),
        # A mistake has its place.
        ("1,5 btc eth", REFUSED, '"1,5": write 1.5.', 1),
        ("x btc eth", REFUSED, '"x" is not part of an amount.', 0),
        ("0 btc eth", REFUSED, "Type an amount above 0.", 0),
        ("= eth btc", REFUSED, "Type what is to arrive: =2 btc eth.", 0),
        ("=1,5 eth btc", REFUSED, '"1,5": write 1.5.', 2),
        ("=0 eth btc", REFUSED, "Type an amount above 0.", 0),
        ("=0.1234567 eth usdc", REFUSED, "USDC has 6 decimals. 0.1234567 has 7.", 9),
        ("=1 eth @bob", REFUSED, "A private send states what is sent: leave out the =.", 0),
        ("0.1234567 usdc eth", REFUSED, "USDC has 6 decimals. 0.1234567 has 7.", 8),
        (
            "1 usdx eth",
            REFUSED,
            'No token is called "usdx". Paste a contract address to find one that is not listed.',
            2,
        ),
        (
            "1  btc  usdx",
            REFUSED,
            'No token is called "usdx". Paste a contract address to find one that is not listed.',
            8,
        ),
        ("1 btc eth sol", REFUSED, "Write an amount and two tokens.", 10),
        ("btc eth 0.5", REFUSED, "Write the amount first: 0.5 btc eth.", 8),
        (
            "btc usdx",
            REFUSED,
            'No token is called "usdx". Paste a contract address to find one that is not listed.',
            4,
        ),
        ("1 @bob eth", REFUSED, "Name the token before the recipient.", 2),
        ("1 eth @nobody", REFUSED, "@nobody is not in the address book.", 6),
        ("1 avax eth", REFUSED, "AVAX on Avalanche is disabled at the service.", 2),
        ("1 btc avax", REFUSED, "AVAX on Avalanche is disabled at the service.", 6),
        (
            "1 btc.bitcoin btc.bitcoin",
            REFUSED,
            'Both sides are BTC on Bitcoin. To send it privately, write "0.5 eth @name".',
            14,
        ),
        # An amount need not be digits alone.
        ("$", INCOMPLETE, "how many dollars", None),
        ("$0 btc eth", REFUSED, "above 0", None),
        ("$1,5 btc eth", REFUSED, "write 1.5", None),
        ("$500 krill.base eth", REFUSED, "states no price of KRILL", None),
        ("$0.0000001 usdc eth", REFUSED, "smallest amount of USDC", None),
        ("1kk usdc eth", REFUSED, '"k" is not part of an amount.', None),
        ("0.0000000001k usdc eth", REFUSED, "USDC has 6 decimals", None),
        ("k usdc eth", REFUSED, "is not part of an amount", None),
        ("=max eth btc", REFUSED, "in digits or in dollars", None),
        ("=50% eth btc", REFUSED, "in digits or in dollars", None),
        ("0% eth btc", REFUSED, "above 0%", None),
        ("101% eth btc", REFUSED, "at most 100%", None),
        ("max eth.base btc", REFUSED, "0.0001 ETH on Base is less than the fee.", None),
        ("max btc eth", INCOMPLETE, "No wallet is open here.", None),
        ("max sol eth", INCOMPLETE, "The wallet is asked what it has.", None),
        ("=", INCOMPLETE, "Type what is to arrive", None),
        ("=2", INCOMPLETE, "", None),
        ("0.5 btc->usdx", REFUSED, "No token is called", None),
        ("ma", INCOMPLETE, "", None),
        ("max", INCOMPLETE, "Name the token you sell.", None),
        ("1 usdc.nowhere eth", REFUSED, 'No chain is called "nowhere".', None),
        ("1 usdc.bas", INCOMPLETE, "", None),
        # A payment link is the end of a line.
        (BILL, INCOMPLETE, "asks for 0.1 BTC on Bitcoin. Write what you sell before it.", None),
        (f"usdc bitcoin:{BITCOIN}", INCOMPLETE, "How much?", None),
        (f"{BILL} eth", REFUSED, "the end of the line", None),
        (f"1 btc nowhere:{ME}", REFUSED, "No chain is called nowhere here.", None),
        (f"1 btc ethereum:{ME[:-1]}", REFUSED, "it has 41 characters", None),
        ("1 usdc lightning:lnbc1", REFUSED, "Lightning", None),
        (f"1 btc ethereum:{ME}@43114", REFUSED, "disabled", None),
        (f"1 btc ethereum:{ME}@999999", REFUSED, "nothing on chain 999999", None),
    ],
)
def test_a_line_that_is_not_ready_says_why(
    text: str, state: LineState, says: str, place: int | None, catalog: Catalog, book: AddressBook
) -> None:
    line = parse_intent_line(text, catalog, book, held=held(catalog))
    assert (line.state, line.ready) == (state, False)
    if place is None:
        assert says in line.message
    else:
        assert (line.message, line.place) == (says, place)


def test_a_malicious_token_is_refused(catalog: Catalog, book: AddressBook) -> None:
    bad = next(row for row in catalog.rows if row.verdict == "malicious" and row.enabled)
    line = parse_intent_line(f"1 btc {bad.id}", catalog, book)
    assert line.state == "refused"
    assert "malicious" in line.message


def test_tab_walks_the_bought_token_first_then_the_sold_one(
    catalog: Catalog, book: AddressBook
) -> None:
    first = parse_intent_line("100 usdc eth", catalog, book)
    assert first.choices > len(first.rows) > 1
    assert first.rows[first.chosen].id == first.token_out.id
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


WORDS = (
    "0 0.5 1,5 =2 100 max 50% $5 1k to -> btc eth usdc usdc.base usdc.e eth.base @bob @cold @x avax"
    " .. 0x12 柴犬"
)
words = st.sampled_from(WORDS.split())


@SCREEN
@given(parts=st.lists(words, max_size=5), choose=st.integers(0, 50), sold=st.integers(-5, 50))
def test_a_ready_line_is_whole(
    parts: list[str], choose: int, sold: int, catalog: Catalog, book: AddressBook
) -> None:
    line = parse_intent_line(
        " ".join(parts), catalog, book, choose=choose, sold=sold, held=held(catalog)
    )
    if line.ready:
        assert line.amount > 0
        assert (line.token_in.id == line.token_out.id) is line.private_send
        assert line.private_send is (line.recipient_name is not None)
    if line.state == "refused":
        assert line.message
        assert line.place is not None


@SCREEN
@given(text=st.text(max_size=250), choose=st.integers(-5, 5))
def test_no_text_breaks_the_line(
    text: str, choose: int, catalog: Catalog, book: AddressBook
) -> None:
    line = parse_intent_line(text, catalog, book, choose=choose)
    assert line.place is None or 0 <= line.place <= len(text)


@each_row("joined", ["to", "TO", "for", "into", "->", "=>", "→", "⇒", ">"])
def test_both_sides_may_be_joined(joined: str, catalog: Catalog, book: AddressBook) -> None:
    line = parse_intent_line(f"0.5 btc {joined} eth", catalog, book)
    assert (line.state, pair(line)) == ("valid", ("BTC.bitcoin", "ETH.ethereum"))
    assert parse_intent_line(f"0.5 eth {joined} @bob", catalog, book).recipient_name == "bob"
    assert parse_intent_line(f"btc {joined} eth", catalog, book).wants_amount
    begun = parse_intent_line(f"0.5 btc {joined}", catalog, book)
    assert (begun.state, begun.message) == ("incomplete", NAME_BOUGHT)
    wrong = parse_intent_line(f"0.5 btc {joined} usdx", catalog, book)
    assert wrong.place == len(f"0.5 btc {joined} "), "the place is that of the text"


@each_row(
    ("text", "amount"),
    [
        ("1k usdc eth", "1000"),
        ("1.5K usdc eth", "1500"),
        ("2m usdc eth", "2000000"),
        ("0.0000001k usdc eth", "0.0001"),
        ("=1k btc usdc", "1000"),
        ("max usdc.base eth", "1000"),
        ("MAX eth btc", "2.123"),
        ("50% usdc.base to eth", "500"),
        ("33.3% usdc.base eth", "333"),
        ("100% eth btc", "2.123"),
        # Not one digit more than a service returns, and never more than there is.
        ("50% eth btc", "1.06172839450617"),
        ("max eth @bob", "2.123"),
    ],
)
def test_an_amount_need_not_be_digits_alone(
    text: str, amount: str, catalog: Catalog, book: AddressBook
) -> None:
    line = parse_intent_line(text, catalog, book, held=held(catalog))
    assert line.ready
    assert line.amount == Decimal(amount)
    assert bool(line.derived) is (line.share is not None)


@each_row("text", ["$500 btc eth", "500$ btc eth", "$0.5k btc eth", "=$500 btc eth"])
def test_dollars_become_an_amount_by_the_price_that_the_service_states(
    text: str, catalog: Catalog, book: AddressBook
) -> None:
    line = parse_intent_line(text, catalog, book)
    stated = line.token_out if line.receive else line.token_in
    assert line.ready
    assert Decimal("499.99") < line.amount * stated.price <= 500
    assert len(line.amount.as_tuple().digits) <= 6
    assert line.derived.startswith("$500.00 at $")
    assert line.derived.endswith("an estimate")


LINKED = {"recipient": BILL}


@each_row(
    ("text", "amount", "tokens", "facts"),
    [
        ("0.5 btc eth", "0.5", ("BTC.bitcoin", "ETH.ethereum"), {}),
        ("0.5 btc->eth", "0.5", ("BTC.bitcoin", "ETH.ethereum"), {}),
        # The same symbol twice is two chains.
        ("100 usdc usdc", "100", ("USDC.ethereum", "USDC.solana"), {}),
        (
            "=2.123456789012345678 usdc.ethereum eth",
            "2.123456789012345678",
            ("USDC.ethereum", "ETH.ethereum"),
            {"receive": True},
        ),
        ("0.5 eth @bob", "0.5", ("ETH.ethereum", "ETH.ethereum"), {"recipient_name": "bob"}),
        ("0.5 eth.base @BOB", "0.5", ("ETH.base", "ETH.base"), {"recipient_name": "bob"}),
        # A bare symbol means the token on the recipient's kind of chain.
        ("5 usdc @sol", "5", ("USDC.solana", "USDC.solana"), {"recipient_name": "sol"}),
        # A payment link is what is bought and for whom.
        (f"usdc.base {BILL}", "0.1", ("USDC.base", "BTC.bitcoin"), {"receive": True, **LINKED}),
        (f"usdc.base -> {BILL}", "0.1", ("USDC.base", "BTC.bitcoin"), {"receive": True, **LINKED}),
        (
            f"=0.1 usdc.base {BILL}",
            "0.1",
            ("USDC.base", "BTC.bitcoin"),
            {"receive": True, "derived": "", **LINKED},
        ),
        (
            f"500 usdc.base {BILL}",
            "500",
            ("USDC.base", "BTC.bitcoin"),
            {"derived": "the link asks for 0.1 BTC", **LINKED},
        ),
        (f"btc {BILL}", "0.1", ("BTC.bitcoin", "BTC.bitcoin"), LINKED),
        (f"1 btc base:{ME}", "1", ("BTC.bitcoin", "ETH.base"), {"recipient": f"base:{ME}"}),
        (
            f"1 btc ethereum:{ME}@42161",
            "1",
            ("BTC.bitcoin", "ETH.arbitrum"),
            {"recipient": f"ethereum:{ME}@42161"},
        ),
    ],
)
def test_a_ready_line_says_what_is_asked_for(
    text: str,
    amount: str,
    tokens: tuple[str, str],
    facts: dict[str, object],
    catalog: Catalog,
    book: AddressBook,
) -> None:
    line = parse_intent_line(text, catalog, book)
    assert (line.ready, line.amount, pair(line)) == (True, Decimal(amount), tokens)
    private = tokens[0] == tokens[1]
    plain = {"receive": False, "private_send": private, "recipient_name": None, "recipient": ""}
    wanted = {**plain, **facts}
    assert {name: getattr(line, name) for name in wanted} == wanted


def test_a_token_link_names_its_token(catalog: Catalog, book: AddressBook) -> None:
    usdc = token(catalog, "usdc.base").address
    link = f"ethereum:{usdc}@8453/transfer?address={ME}&uint256=2500000"
    line = parse_intent_line(f"eth.base {link}", catalog, book)
    assert (line.amount, pair(line)) == (Decimal("2.5"), ("ETH.base", "USDC.base"))
    private = parse_intent_line(link, catalog, book, private=True)
    assert (private.ready, private.amount) == (True, Decimal("2.5"))
    assert pair(private) == ("USDC.base", "USDC.base")


def test_a_private_line_takes_a_link_alone(catalog: Catalog, book: AddressBook) -> None:
    alone = parse_intent_line(BILL, catalog, book, private=True)
    assert (alone.ready, alone.amount, alone.recipient) == (True, Decimal("0.1"), BILL)
    assert parse_intent_line(f"bitcoin:{BITCOIN}", catalog, book, private=True).wants_amount
    for text in (f"0.2 {BILL}", f"0.2 btc {BILL}"):
        other = parse_intent_line(text, catalog, book, private=True)
        assert (other.ready, other.amount) == (True, Decimal("0.2"))
        assert other.derived == "the link asks for 0.1 BTC"
    wrong = parse_intent_line(f"0.5 btc base:{ME}", catalog, book, private=True)
    assert wrong.state == "refused"
    assert "This is for Base, and this BTC is on Bitcoin." in wrong.message


@pytest.fixture
def rows(catalog: Catalog) -> tuple[TokenRow, ...]:
    """Of USDC, which is on several chains."""
    found = resolve("usdc", catalog).candidates
    assert len({row.chain for row in found}) == len(found) > 2
    return found


def picked(catalog: Catalog, rows: tuple[TokenRow, ...], at: int = 0) -> TokenChoice:
    return TokenChoice(catalog.token(rows[at].id), rows, at)


def test_of_several_chains_the_chosen_one_is_named(
    catalog: Catalog, rows: tuple[TokenRow, ...]
) -> None:
    second = picked(catalog, rows, 1)
    assert second.row is rows[1]
    assert second.chains == len(rows)
    name = rows[1].chain_name
    assert second.hint() == f"USDC is on {len(rows)} chains, {name} chosen"
    assert second.hint("can be sent") == f"USDC can be sent on {len(rows)} chains, {name} chosen"
    assert second.question() == f"USDC is on {len(rows)} chains: tab chooses, now {name}"
    assert second.question("shift+tab").endswith(f": shift+tab chooses, now {name}")
    assert (second.brief(), picked(catalog, rows[:1]).brief()) == (
        f"USDC is on {len(rows)} chains",
        "",
    )


def test_several_tokens_of_one_chain_are_counted_as_tokens(
    catalog: Catalog, rows: tuple[TokenRow, ...]
) -> None:
    twice = picked(catalog, (rows[0], rows[0]))
    assert twice.hint() == f"USDC on {rows[0].chain_name} is 2 tokens, the first chosen"
    assert twice.brief() == f"USDC on {rows[0].chain_name} is 2 tokens"
    assert twice.tied


@each_row(
    ("text", "change"),
    [
        (
            "per-day usdc.base=100",
            {"per_day": ("usdc.base=100",)},
        ),
        (
            "--per-day usdc.base=100, --PER-DAY usd=5 until 2026-12-31",
            {"per_day": ("usdc.base=100", "usd=5"), "until": ("2026-12-31",)},
        ),
        (
            "anew payee 0x12 payee 0x34 call-payee any chain base token usdc.base price eth.base=3",
            {
                "anew": (), "payees": ("0x12", "0x34"), "call_payees": ("any",),
                "chains": ("base",), "tokens": ("usdc.base",), "prices": ("eth.base=3",),
            },
        ),
        ("", {}),
    ],
)  # fmt: skip
def test_the_options_of_the_command_are_typed(text: str, change: PolicyChange) -> None:
    assert typed_change(text) == change


@each_row(
    ("text", "said"),
    [("usdc.base=100", "is no rule; there are per-call"), ("per-day", "has no value after it")],
)
def test_what_is_no_rule_is_said(text: str, said: str) -> None:
    with pytest.raises(PolicyProblem, match=said):
        typed_change(text)
