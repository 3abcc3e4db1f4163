"""Swaps on chains by a command: the profile's own wallet signs, in a sandbox of its own making."""

from __future__ import annotations

from typing import Any

from cli.desks import Desk

PAIR = ("20", "usdc.base", "weth.base")


def refused(desk: Desk, *words: str) -> tuple[int, dict[str, Any]]:
    result = desk("swap", *PAIR, *words, "--yes", "--json")
    return result.code, result.error


def test_a_swap_is_approved_signed_sent_and_completed(desk: Desk) -> None:
    done = desk("swap", *PAIR, "--type", "dex", "--provider", "ba", "--yes", "--json")
    assert done.code == 0, done.stderr
    told = done.document
    assert told["provider"] == "ba"
    assert told["recipient"] == told["account"]
    assert len(told["hash"]) == 66
    assert len(told["signed"]) == 2
    assert told["order"]["isDex"] is True
    assert "depositAddress" not in told["order"]
    watched = desk("orders", "watch", told["serviceId"], "--json")
    assert watched.code == 0, watched.stderr
    # Two signatures and no transaction of one's own: the same command, another venue.
    signed = desk("swap", *PAIR, "--type", "dex", "--provider", "is", "--yes", "--json")
    assert signed.code == 0, signed.stderr
    assert signed.document["hash"] is None
    assert len(signed.document["signed"]) == 2


def test_options_that_do_not_go_together(desk: Desk) -> None:
    code, error = refused(desk)
    assert (code, error["code"]) == (2, "USAGE")
    code, error = refused(desk, "--to", "@a", "--account", "trading")
    assert (code, list(error["fields"])) == (2, ["account"])
    code, error = refused(desk, "--type", "dex", "--fund")
    assert (code, list(error["fields"])) == (2, ["fund"])
    code, error = refused(desk, "--type", "dex", "--account", "nobody")
    assert (code, error["code"]) == (5, "NO_ACCOUNT")
