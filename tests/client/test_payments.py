"""What a 402 asks for is read strictly, and a payment repeats what was asked for."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapdesk.client.payments import (
    MAX_HEADER,
    MAX_SECONDS,
    Authorization,
    RequiredPayment,
    payment_header,
    read_required,
)

USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
WAY = {
    "scheme": "exact",
    "network": "eip155:8453",
    "asset": USDC.lower(),
    "amount": "1000",
    "payTo": "0x" + "1a" * 20,
    "maxTimeoutSeconds": 60,
    "extra": {"name": "USD Coin", "version": "2"},
}


def header(*ways: Any, **more: Any) -> str:
    told = {"x402Version": 2, "accepts": list(ways), **more}
    return base64.b64encode(json.dumps(told).encode()).decode()


def test_a_way_is_read_with_addresses_in_one_spelling() -> None:
    found = read_required(header(WAY, error="too low \u202e"))
    [terms] = found.ways
    assert (terms.chain_id, terms.asset, terms.units, terms.seconds) == (8453, USDC, 1000, 60)
    assert (terms.name, terms.version) == ("USD Coin", "2")
    assert found.reason == "too low" or "\u202e" not in found.reason
    assert found.problem == ""


def test_a_payment_repeats_what_was_asked_for() -> None:
    [terms] = read_required(header(WAY)).ways
    signed = Authorization("0x" + "2b" * 20, 0, 1_700_000_000, "0x" + "3c" * 32, "0x" + "4d" * 65)
    paid = json.loads(base64.b64decode(payment_header(terms, signed)))
    assert paid["x402Version"] == 2
    assert paid["accepted"] == WAY
    assert paid["payload"]["authorization"] == {
        "from": "0x" + "2b" * 20,
        "to": WAY["payTo"],
        "value": "1000",
        "validAfter": "0",
        "validBefore": "1700000000",
        "nonce": "0x" + "3c" * 32,
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scheme", "upto"),
        ("network", "eip155:0"),
        ("network", "eip155:08453"),
        ("network", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"),
        ("network", "eip155:\u0661"),
        ("asset", USDC[:-1]),
        ("asset", None),
        ("amount", 1000),
        ("amount", "0"),
        ("amount", "1e3"),
        ("amount", "-1"),
        ("amount", "9" * 32),
        ("amount", "\u0661\u0662"),
        ("payTo", "vitalik.eth"),
        ("maxTimeoutSeconds", 0),
        ("maxTimeoutSeconds", -5),
        ("maxTimeoutSeconds", "60"),
        ("maxTimeoutSeconds", 1.5),
        ("maxTimeoutSeconds", 10**12),
        ("extra", None),
        ("extra", {"name": "USD Coin"}),
        ("extra", {"name": "x" * 129, "version": "2"}),
        ("extra", {"name": "USD Coin", "version": "2", "assetTransferMethod": "permit2"}),
    ],
)
def test_what_cannot_be_paid_here_is_no_way(name: str, value: object) -> None:
    assert read_required(header({**WAY, name: value})).ways == ()
    assert read_required(header({**WAY, name: value}, WAY)).ways == read_required(header(WAY)).ways


def test_a_way_that_lasts_long_is_signed_for_minutes() -> None:
    [terms] = read_required(header({**WAY, "maxTimeoutSeconds": 86_400})).ways
    assert terms.seconds == MAX_SECONDS


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "",
        "%%%",
        base64.b64encode(b"{").decode(),
        base64.b64encode(b"[]").decode(),
        base64.b64encode(b'{"accepts":{}}').decode(),
        base64.b64encode(b'{"accepts":[],"accepts":[]}').decode(),
        base64.b64encode(b"[" * 10_000).decode(),
        "A" * (MAX_HEADER + 4),
    ],
)
def test_a_header_that_says_nothing_has_a_problem(sent: str | None) -> None:
    found = read_required(sent)
    assert found.ways == ()
    assert found.problem


_BINARY = st.binary(max_size=200).map(lambda one: base64.b64encode(one).decode())


@given(st.text(max_size=200) | _BINARY)
def test_no_header_breaks_the_reader(sent: str) -> None:
    assert isinstance(read_required(sent), RequiredPayment)
