"""The control of a running sandbox, seen with a plain HTTP client: what its faucet gives is one
token that is meant, or the reason why not; and faults of answers, streams, exchanges and nodes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import httpx2
import pytest
import websockets
from websockets.sync.client import ClientConnection, connect

from harness import wait_for
from patience import PATIENCE
from plain_http import PLAIN
from rows import each_row
from sandbox.running import Running, create_order, ended, status_of
from swapdesk.sandbox.control import ControlRefused, gift_of
from swapdesk.sandbox.world import find_token, world_tokens
from swapdesk.wire.faults import FAULTS

BTC, ETH = find_token("bitcoin", "BTC").token_id, find_token("ethereum", "ETH").token_id
XRP = find_token("xrp", "XRP").token_id
ALICE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
BOB_XRP = "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh"


def pay(control: httpx2.Client, order: dict[str, Any], **more: Any) -> str:
    answer = control.post("/deposits", json={"serviceId": order["serviceId"], **more})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["hash"])


# From deposit to payout


@pytest.fixture(scope="module")
def running(own: Running) -> Running:
    """Its clock is moved ahead of the machine's, which would end what others sign for a minute."""
    return own


def test_an_order_completes(api: httpx2.Client, control: httpx2.Client) -> None:
    quotes = api.get("/quotes/private-send", params={"from": XRP, "amount": "2500"}).json()
    quote_id = quotes["quotes"][0]["quoteId"]
    body = {"quoteId": quote_id, "addressTo": BOB_XRP, "destinationTag": "7"}
    order = api.post("/exchanges/private-send", json=body).json()
    assert order["depositTag"].isdigit()
    # Without its tag a deposit is nobody's.
    pay(control, order, memo="")
    control.post("/clock", json={"advance": 10})
    assert api.get(f"/orders/{order['serviceId']}").json()["status"] == 0
    # Paid twice as the order asks it is paid once.
    assert pay(control, order) == pay(control, order)
    assert ended(api, order["serviceId"])["displayStatus"] == "SWAP_COMPLETED"


def test_what_cannot_be_paid(api: httpx2.Client, control: httpx2.Client) -> None:
    order = create_order(api, BTC, ETH, "0.5", ALICE)
    unknown = control.post("/deposits", json={"serviceId": "nosuchorder"})
    assert unknown.status_code == 404
    for body, field in (
        ({"serviceId": order["serviceId"], "amount": 0.000000001}, "amount"),
        ({"serviceId": order["serviceId"], "amount": 0}, "amount"),
        ({"serviceId": order["serviceId"], "amount": "1"}, "amount"),
        ({"serviceId": order["serviceId"], "extra": 1}, "extra"),
        ({}, "serviceId"),
    ):
        answer = control.post("/deposits", json=body)
        assert answer.status_code == 422, body
        assert field in answer.json()["fields"]
    for content, status in ((b"{", 400), (b"", 400), (b"\xff", 400), (b"[]", 422)):
        assert control.post("/deposits", content=content).status_code == status, content
    assert control.post("/deposits", content=b'{"memo": "' + b"0" * 70_000).status_code == 413
    assert control.get("/deposits").status_code == 405


# Who may, and what there is


def test_only_this_machine_with_the_token(running: Running, control: httpx2.Client) -> None:
    url = f"{running.ready.control}/state"
    token = {"sandbox-token": running.ready.controlToken}
    keys = running.ready.partners[0]
    for headers, status in (
        ({}, 401),
        ({"sandbox-token": "x"}, 401),
        ({"Authorization": f"{keys['apiKey']}:{keys['apiSecret']}"}, 401),
        ({**token, "host": "evil.example"}, 421),
        ({**token, "origin": "https://evil.example"}, 403),
        ({**token, "origin": "null"}, 403),
    ):
        answer = httpx2.get(url, headers=headers, trust_env=False, verify=PLAIN)
        assert answer.status_code == status, headers
    assert control.get("/nothing").status_code == 404
    wrong = control.get("/clock")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")


def test_state(control: httpx2.Client) -> None:
    state = control.get("/state").json()
    assert set(state) >= {"now", "offset", "speed", "seed", "heights", "prices", "faults"}
    assert state["heights"]["bitcoin"] > 900_000
    assert state["prices"]["BTC"] > 90_000


def test_time_jumps_and_never_back(api: httpx2.Client, control: httpx2.Client) -> None:
    before = api.get("/health").json()["time"]
    offset = control.get("/state").json()["offset"]
    moved = control.post("/clock", json={"advance": 120}).json()
    assert moved["offset"] == offset + 120
    assert api.get("/health").json()["time"] > before
    for body in ({"advance": -1}, {}, {"speed": 0}, {"speed": -3}, {"speed": "fast"}, {"back": 1}):
        assert control.post("/clock", json=body).status_code == 422, body


def test_some_tokens_are_found_by_words_that_nobody_is_shown(api: httpx2.Client) -> None:
    answer = api.get("/tokens", params={"term": "privacy coin"})
    assert {"XMR", "DASH"} == {token["symbol"] for token in answer.json()["tokens"]}
    assert b"privacy coin" not in answer.content


ADDRESS = "0x" + "5a" * 20
USDC = find_token("ethereum", "USDC")


def test_coins_and_tokens_of_embedded_chains() -> None:
    coins = {"chain": "base", "address": ADDRESS, "units": str(5 * 10**17)}
    assert gift_of("base", ADDRESS, None, Decimal("0.5")) == coins
    for name in ("USDC", "usdc", USDC.address, str(USDC.address).lower(), USDC.token_id):
        assert gift_of("ethereum", ADDRESS, name, Decimal("1.25")) == {
            "chain": "ethereum",
            "address": ADDRESS,
            "units": "1250000",
            "token": USDC.address,
        }


def test_tokens_of_solana_go_by_their_mint() -> None:
    holder = "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96"
    coins = {"chain": "solana", "address": holder, "units": str(2 * 10**9)}
    assert gift_of("solana", holder, None, Decimal(2)) == coins
    mint = find_token("solana", "USDC").address
    tokens = {**coins, "units": "3000000", "token": mint}
    assert gift_of("solana", holder, "USDC", Decimal(3)) == tokens


def test_a_namesake_is_given_by_its_contract_alone() -> None:
    false = next(
        token
        for token in world_tokens().values()
        if token.row.chain == "ethereum"
        and token.row.symbol == "USDC"
        and token.row.verdict == "malicious"
    )
    for name, meant in (("USDC", USDC.address), (false.address, false.address)):
        assert gift_of("ethereum", ADDRESS, name, Decimal(1))["token"] == meant


@each_row(
    ("chain", "address", "token", "amount", "field"),
    [
        ("bitcoin", ADDRESS, None, "1", "chain"),
        ("optimism", ADDRESS, None, "1", "chain"),
        ("base", ADDRESS[:-1], None, "1", "address"),
        ("base", "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96", None, "1", "address"),
        ("base", ADDRESS, "NOSUCH", "1", "token"),
        ("base", ADDRESS, str(USDC.address), "1", "token"),
        ("polygon", ADDRESS, "DAI", "1", "token"),
        ("base", ADDRESS, "USDC", "0.0000001", "amount"),
        ("base", ADDRESS, None, "0.0000000000000000001", "amount"),
    ],
)
def test_what_is_not_given_says_which_input_is_wrong(
    chain: str, address: str, token: str | None, amount: str, field: str
) -> None:
    with pytest.raises(ControlRefused) as refused:
        gift_of(chain, address, token, Decimal(amount))
    assert list(refused.value.fields) == [field]


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


def watched(socket: ClientConnection, api: httpx2.Client) -> str:
    """A new order whose creation has been told: what comes now is of what happens to it next."""
    created = create_order(api, BTC, ETH, "0.1", ALICE)
    service_id = str(created["serviceId"])
    while told_of(socket, {service_id}, 1)[0]["status"] != created["status"]:
        pass
    return service_id


def until_broken(socket: ClientConnection, *, without: str = "") -> None:
    """Read until the connection breaks, with ConnectionClosed; no frame may hold the text."""
    while True:
        frame = str(socket.recv(PATIENCE))
        assert not without or without not in frame


def fault(control: httpx2.Client, **body: Any) -> None:
    answer = control.post("/faults", json=body)
    assert answer.status_code == 200, answer.text


def quoted(api: httpx2.Client, swap: str) -> dict[str, Any]:
    asked = {"from": BTC, "to": ETH, "amount": "0.1", "types": "standard", "swaps": swap}
    found: dict[str, Any] = api.get("/quotes", params=asked).json()["quotes"][0]
    return found


# Answers


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("http_500", 500, "INTERNAL_SERVER_ERROR"),
        ("http_503", 503, "SERVICE_UNAVAILABLE"),
        ("rate_limited", 429, "RATE_LIMIT_EXCEEDED"),
    ],
)
def test_a_refusal_comes_as_often_as_said(
    api: httpx2.Client, control: httpx2.Client, name: str, status: int, code: str
) -> None:
    more = {"seconds": 7} if name == "rate_limited" else {}
    fault(control, operation="GET /chains", fault=name, times=2, **more)
    assert api.get("/swaps").status_code == 200
    for _ in range(2):
        answer = api.get("/chains")
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert answer.headers["x-request-id"] == answer.json()["requestId"]
        assert "date" in answer.headers
        assert answer.headers.get("retry-after") == ("7" if more else None)
    assert api.get("/chains").status_code == 200


def test_a_delay_lasts_its_seconds(api: httpx2.Client, control: httpx2.Client) -> None:
    fault(control, operation="health", fault="delay", seconds=0.4)
    begin = time.monotonic()
    assert api.get("/health").status_code == 200
    assert time.monotonic() - begin >= 0.4


@pytest.mark.parametrize("name", ["lost_response", "garbage"])
def test_lost_response_is_carried_out_and_never_answered(
    api: httpx2.Client, control: httpx2.Client, name: str
) -> None:
    body = {"quoteId": quoted(api, "hy")["quoteId"], "addressTo": ALICE}
    fault(control, operation="create_exchange", fault=name)
    before = api.get("/orders").json()["total"]
    with pytest.raises((httpx2.RemoteProtocolError, json.JSONDecodeError)):
        api.post("/exchanges", json=body).json()
    assert api.get("/orders").json()["total"] == before + 1
    again = api.post("/exchanges", json=body)
    assert again.status_code == 200, "the same request returns the same order"
    assert api.get("/orders").json()["total"] == before + 1


def test_a_fault_of_one_order_quote_or_group(api: httpx2.Client, control: httpx2.Client) -> None:
    one, other = (create_order(api, BTC, ETH, "0.1", ALICE)["serviceId"] for _ in range(2))
    fault(control, serviceId=one, fault="http_500")
    assert api.get(f"/orders/{other}").status_code == 200
    assert [api.get(f"/orders/{one}").status_code for _ in range(2)] == [500, 200]
    first, second = (
        {"quoteId": quoted(api, venue)["quoteId"], "addressTo": ALICE} for venue in ("hy", "cb")
    )
    fault(control, quoteId=second["quoteId"], fault="http_500")
    assert api.post("/exchanges", json=first).status_code == 200
    assert [api.post("/exchanges", json=second).status_code for _ in range(2)] == [500, 200]
    rows = [{"from": BTC, "to": ETH, "amount": 0.1, "addressTo": ALICE}]
    one, other = (
        api.post("/exchanges/multi", json={"orders": rows}).json()["multiId"] for _ in range(2)
    )
    fault(control, multiId=one, fault="http_503")
    assert api.get(f"/exchanges/multi/{other}").status_code == 200
    assert [api.get(f"/exchanges/multi/{one}").status_code for _ in range(2)] == [503, 200]
    fault(control, multiId=one, fault="bundle_stuck")
    assert control.get("/state").json()["faults"] == [
        {"fault": "bundle_stuck", "multiId": one, "times": None}
    ]
    assert control.delete("/faults").status_code == 200
    assert control.get("/state").json()["faults"] == []


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


def test_a_duplicated_update_comes_twice(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    with stream(running) as socket:
        order = watched(socket, api)
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
        one, other = watched(socket, api), watched(socket, api)
        fault(control, serviceId=one, fault="ws_reorder", seconds=20)
        fault(control, serviceId=one, fault="expire")
        wait_for(lambda: status_of(api, one) == 5, what="the first to expire")
        fault(control, serviceId=other, fault="expire")
        told = told_of(socket, {one, other}, 2)
        assert [each["serviceId"] for each in told] == [other, one]


def test_a_held_update_leaves_after_its_seconds(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    with stream(running) as socket:
        order = watched(socket, api)
        fault(control, serviceId=order, fault="ws_reorder", seconds=0.3)
        fault(control, serviceId=order, fault="expire")
        (told,) = told_of(socket, {order}, 1)
        assert told["status"] == 5


def test_a_drop_of_one_order_breaks_the_stream_when_that_is_told(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    with stream(running) as socket:
        one, other = watched(socket, api), watched(socket, api)
        fault(control, serviceId=one, fault="ws_drop")
        fault(control, serviceId=other, fault="expire")
        assert told_of(socket, {one, other}, 1)[0]["serviceId"] == other
        fault(control, serviceId=one, fault="expire")
        with pytest.raises(websockets.ConnectionClosed) as closed:
            until_broken(socket, without=one)
        assert closed.value.rcvd is None, "no close frame"
    with stream(running):
        assert control.get("/state").json()["faults"] == []


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
    wait_for(lambda: status_of(api, order) == 5, what="orders go on")
    control.post("/clock", json={"advance": 60})
    with stream(running) as socket:
        assert control.get("/state").json()["faults"] == []
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
    wait_for(lambda: status_of(api, order["serviceId"]) == 4, what="the order to finish")


# Bodies


@each_row(
    ("body", "status", "field"),
    [
        ({"operation": "health", "fault": "explode"}, 422, "fault"),
        ({"operation": "health", "fault": "tamper_amount"}, 422, "fault"),
        ({"venue": "hy", "fault": "hold", "depth": 2}, 422, "depth"),
        ({"venue": "hy", "fault": "hold", "leg": "both"}, 422, "leg"),
        ({"venue": "hy", "fault": "venue_slow", "seconds": 301}, 422, "seconds"),
        ({"chain": "bitcoin", "fault": "node_down", "times": 0}, 422, "times"),
        # What is of the table's form, and names nothing
        ({"venue": "zz", "fault": "venue_slow"}, 422, "venue"),
        ({"chain": "atlantis", "fault": "node_down"}, 422, "chain"),
        ({"operation": "nothing", "fault": "delay"}, 422, "operation"),
        ({"operation": "GET /nothing", "fault": "delay"}, 422, "operation"),
        ({"operation": "stream", "fault": "http_500"}, 422, "operation"),
        ({"operation": "health", "fault": "ws_drop"}, 422, "operation"),
        ({"serviceId": "nosuchorder", "fault": "hold"}, 404, ""),
        ({"multiId": "nosuchgroup", "fault": "bundle_fail"}, 404, ""),
        ({"quoteId": "nosuchquote", "fault": "delay"}, 404, ""),
        # What the node refuses
        ({"chain": "bitcoin", "fault": "drop_transaction"}, 422, ""),
        ({"venue": "hy", "fault": "release"}, 422, ""),
    ],
)
def test_what_cannot_be_set_is_refused(
    control: httpx2.Client, body: dict[str, Any], status: int, field: str
) -> None:
    answer = control.post("/faults", json=body)
    assert answer.status_code == status
    assert answer.json()["message"]
    if field:
        assert answer.json()["fields"][field]["message"]
    assert control.get("/state").json()["faults"] == []


def test_the_table_is_told(control: httpx2.Client) -> None:
    told = control.get("/faults").json()["faults"]
    assert [one["fault"] for one in told] == list(FAULTS)
    assert told[-1] == {
        "fault": "bundle_stuck",
        "does": "The bundle stays submitted until faults are cleared.",
        "selectors": ["multiId"],
        "unselected": False,
        "takes": ["times"],
        "chains": [],
    }
