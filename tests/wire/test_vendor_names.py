"""Names of the public service are read where ours are written (contract 1.22), and answers of the
live one are, as they were recorded (contract 1.14, 6.2, 6.7)."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from corpus import Case, load
from rows import each_row
from swapdesk.wire.encoding.codec import decode, encode_json
from swapdesk.wire.encoding.dialect import VENDOR_NAMES, Dialect
from swapdesk.wire.orders import Order
from swapdesk.wire.quotes import PairLimits, PrivateSendQuoteList, QuoteList
from swapdesk.wire.tokens import Token

VALUES: dict[str, Any] = {
    "serviceId": "h9NpKm75gRnX7GWaFATwYn",
    "depositTag": "104729",
    "rerouted": True,
    "inTransactionOutHash": "0x" + "ab" * 32,
    "actionRequired": True,
}
PAIRS = [
    (ours, theirs) for ours, names in VENDOR_NAMES.items() for theirs in names if ours in VALUES
]


def read(told: dict[str, Any]) -> dict[str, Any]:
    order = decode(Order, json.dumps({"serviceId": "a", **told}).encode(), side="client")
    found: dict[str, Any] = json.loads(encode_json(order))
    return found


def test_every_name_of_an_order_is_tried() -> None:
    assert VENDOR_NAMES.keys() - VALUES.keys() == {"serviceIds"}


@each_row(("ours", "theirs"), PAIRS)
def test_their_name_is_read_and_ours_is_written(ours: str, theirs: str) -> None:
    told = {"id": "1", theirs: VALUES[ours]}
    order = decode(
        Order,
        json.dumps(told if ours == "serviceId" else {"serviceId": "a", **told}).encode(),
        side="client",
    )
    written = json.loads(encode_json(order))
    assert written[ours] == VALUES[ours]
    assert theirs not in written


@each_row(("ours", "theirs"), [pair for pair in PAIRS if pair[0] != "serviceId"])
def test_a_null_of_ours_hides_nothing_of_theirs(ours: str, theirs: str) -> None:
    assert read({ours: None, theirs: VALUES[ours]})[ours] == VALUES[ours]
    assert read({theirs: VALUES[ours], ours: None})[ours] == VALUES[ours]


def test_a_swap_on_a_chain_says_beside_its_terms_what_is_sent_or_that_its_venue_settles() -> None:
    sends = {"to": "0x1", "data": "0x", "value": "0", "gasLimit": "21000"}
    sent = {"isDex": True, "metadata": {**sends, "router": "0x0"}}
    assert Dialect.VENDOR.names(sent) == {**sent, "tx": sends}
    told = {"isDex": True, "metadata": {"offChain": True, "router": "0x0"}}
    assert Dialect.VENDOR.names(told) == {**told, "offChain": True}
    read_back = {"isDex": True, "metadata": '{"offChain": true}'}
    assert Dialect.VENDOR.names(read_back) == read_back


def test_what_both_names_say_is_ours() -> None:
    told = {"depositTag": "1", "senderTag": "2", "actionRequired": False, "ffSetEmergency": True}
    found = read(told)
    assert (found["depositTag"], found["actionRequired"]) == ("1", False)
    assert "depositTag" not in read({"depositTag": None, "senderTag": None})


KINDS: dict[str, type[BaseModel]] = {
    kind.__name__: kind for kind in (Order, PairLimits, PrivateSendQuoteList, QuoteList, Token)
}


def member(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value[int(name)] if name.isdecimal() else getattr(value, name)
    return value if value is None else str(value)


@each_row("case", load("answer", name="live_shapes"), ids=lambda case: case.id)
def test_a_recorded_answer_is_read(case: Case) -> None:
    answer = json.dumps(case.input["answer"]).encode()
    read = decode(KINDS[case.input["kind"]], answer, side="client")
    assert {path: member(read, path) for path in case.expect} == case.expect
