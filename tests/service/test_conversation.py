"""A conversation is written without secrets and told again as it was."""

from __future__ import annotations

import base64
import json
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.types import ASGIApp
from websockets.sync.client import connect

from forked_processes import in_fresh_interpreters
from harness import cli, environment
from patience import PATIENCE
from plain_http import PLAIN
from sandbox.call_payer import Payer
from sandbox.running import until
from service.orders_fixtures import venues_at
from service.test_orders_api import created
from service.venue import PlainVenue
from service.world import AS_FIRST, AS_SECOND
from swapdesk.sandbox.conversation import (
    REDACTED,
    ConversationRefused,
    Recorder,
    Replay,
    read_conversation,
)
from swapdesk.sandbox.partner_keys import load_key, webhook_secret
from swapdesk.sandbox.venue_rows import VENUE_ROWS
from swapdesk.service.app import build_service
from swapdesk.service.handlers import ServiceParts

BASE = "http://service/v2"
HEAD = b'{"conversation":1,"service":"swapdesk"}\n'


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


def client(app: ASGIApp, headers: dict[str, str]) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app), base_url=BASE, headers=headers
    )


@pytest.fixture
async def recorded(service: ServiceParts, tmp_path: Path) -> tuple[Path, list[Any]]:
    """A file, and what two callers were told."""
    file = tmp_path / "talk.jsonl"
    recorder = Recorder(build_service(service), file, "swapdesk")
    told: list[Any] = []
    async with client(recorder, AS_FIRST) as first, client(recorder, AS_SECOND) as second:
        order = await created(first)
        for who in (first, second, first):
            answer = await who.get(f"/orders/{order['serviceId']}")
            told.append((answer.status_code, answer.text))
        answer = await first.get("/tokens", params={"term": "first-secret", "apiKey": "a-key-here"})
        told.append((answer.status_code, answer.text))
        told.append(order["serviceId"])
    return file, told


async def test_no_credential_is_in_the_file(recorded: tuple[Path, list[Any]]) -> None:
    file, _ = recorded
    text = file.read_text()
    for secret in (*AS_FIRST.values(), *AS_SECOND.values(), "first-secret", "a-key-here"):
        assert secret not in text
    assert REDACTED in text
    assert file.stat().st_mode & 0o777 == 0o600


async def test_callers_are_told_again_what_each_of_them_was_told(
    recorded: tuple[Path, list[Any]],
) -> None:
    file, told = recorded
    order = told.pop()
    replay = Replay(read_conversation(file))
    # Other credentials: the first to ask is the first of the recording.
    others = {"Authorization": "x:y"}, {"Authorization": "p:q"}
    async with client(replay, others[0]) as first, client(replay, others[1]) as second:
        missed = await first.get("/orders")
        assert (missed.status_code, missed.json()["code"]) == (404, "NOT_FOUND")
        assert str(uuid.UUID(missed.json()["requestId"])) == missed.headers["x-request-id"]
        again = []
        for who in (first, second, first, first):
            answer = await who.get(f"/orders/{order}")
            again.append((answer.status_code, answer.text))
        assert again[:3] == told[:3]
        assert again[3] == told[2], "the last answer stays"
        assert again[0] != again[1]


async def test_a_body_is_known_however_it_is_laid_out(
    service: ServiceParts, tmp_path: Path
) -> None:
    file = tmp_path / "talk.jsonl"
    body = {"quoteId": "a" * 24, "addressTo": "x", "amount": 1.10}
    async with client(Recorder(build_service(service), file, "swapdesk"), AS_FIRST) as api:
        before = await api.post("/exchanges", json=body)
    async with client(Replay(read_conversation(file)), AS_FIRST) as api:
        turned = json.dumps(dict(reversed(body.items())), indent=2)
        kind = {"content-type": "application/json"}
        after = await api.post("/exchanges", content=turned, headers=kind)
        other = await api.post("/exchanges", json={**body, "amount": 1.2})
    assert (after.status_code, after.text) == (before.status_code, before.text)
    assert after.headers["x-request-id"] == before.headers["x-request-id"]
    assert other.status_code == 404


async def test_parameters_are_known_in_any_order_but_that_of_one_name(
    service: ServiceParts, tmp_path: Path
) -> None:
    file = tmp_path / "talk.jsonl"
    one, two, other = "term=a%20b&kind=x&kind=y", "kind=x&term=a+b&kind=y", "term=a+b&kind=y&kind=x"
    async with client(Recorder(build_service(service), file, "swapdesk"), AS_FIRST) as api:
        before = await api.get(f"/tokens?{one}")
    async with client(Replay(read_conversation(file)), AS_FIRST) as api:
        after = await api.get(f"/tokens?{two}")
        turned = await api.get(f"/tokens?{other}")
    assert (after.status_code, after.text) == (before.status_code, before.text)
    assert turned.status_code == 404


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no recorded conversation"),
        (b"\xff\xfe", "is no recorded conversation"),
        (b'{"conversation":2,"service":"x"}\n', "version 2 is not known"),
        (HEAD + b"[]\n", "talk.jsonl:2: "),
        (HEAD + b'{"type":"nothing"}\n', "talk.jsonl:2: "),
        (HEAD + b'{"type":"request","number":"x"}\n', "talk.jsonl:2: "),
        (HEAD + b"[" * 100_000 + b"\n", "talk.jsonl:2: "),
        (HEAD + b"\n" * 100_001, "more than 100000 entries"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_bytes(content)
    with pytest.raises(ConversationRefused, match=said):
        read_conversation(file)


def test_a_last_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_bytes(HEAD + b'{"type":"request","num')
    assert read_conversation(file) == []


@contextmanager
def served(home: Path, *words: str) -> Iterator[dict[str, Any]]:
    with in_fresh_interpreters():
        process = subprocess.Popen(
            [sys.executable, "-m", "swapdesk", "serve", *words],
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
    assert process.stdout is not None
    try:
        ready: dict[str, Any] = json.loads(process.stdout.readline())
        yield ready
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0
        process.stdout.close()


def talk(url: str, key: str, pay: Any) -> list[Any]:
    """An order that is created, watched on the stream and paid, all by one client."""
    heads = {"Authorization": key}
    told: list[Any] = []
    socket = connect(
        url.replace("http", "ws", 1) + "/ws",
        additional_headers=heads,
        compression=None,
        proxy=None,
    )
    with httpx2.Client(base_url=url, headers=heads, trust_env=False, verify=PLAIN) as api, socket:
        asked = {"from": ETH, "to": SOL, "amount": "0.5", "types": "standard"}
        quotes = api.get("/quotes", params=asked).json()["quotes"]
        best = next(row for row in quotes if "error" not in row)
        told.append(json.loads(socket.recv(PATIENCE)))
        socket.send('{"type":"subscribe"}')
        told.append(json.loads(socket.recv(PATIENCE)))
        order = api.post(
            "/exchanges", json={"quoteId": best["quoteId"], "addressTo": SOLANA}
        ).json()
        pay(order["serviceId"])
        while True:
            frame = json.loads(socket.recv(PATIENCE))
            told.append(frame)
            if frame["data"]["status"] == 4:
                return told


ETH, SOL = "6689b73ec90e45f3b3e51566", "6689b73ec90e45f3b3e51577"
SOLANA = "7YttLkHDoNj9wyDur5pM1ejNaAvT9X4eqaYcHQqtj2G5"


def unpaid(url: str) -> list[str]:
    """A call without credentials that is paid with dollars nobody has: what of the authorization
    is nobody else's business, in each form that a recording could hold it in."""
    payer = Payer(None, b"u" * 32, 0, url)
    with payer.http as http:
        header = payer.payment(http.get("/orders"))
        assert http.get("/orders", headers={"payment-signature": header}).status_code == 402
    signature = json.loads(base64.b64decode(header))["payload"]["signature"]
    return [header, signature, signature.removeprefix("0x"), payer.account.address]


def taken_events(data: Path) -> int:
    with closing(sqlite3.connect(data / "service.db")) as db:
        return int(db.execute("SELECT count(*) FROM webhooks").fetchone()[0])


def test_a_session_is_told_again_without_a_sandbox(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    with served(tmp_path, "--sandbox", "--speed", "600", "--record", str(file)) as ready:
        keys = ready["partners"][0]

        def pay(order: str) -> None:
            answer = httpx2.post(
                ready["control"] + "/deposits",
                json={"serviceId": order},
                headers={"sandbox-token": ready["controlToken"]},
                trust_env=False,
                timeout=PATIENCE,
                verify=PLAIN,
            )
            assert answer.status_code == 200, answer.text

        before = talk(ready["url"], f"{keys['apiKey']}:{keys['apiSecret']}", pay)
        hidden = unpaid(ready["url"])
        # From the node, which is a process of its own.
        until(lambda: taken_events(tmp_path / "sandbox"), "an event of the order")
    key = load_key(tmp_path / "sandbox")
    sources = (*(row.code for row in VENUE_ROWS), "bundler")
    hidden += [part for one in ready["partners"] for part in (one["apiKey"], one["apiSecret"])]
    hidden += [webhook_secret(key, source) for source in sources]
    hidden += [ready["controlToken"], "whsec_", "/webhooks/", "webhook-", "userOpHash", "evt_"]
    text = file.read_text()
    assert [one for one in hidden if one.lower() in text.lower()] == []
    assert text.count('"target":"/v2/orders"') == 2, "the calls without credentials are there"
    with served(tmp_path, "--replay", str(file)) as ready:
        assert ready["replays"] == str(file)
        assert talk(ready["url"], "any:key", lambda order: None) == before


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_bytes(b"nothing")
    for words, code in (
        (("--replay", str(file)), "BAD_CONVERSATION"),
        (("--replay", str(file), "--sandbox"), "USAGE"),
        (("--sandbox", "--record", str(file)), "FILE_EXISTS"),
    ):
        refused = cli("serve", *words, "--json", home=tmp_path)
        assert (refused.code, refused.error["code"]) == (2, code), refused


def test_a_recording_is_a_new_file_and_ends_with_its_process(
    service: ServiceParts, tmp_path: Path
) -> None:
    Recorder(build_service(service), tmp_path / "talk.jsonl", "swapdesk")
    with pytest.raises(FileExistsError):
        Recorder(build_service(service), tmp_path / "talk.jsonl", "swapdesk")
    assert (tmp_path / "talk.jsonl").read_bytes() == HEAD
