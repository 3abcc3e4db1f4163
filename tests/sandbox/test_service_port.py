"""The port of the service: handshakes that are none."""

from __future__ import annotations

import httpx
import pytest

from sandbox.running import Running

HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


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
    answer = httpx.get(f"{running.ready.url}/ws", headers=HANDSHAKE, trust_env=False)
    assert (answer.status_code, answer.json()["code"]) == (401, "INVALID_API_CREDENTIALS")
