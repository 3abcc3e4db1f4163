"""Commands of a live profile against a service that answers as the public one was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.desks import Desk
from harness import Sandbox
from live_service import live_service

BITCOIN = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
RECEIVER = "0x" + "1a" * 20


@pytest.fixture(params=[b'{"ok":true}', b"OK"], ids=["json", "text"])
def live(clean: Sandbox, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    partner = clean.partner("PRO", 1)
    with live_service(clean.ready["url"], request.param) as url:
        yield Desk(
            clean,
            tmp_path,
            {
                "SWAPDESK_API_URL": url,
                "SWAPDESK_API_KEY": partner["apiKey"],
                "SWAPDESK_API_SECRET": partner["apiSecret"],
            },
        )


def test_a_service_is_well_in_either_form(live: Desk) -> None:
    found = {one["check"]: one for one in live("doctor", "--json").document["findings"]}
    assert (found["service"]["state"], found["credentials"]["state"]) == ("ok", "ok"), found


@pytest.mark.parametrize("live", [b"{}"], indirect=True)
def test_a_fixed_rate_from_quote_to_order(live: Desk) -> None:
    for words in (
        ("0.05", "btc.bitcoin", "eth.ethereum", "--fixed"),
        ("1", "btc.bitcoin", "eth.ethereum", "--receive"),
    ):
        board = live.made("quote", *words)
        assert all(row["fixed"] for row in board["quotes"])
        made = live.made(
            "swap", *words, "--to", RECEIVER, "--refund", BITCOIN, "--type", "standard", "--yes"
        )
        order = made["order"]
        assert (order["fixed"], order["refundAddress"]) == (True, BITCOIN)
        assert words[-1] == "--fixed" or order["outAmount"] == 1
        assert made["deposit"]["address"] == order["depositAddress"]
        shown = live("orders", "show", order["serviceId"], "--json")
        assert shown.document["order"]["inAmount"] == order["inAmount"]
    listed = live("orders", "list", "--json").document
    assert len(listed["orders"]) >= 2


@pytest.mark.parametrize("live", [b"{}"], indirect=True)
def test_without_priorities_a_coin_is_named_before_its_copies(live: Desk) -> None:
    for symbol, first in (("btc", "BTC.bitcoin"), ("eth", "ETH.ethereum")):
        refused = live("quote", "0.05", symbol, "usdc.base", "--json")
        assert refused.error["code"] == "AMBIGUOUS_TOKEN", refused
        assert f'["{first}"' in refused.stderr, refused


@pytest.mark.parametrize("live", [b"{}"], indirect=True)
def test_a_chain_is_called_as_the_service_calls_it(live: Desk) -> None:
    swap, to = ("swap", "0.05", "btc.bitcoin"), "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh"
    waived = ("--waive-memo", "NO MEMO", "--yes", "--json")
    made = live(*swap, "xrp.ripple", "--to", to, *waived)
    assert made.code == 0, made
    assert made.document["order"]["receiverAddress"] == to
    wrong = live(*swap, "atom.cosmoshub-4", "--to", RECEIVER, *waived)
    assert wrong.code not in (0, 1), wrong
    assert "Cosmos Hub needs one that starts with cosmos1" in wrong.stderr, wrong
