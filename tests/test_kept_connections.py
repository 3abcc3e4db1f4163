"""The end that asks lets a kept connection go before any server does."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
import uvicorn

from http_clients import CLIENTS
from swapdesk.clock import SystemClock
from swapdesk.sandbox.http_server import build_server


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers nobody."""


def _kept_seconds(client: httpx2.AsyncClient) -> float:
    """For how long the pool of a client takes a connection again."""
    transport = client._transport
    assert isinstance(transport, httpx2.AsyncHTTPTransport)
    seconds = transport._pool._keepalive_expiry
    assert seconds is not None
    return seconds


@pytest.mark.parametrize("asks", CLIENTS.values(), ids=list(CLIENTS))
def test_whoever_asks_lets_go_before_the_server(asks: Any) -> None:
    ours = build_server(_nothing, SystemClock()).config.timeout_keep_alive
    usual = uvicorn.Config(_nothing).timeout_keep_alive
    assert _kept_seconds(asks()) < usual < ours
