"""The stream of a running sandbox, read for orders of the test's own.

Modules share a sandbox, so that what others created or paid is told here as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from websockets.sync.client import ClientConnection, connect

from patience import PATIENCE
from sandbox.running import Running, create_order


@contextmanager
def stream(running: Running) -> Iterator[ClientConnection]:
    """The first partner's, subscribed to all of its orders."""
    keys = running.ready.partners[0]
    with connect(
        running.ready.url.replace("http", "ws", 1) + "/ws",
        additional_headers={"Authorization": f"{keys['apiKey']}:{keys['apiSecret']}"},
        compression=None,
        proxy=None,
    ) as socket:
        assert "welcome" in str(socket.recv(PATIENCE))
        socket.send('{"type": "subscribe"}')
        assert "subscribed" in str(socket.recv(PATIENCE))
        yield socket


def told_of(socket: ClientConnection, ids: set[str], times: int) -> list[dict[str, Any]]:
    """So many updates of these orders; other orders of the same sandbox change as well."""
    told: list[dict[str, Any]] = []
    while len(told) < times:
        frame = json.loads(socket.recv(PATIENCE))
        if frame["type"] == "order_update" and frame["data"]["serviceId"] in ids:
            told.append(frame["data"])
    return told


def watched(socket: ClientConnection, api: httpx2.Client, *order: str) -> dict[str, Any]:
    """A new order whose creation has been told: what comes now is of what happens to it next."""
    created = create_order(api, *order)
    service_id = str(created["serviceId"])
    while told_of(socket, {service_id}, 1)[0]["status"] != created["status"]:
        pass
    return created


def until_broken(socket: ClientConnection, *, without: str = "") -> None:
    """Read until the connection breaks, with ConnectionClosed; no frame may hold the text."""
    while True:
        frame = str(socket.recv(PATIENCE))
        assert not without or without not in frame
