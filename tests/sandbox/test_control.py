"""The control of a running sandbox, seen with a plain HTTP client; faults have their own file. What
its faucet gives is one token that is meant, or the reason why not.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import httpx2
import pytest

from plain_http import PLAIN
from sandbox.running import Running, create_order, ended
from swapdesk.sandbox.control import ControlRefused, gift_of
from swapdesk.sandbox.world import find_token, world_tokens

BTC, ETH = find_token("bitcoin", "BTC").token_id, find_token("ethereum", "ETH").token_id
XRP = find_token("xrp", "XRP").token_id
ALICE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
BOB_XRP = "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh"


def pay(control: httpx2.Client, order: dict[str, Any], **more: Any) -> str:
    answer = control.post("/deposits", json={"serviceId": order["serviceId"], **more})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["hash"])


# From deposit to payout


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


@pytest.mark.parametrize(
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
