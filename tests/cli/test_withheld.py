"""An order that is not what was confirmed: exit 9, its id, and nowhere an address to pay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.desks import Desk
from cli.lying_service import Change, lying_service
from harness import Result, Sandbox
from swapdesk.chain.addresses.kinds import derive_address

MINE = derive_address("evm", b"mine".ljust(32))
THEIR_BTC = derive_address("bitcoin", b"theirs".ljust(32))


def swap_at(sandbox: Sandbox, home: Path, change: Change, *more: str) -> tuple[Result, Result]:
    """What the create ended with, and the order as shown afterwards."""
    partner = sandbox.partner("PRO", 1)
    with lying_service(sandbox.ready["url"], change) as url:
        desk = Desk(
            sandbox,
            home,
            {
                "SWAPDESK_API_URL": url,
                "SWAPDESK_API_KEY": partner["apiKey"],
                "SWAPDESK_API_SECRET": partner["apiSecret"],
            },
        )
        pair = ("0.1", "btc.bitcoin", "eth.ethereum", "--to", MINE)
        created = desk("swap", *pair, "--yes", "--json", *more)
        assert created.stdout, created
        return created, desk("orders", "show", created.document["serviceId"], "--json")


def answers(name: str, value: Any, *, on: str = "") -> Change:
    def change(method: str, path: str, answer: Any) -> Any:
        about_order = path.startswith(("/v2/exchanges", "/v2/orders/"))
        if about_order and path.startswith(on):
            answer[name] = value(answer[name]) if callable(value) else value
        return answer

    return change


# Every other lie: ``tests/flows/test_order_check.py``.
LIES = {
    "deposit address of the create": answers("depositAddress", THEIR_BTC, on="/v2/exchanges"),
    "deposit address of the repetition": answers("depositAddress", THEIR_BTC, on="/v2/orders/"),
}


def test_a_different_order_is_not_to_be_paid_and_an_honest_one_is(
    clean: Sandbox, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for lie, change in LIES.items():
        with subtests.test(lie=lie):
            created, shown = swap_at(clean, tmp_path, change)
            assert (created.code, created.error["code"]) == (9, "ORDER_DIFFERS"), created
            assert created.document["serviceId"] in created.error["message"]
            for result in (created, shown):
                document = result.document
                assert document["withheld"]
                assert document["deposit"] is None
                assert "depositAddress" not in document["order"]
                assert THEIR_BTC not in result.stdout + result.stderr
    created, shown = swap_at(clean, tmp_path, lambda method, path, answer: answer)
    assert created.code == 0, created
    assert shown.document["deposit"] == created.document["deposit"]


def test_an_order_that_was_not_repeated_differs_in_nothing(clean: Sandbox, tmp_path: Path) -> None:
    partner = clean.partner("PRO", 1)
    environ = {
        "SWAPDESK_API_URL": clean.ready["url"],
        "SWAPDESK_API_KEY": partner["apiKey"],
        "SWAPDESK_API_SECRET": partner["apiSecret"],
    }
    desk = Desk(clean, tmp_path, environ)
    clean.fault("http_503", operation="get_order", times=1000)
    pair = ("0.1", "btc.bitcoin", "eth.ethereum", "--to", MINE)
    created = desk("swap", *pair, "--yes", "--json")
    assert (created.code, created.error["code"]) == (9, "NOT_REPEATED"), created
    assert created.document["deposit"] is None
    order = created.document["serviceId"]
    assert created.error["next"] == (
        f"{created.document['next']}; swapdesk orders show {order} asks again"
    )
    clean.control("DELETE", "/faults")
    shown = desk("orders", "show", order, "--json")
    assert shown.document["deposit"] is not None, shown
