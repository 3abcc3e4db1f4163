"""A swap on Solana by one command, in a home whose wallet nobody has looked at before."""

from __future__ import annotations

import json
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cli.desks import Desk
from harness import Sandbox, home_of, start_command, wait_for
from patience import PATIENCE
from plain_http import PLAIN
from swapdesk.sandbox.world import find_token

USDC = str(find_token("solana", "USDC").address)


@pytest.fixture
def fresh(sandbox: Sandbox, tmp_path: Path) -> Desk:
    """A home that nothing was done in yet; other tests count on what is in the shared wallet."""
    return Desk(home_of(sandbox, tmp_path, wallet=False), tmp_path, {})


def ask(sandbox: Sandbox, method: str, *params: Any) -> Any:
    """Of the chain, as any client asks it."""
    (link,) = [one for one in sandbox.ready["chains"] if one["shortName"] == "solana"]
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
    answer = httpx2.post(link["rpc"], json=asked, trust_env=False, verify=PLAIN).json()
    assert "error" not in answer, answer
    return answer["result"]


def dollars(sandbox: Sandbox, owner: str) -> int:
    found = ask(
        sandbox, "getTokenAccountsByOwner", owner, {"mint": USDC}, {"encoding": "jsonParsed"}
    )
    return sum(
        int(one["account"]["data"]["parsed"]["info"]["tokenAmount"]["amount"])
        for one in found["value"]
    )


def test_dollars_for_sol_in_a_new_home(fresh: Desk) -> None:
    desk, sandbox = fresh, fresh.sandbox
    (maker,) = [one["key"] for one in sandbox.ready["makers"] if one["provider"] == "at"]
    before = dollars(sandbox, maker)
    words = ("swap", "100", "usdc.solana", "sol.solana", "--type", "dex", "--yes", "--json")
    swapping = start_command(
        *words, home=desk.home, env=desk.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    paid = wait_for(lambda: dollars(sandbox, maker) - before or None, what="the payment")
    assert paid == 100 * 10**6
    # Blocks come by the clock, so nobody has to wait until it is final.
    sandbox.control("POST", "/clock", {"advance": 15})
    out, err = swapping.communicate(timeout=PATIENCE)
    assert swapping.returncode == 0, err
    told = json.loads(out, parse_float=Decimal)
    assert (told["provider"], told["recipient"]) == ("at", told["account"])
    assert told["signed"] == ["A swap in one transaction"]
    watched = desk("orders", "watch", told["serviceId"], "--json")
    assert watched.code == 0, watched.stderr
    shown = desk("orders", "show", told["serviceId"], "--json").document
    assert shown["order"]["displayStatus"] == "SWAP_COMPLETED"
    # What the chain holds is what the wallet shows.
    owner = told["account"]
    lamports = ask(sandbox, "getBalance", owner)["value"]
    assert dollars(sandbox, owner) == 9_900 * 10**6
    fee = 10_100
    arrived = Decimal(lamports + fee).scaleb(-9) - 100
    assert arrived == Decimal(str(told["order"]["outAmount"]))
    balance = desk("wallet", "balance", "--account", owner, "--json")
    assert balance.code == 0, balance.stderr
    (held,) = balance.document["balances"]
    amounts = {one["symbol"]: Decimal(one["amount"]) for one in held["holdings"]}
    assert (amounts["USDC"], amounts["SOL"]) == (9_900, Decimal(lamports).scaleb(-9))
    # An account of another chain does not pay for it.
    wrong = desk(*words, "--account", "trading")
    assert (wrong.code, wrong.error["code"]) == (2, "WRONG_CHAIN")
