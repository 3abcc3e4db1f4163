"""The end that asks lets a kept connection go before any server does."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import uvicorn

from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.client.credentials import Credentials
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.client.transport import ApiTransport
from swapdesk.clock import SystemClock
from swapdesk.sandbox.http_server import build_server
from swapdesk.secret import Secret

URL = "http://127.0.0.1:9"
CREDENTIALS = Credentials.of_key("key", "secret")


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers nobody."""


def _kept_seconds(client: httpx.AsyncClient) -> float:
    """For how long the pool of a client takes a connection again."""
    transport = client._transport
    assert isinstance(transport, httpx.AsyncHTTPTransport)
    seconds = transport._pool._keepalive_expiry
    assert seconds is not None
    return seconds


@pytest.mark.parametrize(
    "asks",
    [
        lambda: ApiTransport(f"{URL}/v2", CREDENTIALS, clock=SystemClock())._http,
        lambda: SandboxControl(f"{URL}/sandbox", Secret("token"))._client,
        lambda: LedgerClient(URL, "token")._http,
        lambda: SolanaClient(URL)._http,
    ],
    ids=["service", "control", "ledger", "solana"],
)
def test_whoever_asks_lets_go_before_the_server(asks: Any) -> None:
    ours = build_server(_nothing).config.timeout_keep_alive
    usual = uvicorn.Config(_nothing).timeout_keep_alive
    assert _kept_seconds(asks()) < usual < ours
