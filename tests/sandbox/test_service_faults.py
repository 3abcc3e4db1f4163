"""Faults of answers, streams, exchanges and nodes, each seen from outside a real sandbox."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import websockets
from websockets.sync.client import ClientConnection

from patience import PATIENCE
from sandbox.order_stream import stream, told_of, until_broken, watched
from sandbox.running import Running, create_order, status_of, until
from swapdesk.sandbox.fault_choice import FAULTS as KNOWN
from swapdesk.sandbox.node.order_faults import ORDER_FAULTS
from swapdesk.sandbox.world import find_token

BTC, ETH = find_token("bitcoin", "BTC").token_id, find_token("ethereum", "ETH").token_id
ALICE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


@pytest.fixture(scope="module")
def api(running: Running) -> Iterator[httpx2.Client]:
    with running.api() as client:
        yield client


@pytest.fixture
def control(running: Running) -> Iterator[httpx2.Client]:
    with running.control() as client:
        yield client
        client.delete("/faults")


def fault(control: httpx2.Client, **body: Any) -> None:
    answer = control.post("/faults", json=body)
    assert answer.status_code == 200, answer.text


def quoted(api: httpx2.Client, swap: str) -> dict[str, Any]:
    asked = {"from": BTC, "to": ETH, "amount": "0.1", "types": "standard", "swaps": swap}
    found: dict[str, Any] = api.get("/quotes", params=asked).json()["quotes"][0]
    return found


# Answers


def test_http_503(api: httpx2.Client, control: httpx2.Client) -> None:
    fault(control, operation="GET /minMax", fault="http_503")
    asked = {"tokenIdFrom": BTC, "tokenIdTo": ETH}
    answer = api.get("/minMax", params=asked)
    assert (answer.status_code, answer.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert api.get("/minMax", params=asked).status_code == 200


def test_garbage_comes_after_the_request_was_carried_out(
    api: httpx2.Client, control: httpx2.Client
) -> None:
    body = {"quoteId": quoted(api, "hy")["quoteId"], "addressTo": ALICE}
    before = api.get("/orders").json()["total"]
    fault(control, operation="create_exchange", fault="garbage")
    answer = api.post("/exchanges", json=body)
    assert answer.headers["content-type"] == "text/html"
    with pytest.raises(json.JSONDecodeError):
        answer.json()
    assert api.get("/orders").json()["total"] == before + 1
    assert api.post("/exchanges", json=body).json()["status"] == 0


def _read_into(received: bytearray, answer: httpx2.Response) -> None:
    for part in answer.iter_raw():
        received += part


def test_a_truncated_answer_breaks_in_its_middle(running: Running, control: httpx2.Client) -> None:
    fault(control, operation="list_chains", fault="truncate")
    with running.api() as own:
        with own.stream("GET", "/chains") as answer:
            assert answer.status_code == 200
            promised = int(answer.headers["content-length"])
            received = bytearray()
            with pytest.raises(httpx2.RemoteProtocolError):
                _read_into(received, answer)
        assert 0 < len(received) < promised
        assert bytes(received).startswith(b'{"chains":')
        assert own.get("/chains").status_code == 200


# The stream


def watched_id(socket: ClientConnection, api: httpx2.Client) -> str:
    return str(watched(socket, api, BTC, ETH, "0.1", ALICE)["serviceId"])


def test_a_duplicated_update_comes_twice(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    with stream(running) as socket:
        order = watched_id(socket, api)
        fault(control, serviceId=order, fault="ws_duplicate")
        fault(control, serviceId=order, fault="expire")
        first, second = told_of(socket, {order}, 2)
        assert first == second
        assert (first["serviceId"], first["status"]) == (order, 5)
        socket.send('{"type": "ping"}')
        answers = [json.loads(socket.recv(PATIENCE))]
        while answers[-1]["type"] != "pong":
            answers.append(json.loads(socket.recv(PATIENCE)))
        told = [each["data"]["serviceId"] for each in answers if each["type"] == "order_update"]
        assert order not in told, "and no more than twice"


def test_a_reordered_update_comes_after_the_next(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    with stream(running) as socket:
        one, other = watched_id(socket, api), watched_id(socket, api)
        fault(control, serviceId=one, fault="ws_reorder", seconds=20)
        fault(control, serviceId=one, fault="expire")
        until(lambda: status_of(api, one) == 5, what="the first to expire")
        fault(control, serviceId=other, fault="expire")
        told = told_of(socket, {one, other}, 2)
        assert [each["serviceId"] for each in told] == [other, one]


def test_a_held_update_leaves_after_its_seconds(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    with stream(running) as socket:
        order = watched_id(socket, api)
        fault(control, serviceId=order, fault="ws_reorder", seconds=0.3)
        fault(control, serviceId=order, fault="expire")
        (told,) = told_of(socket, {order}, 1)
        assert told["status"] == 5


def test_a_dropped_stream_stays_away_for_its_seconds(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    order = create_order(api, BTC, ETH, "0.1", ALICE)["serviceId"]
    with stream(running) as socket:
        begin = time.monotonic()
        fault(control, operation="stream", fault="ws_drop", seconds=60)
        with pytest.raises(websockets.ConnectionClosed):
            until_broken(socket)
    (active,) = control.get("/state").json()["faults"]
    assert active["fault"] == "ws_drop"
    # What is left of them, however long that took.
    assert 59 - (time.monotonic() - begin) < active["seconds"] <= 60
    with pytest.raises((OSError, EOFError, websockets.InvalidHandshake)), stream(running):
        pass
    fault(control, serviceId=order, fault="expire")
    until(lambda: status_of(api, order) == 5, what="orders go on")
    control.post("/clock", json={"advance": 60})
    with stream(running):
        assert control.get("/state").json()["faults"] == []


def test_a_refused_stream_is_let_in_when_faults_are_cleared(
    running: Running, control: httpx2.Client
) -> None:
    with stream(running) as socket:
        fault(control, fault="ws_drop", seconds=300)
        with pytest.raises(websockets.ConnectionClosed):
            until_broken(socket)
    control.delete("/faults")
    with stream(running):
        pass


# Exchanges and nodes


def test_an_exchange_that_is_down_opens_nothing_and_prices_nothing(
    api: httpx2.Client, control: httpx2.Client
) -> None:
    asked = {"from": BTC, "to": ETH, "amount": "0.1", "types": "standard"}
    quotes = api.get("/quotes", params=asked).json()["quotes"]
    chosen = next(quote for quote in quotes if quote.get("swap") == "cb")
    fault(control, venue="cb", fault="venue_down")
    order = api.post("/exchanges", json={"quoteId": chosen["quoteId"], "addressTo": ALICE}).json()
    assert (order["status"], order["rerouted"]) == (0, True)
    assert order["in"] != "cb"
    lost = next(q for q in api.get("/quotes", params=asked).json()["quotes"] if q["swap"] == "cb")
    assert lost["error"]
    assert control.get("/state").json()["faults"] == [
        {"fault": "venue_down", "venue": "cb", "times": None}
    ]


def test_an_exchange_that_is_slow_and_then_not(api: httpx2.Client, control: httpx2.Client) -> None:
    fault(control, venue="jn", fault="venue_slow", seconds=0.5, times=1)
    begin = time.monotonic()
    assert "error" not in quoted(api, "jn")
    assert time.monotonic() - begin >= 0.5
    assert control.get("/state").json()["faults"] == []


def test_orders_on_a_chain_whose_node_is_down_wait_for_it(
    api: httpx2.Client, control: httpx2.Client
) -> None:
    order = create_order(api, BTC, ETH, "0.1", ALICE)
    fault(control, chain="bitcoin", fault="node_down")
    paid = control.post("/deposits", json={"serviceId": order["serviceId"]})
    assert (paid.status_code, paid.json()["code"]) == (503, "NODE_UNAVAILABLE")
    body = {"quoteId": quoted(api, "hy")["quoteId"], "addressTo": ALICE}
    refused = api.post("/exchanges", json=body)
    assert (refused.status_code, refused.json()["code"]) == (502, "PROVIDER_EXCHANGE_FAILED")
    assert "bitcoin" not in control.get("/state").json()["heights"]
    control.delete("/faults")
    assert control.post("/deposits", json={"serviceId": order["serviceId"]}).status_code == 200
    until(lambda: status_of(api, order["serviceId"]) == 4, what="the order to finish")


# Bodies


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"operation": "health", "fault": "venue_down"}, "operation"),
        ({"fault": "venue_down"}, "venue"),
        ({"venue": "zz", "fault": "venue_slow"}, "venue"),
        ({"venue": "hy", "fault": "venue_down", "seconds": 3}, "seconds"),
        ({"venue": "hy", "fault": "venue_slow", "seconds": 301}, "seconds"),
        ({"venue": "hy", "fault": "venue_slow", "leg": "in"}, "leg"),
        ({"fault": "node_down"}, "chain"),
        ({"chain": "atlantis", "fault": "node_down"}, "chain"),
        ({"venue": "hy", "fault": "node_down"}, "venue"),
        ({"chain": "bitcoin", "fault": "node_down", "times": 0}, "times"),
        ({"fault": "delete"}, "serviceId"),
        ({"venue": "hy", "fault": "delete"}, "venue"),
        ({"venue": "hy", "fault": "release", "times": 2}, "times"),
        ({"operation": "health", "fault": "ws_duplicate"}, "operation"),
        ({"quoteId": "x", "fault": "ws_reorder"}, "quoteId"),
        ({"operation": "stream", "fault": "garbage"}, "operation"),
        ({"venue": "hy", "fault": "hold", "leg": "both"}, "leg"),
        ({"venue": "hy", "fault": "hold", "seconds": 1}, "seconds"),
        ({"fault": "setup_failed", "venue": "hy"}, "fault"),
        ({"fault": "bundle_fail"}, "multiId"),
        ({"fault": "bundle_stuck", "venue": "hy"}, "venue"),
        ({"fault": "tamper_user_operation", "operation": "build_multi_transactions"}, "part"),
        ({"fault": "tamper_user_operation", "operation": "health", "part": "call"}, "operation"),
        ({"fault": "garbage", "operation": "health", "part": "call"}, "part"),
        ({"fault": "bundle_fail", "operation": "health", "part": "price"}, "part"),
    ],
)
def test_bodies_that_name_nothing(control: httpx2.Client, body: dict[str, Any], field: str) -> None:
    answer = control.post("/faults", json=body)
    assert answer.status_code == 422
    assert field in answer.json()["fields"]
    assert answer.json()["fields"][field]["message"]
    assert control.get("/state").json()["faults"] == []


@pytest.mark.parametrize(("content", "status"), [(b"{", 400), (b"[]", 422), (b"1e9", 422)])
def test_bodies_that_are_no_object(control: httpx2.Client, content: bytes, status: int) -> None:
    answer = control.post("/faults", content=content)
    assert answer.status_code == status
    assert answer.json()["message"]


def test_what_the_world_refuses_is_said_in_words(
    api: httpx2.Client, control: httpx2.Client
) -> None:
    order = create_order(api, BTC, ETH, "0.1", ALICE)["serviceId"]
    for body, word in (
        ({"serviceId": order, "fault": "release"}, "nothing is on hold"),
        ({"serviceId": order, "fault": "hold", "leg": "out"}, "no out leg"),
        ({"venue": "hy", "fault": "release"}, "nothing is on hold"),
    ):
        answer = control.post("/faults", json=body)
        assert answer.status_code == 422
        assert word in answer.json()["message"]
    for nobody in (
        {"serviceId": "nosuchorder", "fault": "hold"},
        {"multiId": "nosuchgroup", "fault": "bundle_fail"},
        {"multiId": "nosuchgroup", "fault": "garbage"},
    ):
        assert control.post("/faults", json=nobody).status_code == 404


def test_a_fault_of_one_group(api: httpx2.Client, control: httpx2.Client) -> None:
    rows = [{"from": BTC, "to": ETH, "amount": 0.1, "addressTo": ALICE}]
    one, other = (
        api.post("/exchanges/multi", json={"orders": rows}).json()["multiId"] for _ in range(2)
    )
    fault(control, multiId=one, fault="http_503")
    assert api.get(f"/exchanges/multi/{other}").status_code == 200
    assert api.get(f"/exchanges/multi/{one}").status_code == 503
    assert api.get(f"/exchanges/multi/{one}").status_code == 200
    fault(control, multiId=one, fault="bundle_stuck")
    assert control.get("/state").json()["faults"] == [
        {"fault": "bundle_stuck", "multiId": one, "times": 1}
    ]


FAULTS = """
delete
venue_down venue_slow
lost_response delay http_500 http_503 rate_limited garbage truncate
ws_drop ws_duplicate ws_reorder
node_down reorg forged_receipt drop_transaction
tamper_spender tamper_amount tamper_chain_id tamper_recipient tamper_calldata tamper_extra_field
chain_repeat_step chain_endless stale_calldata
tamper_user_operation bundle_fail bundle_withdraw bundle_stuck
"""


def test_every_fault_is_known_by_its_name() -> None:
    """Those of orders are held by their stories (test_order_faults)."""
    assert sorted(KNOWN.keys() - ORDER_FAULTS.keys()) == sorted(FAULTS.split())
