"""Calls that are paid for: what a 402 asks for is read strictly, a payment repeats it, what was
signed is told whatever was answered, and nothing is paid twice."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from client.rude_server import Behaviour, RudeServer, answer, raw, reset, silence
from rows import each_row
from swapdesk.cli.command_error import of_client_error
from swapdesk.client import transport as transport_module
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.client.errors import ClientError
from swapdesk.client.exchange_log import ExchangeLog
from swapdesk.client.payments import (
    MAX_HEADER,
    MAX_SECONDS,
    Authorization,
    CallAuthorization,
    RequiredPayment,
    payment_header,
    read_required,
)
from swapdesk.clock import ManualClock
from swapdesk.flows.request_lines import call_lines
from swapdesk.flows.tracking.announcements import failure_of_error
from swapdesk.wire.exchanges import PrivateSendRequest
from swapdesk.wire.operation import Operation
from swapdesk.wire.operations import BY_NAME

PAYEE, ENDS = "0x" + "1A" * 20, datetime(2026, 11, 27, 14, 3, 10, tzinfo=UTC)
SIGNED = CallAuthorization(
    amount="0.0001",
    symbol="USDC",
    chain="base",
    chain_id=8453,
    asset="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    payer="0x" + "2b" * 20,
    payee=PAYEE,
    nonce="0x" + "3c" * 32,
    ends=ENDS,
)
HEADER = base64.b64encode(b"the signature of the payment").decode()
ASKS = {"payment-required": base64.b64encode(json.dumps({"accepts": []}).encode()).decode()}
UNPAID = answer(402, headers=ASKS)


class Payer:
    """Pays with what is there; ``shown`` is what the chain shows later."""

    def __init__(self, shown: bool | None) -> None:
        self.shown = shown
        self.paid = 0

    async def pay(
        self, required: RequiredPayment, operation: Operation
    ) -> tuple[str, CallAuthorization]:
        self.paid += 1
        return HEADER, SIGNED

    async def look(self, payment: CallAuthorization) -> CallAuthorization:
        return replace(payment, taken=self.shown)


WAYS: dict[str, Behaviour] = {
    "lost": reset,
    "cut": raw(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"),
    "late": silence,
    "refused": answer(422, {"code": "VALIDATION_ERROR", "message": "no"}),
    "failed": answer(503),
    "not taken": UNPAID,
    "redirected": answer(302, headers={"location": "/elsewhere"}),
    "encoded": answer(200, headers={"content-encoding": "gzip"}),
    "no JSON": answer(200, b"<html>"),
    "another shape": answer(200, {"orders": 7}),
}
CHAIN = {
    True: "the chain shows that it was taken",
    False: "the chain does not show that it was taken so far",
    None: "whether it was taken is not known",
}


async def failure(way: str, shown: bool | None, call: Any) -> tuple[ClientError, ExchangeLog]:
    log, payer = ExchangeLog(), Payer(shown)
    async with (
        RudeServer(UNPAID, WAYS[way]) as server,
        PartnerApi(
            server.url,
            Credentials(pays=True),
            clock=ManualClock(),
            exchange_log=log,
            payer=payer,
        ) as api,
    ):
        with pytest.raises(ClientError) as failed:
            await call(api)
    assert (payer.paid, len(server.requests)) == (1, 2), "paid once, and asked no third time"
    return failed.value, log


@pytest.mark.parametrize("shown", CHAIN)
@pytest.mark.parametrize("way", WAYS)
async def test_what_was_signed_is_told_whatever_was_answered(
    way: str, shown: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "late":
        monkeypatch.setattr(transport_module, "PAID_SECONDS", 0.2)
    error, log = await failure(way, shown, lambda api: _orders(api, late=way == "late"))
    assert error.payment == replace(SIGNED, taken=shown)
    for said in (of_client_error(error), failure_of_error(error)):
        assert "nothing was sent" not in said.money
        assert said.money.startswith("in your wallet; 0.0001 USDC was signed for the call")
        assert f"{PAYEE} can take until 2026-11-27T14:03:10" in said.money
        assert said.money.endswith(CHAIN[shown])
        assert "try again" not in said.next
    told = "\n".join("\n".join(call_lines(one)) for one in log)
    assert f"0.0001 USDC to {PAYEE} until 2026-11-27T14:03:10" in told
    assert HEADER not in told


async def _orders(api: PartnerApi, *, late: bool) -> object:
    operation = BY_NAME["list_orders"]
    if late:
        return await api.send(replace(operation, deadline=0.2))
    return await api.list_orders()


@each_row("way", ["lost", "failed", "another shape"])
async def test_a_create_that_is_unknown_tells_its_payment_too(way: str) -> None:
    body = PrivateSendRequest(quote_id="q" * 24, address_to="x")
    error, _ = await failure(way, None, lambda api: api.create_private_send(body))
    said = of_client_error(error)
    assert (error.definite, said.code) == (False, "OUTCOME_UNKNOWN")
    assert "no deposit was paid; 0.0001 USDC was signed for the call" in said.money
    assert said.next.startswith("the desk: it looks for the order")


async def test_what_never_left_was_not_paid() -> None:
    """The signature is still here."""
    async with RudeServer(UNPAID) as server:
        url = server.url

        class Leaving(Payer):
            async def pay(
                self, required: RequiredPayment, operation: Operation
            ) -> tuple[str, CallAuthorization]:
                await server.__aexit__()
                return await super().pay(required, operation)

        payer = Leaving(None)
        async with PartnerApi(url, Credentials(pays=True), clock=ManualClock(), payer=payer) as api:
            with pytest.raises(ClientError) as failed:
                await api.list_orders()
    assert failed.value.payment is None
    assert of_client_error(failed.value).money == "in your wallet; nothing was sent"


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


@each_row(
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


@each_row(
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
