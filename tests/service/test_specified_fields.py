"""Tables of the specification, line by line, against the document and the answers."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx2

from rows import each_row
from sentences import Sentence, sentences
from service.http_calls import declined
from service.world import BITCOIN, BTC, BTC_ADDRESS, ETH, UNPRICED
from swapdesk.clock import ManualClock
from swapdesk.service.dex.quoting import net_of
from swapdesk.service.openapi import document
from swapdesk.service.orders.presentation import transaction_link
from swapdesk.wire.encoding.codec import decode, decode_json, encode_json
from swapdesk.wire.errors import STATUS_OF, ErrorBody
from swapdesk.wire.operations import OPERATIONS, STREAM_PATH
from swapdesk.wire.orders import LegStatus, OrderStatusCode
from swapdesk.wire.tokens import Token, TokenSecurityScan

RESOURCES = "Resources and their fields: "
MODELS = {
    RESOURCES + "Chain": "Chain",
    RESOURCES + "Token": "Token",
    RESOURCES + "TokenSecurityScan": "TokenSecurityScan",
    RESOURCES + "Swap provider": "SwapProvider",
    RESOURCES + "Quote (general quote record)": "Quote",
    RESOURCES + "Order": "Order",
    RESOURCES + "Multi exchange status": "MultiExchangeStatus",
    "Endpoints: DEX": "ChainSignaturesRequest",
}
TYPES: dict[str, dict[str, str]] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "integer (int32)": {"type": "integer", "format": "int32"},
    "date-time": {"type": "string", "format": "date-time"},
    "array": {"type": "array"},
    "array of TokenScanFeature": {"type": "array"},
    "enum": {"type": "string"},
    "string enum": {"type": "string"},
    "integer enum": {"type": "integer"},
    "integer enum 0 to 10": {"type": "integer"},
}
"""What the document says for each word of the specification. Another word names a schema."""

SCHEMAS = document("1")["components"]["schemas"]
FIELDS = [
    each
    for each in sentences()
    if each.place in MODELS and re.fullmatch(r"[A-Za-z0-9]+(, [A-Za-z]+)*", each.cells[0])
]


def lines(place: str) -> list[Sentence]:
    found = [each for each in sentences() if each.place == place]
    assert found, place
    return found


def described(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, or the one that it refers to."""
    inner = schema["allOf"][0] if "allOf" in schema else schema
    name = inner.get("$ref", "").rpartition("/")[2]
    return {"name": name, **SCHEMAS[name]} if name else schema


@each_row("line", FIELDS, ids=lambda line: line.number)
def test_each_field_is_in_the_document(line: Sentence) -> None:
    names, kinds = line.cells[0].split(", "), line.cells[1].split(", ")
    properties = SCHEMAS[MODELS[line.place]]["properties"]
    kinds = kinds * len(names) if len(kinds) == 1 else kinds
    for name, kind in zip(names, kinds, strict=True):
        word, _, null = kind.partition(" or ")
        found = properties[name]
        assert found.get("nullable", False) is (null == "null")
        told = described(found)
        if word not in TYPES:
            assert word in (told.get("name"), told.get("type"), "object"), name
            continue
        wanted = TYPES[word]
        if wanted == {"type": "number"} and told["type"] == "integer":
            continue  # narrower than what the specification promises
        assert {key: told[key] for key in wanted} == wanted
        assert ("enum" in told) is ("enum" in word)
        if "enum" in word and "string" in wanted["type"]:
            named = set(re.findall(r"`([A-Za-z_]+)`", line.cells[-1])) - properties.keys()
            assert named <= set(told["enum"])


def test_every_field_of_the_tables_was_looked_at() -> None:
    assert len(FIELDS) > 120
    assert {each.place for each in FIELDS} == MODELS.keys()


def test_the_labels_of_states() -> None:
    orders = lines("States and transitions: Order `status` (integer)")
    assert {int(line.cells[0]): line.cells[1] for line in orders} == {
        each.value: each.name for each in OrderStatusCode
    }
    leg = "States and transitions: Leg status (`inStatus`; the payout-leg status uses the same "
    legs = lines(leg + "values and is present on private orders only)")
    assert [int(line.cells[0]) for line in legs] == [each.value for each in LegStatus]


def test_the_status_of_codes() -> None:
    """A code of the table is raised with the status beside it, and every status has its codes."""
    table = [line.cells for line in lines("Errors") if len(line.cells) == 2]
    statuses = {cells[0]: re.findall("`([A-Z_]+)`", cells[1]) for cells in table}
    assert statuses.keys() == {"400", "401", "402", "403", "404", "409", "422", "429", "5xx"}
    for status, codes in statuses.items():
        assert bool(codes) is (status != "402")
        for code in codes:
            raised = str(STATUS_OF[code])  # type: ignore[index]
            assert raised == status or (status == "5xx" and raised[0] == "5")


def test_every_path_of_the_specification_is_there() -> None:
    named = set()
    for line in sentences():
        for methods, path in re.findall(
            r"\b((?:GET|POST|WS)(?:, (?:GET|POST))*) (?:/v2)?(/[A-Za-z0-9/{}.-]+)", line.text
        ):
            if not line.place.startswith("Versioning") or "/v2/" in line.text:
                named |= {(method, path) for method in methods.split(", ")}
    versions = [line.cells[-1] for line in lines("Versioning") if len(line.cells) == 2]
    for target in versions:
        method, path = target.split(" ")[:2]
        named.add((method, path.removeprefix("/v2")))
    there = {(each.method, each.path) for each in OPERATIONS} | {("WS", STREAM_PATH)}
    earlier = {line.cells[0] for line in lines("Versioning") if len(line.cells) == 2}
    old = {tuple(each.split(" ")[:2]) for text in earlier for each in text.split(", ")}
    assert named - there - old == set()


async def test_what_a_private_send_states_and_for_how_long(
    api: httpx2.AsyncClient, clock: ManualClock
) -> None:
    asked = {"amount": "0.5", "from": BTC.id}
    rows = (await api.get("/quotes/private-send", params=asked)).json()["quotes"]
    assert rows
    end = clock.now() + timedelta(seconds=60)
    told = {row["validUntil"] for row in rows}
    assert told == {end.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
    numbers = ("amountIn", "amountOut", "min", "max", "duration", "amountOutUsd")
    for row in rows:
        assert all(type(row[name]) in (int, float) for name in numbers)
        assert type(row["rewardsAvailable"]) is type(row["fixed"]) is bool
        assert (type(row["quoteId"]), row["type"]) == (str, "private")
    body = {
        "quoteId": rows[0]["quoteId"],
        "addressTo": BTC_ADDRESS,
    }
    clock.advance(60.001)
    await declined(api.post("/exchanges/private-send", json=body), "INVALID_SWAP")


async def test_nobody_is_asked_to_pay(api: httpx2.AsyncClient, anyone: httpx2.AsyncClient) -> None:
    """No operation of a service without payments, with credentials or without."""
    for operation in OPERATIONS:
        path = re.sub("{[a-zA-Z]+}", "a" * 24, operation.path)
        for caller in (api, anyone):
            answer = await caller.request(operation.method, path)
            assert answer.status_code != 402
            assert "payment-required" not in answer.headers


@each_row(("fee", "net"), [("300", "1.9"), ("0", "2"), (None, "2")])
def test_the_net_amount_is_less_the_fee_in_the_output_token(fee: str | None, net: str) -> None:
    fee_usd = None if fee is None else Decimal(fee)
    assert ETH.price == 3000
    assert net_of(ETH, Decimal(2), fee_usd) == Decimal(net)
    assert net_of(UNPRICED, Decimal(2), fee_usd) == 2, "what arrives, where nobody knows its price"


def test_what_is_not_told_has_its_default() -> None:
    """Read and written again: findings of a scan, and the identifier on exchanges."""
    scan = {"scannedAt": "2026-11-20T14:02:11.000Z", "expiresAt": "2026-11-21T14:02:11.000Z"}
    read = decode(TokenSecurityScan, encode_json(scan), side="client")
    assert decode_json(encode_json(read), max_bytes=1 << 10)["features"] == []
    told = {**decode_json(encode_json(ETH), max_bytes=1 << 14)}
    del told["cexTokenId"]
    token = decode(Token, encode_json(told), side="client", max_bytes=1 << 14)
    assert decode_json(encode_json(token), max_bytes=1 << 14)["cexTokenId"] == ""


def test_a_status_beside_the_error_is_read_and_means_nothing() -> None:
    body = b'{"message": "No.", "code": "NOT_FOUND", "status": 404, "requestId": "r"}'
    read = decode(ErrorBody, body, side="client")
    assert (read.code, read.message, read.request_id) == ("NOT_FOUND", "No.", "r")


def test_the_link_of_a_transaction() -> None:
    """By ``hashUrl`` of its chain where that differs from ``explorerUrl``, which is told then."""
    other = "https://example.test/hash/{txHash}"
    named = BITCOIN.model_copy(update={"hash_url": other})
    assert transaction_link(named, "ab") == "https://example.test/hash/ab"
    assert transaction_link(BITCOIN, "ab") == "https://bitcoin.example/tx/ab"
    told = [decode_json(encode_json(chain), max_bytes=1 << 14) for chain in (named, BITCOIN)]
    assert [chain.get("hashUrl", "") for chain in told] == [other, ""]
