"""Amounts and tokens of quotes and private sends."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import httpx2
import pytest

from service.quote_calls import asked, quotes, refusal, stored_quote
from service.world import (
    BTC,
    CHAIN_ONLY,
    DISABLED,
    ETH,
    ON_DARK,
    SOL,
    UNKNOWN_TOKEN,
    USDC_SOL,
    XRP,
)
from swapdesk.service.handlers import ServiceParts
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.quotes import PrivateSendQuoteList, QuoteList

# Amounts

BAD_AMOUNTS = [
    "１２",
    "1,5",
    "1e3",
    "NaN",
    "Infinity",
    "-1",
    "+1",
    "0x10",
    "1" * 10_240,
    "0." + "1" * 41,
    "1.",
    ".5",
    "01",
    " 1",
    "1 000",
    "1_000",
    "½",
    "٣",
    "null",
    "",
]


@pytest.mark.parametrize("amount", BAD_AMOUNTS)
@pytest.mark.parametrize("path", ["/quotes", "/quotes/private-send"])
async def test_amounts_that_are_none(api: httpx2.AsyncClient, path: str, amount: str) -> None:
    parameters = asked(amount)
    if path.endswith("send"):
        del parameters["to"]
    body = await refusal(api, path, parameters)
    assert body["fields"].keys() == {"amount"}


@pytest.mark.parametrize("amount", ["0", "0.0"])
async def test_nothing_sent_privately_is_too_low(api: httpx2.AsyncClient, amount: str) -> None:
    parameters = {"amount": amount, "from": BTC.id}
    body = await refusal(api, "/quotes/private-send", parameters, "AMOUNT_TOO_LOW")
    assert body["fields"]["amount"]["value"] == amount


@pytest.mark.parametrize("path", ["/quotes", "/quotes/private-send"])
async def test_decimals_of_the_token(api: httpx2.AsyncClient, path: str) -> None:
    parameters = asked("0.12345678")
    if path.endswith("send"):
        del parameters["to"]
    assert (await api.get(path, params=parameters)).status_code == 200
    answer = await api.get(path, params={**parameters, "amount": "0.1234567800"})
    assert answer.status_code == 200, "trailing zeros change no amount"
    assert '"amountIn":0.12345678,' in answer.text
    body = await refusal(api, path, {**parameters, "amount": "0.123456789"})
    assert body["fields"] == {"amount": {"message": "BTC has 8 decimals", "value": "0.123456789"}}


@pytest.mark.proves("input get_quotes amount")
async def test_amounts_are_answered_exactly(api: httpx2.AsyncClient) -> None:
    amount = "1.000000000000000001"
    answer = await api.get("/quotes", params=asked(amount, ETH.id, BTC.id))
    assert f'"amountIn":{amount},' in answer.text
    for row in decode(QuoteList, answer.content, side="client").quotes:
        assert -int(row.amount_out.as_tuple().exponent) <= BTC.decimals


# Tokens


@pytest.mark.proves("code TOKEN_NOT_FOUND", "code TOKEN_DISABLED")
@pytest.mark.parametrize(
    ("token_id", "code"),
    [
        (UNKNOWN_TOKEN, "TOKEN_NOT_FOUND"),
        (DISABLED.id, "TOKEN_DISABLED"),
        (ON_DARK.id, "TOKEN_DISABLED"),
    ],
)
async def test_tokens_that_cannot_be_swapped(
    api: httpx2.AsyncClient, token_id: str, code: str
) -> None:
    for parameters, path, side in (
        (asked(from_=token_id), "/quotes", "from"),
        (asked(to=token_id), "/quotes", "to"),
        ({"amount": "1", "from": token_id}, "/quotes/private-send", "from"),
        ({"tokenIdFrom": token_id, "tokenIdTo": BTC.id}, "/minMax", "tokenIdFrom"),
        ({"tokenIdFrom": BTC.id, "tokenIdTo": token_id}, "/minMax", "tokenIdTo"),
    ):
        body = await refusal(api, path, parameters, code)
        assert f"'{side}'" in body["message"]
        assert "fields" not in body


@pytest.mark.parametrize("types", [None, "standard", ["private", "standard"], ["private", "dex"]])
async def test_one_token_on_both_sides(api: httpx2.AsyncClient, types: Any) -> None:
    parameters = asked(to=BTC.id.upper())
    if types is not None:
        parameters["types"] = types
    body = await refusal(api, "/quotes", parameters)
    assert body["fields"].keys() == {"to"}


async def test_one_token_on_both_sides_privately(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    rows = await quotes(api, asked(to=BTC.id, types="private"))
    assert len(rows) == 6
    for row in rows:
        stored = await stored_quote(service, row.quote_id)
        assert stored.purpose == "private_send"


async def test_private_send_needs_the_token_to_support_it(api: httpx2.AsyncClient) -> None:
    for path, parameters in (
        ("/quotes/private-send", {"amount": "100", "from": USDC_SOL.id}),
        ("/quotes", asked("100", USDC_SOL.id, USDC_SOL.id, types="private")),
    ):
        body = await refusal(api, path, parameters)
        assert body["fields"].keys() == {"from"}


@pytest.mark.proves("input get_quotes from", "input get_quotes to")
async def test_a_quote_is_for_the_tokens_that_were_named(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    for from_, to in ((BTC, ETH), (BTC, SOL), (SOL, BTC)):
        parameters = {"amount": "5", "from": from_.id, "to": to.id}
        for row in await quotes(api, parameters):
            if row.quote_id is None:
                continue
            stored = await stored_quote(service, row.quote_id)
            assert (stored.token_in_id, stored.token_out_id) == (from_.id, to.id)


async def test_tokens_without_centralized_routes(api: httpx2.AsyncClient) -> None:
    assert await quotes(api, asked("100", ETH.id, CHAIN_ONLY.id)) == []
    answer = await api.get("/minMax", params={"tokenIdFrom": ETH.id, "tokenIdTo": CHAIN_ONLY.id})
    assert answer.json() == {"cex": None, "dex": None, "private": None}


async def test_the_intermediary_is_never_an_end(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    for row in await quotes(api, asked("1000", XRP.id, ETH.id, types="private")):
        stored = await stored_quote(service, row.quote_id)
        assert stored.middle_token_id == SOL.id


# Private send


@pytest.mark.proves("input get_private_send_quotes amount", "input get_private_send_quotes from")
async def test_private_send(api: httpx2.AsyncClient, service: ServiceParts) -> None:
    answer = await api.get(
        "/quotes/private-send",
        params={"amount": "0.5", "from": BTC.id, "refundAddress": "bc1qrefund"},
    )
    found = decode(PrivateSendQuoteList, answer.content, side="client")
    assert found.total == len(found.quotes) == 6
    outs = [row.amount_out for row in found.quotes]
    assert outs == sorted(outs, reverse=True)
    for row in found.quotes:
        assert row.type == "private"
        assert row.amount_in == Decimal("0.5")
        assert row.amount_out < row.amount_in
        assert row.min <= row.amount_in <= row.max
        stored = await stored_quote(service, row.quote_id)
        assert (stored.purpose, stored.route) == ("private_send", "private")
        assert stored.token_in_id == stored.token_out_id == BTC.id


@pytest.mark.proves("input get_private_send_quotes refundAddress")
async def test_a_refund_address_changes_no_private_send(api: httpx2.AsyncClient) -> None:
    async def rows(**more: str) -> list[Any]:
        parameters = {"amount": "0.5", "from": BTC.id, **more}
        found = (await api.get("/quotes/private-send", params=parameters)).json()["quotes"]
        return [{name: row[name] for name in row.keys() - {"quoteId"}} for row in found]

    plainly = await rows()
    assert len(plainly) == 6
    assert await rows(refundAddress="a" * 200) == plainly
