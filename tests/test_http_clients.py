"""Clients of HTTP read no authorities for plain HTTP, and let a kept connection go before any
server does."""

from __future__ import annotations

import ssl
from typing import Any

import httpx2
import pytest
import uvicorn

from http_clients import CLIENTS, URL
from swapdesk.certificates import certificates
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.clock import SystemClock
from swapdesk.sandbox.http_server import build_server


@pytest.fixture(params=CLIENTS.values(), ids=list(CLIENTS))
def asking(request: pytest.FixtureRequest) -> httpx2.AsyncClient:
    """Each client of this machine."""
    client: httpx2.AsyncClient = request.param()
    return client


def pool_of(client: httpx2.AsyncClient) -> Any:
    transport: Any = client._transport
    return transport._pool


def test_plain_http_reads_no_authorities_and_trusts_none() -> None:
    context = certificates(httpx2.URL(f"{URL}/v2"))
    assert isinstance(context, ssl.SSLContext)
    assert context.get_ca_certs() == []
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert certificates(httpx2.URL("https://api.example/v2")) is True


def test_clients_of_this_machine_begin_without_authorities(asking: httpx2.AsyncClient) -> None:
    assert pool_of(asking)._ssl_context.get_ca_certs() == []


def test_a_node_behind_tls_is_held_against_the_authorities() -> None:
    context = pool_of(SolanaClient("https://node.example")._http)._ssl_context
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.get_ca_certs()


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers nobody."""


def test_whoever_asks_lets_go_before_the_server(asking: httpx2.AsyncClient) -> None:
    ours = build_server(nothing, SystemClock()).config.timeout_keep_alive
    usual = uvicorn.Config(nothing).timeout_keep_alive
    assert pool_of(asking)._keepalive_expiry < usual < ours
