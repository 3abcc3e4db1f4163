"""The ports of a sandbox: requests that cannot be read, handshakes that are none, what other sites
send, and which key gets which answer, as the developer's guide has it.
"""

from __future__ import annotations

import json
import re
import socket
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from corpus.requests import FIELDS_LIMIT, UNREADABLE
from patience import PATIENCE
from plain_http import PLAIN
from rows import each_row
from sandbox.running import Running, create_order
from swapdesk.sandbox.http_server import misdirected
from swapdesk.sandbox.world import find_token

HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@each_row(
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
    answer = httpx2.get(f"{running.ready.url}/ws", headers=HANDSHAKE, trust_env=False, verify=PLAIN)
    assert (answer.status_code, answer.content) == (402, b"{}")
    assert "payment-required" in answer.headers


@each_row(
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
@each_row("upgrade", [{}, HANDSHAKE])
def test_other_sites_get_nothing(
    running: Running, name: str, value: str, status: int, upgrade: dict[str, str]
) -> None:
    with running.api() as api:
        answer = api.get("/ws" if upgrade else "/chains", headers={**upgrade, name: value})
    assert answer.status_code == status
    assert answer.json()["requestId"] == answer.headers["x-request-id"]
    assert answer.headers["date"]


@each_row("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "127.9.9.9", "[::1]"])
def test_this_machine_by_all_its_names(running: Running, host: str) -> None:
    with running.api() as api:
        origin = f"http://{host}"
        assert api.get("/chains", headers={"Host": host, "Origin": origin}).status_code == 200


@each_row(
    ("served", "host", "passes"),
    [
        ("192.0.2.1", "192.0.2.1:8080", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("0.0.0.0", "192.0.2.2", True),
        ("0.0.0.0", "rebound.example", False),
    ],
)
def test_served_on_other_addresses(served: str, host: str, passes: bool) -> None:
    assert (misdirected({"host": host}, frozenset({served})) is None) is passes


def ports(running: Running) -> Iterator[tuple[str, int]]:
    """Of the service, the control and the node."""
    for url in (running.ready.url, running.ready.control, running.ready.chains[0]["rpc"]):
        parts = urlsplit(url)
        yield parts.hostname, parts.port


def answered(place: tuple[str, int], request: bytes) -> tuple[int, dict[str, str], bytes]:
    """What comes back until the connection ends: the answer, and no other one."""
    with closing(socket.create_connection(place, PATIENCE)) as connection:
        connection.settimeout(PATIENCE)
        sent = b""
        try:
            connection.sendall(request)
            while chunk := connection.recv(65536):
                sent += chunk
        except ConnectionError:
            # What it refused it does not read to the end.
            pass
    head, _, body = sent.partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    headers = dict(field.lower().split(": ", 1) for field in fields)
    return int(line.split()[1]), headers, body


@each_row("name", UNREADABLE)
def test_what_cannot_be_read_is_refused_with_the_error_body_on_every_port(
    running: Running, name: str
) -> None:
    request, status = UNREADABLE[name]
    for place in ports(running):
        told, headers, body = answered(place, request)
        assert (told, headers["connection"]) == (status, "close")
        assert headers["content-type"] == "application/json"
        assert headers["date"]
        found = json.loads(body)
        assert found.keys() == {"message", "code", "requestId"}
        assert found["code"] == "BAD_REQUEST"
        assert uuid.UUID(found["requestId"]) == uuid.UUID(headers["x-request-id"])


def test_fields_of_just_the_limit_are_read(running: Running) -> None:
    host = b"Host: 127.0.0.1\r\n"
    last = b"Connection: close\r\n"
    padding = FIELDS_LIMIT - len(host) - len(last) - len(b"x: \r\n")
    request = b"GET /v2/health HTTP/1.1\r\n" + host + last + b"x: " + b"v" * padding
    assert answered(next(ports(running)), request + b"\r\n\r\n")[0] == 200
    assert answered(next(ports(running)), request + b"v\r\n\r\n")[0] == 431


@each_row("more", [{"Connection": "Upgrade, @@"}, {"x": "v" * 9_000}])
def test_a_handshake_that_the_library_would_refuse_has_the_error_body(
    running: Running, more: dict[str, str]
) -> None:
    lines = {"Host": "127.0.0.1", **HANDSHAKE, "Connection": "Upgrade, close", **more}
    fields = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    request = f"GET /v2/ws HTTP/1.1\r\n{fields}\r\n".encode()
    status, headers, body = answered(next(ports(running)), request)
    assert (status, json.loads(body)["code"]) == (400, "BAD_REQUEST")
    assert json.loads(body)["requestId"] == headers["x-request-id"]


GUIDE = Path(__file__).parents[2] / "docs/guide/developer.md"
RECEIVER = "0x" + "1a" * 20
BTC, ETH = find_token("bitcoin", "BTC").token_id, find_token("ethereum", "ETH").token_id
AT_MOST = 12
"""Five calls a minute are let through, and a minute may end in between."""


def _rows() -> list[list[str]]:
    """Who asks, for what, and the status, with its code where it is refused."""
    text = GUIDE.read_text(encoding="utf-8").partition("| Who asks | Asks for | Gets |\n")[2]
    lines = text.partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


ROWS = _rows()


@pytest.fixture(scope="module")
def order(running: Running) -> str:
    """Of alice, the desk's own."""
    with running.api() as api:
        return str(create_order(api, BTC, ETH, "0.5", RECEIVER)["serviceId"])


@each_row(("who", "call", "expected"), ROWS)
def test_a_key_gets_what_the_guide_says(
    running: Running, order: str, who: str, call: str, expected: str
) -> None:
    method, path = re.findall(r"`(\w+) ([^`]+)`", call)[0]
    for word, value in (("ORDER", order), ("FROM", BTC), ("TO", ETH)):
        path = path.replace(word, value)
    body = {"quoteId": "0" * 24, "addressTo": RECEIVER} if method == "POST" else None
    with httpx2.Client(headers=_credentials(running, who), trust_env=False, verify=PLAIN) as api:
        for _ in range(AT_MOST if "again" in call else 1):
            answer = api.request(method, running.ready.url + path, json=body)
            if answer.is_error:
                break
    told = answer.json().get("code") if answer.is_error else None
    code = "" if told is None else f" `{told}`"
    assert f"{answer.status_code}{code}" == expected, answer.text


def _credentials(running: Running, who: str) -> dict[str, str]:
    if who == "nobody":
        return {}
    name = re.findall(r"`(\w+)`", who)[0]
    keys = [key for key in running.ready.partners if key["name"] == name]
    if "alone" in who:
        return {"partner-id": keys[0]["partnerId"]}
    scope = "read" if "`read`" in who else "full"
    key = [key for key in keys if key["scope"] == scope]["second" in who]
    secret = "x" if "wrong" in who else key["apiSecret"]
    return {"Authorization": f"{key['apiKey']}:{secret}"}


def test_every_code_of_access_is_in_the_table() -> None:
    assert {expected for *_, expected in ROWS} == {
        "200",
        "401 `INVALID_API_CREDENTIALS`",
        "402",
        "401 `PARTNER_ID_NOT_SUPPORTED`",
        "403 `ACCESS_DENIED`",
        "403 `FIXED_RATE_NOT_ALLOWED`",
        "404 `NOT_FOUND`",
        "429 `RATE_LIMIT_EXCEEDED`",
    }
