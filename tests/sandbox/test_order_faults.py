"""Every way an order can go wrong, played at once over a real sandbox and looked at one by one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from msgspec import Struct, field

from sandbox.chain_money import chain_of, paid_once, sums
from sandbox.chain_money import wallet as wallet_of
from sandbox.running import Running, asked, status_of, until
from sandbox.test_node import address
from swapdesk.sandbox.node.issued_world import hot_wallet_name
from swapdesk.sandbox.world import find_token
from swapdesk.wire.faults import ORDER_FAULTS

BTC_TOKEN, ETH_TOKEN = find_token("bitcoin", "BTC"), find_token("ethereum", "ETH")
BTC, ETH = BTC_TOKEN.token_id, ETH_TOKEN.token_id
ALICE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
REFUND = {"refundAddress": address(BTC_TOKEN, "refund")}
FIXED = {"fixed": "true"}


class Story(Struct):
    """One order: what is asked and created, what goes wrong, what is paid, when it is over."""

    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, str] = field(default_factory=dict)
    types: str = "standard"
    faults: list[dict[str, str]] = field(default_factory=list)
    paid: Decimal | None = Decimal(1)
    """The share of inAmount that is paid; None for nothing."""
    over: str = "ended"
    provider: str | None = None


def wrong(name: str, leg: str | None = None) -> list[dict[str, str]]:
    return [{"fault": name} if leg is None else {"fault": name, "leg": leg}]


STORIES = {
    "refund": Story(body=REFUND, faults=wrong("refund"), provider="hy"),
    "refund without an amount": Story(body=REFUND, faults=wrong("refund"), provider="kt"),
    "refund to nobody": Story(faults=wrong("refund")),
    "fail": Story(body=REFUND, faults=wrong("fail_after_deposit")),
    "fail in the second leg": Story(types="private", faults=wrong("fail_after_deposit", "out")),
    "fixed fails part-way": Story(
        types="private", query=FIXED, body=REFUND, faults=wrong("fail_after_deposit", "out")
    ),
    "hold": Story(faults=wrong("hold"), over="held"),
    "hold in the second leg": Story(types="private", faults=wrong("hold", "out"), over="held"),
    "fallback": Story(faults=wrong("fallback")),
    "fallback in the second leg": Story(types="private", faults=wrong("fallback", "out")),
    "reroute": Story(faults=wrong("reroute"), provider="hy"),
    "reroute the first leg": Story(types="private", faults=wrong("reroute", "in")),
    "reroute the second leg": Story(types="private", faults=wrong("reroute", "out")),
    "reroute of a fixed rate": Story(query=FIXED, body=REFUND, faults=wrong("reroute")),
    "expire": Story(faults=wrong("expire"), paid=None),
    "short": Story(body=REFUND, paid=Decimal("0.0001"), provider="cb"),
    "short without a way back": Story(paid=Decimal("0.0001")),
    "less": Story(query=FIXED, body=REFUND, paid=Decimal("0.5")),
    "excess": Story(paid=Decimal(2)),
    "excess of a fixed rate": Story(query=FIXED, body=REFUND, paid=Decimal(2), provider="hy"),
    "reverse": Story(query={**FIXED, "amountType": "receive", "amount": "3"}, body=REFUND),
    "markup": Story(query={"markup": "2.5"}, provider="hy"),
    "rotated": Story(types="private", query={"rotatePayoutWallets": "true"}),
}


def best(api: httpx2.Client, story: Story) -> dict[str, Any]:
    pair = {"from": BTC, "to": ETH, "amount": "0.1", "types": story.types, **story.query}
    answer = api.get("/quotes", params=pair)
    assert answer.status_code == 200, answer.text
    quote: dict[str, Any] = next(
        quote
        for quote in answer.json()["quotes"]
        if "error" not in quote and story.provider in (None, quote.get("swap"))
    )
    return quote


class Played(Struct):
    """What was quoted and created, and how the order stood when the story was over."""

    quote: dict[str, Any]
    created: dict[str, Any]
    end: dict[str, Any]


def begin(
    api: httpx2.Client, control: httpx2.Client, name: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The quote and the order of a story, with its faults set and its deposit paid."""
    story = STORIES[name]
    quote = best(api, story)
    body = {"quoteId": quote["quoteId"], "addressTo": ALICE, **story.body}
    created = api.post("/exchanges", json=body)
    assert created.status_code == 200, (name, created.text)
    order = json.loads(created.text, parse_float=Decimal)
    for fault in story.faults:
        told = control.post("/faults", json={"serviceId": order["serviceId"], **fault})
        assert told.status_code == 200, (name, told.text)
    if story.paid is not None:
        amount = (order["inAmount"] * story.paid).quantize(Decimal("1e-8"))
        content = f'{{"serviceId": "{order["serviceId"]}", "amount": {amount:f}}}'
        headers = {"content-type": "application/json"}
        assert control.post("/deposits", content=content, headers=headers).status_code == 200
    return quote, order


def over(story: Story, order: dict[str, Any]) -> bool:
    held = 8 in (order["inStatus"], order.get("outStatus"))
    return held if story.over == "held" else order["status"] >= 4


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Of a seed that is known: which exchanges have bad moments belongs to these stories."""
    with Running(tmp_path_factory.mktemp("running") / "sandbox") as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def control(running: Running) -> Iterator[httpx2.Client]:
    with running.control() as client:
        yield client


@pytest.fixture(scope="module")
def api(running: Running) -> Iterator[httpx2.Client]:
    with running.api() as client:
        yield client


@pytest.fixture(scope="module")
def played(api: httpx2.Client, control: httpx2.Client) -> dict[str, Played]:
    """All stories to their ends, side by side."""
    with ThreadPoolExecutor(6) as side_by_side:
        begun = dict(side_by_side.map(lambda name: (name, begin(api, control, name)), STORIES))
    found: dict[str, Played] = {}

    def all_over() -> bool:
        listed = asked(api, "/orders", parse_float=Decimal)
        if listed is None:
            return False
        now = {order["serviceId"]: order for order in listed["orders"]}
        for name, (quote, created) in begun.items():
            order = now[created["serviceId"]]
            if name not in found and over(STORIES[name], order):
                found[name] = Played(quote, created, order)
        return len(found) == len(begun)

    try:
        until(all_over, "every story")
    except AssertionError:
        raise AssertionError(f"not over: {sorted(begun.keys() - found.keys())}") from None
    return found


def test_every_fault_of_an_order_has_a_story() -> None:
    told = {fault["fault"] for story in STORIES.values() for fault in story.faults}
    # Holds are released below.
    assert told | {"release"} == {fault.name for fault in ORDER_FAULTS}


@pytest.mark.proves(
    "status REFUNDED", "leg REFUNDED", "field refundHash", "field refundChain", "field refundAmount"
)
def test_a_refund_comes_back_on_its_own_chain_less_the_fee(played: dict[str, Played]) -> None:
    end = played["refund"].end
    assert (end["status"], end["displayStatus"], end["inStatus"]) == (7, "REFUNDED", 7)
    assert (end["refundChain"], end["actionRequired"]) == ("bitcoin", False)
    assert end["refundAmount"] == end["inAmount"] * Decimal("0.9975")
    assert "orderFinishedReceived" not in end
    unsaid = played["refund without an amount"].end
    assert (unsaid["status"], unsaid["refundChain"]) == (7, "bitcoin")
    assert unsaid["refundHash"]
    assert "refundAmount" not in unsaid


@pytest.mark.proves("status FAILED", "display FAILED", "field actionRequired")
@pytest.mark.parametrize("name", ["refund to nobody", "fail"])
def test_a_failure_after_the_deposit_needs_somebody(played: dict[str, Played], name: str) -> None:
    end = played[name].end
    assert (end["status"], end["inStatus"], end["actionRequired"]) == (6, 6, True)
    assert "nonRefundable" not in end
    assert "refundHash" not in end


@pytest.mark.proves("leg FAILED", "field nonRefundable")
def test_a_private_floating_order_that_fails_half_way(played: dict[str, Played]) -> None:
    end = played["fail in the second leg"].end
    assert (end["status"], end["inStatus"], end["outStatus"]) == (6, 5, 6)
    assert (end["actionRequired"], end["nonRefundable"]) == (True, True)
    assert "refundHash" not in end


@pytest.mark.proves("display REFUNDED")
def test_a_private_fixed_order_that_fails_half_way_returns_what_was_sent(
    played: dict[str, Played],
) -> None:
    end = played["fixed fails part-way"].end
    assert (end["status"], end["displayStatus"], end["outStatus"]) == (7, "REFUNDED", 7)
    assert (end["fixed"], end["refundChain"]) == (True, "bitcoin")
    assert end["inAmount"] * Decimal("0.9") < end["refundAmount"] < end["inAmount"]
    assert end["actionRequired"] is False


@pytest.mark.proves("status EXCHANGING", "status ANONYMIZING", "leg VERIFYING")
def test_a_hold_shows_and_ends_when_it_is_released(
    played: dict[str, Played], api: httpx2.Client, control: httpx2.Client
) -> None:
    first, second = (played[name].end for name in ("hold", "hold in the second leg"))
    assert (first["status"], first["inStatus"], first["inStatusLabel"]) == (2, 8, "VERIFYING")
    assert (second["status"], second["outStatus"]) == (3, 8)
    assert second["displayStatus"] == "SECOND_EXCHANGE_IN_PROGRESS"
    for order in (first, second):
        ask = {"serviceId": order["serviceId"], "fault": "release"}
        assert control.post("/faults", json=ask).status_code == 200
        assert control.post("/faults", json=ask).status_code == 422, "nothing is on hold any more"
    for order in (first, second):
        name = order["serviceId"]
        until(lambda n=name: status_of(api, n) == 4, what="the end")  # type: ignore[misc]


@pytest.mark.proves("leg FALLBACK")
def test_a_fallback_payout_finishes_the_order(played: dict[str, Played]) -> None:
    first, second = (played[name].end for name in ("fallback", "fallback in the second leg"))
    assert (first["status"], first["inStatus"], first["inStatusLabel"]) == (4, 10, "FALLBACK")
    assert (second["status"], second["outStatus"]) == (4, 10)
    assert first["orderFinishedReceived"]
    assert first["inTransactionOutHash"]


@pytest.mark.proves("field rerouted", "field quotedInAmount", "field quotedOutAmount")
def test_another_exchange_carries_a_declined_deposit_out(played: dict[str, Played]) -> None:
    story = played["reroute"]
    end = story.end
    assert (end["status"], end["rerouted"]) == (4, True)
    assert story.created["in"] == "hy"
    assert end["in"] != "hy"
    assert end["swapName"] != story.created["swapName"]
    assert end["depositAddress"] == story.created["depositAddress"]
    assert end["quotedInAmount"] == story.created["inAmount"] == end["inAmount"]
    assert end["quotedOutAmount"] == story.created["outAmount"] > end["outAmount"]
    for name in ("reroute the first leg", "reroute the second leg"):
        end = played[name].end
        assert (end["status"], end["rerouted"]) == (4, True), name
        assert end["quotedOutAmount"] == played[name].created["outAmount"]
        assert "swapName" not in end


def test_a_fixed_rate_never_goes_to_another_exchange(played: dict[str, Played]) -> None:
    end = played["reroute of a fixed rate"].end
    assert (end["status"], end["rerouted"], end["refundChain"]) == (7, False, "bitcoin")


@pytest.mark.proves("status EXPIRED", "leg EXPIRED")
def test_what_expired_was_never_paid(played: dict[str, Played]) -> None:
    end = played["expire"].end
    assert (end["status"], end["inStatus"], end["actionRequired"]) == (5, 9, False)


def test_a_short_deposit_goes_back_or_waits_for_somebody(played: dict[str, Played]) -> None:
    back, stuck = played["short"].end, played["short without a way back"].end
    assert (back["status"], back["refundAmount"]) == (7, Decimal("0.00001"))
    assert (stuck["status"], stuck["actionRequired"]) == (6, True)


def test_less_than_asked_is_swapped_at_the_promised_rate(played: dict[str, Played]) -> None:
    story = played["less"]
    assert story.end["status"] == 4
    half = story.created["outAmount"] / 2
    assert abs(story.end["outAmount"] - half) < Decimal("1e-12")


def test_a_floating_order_swaps_all_and_a_fixed_one_returns_the_rest(
    played: dict[str, Played],
) -> None:
    floating, fixed = played["excess"], played["excess of a fixed rate"]
    assert floating.end["outAmount"] == floating.created["outAmount"] * 2
    assert "refundHash" not in floating.end
    assert (fixed.end["status"], fixed.end["outAmount"]) == (4, fixed.created["outAmount"])
    assert fixed.end["refundAmount"] == fixed.created["inAmount"] * Decimal("0.9975")
    assert fixed.end["refundChain"] == "bitcoin"


@pytest.mark.proves("status FINISHED", "field fixed")
def test_a_reverse_quote_pays_exactly_what_was_asked(played: dict[str, Played]) -> None:
    story = played["reverse"]
    assert (story.end["status"], story.end["fixed"]) == (4, True)
    assert story.end["outAmount"] == Decimal(3)


def test_a_marked_up_order_pays_what_it_was_quoted(played: dict[str, Played]) -> None:
    story = played["markup"]
    assert story.quote["appliedApiMarkup"] == 2.5
    assert story.end["status"] == 4
    assert float(story.end["outAmount"]) == pytest.approx(story.quote["amountOut"], rel=0.01)


def test_a_rotated_payout_comes_from_one_of_the_hot_wallets(
    running: Running, played: dict[str, Played]
) -> None:
    end = played["rotated"].end
    with sqlite3.connect(running.data / "node.db") as file:
        query = "SELECT venue, payout_wallet FROM accounts WHERE payout_hash = ?"
        ((venue, wallet),) = file.execute(query, (end["outTransactionOutHash"],))
        query = "SELECT sender FROM transfers WHERE hash = ?"
        ((sender,),) = file.execute(query, (end["outTransactionOutHash"],))
    file.close()
    assert sender == wallet_of(running, hot_wallet_name(venue, wallet))
    receipt = chain_of(running, "ethereum").receipt(end["outTransactionOutHash"])
    assert receipt is not None
    assert (receipt["status"], receipt["from"], receipt["to"]) == ("0x1", sender, ALICE)


def test_money_is_neither_lost_nor_made(running: Running, played: dict[str, Played]) -> None:
    assert len(played) == len(STORIES)
    with sqlite3.connect(running.data / "node.db") as file:
        issued = dict(file.execute("SELECT token, units FROM issued"))
        held: dict[str, int] = {}
        for token, units in file.execute("SELECT token, units FROM balances"):
            held[token] = held.get(token, 0) + int(units)
    file.close()
    assert {token: str(units) for token, units in held.items()} == issued
    paid_once(running)
    found = list(sums(running))
    assert {each.token for each in found} == {"ETH.ethereum"}
    assert all(each.booked == each.on_chain for each in found), found
    assert sum(each.on_chain for each in found) < 0, "what was bought was paid out on the chain"


@pytest.mark.proves("display EXPIRED")
def test_a_late_deposit_is_told(api: httpx2.Client, control: httpx2.Client) -> None:
    orders = {}
    for name, body in (("back", REFUND), ("stuck", {})):
        quote = best(api, Story(provider="cb"))  # one without bad moments
        wanted = {"quoteId": quote["quoteId"], "addressTo": ALICE, **body}
        created = api.post("/exchanges", json=wanted)
        assert created.status_code == 200, (name, created.text)
        orders[name] = created.json()["serviceId"]
        control.post("/faults", json={"serviceId": orders[name], "fault": "expire"})

    def look(name: str) -> dict[str, Any]:
        found: dict[str, Any] = until(lambda: asked(api, f"/orders/{orders[name]}"))
        return found

    for name in orders:
        until(lambda n=name: look(n)["status"] == 5, what="expired")  # type: ignore[misc]
        control.post("/deposits", json={"serviceId": orders[name]})

    def told() -> bool:
        control.post("/clock", json={"advance": 30})
        return look("back")["status"] == 7 and look("stuck")["actionRequired"]

    until(told, what="told")
    assert look("back")["refundChain"] == "bitcoin"
    assert look("stuck")["displayStatus"] == "EXPIRED"


@pytest.mark.proves("status DELETED", "display DELETED")
def test_deletion(api: httpx2.Client, control: httpx2.Client) -> None:
    made = []
    for _ in range(2):
        quote = best(api, Story(provider="cb"))
        wanted = {"quoteId": quote["quoteId"], "addressTo": ALICE}
        created = api.post("/exchanges", json=wanted)
        assert created.status_code == 200, created.text
        made.append(created.json()["serviceId"])
    control.post("/deposits", json={"serviceId": made[1]})
    until(lambda: status_of(api, made[1]), what="the deposit")
    late = control.post("/faults", json={"serviceId": made[1], "fault": "delete"})
    assert (late.status_code, list(late.json()["fields"])) == (422, ["serviceId"])
    assert (
        control.post("/faults", json={"serviceId": made[0], "fault": "delete"}).status_code == 200
    )
    deleted = api.get(f"/orders/{made[0]}").json()
    assert (deleted["serviceId"], deleted["status"]) == (made[0], 8)
    assert deleted["displayStatus"] == "DELETED"
    assert deleted.keys() == {"serviceId", "status", "statusLabel", "displayStatus"}
    listed = api.get("/orders", params={"status": 8}).json()["orders"]
    assert listed == [deleted]
    again = control.post("/faults", json={"serviceId": made[0], "fault": "delete"})
    assert again.status_code == 422


@pytest.mark.proves("code STATIC_DEPOSIT_IN_USE")
def test_two_static_addresses_and_no_third(api: httpx2.Client) -> None:
    quotes = [best(api, Story(query=FIXED, provider="sx")) for _ in range(3)]
    answers = [
        api.post("/exchanges", json={"quoteId": q["quoteId"], "addressTo": ALICE, **REFUND})
        for q in quotes
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 409]
    addresses = {answer.json()["depositAddress"] for answer in answers[:2]}
    assert len(addresses) == 2
    assert answers[2].json()["code"] == "STATIC_DEPOSIT_IN_USE"
    floating = best(api, Story(provider="sx"))
    order = api.post("/exchanges", json={"quoteId": floating["quoteId"], "addressTo": ALICE}).json()
    assert (order["status"], order["rerouted"]) == (0, True)
    assert order["swapName"] != "Saxby"
