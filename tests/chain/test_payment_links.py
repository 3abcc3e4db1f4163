"""Payment links as wallets make them, read back; and addresses with their chain before them."""

from __future__ import annotations

import contextlib
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling import examples
from swapdesk.chain.addresses.kind import AddressProblem
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, KINDS, derive_address
from swapdesk.chain.addresses.payment_links import LinkedPayment, is_link, read_payment_link
from swapdesk.chain.addresses.payments import payment_link
from swapdesk.wire.encoding.numbers import from_base_units

EVM = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_address_is_no_link(kind: str) -> None:
    assert read_payment_link(derive_address(kind, b"p" * 32)) is None
    assert read_payment_link("0:" + "e" * 64) is None
    assert read_payment_link("bitcoincash:qq") is None
