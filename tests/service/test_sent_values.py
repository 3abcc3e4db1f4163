"""``fields[].value`` of a refusal is what the caller sent, as it was sent (contract 3.2)."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from service.quote_calls import asked, refusal
from service.world import BTC, ETH

EVM = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("markup", "9.50"),
        ("amount", "0.0000010"),
        ("amount", "0.50000000010"),
        ("rotateFallback", "true"),
        ("swaps", "zz"),
        ("swaps", ["aa", "zz"]),
        ("inLegIncludedSwaps", ["aa", "zz", "bb"]),
        ("types", ["dex", "zz"]),
        ("rotationLookback", ["1", "2"]),
        ("dateFrom", ["1", "2"]),
        ("dateFrom", ""),
    ],
)
async def test_a_query_sends_texts_and_a_repeated_name_a_list(
    api: httpx2.AsyncClient, name: str, sent: Any
) -> None:
    body = await refusal(api, "/quotes", {**asked(), name: sent})
    assert body["status"] == 422
    assert body["fields"][name]["value"] == sent


async def test_what_the_market_refuses_repeats_what_was_sent(api: httpx2.AsyncClient) -> None:
    for name, sent in (("markup", "1.50"), ("fixed", "true"), ("amountType", "receive")):
        more = {"fixed": "true"} if name == "amountType" else {}
        body = await refusal(api, "/quotes", {**asked(types="dex"), **more, name: sent})
        assert body["fields"] == {
            name: {"message": "is not supported with types=dex", "value": sent}
        }


async def posted(api: httpx2.AsyncClient, path: str, body: str) -> dict[str, Any]:
    answer = await api.post(path, content=body, headers={"content-type": "application/json"})
    return json.loads(answer.content, parse_float=lambda text: f"number {text}")


@pytest.mark.parametrize(
    ("name", "sent", "told"),
    [
        ("markup", "9.50", "number 9.50"),
        ("markup", "12", 12),
        ("markup", '"1"', "1"),
        ("walletInfo", "true", True),
        ("destinationTag", "12", 12),
        ("addressTo", '["a", 1]', ["a", 1]),
        ("signatures", '{"a": 1}', {"a": 1}),
        ("inLegIncludedSwaps", '"aa"', "aa"),
    ],
)
async def test_a_body_sends_values_of_every_kind(
    api: httpx2.AsyncClient, name: str, sent: str, told: Any
) -> None:
    others = {"quoteId": "a" * 24, "addressTo": EVM}
    body = json.dumps({key: each for key, each in others.items() if key != name})
    refused = await posted(api, "/exchanges", f'{body[:-1]}, "{name}": {sent}}}')
    assert refused["fields"][name]["value"] == told


@pytest.mark.parametrize(
    ("field", "order", "told"),
    [
        ("amount", {"amount": 0.00000015}, "number 0.00000015"),
        ("amount", {"amount": 9e25}, 90000000000000000000000000),
        ("filters.onlySwaps", {"filters": {"onlySwaps": ["aa", "zz"]}}, ["aa", "zz"]),
        ("addressTo", {"addressTo": "nowhere"}, "nowhere"),
    ],
)
async def test_an_order_of_a_group_sends_values_too(
    api: httpx2.AsyncClient, field: str, order: dict[str, Any], told: Any
) -> None:
    row = {"from": BTC.id, "to": ETH.id, "amount": 0.5, "addressTo": EVM, **order}
    answer = await posted(api, "/exchanges/multi", json.dumps({"orders": [row]}))
    assert answer["orders"][0]["error"]["fields"][field]["value"] == told


async def test_a_filter_of_a_group_is_named_by_its_path(api: httpx2.AsyncClient) -> None:
    row = {"from": BTC.id, "to": ETH.id, "amount": 0.5, "addressTo": EVM}
    sent = {"orders": [row], "filters": {"onlySwaps": ["aa", "zz"]}}
    answer = await posted(api, "/exchanges/multi", json.dumps(sent))
    assert answer["fields"]["filters.onlySwaps"]["value"] == ["aa", "zz"]


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("w" * 256, "w" * 256),
        ("w" * 257, "w" * 256 + "…"),
        (["w" * 252], ["w" * 252]),
        (["w" * 120] * 3, ["w" * 120, "w" * 120, "…"]),
        (["w" * 253], ["…"]),
        ({"a": "w" * 248}, {"a": "w" * 248}),
        ({"a": "w" * 249}, '{"a":"' + "w" * 249 + '"…'),
    ],
)
async def test_the_begin_of_a_long_value(api: httpx2.AsyncClient, sent: Any, told: Any) -> None:
    body = json.dumps({"quoteId": sent, "addressTo": EVM})
    assert (await posted(api, "/exchanges", body))["fields"]["quoteId"]["value"] == told
