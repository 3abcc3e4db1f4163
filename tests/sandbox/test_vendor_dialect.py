"""A program that knows only the names of the public service, against a service that speaks them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from eth_account import Account
from websockets.sync.client import connect

from furnished_home import furnish
from patience import PATIENCE
from plain_http import PLAIN
from sandbox.running import Running, until
from sandbox.traffic import ETH_BASE, USDC, WETH, Traffic, sending
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
def held(running: Running) -> HeldAnswers:
    """Every answer is also what the service's own document says."""
    keys = running.ready.partners[0]
    headers = {"Authorization": f"{keys['apiKey']}:{keys['apiSecret']}"}
    document = httpx2.get(
        f"{running.ready.url}/openapi.json", headers=headers, trust_env=False, verify=PLAIN
    )
    return HeldAnswers(document.json())


@pytest.fixture
def api(running: Running, held: HeldAnswers) -> Iterator[httpx2.Client]:
    keys = running.ready.partners[0]
    with httpx2.Client(
        base_url=running.ready.url,
        headers={"Authorization": f"{keys['apiKey']}:{keys['apiSecret']}", **COMPLIANCE},
        trust_env=False,
        timeout=PATIENCE,
        verify=PLAIN,
        event_hooks={"response": [only_theirs, held]},
    ) as client:
        yield client


def ask(answer: httpx2.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text)


def quoted(api: httpx2.Client, **wanted: str) -> dict[str, Any]:
    rows = ask(api.get("/quotes", params=wanted))["quotes"]
    return next(row for row in rows if "error" not in row)


def ended(api: httpx2.Client, order: str) -> dict[str, Any]:
    def look() -> Any:
        found = ask(api.get(f"/orders/{order}"))
        return found if found["status"] >= 4 else None

    return until(look, f"the end of {order}") or {}


def test_quotes_exchange_order_and_stream(api: httpx2.Client, running: Running) -> None:
    known = ask(api.get("/tokens", params={"symbol": "ETH", "chain": "ethereum", "search": "x"}))
    assert [token["id"] for token in known["tokens"]] == [ETH]
    best = quoted(api, **{"from": ETH, "to": SOL, "amount": "0.5", "types": "standard"})
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


def test_swap_on_a_chain(api: httpx2.Client, running: Running) -> None:
    me, traffic = Account.from_key(b"v" * 32), Traffic(running, random.Random(4))
    send = sending(traffic, me)
    traffic.given(ETH_BASE, me.address, 1)
    traffic.given(USDC, me.address, 100)
    best = quoted(
        api,
        **{
            "from": USDC.token_id,
            "to": WETH.token_id,
            "amount": "20",
            "types": "dex",
            "swaps": "ba",
        },
        senderAddress=me.address,
        slippage="1",
    )
    asked = {"quoteId": best["quoteId"], "addressFrom": me.address, "usePermit": False}
    if ask(api.post("/dex/allowance", json=asked)) is False:
        for call in ask(api.post("/dex/approve", json=asked))["approvals"]:
            send(call)
        until(lambda: ask(api.post("/dex/allowance", json=asked)) is True, "the allowance")
    made = ask(
        api.post(
            "/exchanges",
            json={
                "quoteId": best["quoteId"],
                "addressFrom": me.address,
                "addressTo": me.address,
                "signatures": [],
            },
        )
    )
    order, call = made["houdiniId"], made["tx"]
    assert call == {name: made["metadata"][name] for name in ("to", "data", "value", "gasLimit")}
    assert "offChain" not in made
    sent = send(call)
    until(
        lambda: ask(api.post("/dex/confirmTx", json={"id": order, "txHash": sent})) is True,
        "the confirmation",
    )
    assert ended(api, order)["status"] == 4
    read_back = ask(api.get(f"/orders/{order}"))["metadata"]
    assert json.loads(read_back)["to"] == call["to"]


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
