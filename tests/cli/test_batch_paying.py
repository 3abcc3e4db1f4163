"""``batch build|sign|submit`` and ``batch run``: a file paid by bundles out of the wallet, once, to
payouts that arrive on the chains."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cli.desks import Desk, account_of, rpc_of
from harness import Sandbox
from sandbox.chain_money import Chain
from sandbox.running import until
from swapdesk.cli.command_error import Exit
from swapdesk.sandbox.world import find_token

USDC, ETH = find_token("base", "USDC"), find_token("base", "ETH")
ARBITRUM_ETH = find_token("arbitrum", "ETH")
HEAD = "to,sell_amount,buy,chain,sell\n"
FIRST, SECOND, THIRD = (f"0x{digit * 40}" for digit in ("1a", "2b", "3c"))
FIRST, SECOND, THIRD = FIRST[:42], SECOND[:42], THIRD[:42]


def chain_of(desk: Desk, name: str = "base") -> Chain:
    return Chain(rpc_of(desk.sandbox, name))


@pytest.fixture(scope="module")
def account(sandbox: Sandbox) -> str:
    return account_of(sandbox, "evm", Chain(rpc_of(sandbox)), USDC, ETH)


def all_arrived(desk: Desk) -> bool:
    """Whether the newest batch is at its recipients, as the service says."""
    rows = desk("batch", "status", "--json").document["rows"]
    return all(row["orderState"] == "SWAP_COMPLETED" for row in rows)


def settled(group: dict[str, Any]) -> dict[str, Any]:
    """What stays of a group that is paid, while its orders go on."""
    return {fact: what for fact, what in group.items() if fact not in ("money", "next")}


def written(path: Path, *rows: str) -> str:
    path.write_text(HEAD + "\n".join(rows) + "\n")
    return str(path)


def test_a_file_is_run_to_payouts_on_the_chain(desk: Desk, account: str, tmp_path: Path) -> None:
    chain, paid_out = chain_of(desk), chain_of(desk, "arbitrum")
    held = chain.balance(USDC, account)
    rows = (
        f"{FIRST},150,ETH,arbitrum,USDC.base",
        f"{SECOND},160,ETH,arbitrum,USDC.base",
        f"{THIRD},0.05,ETH,arbitrum,ETH.base",
    )
    file = written(tmp_path / "payout.csv", *rows)
    desk.refused(Exit.BAD_INPUT, "NEEDS_YES", "batch", "run", file)
    batch = desk.made("batch", "run", file, "--yes")
    (group,) = batch["groups"]
    assert group["standing"] == "paid"
    bundle = group["bundle"]
    assert [item["token"] for item in bundle["items"]] == ["USDC", "ETH"]
    # Where the money is: with the bundle, or further where the exchanges were as fast.
    assert any(where in batch["money"] for where in (bundle["txHash"], "the recipients"))
    # One transaction funds each token, and what is needed leaves the wallet exactly.
    assert [one["token"] for one in group["payments"]] == ["ETH", "USDC"]
    assert held - chain.balance(USDC, account) == 310 * 10**6
    assert chain.balance(USDC, bundle["smartAccount"]) == 0
    for receiver in (FIRST, SECOND, THIRD):
        until(lambda to=receiver: paid_out.balance(ARBITRUM_ETH, to) > 0)
    until(lambda: all_arrived(desk))
    arrived = desk("batch", "status", "--json").document
    assert arrived["money"] == "with the recipients; all 3 orders are completed"
    assert arrived["next"].startswith("nobody: everything arrived")
    for row in arrived["rows"]:
        shown = desk("orders", "show", row["serviceId"], "--json").document
        assert shown["depositHash"] == bundle["txHash"]
        assert (shown["deposit"], shown["withheld"] is None) == (None, False)
        held_by = shown["paidTo"]["address"]
        assert chain.balance(USDC, held_by) or chain.balance(ETH, held_by)
    assert "swapdesk wallet balance" in arrived["next"]
    desk.refused(Exit.OWN_REFUSAL, "CREATED_BEFORE", "batch", "run", file, "--yes")
    resumed = desk.made("batch", "resume", batch["batch"][:8])
    assert [settled(one) for one in resumed["groups"]] == [settled(group)]
    assert resumed["money"] == arrived["money"]
    assert held - chain.balance(USDC, account) == 310 * 10**6


def test_what_the_wallet_cannot_pay_is_not_created(
    desk: Desk, account: str, tmp_path: Path
) -> None:
    held = Decimal(chain_of(desk).balance(USDC, account)).scaleb(-6)
    file = written(
        tmp_path / "dear.csv",
        f"{FIRST},150,ETH,arbitrum,USDC.base",
        f"{SECOND},{held - 100:f},ETH,arbitrum,USDC.base",
    )
    plan = desk("batch", "plan", file, "--json")
    assert plan.code == Exit.BAD_INPUT
    (total,) = plan.document["totals"]
    assert Decimal(total["held"]) == held
    fits, dear = plan.document["rows"]
    assert (fits["state"], dear["state"]) == ("look", "problem")
    assert dear["findings"][-1]["code"] == "NOT_IN_WALLET"
    for words in (("create", file), ("run", file)):
        desk.refused(Exit.BAD_INPUT, "BATCH_PROBLEMS", "batch", *words, "--yes")


def test_each_step_has_its_command(desk: Desk, account: str, tmp_path: Path) -> None:
    file = written(tmp_path / "steps.csv", f"{FIRST},170,ETH,arbitrum,USDC.base")
    created = desk("batch", "create", file, "--yes", "--json").document
    name = created["batch"][:8]
    assert created["next"] == f"you: swapdesk batch build {name} --group 1"
    for early in ("sign", "submit"):
        desk.refused(Exit.OWN_REFUSAL, "NOT_YET", "batch", early, name)
    built = desk.made("batch", "build", name)
    (group,) = built["groups"]
    assert (group["standing"], group["bundle"]["signatures"]) == ("built", 0)
    assert group["bundle"]["needs"][-1] == {
        "token": "USDC", "contract": USDC.address, "amount": 170,
    }  # fmt: skip
    assert built["money"] == "in your wallet; no deposit was paid"
    desk.refused(Exit.BAD_INPUT, "NEEDS_YES", "batch", "sign", name)
    # Nothing of it was interrupted: what comes next is a step of the trader's own.
    idle = desk.refused(Exit.OWN_REFUSAL, "NOT_BEGUN", "batch", "resume", name, "--yes")
    assert idle["next"] == f"you: swapdesk batch sign {name} --group 1"
    signed = desk.made("batch", "sign", name, "--yes")
    (group,) = signed["groups"]
    assert (group["standing"], group["bundle"]["signatures"]) == ("signed", 1)
    assert group["bundle"]["smartAccount"] in signed["money"]
    submitted = desk.made("batch", "submit", name)
    assert submitted["groups"][0]["standing"] == "paid"
    # The order was asked after.
    assert [row["orderState"] is None for row in submitted["rows"]] == [False]
    # That the service cannot say more is told, and takes nothing from what was paid.
    desk.sandbox.fault("rate_limited", operation="get_multi_exchange", times=50, seconds=1)
    twice = desk("batch", "submit", name, "--json")
    desk.sandbox.control("DELETE", "/faults")
    assert twice.code == Exit.DONE
    assert "Not all orders could be asked after: " in twice.stderr
    assert f"swapdesk batch status {name} asks again." in twice.stderr
    (before,), (after,) = submitted["groups"], twice.document["groups"]
    assert settled(after) == settled(before)
    desk.refused(Exit.OWN_REFUSAL, "NO_FAILED_ROWS", "batch", "create", "--failed", name, "--yes")


def test_a_run_killed_while_it_creates_is_paid_by_whoever_goes_on(
    desk: Desk, account: str, tmp_path: Path
) -> None:
    receiver = "0x" + "6f" * 20
    file = written(tmp_path / "killed.csv", f"{receiver},180,ETH,arbitrum,USDC.base")
    desk.killed("api.create_multi_exchange.after.1", "batch", "run", file, "--yes", "--json")
    # Nobody has said yes to this command.
    unsaid = desk.refused(Exit.BAD_INPUT, "NEEDS_YES", "batch", "resume")
    assert unsaid["money"] == "in your wallet; no deposit was paid"
    done = desk.made("batch", "resume", "--yes")
    (group,) = done["groups"]
    assert group["standing"] == "paid"
    until(lambda: chain_of(desk, "arbitrum").balance(ARBITRUM_ETH, receiver) > 0)


def test_a_bundle_that_fails_says_where_the_money_is(
    desk: Desk, account: str, tmp_path: Path
) -> None:
    file = written(tmp_path / "fails.csv", f"{FIRST},180,ETH,arbitrum,USDC.base")
    created = desk("batch", "create", file, "--yes", "--json").document
    multi_id = created["groups"][0]["multiId"]
    desk.sandbox.control("POST", "/faults", {"multiId": multi_id, "fault": "bundle_fail"})
    name = created["batch"][:8]
    assert desk("batch", "build", name, "--json").code == Exit.DONE
    assert desk("batch", "sign", name, "--yes", "--json").code == Exit.DONE
    failed = desk("batch", "submit", name, "--json")
    assert failed.code == Exit.ENDED_OTHERWISE
    error = failed.error
    assert error["code"] == "BUNDLE_FAILED"
    assert "in your smart account 0x" in error["money"]
    assert "build the bundle again" in error["next"]
    assert "swapdesk wallet withdraw --chain base" in error["next"]
    # Its order says the same of the money as the batch does.
    (service_id,) = (row["serviceId"] for row in created["rows"])
    shown = desk("orders", "show", service_id, "--json").document
    assert shown["money"] == f"{error['money']}."
    assert "swapdesk wallet withdraw --chain base" in shown["next"]
    assert shown["by"].startswith("before ")
    resumed = desk.refused(Exit.ENDED_OTHERWISE, "BUNDLE_FAILED", "batch", "resume", name, "--yes")
    assert resumed["money"] == error["money"]
    assert f"swapdesk batch build {name} --group 1" in resumed["next"]
    # What is there already is not sent a second time.
    again = desk("batch", "build", name, "--json").document["groups"][0]
    assert (again["bundle"]["number"], again["bundle"]["needs"]) == (2, [])
    # And its owner takes it back, with the coins that were for gas.
    smart, chain = again["bundle"]["smartAccount"], chain_of(desk)
    held, there = chain.balance(USDC, account), chain.balance(USDC, smart)
    assert there == 180 * 10**6
    listed = desk("wallet", "balance", "--json")
    (kept,) = [one for one in listed.document["balances"] if one["smartAccount"] == smart]
    assert (kept["account"], kept["chain"]) == (account, "base")
    assert {one["symbol"]: one["amount"] for one in kept["holdings"]}["USDC"] == 180
    assert "comes back with: swapdesk wallet withdraw --chain base" in listed.stderr
    desk.refused(
        Exit.NOT_FOUND,
        "NOTHING_HELD",
        "wallet",
        "withdraw",
        "--chain",
        "base",
        "--token",
        "DAI",
        "--yes",
    )
    desk.refused(
        Exit.BAD_INPUT, "NO_SUCH_CHAIN", "wallet", "withdraw", "--chain", "solana", "--yes"
    )
    desk.refused(Exit.BAD_INPUT, "NEEDS_YES", "wallet", "withdraw", "--chain", "base")
    out = desk.made("wallet", "withdraw", "--chain", "base", "--yes")
    taken = {(one["symbol"], one["prepaid"]): one["amount"] for one in out["withdrawn"]}
    assert taken["USDC", False] == 180
    assert "ETH" in {symbol for symbol, _ in taken}, taken
    assert chain.balance(USDC, account) == held + there
    assert (chain.balance(USDC, smart), chain.balance(ETH, smart)) == (0, 0)
    left = desk("wallet", "balance", "--json").document["balances"]
    assert smart not in [one["smartAccount"] for one in left]
    # What was built on it is not signed: it needs the money again.
    status = desk("batch", "status", name, "--json").document["groups"][0]
    assert out["hash"] in status["money"]
    desk.refused(Exit.OWN_REFUSAL, "BUILT_BEFORE", "batch", "sign", name, "--yes")
    anew = desk("batch", "build", name, "--json").document["groups"][0]
    assert anew["bundle"]["needs"][-1]["amount"] == 180
    desk.refused(Exit.NOT_FOUND, "NOTHING_HELD", "wallet", "withdraw", "--chain", "base", "--yes")
