"""Objects that repeat are read once and written once, and stay what they are."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.codec import ShapeError, decode, decode_json, encode_json, encode_twice
from swapdesk.wire.encoding.interning import KEPT
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token

CREATED = datetime(2026, 1, 2, tzinfo=UTC)


def token(number: int, name: str = "Ether", description: str | None = None) -> Token:
    chain = Chain(
        id=f"{7:024x}",
        created=CREATED,
        name="Ethereum",
        short_name="ethereum",
        short_name_v1="ETH",
        icon="https://example.test/i.png",
        address_validation="^x$",
        token_address_validation="^x$",
        explorer_url="https://example.test/{txHash}",
        address_url="https://example.test/{address}",
        priority=Decimal(1),
        kind="evm",
        enabled=True,
    )
    return Token(
        id=f"{number:024x}",
        icon="https://example.test/i.png",
        chain="ethereum",
        chain_data=chain,
        decimals=18,
        symbol="ETH",
        name=name,
        created=CREATED,
        price=Decimal("3000.10"),
        description=description,
    )


def order(**values: object) -> Order:
    return Order(service_id="A" * 22, out_amount=Decimal("1.50"), **values)


def read(sent: Order, side: str = "client") -> Order:
    return decode(Order, encode_json(sent), side=side)  # type: ignore[arg-type]


def test_equal_tokens_of_two_orders_are_one_object() -> None:
    first, second = read(order(in_token=token(1))), read(order(in_token=token(1)))
    assert first.in_token is second.in_token
    assert first.in_token.chain_data is second.in_token.chain_data


def test_a_token_that_changed_is_read_anew() -> None:
    before, after = read(order(in_token=token(2))), read(order(in_token=token(2, name="Ether 2")))
    assert (before.in_token.name, after.in_token.name) == ("Ether", "Ether 2")


def test_the_sides_share_no_text() -> None:
    """The client rewrites unsafe text; what the service read must not reach it."""
    unsafe = order(in_token=token(3, name="a\u202eb"))
    kept, shown = read(unsafe, "service").in_token, read(unsafe, "client").in_token
    assert kept.name == "a\u202eb"
    assert "\u202e" not in shown.name
    again = read(unsafe, "service").in_token
    assert again.name == "a\u202eb"


def test_a_heavy_object_is_not_remembered() -> None:
    """A server cannot fill the memory with objects that are kept for their next coming."""
    raw = json.loads(encode_json(order(in_token=token(4))))
    raw["inToken"]["unknown"] = ["x" * 20_000]
    sent = json.dumps(raw).encode()
    first = decode(Order, sent, side="client")
    second = decode(Order, sent, side="client")
    assert first.in_token == second.in_token
    assert first.in_token is not second.in_token


def test_memory_is_bounded_and_the_oldest_goes_first() -> None:
    kept = read(order(in_token=token(5))).in_token
    for number in range(KEPT + 1):
        read(order(in_token=token(0x10_000 + number)))
    assert read(order(in_token=token(5))).in_token == kept
    assert read(order(in_token=token(5))).in_token is not kept


def test_a_wrong_object_is_refused_each_time() -> None:
    raw = json.loads(encode_json(order(in_token=token(6))))
    raw["inToken"]["decimals"] = "many"
    for _ in range(2):
        with pytest.raises(ShapeError, match=r"inToken\.decimals"):
            decode(Order, json.dumps(raw).encode(), side="client")


@given(
    tokens=st.tuples(*[st.none() | st.integers(1, 5) for _ in range(2)]),
    name=st.text(max_size=20),
    amount=st.decimals(0, 10**9, places=6),
)
def test_what_is_written_reads_as_the_same_order(
    tokens: tuple[int | None, int | None], name: str, amount: Decimal
) -> None:
    sent = Order(
        service_id="B" * 22,
        in_amount=amount,
        in_token=None if tokens[0] is None else token(tokens[0], name),
        out_token=None if tokens[1] is None else token(tokens[1]),
    )
    plain = json.loads(encode_json(sent.model_dump(by_alias=True)))
    assert json.loads(encode_json(sent)) == plain
    assert read(sent, "service") == sent


NUMBERS = st.integers(-(10**39), 10**39)
"""Whole numbers that JSON of this service holds (contract 1.10)."""


@given(
    tag=st.none() | st.from_regex(r"[0-9a-z]{1,5}", fullmatch=True),
    metadata=st.none() | st.dictionaries(st.text(max_size=3), NUMBERS | st.text(max_size=3)),
    label=st.none() | st.text(max_size=9),
    amount=st.none() | st.decimals(-(10**9), 10**9, places=20),
    at=st.none() | st.datetimes(timezones=st.just(UTC)),
    shared=st.booleans(),
)
def test_an_order_is_written_field_by_field_as_its_model_is_dumped(
    tag: str | None,
    metadata: dict[str, object] | None,
    label: str | None,
    amount: Decimal | None,
    at: datetime | None,
    shared: bool,
) -> None:
    written = order(
        receiver_tag=tag, metadata=metadata, status_label=label, in_amount=amount, created=at,
        status=3, in_token=token(8) if shared else None,
    )  # fmt: skip
    lean, whole = encode_twice(written)
    dumped = written.model_dump(by_alias=True, exclude={"in_token", "out_token"})
    assert lean.encode() == encode_json(dumped)
    assert decode_json(whole.encode()) == decode_json(encode_json(written.model_dump()))
