"""Every way an order can go wrong, played at once over a real sandbox and looked at one by one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from msgspec import Struct, field

from harness import wait_for
from rows import each_row
from sandbox.running import Running, asked, create_order, status_of
from sandbox.test_node import address
from swapdesk.sandbox.world import find_token
from swapdesk.wire.faults import ORDER_FAULTS

BTC_TOKEN, ETH_TOKEN = find_token("bitcoin", "BTC"), find_token("ethereum", "ETH")
BTC, ETH = BTC_TOKEN.token_id, ETH_TOKEN.token_id
ALICE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
REFUND = {"refundAddress": address(BTC_TOKEN, "refund")}
FIXED = {"fixed": "true"}
LESS_THE_FEE = Decimal("0.09975")
"""Of the 0.1 BTC of every story, less the quarter of a percent that Halyard keeps."""


class Story(Struct):
    """One order: what is asked and created, what goes wrong, what is paid, when it is over, and
    how it stands then."""

    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, str] = field(default_factory=dict)
    types: str = "standard"
    fault: str = ""
    leg: str = "in"
    paid: Decimal | None = Decimal(1)
    """The share of inAmount that is paid; None for nothing."""
    over: str = "ended"
    provider: str | None = None
    end: dict[str, Any] = field(default_factory=dict)
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


REFUNDED = {"status": 7, "displayStatus": "REFUNDED", "refundChain": "bitcoin"}
UNREFUNDED = ("nonRefundable", "refundHash")
STUCK = {"status": 6, "displayStatus": "FAILED", "inStatus": 6, "actionRequired": True}
STORIES = {
    "refund": Story(
        body=REFUND,
        fault="refund",
        provider="hy",
        end={**REFUNDED, "inStatus": 7, "actionRequired": False, "refundAmount": LESS_THE_FEE},
        lacks=("orderFinishedReceived",),
    ),
    "refund without an amount": Story(
        body=REFUND,
        fault="refund",
        provider="kt",
        end=REFUNDED,
        has=("refundHash",),
        lacks=("refundAmount",),
    ),
    "refund to nobody": Story(fault="refund", end=STUCK, lacks=UNREFUNDED),
    "fail": Story(body=REFUND, fault="fail_after_deposit", end=STUCK, lacks=UNREFUNDED),
    "fail in the second leg": Story(
        types="private",
        fault="fail_after_deposit",
        leg="out",
        end={**STUCK, "inStatus": 5, "outStatus": 6, "nonRefundable": True},
        lacks=("refundHash",),
    ),
    "fixed fails part-way": Story(
        types="private",
        query=FIXED,
        body=REFUND,
        fault="fail_after_deposit",
        leg="out",
        end={**REFUNDED, "outStatus": 7, "fixed": True, "actionRequired": False},
    ),
    "hold": Story(
        fault="hold",
        over="held",
        end={"status": 2, "inStatus": 8, "inStatusLabel": "VERIFYING"},
    ),
    "hold in the second leg": Story(
        types="private",
        fault="hold",
        leg="out",
        over="held",
        end={"status": 3, "outStatus": 8, "displayStatus": "SECOND_EXCHANGE_IN_PROGRESS"},
    ),
    "fallback": Story(
        fault="fallback",
        end={"status": 4, "inStatus": 10, "inStatusLabel": "FALLBACK"},
        has=("orderFinishedReceived", "inTransactionOutHash"),
    ),
    "fallback in the second leg": Story(
        types="private", fault="fallback", leg="out", end={"status": 4, "outStatus": 10}
    ),
    "reroute": Story(fault="reroute", provider="hy", end={"status": 4, "rerouted": True}),
    "reroute the first leg": Story(
        types="private", fault="reroute", end={"status": 4, "rerouted": True}, lacks=("swapName",)
    ),
    "reroute the second leg": Story(
        types="private",
        fault="reroute",
        leg="out",
        end={"status": 4, "rerouted": True},
        lacks=("swapName",),
    ),
    # A fixed rate never goes to another exchange.
    "reroute of a fixed rate": Story(
        query=FIXED, body=REFUND, fault="reroute", end={**REFUNDED, "rerouted": False}
    ),
    "expire": Story(
        fault="expire",
        paid=None,
        end={"status": 5, "displayStatus": "EXPIRED", "inStatus": 9, "actionRequired": False},
    ),
    "short": Story(
        body=REFUND,
        paid=Decimal("0.0001"),
        provider="cb",
        end={**REFUNDED, "refundAmount": Decimal("0.00001")},
    ),
    "short without a way back": Story(paid=Decimal("0.0001"), end=STUCK),
    "less": Story(query=FIXED, body=REFUND, paid=Decimal("0.5"), end={"status": 4}),
    "less of a floating rate": Story(paid=Decimal("0.5"), end={"status": 4}),
    "excess": Story(paid=Decimal(2), end={"status": 4}, lacks=("refundHash",)),
    "excess of a fixed rate": Story(
        query=FIXED,
        body=REFUND,
        paid=Decimal(2),
        provider="hy",
        end={"status": 4, "refundChain": "bitcoin", "refundAmount": LESS_THE_FEE},
    ),
    "reverse": Story(
        query={**FIXED, "amountType": "receive", "amount": "3"},
        body=REFUND,
        end={"status": 4, "fixed": True, "outAmount": Decimal(3)},
    ),
    "markup": Story(query={"markup": "2.5"}, provider="hy", end={"status": 4}),
}


Played = tuple[dict[str, Any], dict[str, Any]]
"""An order as it was created, and as it stood when its story was over."""


def create(api: httpx2.Client, story: Story) -> dict[str, Any]:
    more = {"types": story.types, "query": story.query, "swap": story.provider, **story.body}
    return create_order(api, BTC, ETH, "0.1", ALICE, reading={"parse_float": Decimal}, **more)


def begin(api: httpx2.Client, control: httpx2.Client, name: str) -> dict[str, Any]:
    """The order of a story, with its faults set and its deposit paid."""
    story = STORIES[name]
    order = create(api, story)
    if story.fault:
        fault = {"serviceId": order["serviceId"], "fault": story.fault, "leg": story.leg}
        told = control.post("/faults", json=fault)
        assert told.status_code == 200, (name, told.text)
    if story.paid is not None:
        amount = (order["inAmount"] * story.paid).quantize(Decimal("1e-8"))
        content = f'{{"serviceId": "{order["serviceId"]}", "amount": {amount:f}}}'
        headers = {"content-type": "application/json"}
        assert control.post("/deposits", content=content, headers=headers).status_code == 200
    return order


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
        for name, created in begun.items():
            order = now[created["serviceId"]]
            if name not in found and over(STORIES[name], order):
                found[name] = created, order
        return len(found) == len(begun)

    try:
        wait_for(all_over, "every story")
    except AssertionError:
        raise AssertionError(f"not over: {sorted(begun.keys() - found.keys())}") from None
    return found


def test_every_fault_of_an_order_has_a_story() -> None:
    told = {story.fault for story in STORIES.values()} - {""}
    # Holds are released below.
    assert told | {"release"} == {fault.name for fault in ORDER_FAULTS}


@pytest.mark.proves(
    "status EXCHANGING",
    "status ANONYMIZING",
    "status FINISHED",
    "status EXPIRED",
    "status FAILED",
    "status REFUNDED",
    "display EXPIRED",
    "display FAILED",
    "display REFUNDED",
    "leg FAILED",
    "leg REFUNDED",
    "leg VERIFYING",
    "leg EXPIRED",
    "leg FALLBACK",
    "field actionRequired",
    "field nonRefundable",
    "field fixed",
    "field refundHash",
    "field refundChain",
    "field refundAmount",
)
@each_row("name", STORIES)
def test_an_order_ends_as_its_story_says(played: dict[str, Played], name: str) -> None:
    story, (_, end) = STORIES[name], played[name]
    assert {field: end.get(field) for field in story.end} == story.end
    assert [field for field in story.has if not end.get(field)] == []
    assert [field for field in story.lacks if field in end] == []


def test_a_hold_ends_when_it_is_released(
    played: dict[str, Played], api: httpx2.Client, control: httpx2.Client
) -> None:
    held = [played[name][1]["serviceId"] for name in ("hold", "hold in the second leg")]
    for order in held:
        ask = {"serviceId": order, "fault": "release"}
        assert control.post("/faults", json=ask).status_code == 200
        assert control.post("/faults", json=ask).status_code == 422, "nothing is on hold any more"
    for order in held:
        wait_for(lambda n=order: status_of(api, n) == 4, what="the end")  # type: ignore[misc]


@pytest.mark.proves("field rerouted", "field quotedInAmount", "field quotedOutAmount")
def test_another_exchange_carries_a_declined_deposit_out(played: dict[str, Played]) -> None:
    created, end = played["reroute"]
    assert created["in"] == "hy"
    assert end["in"] != "hy"
    assert end["swapName"] != created["swapName"]
    assert end["depositAddress"] == created["depositAddress"]
    assert end["quotedInAmount"] == created["inAmount"] == end["inAmount"]
    assert end["quotedOutAmount"] == created["outAmount"] > end["outAmount"]
    for name in ("reroute the first leg", "reroute the second leg"):
        created, end = played[name]
        assert end["quotedOutAmount"] == created["outAmount"]


@pytest.mark.proves("status DELETED", "display DELETED")
def test_deletion(api: httpx2.Client, control: httpx2.Client) -> None:
    made = [create(api, Story(provider="cb"))["serviceId"] for _ in range(2)]
    control.post("/deposits", json={"serviceId": made[1]})
    wait_for(lambda: status_of(api, made[1]), what="the deposit")
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
