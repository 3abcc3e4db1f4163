"""Bounds of a swap on chains, and what a service says is to be sent, held against what was
confirmed."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from swapdesk.flows.dex.dex_plan import approval_of, deadline_of, transaction_of
from swapdesk.flows.intents.intent import least_units, terms_of
from swapdesk.flows.orders.told_transaction import NotThisSwap, same_transaction, told_by
from swapdesk.wallet.promise import Asset, Promise, Purpose, TransactionPayload
from swapdesk.wire.chains import Chain
from swapdesk.wire.dex import Approval
from swapdesk.wire.encoding.codec import decode, decode_json, encode_json
from swapdesk.wire.encoding.time_range import LATEST
from swapdesk.wire.orders import Order
from swapdesk.wire.quotes import Quote

SENDER = "0x" + "ab" * 20


def quote(**facts: Decimal) -> Quote:
    return Quote(type="dex", quote_id="a" * 24, **facts)  # type: ignore[arg-type]


def test_fees_of_bridge_and_venue_go_along_together() -> None:
    told = terms_of(quote(fee_usd=Decimal(3), bridge_fee_usd=Decimal(6)), SENDER, Decimal(3000))
    assert told.fee_units == 3_030_000_000_000_000
    assert terms_of(quote(), SENDER, Decimal(3000)).fee_units == 0


def test_gas_has_room_above_the_quote_and_a_least_bound() -> None:
    assert terms_of(quote(gas_usd=Decimal(30)), SENDER, Decimal(3000)).gas_units == 4 * 10**16
    assert terms_of(quote(gas_usd=Decimal("0.01")), SENDER, Decimal(5)).gas_units == 10**18


def test_the_least_is_rounded_down_and_exact() -> None:
    assert least_units(1000, Decimal("0.5")) == 995
    assert least_units(1001, Decimal("0.5")) == 995
    whole = 10**27 + 7
    assert least_units(whole, Decimal(0)) == whole
    assert least_units(10**40 + 201, Decimal("0.5")) == (10**40 + 201) * 995 // 1000


ME, ROUTER = "0x" + "aB" * 20, "0x" + "12" * 20
CHAIN_ID = 1_337_008_453
PROMISE = Promise(
    intent_id="i-1",
    account=ME,
    chain="base",
    chain_id=CHAIN_ID,
    sell=Asset("USDC", 6, "0x" + "34" * 20),
    sell_units=10**6,
    buy=Asset("ETH", 18, None),
    chain_out="base",
    least_units=1,
    quoted_units=1,
    recipient=ME,
    venue="ba",
    quote_id="q-1",
    valid_until=datetime(2026, 11, 22, tzinfo=UTC),
    gas_units=10**16,
)
CALL = {"to": ROUTER, "data": "0x12345678", "value": "0"}
WHOLE = {**CALL, "from": ME, "chainId": CHAIN_ID, "deadline": "1795000000", "gasLimit": "1"}


def order(metadata: object) -> Order:
    """As it comes off the wire."""
    told = {"serviceId": "xLAR4Vivifmyf6BCgG3omA", "isDex": True, "depositAddress": ME}
    return decode(Order, encode_json({**told, "metadata": metadata}), side="client")


@each_row(
    "told",
    [
        WHOLE,
        CALL,
        {name: value for name, value in CALL.items() if name != "value"},
        {**WHOLE, "from": ME.lower(), "chainId": hex(CHAIN_ID), "value": "0x0"},
        {**WHOLE, "chainId": str(CHAIN_ID), "value": None, "type": "0x2"},
        {**WHOLE, "authorizationList": [], "accessList": [{"address": ROUTER}], "type": 1},
        {**WHOLE, "router": ROUTER, "routing": {"hops": 3}, "slippage": "0.5", "gasPrice": "1"},
    ],
)
def test_what_agrees_is_the_call_to_sign(told: dict[str, Any]) -> None:
    wanted = TransactionPayload(Purpose.SWAP, ROUTER, "0x12345678", 0)
    assert transaction_of(told_by(order(told)), PROMISE) == wanted
    # A text of it says the same (contract 10.8).
    assert transaction_of(told_by(order(encode_json(told).decode())), PROMISE) == wanted


@each_row(
    ("change", "code"),
    [
        ({"chainId": 8453}, "CHAIN_ID_DIFFERS"),
        ({"chainId": "0x2105"}, "CHAIN_ID_DIFFERS"),
        ({"chainId": ""}, "CHAIN_ID_DIFFERS"),
        ({"chainId": f"{CHAIN_ID} "}, "CHAIN_ID_DIFFERS"),
        ({"chainId": True}, "CHAIN_ID_DIFFERS"),
        ({"chainId": [CHAIN_ID]}, "CHAIN_ID_DIFFERS"),
        ({"from": ROUTER}, "OWNER_DIFFERS"),
        ({"from": ""}, "OWNER_DIFFERS"),
        ({"authorizationList": [{"address": ROUTER}]}, "TRANSACTION_KIND"),
        ({"blobVersionedHashes": ["0x01"]}, "TRANSACTION_KIND"),
        ({"maxFeePerBlobGas": "1"}, "TRANSACTION_KIND"),
        ({"type": 4}, "TRANSACTION_KIND"),
        ({"type": "0x3"}, "TRANSACTION_KIND"),
        ({"type": "legacy"}, "TRANSACTION_KIND"),
        ({"value": ""}, "VALUE_UNREADABLE"),
        ({"value": "-1"}, "VALUE_UNREADABLE"),
        ({"value": "1.5"}, "VALUE_UNREADABLE"),
        ({"value": "1_0"}, "VALUE_UNREADABLE"),
        ({"value": "٣"}, "VALUE_UNREADABLE"),
        ({"value": "9" * 79}, "VALUE_UNREADABLE"),
        ({"to": None}, "NOTHING_TO_SEND"),
        ({"data": ["0x12"]}, "NOTHING_TO_SEND"),
    ],
)
def test_what_speaks_of_another_transaction_is_refused(change: dict[str, Any], code: str) -> None:
    with pytest.raises(NotThisSwap) as refused:
        transaction_of(told_by(order({**WHOLE, **change})), PROMISE)
    assert refused.value.code == code


@each_row("metadata", [None, "", "[]", "{", "5", [], 5])
def test_nothing_of_use_is_refused(metadata: object) -> None:
    with pytest.raises(NotThisSwap):
        told_by(order(metadata))


def _approval(**changes: Any) -> Approval:
    chain = Chain(
        id="68df742d6436a987148301e4",
        name="Base",
        short_name=changes.pop("short_name", "base"),
        kind="evm",
        chain_id=changes.pop("chain_id", CHAIN_ID),
    )
    told = {"data": "0x12", "to": ROUTER, "from": ME, "fromChain": chain, **changes}
    return Approval.model_validate(told)


def test_an_approval_is_for_the_chain_and_account_that_were_confirmed() -> None:
    assert approval_of(_approval(), PROMISE).purpose is Purpose.APPROVE
    assert approval_of(_approval(chain_id=None, short_name="Base"), PROMISE).to == ROUTER
    for changes, code in (
        ({"chain_id": 8453}, "CHAIN_ID_DIFFERS"),
        ({"chain_id": None, "short_name": "ethereum"}, "CHAIN_ID_DIFFERS"),
        ({"from": ROUTER}, "OWNER_DIFFERS"),
    ):
        with pytest.raises(NotThisSwap) as refused:
            approval_of(_approval(**changes), PROMISE)
        assert refused.value.code == code


def test_an_order_that_is_read_again_says_the_same() -> None:
    created = order(WHOLE)
    assert created.deposit_address is None, "the sender echoed is no place to pay to"
    for read in (WHOLE, encode_json(WHOLE).decode(), {**CALL, "gasPrice": "1"}, None):
        assert same_transaction(created, order(read))
    assert same_transaction(created, order({**WHOLE, "to": ROUTER.upper().replace("X", "x")}))
    for change in (
        {"to": ME},
        {"data": "0x12345679"},
        {"value": "0x1"},
        {"chainId": 1},
        {"from": ROUTER},
        {"authorizationList": [{}]},
    ):
        assert not same_transaction(created, order({**WHOLE, **change})), change
        assert not same_transaction(order({**WHOLE, **change}), created), change
    assert not same_transaction(created, order("not JSON"))
    # Other halves of a transaction of Solana are in base 64, where case counts.
    assert not same_transaction(order({"data": "AQab"}), order({"data": "AQAb"}))


def test_a_deadline_that_cannot_be_read_is_none() -> None:
    assert deadline_of(WHOLE) == datetime.fromtimestamp(1_795_000_000, UTC)
    for told in ({}, {"deadline": "soon"}, {"deadline": "9" * 30}, {"deadline": None}):
        assert deadline_of(told) == LATEST


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_any_value_is_a_number_or_refused(value: object) -> None:
    """Whatever stands there: a call with exactly that many units, or a refusal."""
    told = decode_json(encode_json({**WHOLE, "value": value}))
    assert isinstance(told, dict)
    made, code = None, ""
    try:
        made = transaction_of(told, PROMISE)
    except NotThisSwap as refused:
        code = refused.code
    if made is None:
        assert code == "VALUE_UNREADABLE"
    else:
        text = "0" if value is None else str(value)
        assert made.value == int(text, 16 if text[:2].lower() == "0x" else 10)
