"""Payment links by scheme: what they hold, what has none, and as wallets make them, read back; and
addresses with their chain before them."""

from __future__ import annotations

import contextlib
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rows import each_row
from sampling import examples
from swapdesk.chain.addresses.checking import check_address
from swapdesk.chain.addresses.kind import AddressProblem, PaymentLink
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, KINDS, derive_address
from swapdesk.chain.addresses.payments import (
    LinkedPayment,
    is_link,
    payment_link,
    read_payment_link,
)
from swapdesk.wire.encoding.numbers import from_base_units

EVM = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
TEXT_MEMO = "a b&c=d#e/f?g+h%20"


def uri(
    kind: str,
    amount: str,
    *,
    address: str = "ADDRESS",
    contract: str | None = None,
    memo: str | None = None,
    decimals: int = 8,
    symbol: str = "",
    chain_id: int | None = None,
) -> PaymentLink | None:
    asked = contract, address, Decimal(amount), memo
    return payment_link(kind, chain_id, *asked, decimals=decimals, symbol=symbol)


@each_row(
    ("kind", "amount", "expected"),
    [
        ("bitcoin", "0.50000000", "bitcoin:ADDRESS?amount=0.5"),
        ("bitcoin", "2E+1", "bitcoin:ADDRESS?amount=20"),
        ("bitcoin", "1E-8", "bitcoin:ADDRESS?amount=0.00000001"),
        ("ltc", "1", "litecoin:ADDRESS?amount=1"),
        ("doge", "2500", "dogecoin:ADDRESS?amount=2500"),
        ("dash", "1.5", "dash:ADDRESS?amount=1.5"),
        ("bch", "1.5", "bitcoincash:ADDRESS?amount=1.5"),
        ("xmr", "239.39014", "monero:ADDRESS?tx_amount=239.39014"),
        ("tron", "7", "tron:ADDRESS?amount=7"),
        ("sol", "0.01", "solana:ADDRESS?amount=0.01"),
        ("xrp", "2", "xrpl://ADDRESS?amount=2"),
        ("ton", "1.5", "ton://transfer/ADDRESS?amount=150000000"),
        ("algo", "0.150", "algorand://ADDRESS?amount=15000000"),
        ("xlm", "120.1234567", "web+stellar:pay?destination=ADDRESS&amount=120.1234567"),
    ],
)
def test_a_coin_without_a_memo(kind: str, amount: str, expected: str) -> None:
    assert uri(kind, amount) == PaymentLink(expected)


def test_bitcoin_cash_has_its_prefix_once() -> None:
    assert uri("bch", "1", address="bitcoincash:qq").text == "bitcoincash:qq?amount=1"


def test_ether_and_tokens_name_their_chain_in_base_units() -> None:
    coin = uri("evm", "2.014", address=EVM, decimals=18, chain_id=1)
    assert coin.text == f"ethereum:{EVM}@1?value=2014000000000000000"
    token = uri("evm", "1", address=EVM, contract=USDC, decimals=6, chain_id=1_337_000_001)
    assert token.text == f"ethereum:{USDC}@1337000001/transfer?address={EVM}&uint256=1000000"


def test_without_a_chain_id_an_evm_code_is_the_address_alone() -> None:
    assert uri("evm", "1", address=EVM, contract=USDC, decimals=6) is None


def test_tokens_where_the_scheme_can_name_them() -> None:
    solana = uri("sol", "0.01", contract="EPjFWdd5", decimals=6, memo="OrderId12345")
    assert solana.text == "solana:ADDRESS?amount=0.01&spl-token=EPjFWdd5&memo=OrderId12345"
    stellar = uri("xlm", "120.123", contract="GISSUER", symbol="USD", memo="hasysda987fs")
    assert stellar.text == (
        "web+stellar:pay?destination=ADDRESS&amount=120.123&asset_code=USD&asset_issuer=GISSUER"
        "&memo=hasysda987fs&memo_type=MEMO_TEXT"
    )
    algorand = uri("algo", "1.5", contract="45", decimals=2)
    assert algorand.text == "algorand://ADDRESS?amount=150&asset=45"
    assert (solana.memo, stellar.memo, algorand.memo) == (True, True, False)


@each_row("kind", ["xrp", "ton", "tron", "bitcoin"])
def test_a_token_the_scheme_cannot_name_is_never_asked_for_as_the_coin(kind: str) -> None:
    assert uri(kind, "100", contract="TOKEN", memo="7") is None


@each_row(
    ("kind", "memo", "part"),
    [
        ("xrp", "104882716", "dt=104882716"),
        ("xlm", "104882716", "memo=104882716&memo_type=MEMO_ID"),
        ("xlm", "18446744073709551615", "memo_type=MEMO_ID"),
        ("xlm", "18446744073709551616", "memo_type=MEMO_TEXT"),
        ("xlm", "007", "memo=007&memo_type=MEMO_TEXT"),
        ("xlm", "\u0661", "memo_type=MEMO_TEXT"),
        ("ton", "7741", "text=7741"),
        ("sol", "7741", "memo=7741"),
        ("algo", "7741", "xnote=7741"),
    ],
)
def test_memos_in_the_code(kind: str, memo: str, part: str) -> None:
    found = uri(kind, "1", memo=memo)
    assert found.memo
    assert part in found.text


@each_row("kind", ["bitcoin", "ltc", "xmr", "tron"])
def test_a_memo_the_scheme_cannot_carry_is_said(kind: str) -> None:
    assert uri(kind, "1", memo="7").memo is False


@each_row("kind", ["cosmos", "ada", "dot", "sui", "moon"])
def test_chains_without_a_scheme_have_the_plain_address(kind: str) -> None:
    assert uri(kind, "1", memo="7") is None


@each_row("kind", ["xlm", "ton", "sol", "algo"])
def test_a_memo_cannot_add_to_the_link(kind: str) -> None:
    found = uri(kind, "1", memo=TEXT_MEMO)
    assert "+" not in found.text.removeprefix("web+")
    values = parse_qs(urlsplit(found.text.replace("web+stellar:pay", "x://y")).query)
    assert [TEXT_MEMO] in values.values()
    assert values["amount"] == uri(kind, "1").text.split("amount=")[1].split("&")[:1]


@each_row("kind", KINDS)
def test_an_amount_finer_than_the_token_is_not_rounded(kind: str) -> None:
    assert uri(kind, "0.123456789", decimals=8, chain_id=1) is None


@each_row("amount", ["0", "-1", "NaN", "Infinity"])
def test_an_amount_that_is_none_is_refused(amount: str) -> None:
    with pytest.raises(ValueError, match="above zero"):
        uri("bitcoin", amount)


@given(units=st.integers(1, 10**39), decimals=st.sampled_from([0, 6, 8, 9, 18, 24]))
@example(units=10**28 + 6, decimals=6)
@example(units=5 * 10**29 + 1, decimals=18)
@settings(max_examples=examples(60), deadline=None)
def test_the_address_stays_whole_and_the_amount_exact(units: int, decimals: int) -> None:
    """Also of an amount with more digits than Python computes with unless it is told."""
    amount = from_base_units(units, decimals)
    for kind in KINDS:
        address = derive_address(kind, bytes(range(32)))
        chain_id = 1 if kind == "evm" else None
        found = payment_link(kind, chain_id, None, address, amount, None, decimals=decimals)
        assert check_address(kind, address).ok
        if found is not None:
            assert address in found.text
            assert any(text in found.text for text in (f"={units}", f"={_plain(amount)}"))
            assert "E" not in found.text.replace(address, "")


def _plain(amount: Decimal) -> str:
    whole, _, places = f"{amount:f}".partition(".")
    places = places.rstrip("0")
    return f"{whole}.{places}" if places else whole


@each_row(
    "contract",
    [
        f"{USDC}@1/transfer?address={EVM}&uint256=1000000000#",
        f"{USDC}?value=1",
        f"{USDC}\n",
        f"{USDC}%40137",
        "",
    ],
)
def test_a_contract_that_is_none_makes_no_link(contract: str) -> None:
    """What stands in the catalogue is text of the service: it never writes a link of its own."""
    assert uri("evm", "1", address=EVM, contract=contract, decimals=6, chain_id=1) is None


def test_an_address_never_writes_a_link_of_its_own() -> None:
    for kind in ("bitcoin", "evm", "sol", "xrp", "ton", "algo"):
        hostile = "ADDRESS?amount=99&x=#@/"
        assert uri(kind, "1", address=hostile, decimals=6, chain_id=1) is None


BITCOIN = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
SOLANA = derive_address("sol", b"p" * 32)
XRP = derive_address("xrp", b"p" * 32)
STELLAR = derive_address("xlm", b"p" * 32)


def read(text: str) -> LinkedPayment:
    found = read_payment_link(text)
    assert found is not None
    return found


@settings(max_examples=examples(200))
@given(
    kind=st.sampled_from(KINDS),
    seed=st.binary(min_size=32, max_size=32),
    units=st.integers(1, 10**20),
    memo=st.none() | st.text(st.characters(codec="ascii", categories=("L", "N", "P", "Zs"))),
    token=st.booleans(),
)
def test_what_the_desk_writes_it_reads(
    kind: str, seed: bytes, units: int, memo: str | None, token: bool
) -> None:
    decimals, known = 8, ADDRESS_KINDS[kind]
    address = derive_address(kind, seed)
    contract = known.generate_contract(derive_address(kind, b"c" * 32), seed) if token else None
    amount = from_base_units(units, decimals)
    made = payment_link(
        kind, 8453, contract, address, amount, memo, decimals=decimals, symbol="TOK"
    )
    if made is None:
        assert read_payment_link(address) is None
        return
    link = read(made.text)
    assert (link.kind, link.contract) == (kind, contract)
    assert link.address.removeprefix("bitcoincash:") == address.removeprefix("bitcoincash:")
    assert link.units == units if link.amount is None else link.amount == amount
    assert link.memo == ((memo or None) if made.memo else None)
    assert link.chain_id == (8453 if kind == "evm" else None)
    assert link.unused == ()


@each_row(
    ("text", "told"),
    [
        (f"bitcoin:{BITCOIN}?amount=0.1&label=Caf%C3%A9&message=hi", {"amount": Decimal("0.1")}),
        (f"BITCOIN:{BITCOIN.upper()}?AMOUNT=20", {"amount": Decimal(20)}),
        (f"bitcoin:{BITCOIN}?amount=0&lightning=LNBC1", {"amount": None, "unused": ()}),
        (f"ethereum:pay-{EVM}@0x2105?value=2.014e18", {"units": 2014 * 10**15, "chain_id": 8453}),
        (f"ethereum:{EVM}", {"chain_id": None, "units": None, "kind": "evm"}),
        (
            f"ethereum:{USDC}@8453/transfer?address={EVM}&uint256=1.5e6&gas=21000",
            {"address": EVM, "contract": USDC, "units": 1_500_000, "chain_id": 8453},
        ),
        (
            f"solana:{SOLANA}?amount=.5".replace("=.", "=0.") + "&reference=R&memo=Order%201",
            {"amount": Decimal("0.5"), "memo": "Order 1", "unused": ("reference",)},
        ),
        (f"ripple:{XRP}?amount=20&dt=7", {"memo": "7", "amount": Decimal(20)}),
        (f"xrpl://{XRP}?tag=8", {"memo": "8"}),
        (
            f"web+stellar:pay?destination={STELLAR}&amount=1&memo=77&memo_type=MEMO_ID"
            "&callback=url%3Ahttps%3A%2F%2Fx",
            {"address": STELLAR, "memo": "77", "unused": ("callback",)},
        ),
        ("ton://transfer/EQx?amount=1500000000&text=a%20b", {"units": 15 * 10**8, "memo": "a b"}),
        ("cosmos:cosmos1q?memo=104", {"memo": "104", "kind": "cosmos"}),
        (f"base:{EVM}", {"address": EVM, "kind": "evm", "chain_id": 8453}),
        (f"arbitrum:{EVM}", {"address": EVM, "kind": "", "chain": "arbitrum"}),
        (f"eip155:137:{EVM}", {"address": EVM, "chain_id": 137}),
        (f"solana:5eykt4UsFv8P8NJdTREpY1vzqKqKvdp:{SOLANA}", {"address": SOLANA, "kind": "sol"}),
    ],
)
def test_a_link_of_a_wallet(text: str, told: dict[str, object]) -> None:
    link = read(text)
    assert {name: getattr(link, name) for name in told} == told


@each_row(
    ("text", "says"),
    [
        (f"ethereum:{USDC}@1/approve?address={EVM}&uint256=1", "calls a contract"),
        (f"ethereum:{USDC}@1/transfer?address={EVM}&uint256=1&value=5", "calls a contract"),
        ("ethereum:vitalik.eth@1?value=1", "is a name, not an address"),
        (f"bitcoin:{BITCOIN}?req-somethingyoudontunderstand=50", "somethingyoudontunde"),
        (f"bitcoin:{BITCOIN}?amount=1&amount=2", "twice"),
        (f"bitcoin:{BITCOIN}?amount=1,5", 'cannot be read: "1,5"'),
        (f"bitcoin:{BITCOIN}?amount=1e3", "cannot be read"),
        (f"ethereum:{EVM}@1?value=1.5", "cannot be read"),
        (f"ethereum:{EVM}@1?value=1e99", "cannot be read"),
        ("bitcoin:?r=https://shop.example/pay", "no address"),
        ("solana:https://shop.example/pay?x=1", "asks a website"),
        ("web+stellar:tx?xdr=AAAA", "no payment on Stellar"),
        (f"web+stellar:pay?destination={STELLAR}&memo=AA&memo_type=MEMO_HASH", "is a hash"),
        ("lightning:lnbc2500u1", "Lightning"),
        ("shop:checkout?amount=5", 'begins with "shop:"'),
        (f"https://etherscan.io/address/{EVM}", "it is a link"),
        ("bitcoin:" + "a" * 2_000, "2,000 characters"),
    ],
)
def test_a_link_that_is_no_payment_says_what_it_is(text: str, says: str) -> None:
    with pytest.raises(AddressProblem) as refused:
        read_payment_link(text)
    assert says in refused.value.sentence("Bitcoin")


@settings(max_examples=examples(300))
@given(text=st.text(max_size=80) | st.from_regex(r"[a-z+]{1,9}:[ -~]{0,60}", fullmatch=True))
def test_no_text_breaks_the_reading(text: str) -> None:
    with contextlib.suppress(AddressProblem):
        assert (read_payment_link(text) is None) is not is_link(text)


@each_row("kind", KINDS)
def test_a_plain_address_is_no_link(kind: str) -> None:
    assert read_payment_link(derive_address(kind, b"p" * 32)) is None
    assert read_payment_link("0:" + "e" * 64) is None
    assert read_payment_link("bitcoincash:qq") is None
