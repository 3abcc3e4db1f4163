"""Payment links by scheme: what they hold, and what has none."""

from __future__ import annotations

from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sampling import examples
from swapdesk.chain.addresses.checking import check_address
from swapdesk.chain.addresses.kind import PaymentLink
from swapdesk.chain.addresses.kinds import KINDS, derive_address
from swapdesk.chain.addresses.payments import payment_link
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("kind", ["xrp", "ton", "tron", "bitcoin"])
def test_a_token_the_scheme_cannot_name_is_never_asked_for_as_the_coin(kind: str) -> None:
    assert uri(kind, "100", contract="TOKEN", memo="7") is None


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("kind", ["bitcoin", "ltc", "xmr", "tron"])
def test_a_memo_the_scheme_cannot_carry_is_said(kind: str) -> None:
    assert uri(kind, "1", memo="7").memo is False


@pytest.mark.parametrize("kind", ["cosmos", "ada", "dot", "sui", "moon"])
def test_chains_without_a_scheme_have_the_plain_address(kind: str) -> None:
    assert uri(kind, "1", memo="7") is None


@pytest.mark.parametrize("kind", ["xlm", "ton", "sol", "algo"])
def test_a_memo_cannot_add_to_the_link(kind: str) -> None:
    found = uri(kind, "1", memo=TEXT_MEMO)
    assert "+" not in found.text.removeprefix("web+")
    values = parse_qs(urlsplit(found.text.replace("web+stellar:pay", "x://y")).query)
    assert [TEXT_MEMO] in values.values()
    assert values["amount"] == uri(kind, "1").text.split("amount=")[1].split("&")[:1]


@pytest.mark.parametrize("kind", KINDS)
def test_an_amount_finer_than_the_token_is_not_rounded(kind: str) -> None:
    assert uri(kind, "0.123456789", decimals=8, chain_id=1) is None


@pytest.mark.parametrize("amount", ["0", "-1", "NaN", "Infinity"])
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


@pytest.mark.parametrize(
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
