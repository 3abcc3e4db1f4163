"""The port of the service: handshakes that are none, and requests other sites send."""

from __future__ import annotations

import httpx
import pytest

from plain_http import PLAIN
from sandbox.running import Running
from swapdesk.sandbox.loopback import misled

HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.fixture(scope="module")
def running(everyones: Running) -> Running:
    return everyones


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Sec-WebSocket-Key", None),
        ("Sec-WebSocket-Key", "c2hvcnQ="),
        ("Sec-WebSocket-Key", "no base64"),
        ("Sec-WebSocket-Version", None),
        ("Sec-WebSocket-Version", "8"),
        ("Connection", "keep-alive"),
    ],
)
def test_an_incomplete_handshake_is_refused_as_every_request_is(
    running: Running, name: str, value: str | None
) -> None:
    headers = {**HANDSHAKE, name: value}
    with running.api() as api:
        sent = {name: value for name, value in headers.items() if value is not None}
        answer = api.get("/ws", headers=sent)
    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_REQUEST")
    assert answer.json()["requestId"] == answer.headers["x-request-id"]


def test_a_complete_handshake_without_credentials_is_no_upgrade(running: Running) -> None:
    answer = httpx.get(f"{running.ready.url}/ws", headers=HANDSHAKE, trust_env=False, verify=PLAIN)
    assert (answer.status_code, answer.json()["code"]) == (401, "INVALID_API_CREDENTIALS")


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("Host", "rebound.example", 421),
        ("Host", "rebound.example:80", 421),
        ("Host", "127.0.0.1.rebound.example", 421),
        ("Host", "192.0.2.1", 421),
        ("Host", "", 421),
        ("Host", "[::1", 421),
        ("Origin", "https://rebound.example", 403),
        ("Origin", "null", 403),
    ],
)
@pytest.mark.parametrize("upgrade", [{}, HANDSHAKE])
def test_other_sites_get_nothing(
    running: Running, name: str, value: str, status: int, upgrade: dict[str, str]
) -> None:
    with running.api() as api:
        answer = api.get("/ws" if upgrade else "/chains", headers={**upgrade, name: value})
    assert answer.status_code == status
    assert answer.json()["requestId"] == answer.headers["x-request-id"]
    assert answer.headers["date"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.9.9.9", "[::1]"])
def test_this_machine_by_all_its_names(running: Running, host: str) -> None:
    with running.api() as api:
        origin = f"http://{host}"
        assert api.get("/chains", headers={"Host": host, "Origin": origin}).status_code == 200


@pytest.mark.parametrize(
    ("served", "host", "passes"),
    [
        ("192.0.2.1", "192.0.2.1:8080", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("0.0.0.0", "192.0.2.2", True),
        ("0.0.0.0", "rebound.example", False),
    ],
)
def test_served_on_other_addresses(served: str, host: str, passes: bool) -> None:
    assert (misled({"host": host}, frozenset({served})) is None) is passes
