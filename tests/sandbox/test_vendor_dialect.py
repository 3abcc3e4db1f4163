"""A program that knows only the names of the public service, against a service that speaks them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.sync.client import connect

from furnished_home import furnish
from patience import PATIENCE
from sandbox.running import Running, ended
from service.valid import HeldAnswers
from swapdesk.chain.addresses.kinds import derive_address

ETH = "6689b73ec90e45f3b3e51566"
SOL = "6689b73ec90e45f3b3e51577"
COMPLIANCE = {
    "x-user-ip": "203.0.113.7",
    "x-user-agent": "Mozilla/5.0",
    "x-user-timezone": "Europe/Vienna",
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    home: Path = tmp_path_factory.mktemp("vendor")
    furnish(home, wallet=False)
    with Running(home / "sandbox", seed=None, dialect="vendor") as sandbox:
        yield sandbox


def only_theirs(answer: httpx2.Response) -> None:
    answer.read()
    assert "serviceId" not in answer.text


@pytest.fixture(scope="module")
def api(running: Running) -> Iterator[httpx2.Client]:
    """Every answer is also what the service's own document says."""
    with running.api() as client:
        client.headers.update(COMPLIANCE)
        held = HeldAnswers(client.get("/openapi.json").json())
        client.event_hooks = {"response": [only_theirs, held]}
        yield client


def ask(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text)


def test_quotes_exchange_order_and_stream(api: httpx2.Client, running: Running) -> None:
    known = ask(api.get("/tokens", params={"symbol": "ETH", "chain": "ethereum", "search": "x"}))
    assert [token["id"] for token in known["tokens"]] == [ETH]
    wanted = {"from": ETH, "to": SOL, "amount": "0.5", "types": "standard"}
    rows = ask(api.get("/quotes", params=wanted))["quotes"]
    best = next(row for row in rows if "error" not in row)
    made = ask(
        api.post(
            "/exchanges",
            json={
                "quoteId": best["quoteId"],
                "addressTo": derive_address("sol", b"7" * 32),
                "signatures": [],
            },
        )
    )
    order = made["houdiniId"]
    listed = ask(api.get("/orders", params={"dateFrom": "2020-01-01"}))["orders"]
    assert order in [row["houdiniId"] for row in listed]
    keys = running.ready.partners[0]
    with connect(
        running.ready.url.replace("http", "ws", 1) + "/ws",
        additional_headers={"Authorization": f"{keys['apiKey']}:{keys['apiSecret']}"},
        compression=None,
        proxy=None,
    ) as socket:
        assert "welcome" in str(socket.recv(PATIENCE))
        socket.send(json.dumps({"type": "subscribe", "houdiniIds": [order, "nobodys"]}))
        refused, taken = (json.loads(socket.recv(PATIENCE)) for _ in range(2))
        assert (refused["code"], refused["houdiniIds"]) == ("ORDER_NOT_FOUND", ["nobodys"])
        assert taken == {"type": "subscribed", "houdiniIds": [order]}
        with running.control() as control:
            ask(control.post("/deposits", json={"serviceId": order}))
        update = json.loads(socket.recv(PATIENCE))
    assert update["type"] == "order_update"
    assert update["data"]["houdiniId"] == order
    assert "serviceId" not in json.dumps(update)
    done = ended(api, order)
    assert (done["status"], done["displayStatus"]) == (4, "SWAP_COMPLETED")
    assert done["transactionHash"] == done["inTransactionInHash"] == done["inTransactionOutHash"]


def test_their_description_has_their_names(api: httpx2.Client) -> None:
    described = ask(api.get("/openapi.json"))
    assert "houdiniId" in described["components"]["schemas"]["Order"]["required"]
    assert "/orders/{houdiniId}" in described["paths"]


def test_a_refusal_names_inputs_as_they_are_sent(api: httpx2.Client) -> None:
    for sent in ("no list", [7]):
        refused = api.post("/exchanges/multi/m1/tx/build", json={"sender": "", "houdiniIds": sent})
        assert refused.status_code == 422
        assert any(at.startswith("houdiniIds") for at in refused.json()["fields"]), refused.text
    unknown = api.get("/orders/" + "x" * 200)
    assert "houdiniId" in unknown.json()["fields"], unknown.text
