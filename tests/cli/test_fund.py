"""``fund`` and ``batch``: deposits out of the profile's own wallet, each once, by a real
transfer, by bundles, and on Solana by a transaction each, to payouts that arrive on the
chains."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.desks import Desk, account_of, batch_file
from harness import Sandbox, running_sandbox, start_command, wait_for
from patience import PATIENCE
from sandbox.chain_money import Chain, SolanaChain
from swapdesk.cli.command_error import Exit
from swapdesk.sandbox.world import WorldToken, find_token

BITCOIN = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
USDC, ETH = find_token("base", "USDC"), find_token("base", "ETH")


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One of its own: its clock is moved further than a live profile bears."""
    with running_sandbox(tmp_path_factory.mktemp("home"), wallet=True) as running:
        yield running


def chain_of(desk: Desk, name: str = "base") -> Chain:
    return Chain(desk.sandbox.rpc(name))


def order_of(desk: Desk, *words: str) -> dict[str, Any]:
    return desk.made("swap", *words, "--yes")


@pytest.fixture(scope="module")
def account(sandbox: Sandbox) -> str:
    return account_of(sandbox, "evm", Chain(sandbox.rpc("base")), USDC, ETH)


def transfers(chain: Chain, token: WorldToken, to: str) -> list[dict[str, Any]]:
    """Logs of the token that name an address as the receiver."""
    wanted = [
        "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
        None,
        "0x" + to[2:].lower().rjust(64, "0"),
    ]
    asked = {"fromBlock": "0x0", "address": token.address, "topics": wanted}
    return chain("eth_getLogs", asked)


def test_a_deposit_of_a_token_is_paid_from_the_wallet_once(desk: Desk, account: str) -> None:
    chain = chain_of(desk)
    order = order_of(desk, "60", "usdc.base", "btc.bitcoin", "--to", BITCOIN)
    held = chain.balance(USDC, account)
    desk.refused(130, "NOT_CONFIRMED", "fund", order["serviceId"])
    assert chain.balance(USDC, account) == held
    paid = desk.made("fund", order["serviceId"], "--yes")
    told, place = paid, order["deposit"]["address"]
    assert (told["account"], told["depositAddress"], told["amount"]) == (account, place, 60)
    (log,) = transfers(chain, USDC, place)
    assert (log["transactionHash"], int(log["data"], 16)) == (told["hash"], 60 * 10**6)
    assert held - chain.balance(USDC, account) == 60 * 10**6
    desk.made("orders", "watch", order["serviceId"])
    again = desk.refused(9, "PAID_BEFORE", "fund", order["serviceId"], "--yes")
    assert told["hash"] in again["message"]
    # That it is paid needs no key: another desk may have them.
    with (desk.home / "profiles" / "sandbox" / "keys" / "lock").open("rb") as keys:
        fcntl.flock(keys, fcntl.LOCK_EX)
        again = desk("fund", order["serviceId"], "--yes", "--json")
    assert (again.code, again.error["code"]) == (9, "PAID_BEFORE")
    assert len(transfers(chain, USDC, place)) == 1
    # The link of the order is the payout's by now.
    shown = desk("orders", "show", order["serviceId"], "--json").document
    assert shown["depositHash"] == told["hash"]
    assert shown["transactions"][0] == {
        "for": "deposit", "hash": told["hash"], "state": "confirmed", "by": "wallet",
    }  # fmt: skip
    assert (shown["deposit"], shown["paidTo"]["address"]) == (None, place)
    words = desk("orders", "show", order["serviceId"]).stdout
    assert "Was paid to" in words
    assert told["hash"] in words
    exported = desk("orders", "export", "--format", "json").document["orders"]
    (row,) = [one for one in exported if one["serviceId"] == order["serviceId"]]
    assert row["depositHash"] == told["hash"]


def test_what_is_not_to_be_paid_is_not(desk: Desk, account: str) -> None:
    chain = chain_of(desk)
    nonce = chain("eth_getTransactionCount", account, "latest")

    def refused(service_id: str, code: str, end: int = 9, *words: str) -> None:
        desk.refused(end, code, "fund", service_id, "--yes", *words)
        assert chain("eth_getTransactionCount", account, "latest") == nonce

    refused("doesnotexist0000000000", "NOT_FOUND", 5)
    rich = order_of(desk, "20000", "usdc.base", "btc.bitcoin", "--to", BITCOIN)
    refused(rich["serviceId"], "WRONG_CHAIN", 2, "--wallet", "solana")
    refused(rich["serviceId"], "GATE")
    late = rich["serviceId"]
    desk.sandbox.control("POST", "/faults", {"serviceId": late, "fault": "expire"})
    assert desk("orders", "watch", late).code == 10
    refused(late, "NOT_PAYABLE")
    faucet = order_of(desk, "62", "usdc.base", "btc.bitcoin", "--to", BITCOIN, "--fund")
    refused(faucet["serviceId"], "PAID_BEFORE")


KILLED = ("wallet.sign.after.1", "ledger.deposit_prepared.after.1", "wallet.broadcast.after.1")


@pytest.mark.long
@pytest.mark.parametrize("boundary", KILLED)
def test_a_killed_payment_is_gone_on_with_and_made_once(
    desk: Desk, account: str, boundary: str
) -> None:
    chain = chain_of(desk)
    order = order_of(
        desk, str(70 + KILLED.index(boundary)), "usdc.base", "btc.bitcoin", "--to", BITCOIN
    )
    nonce = int(chain("eth_getTransactionCount", account, "latest"), 16)
    service_id, place = order["serviceId"], order["deposit"]["address"]
    desk.killed(boundary, "fund", service_id, "--yes", "--json")
    ended = wait_for(lambda: _again(desk, service_id))
    assert ended["hash"]
    (log,) = transfers(chain, USDC, place)
    assert log["transactionHash"] == ended["hash"]
    assert int(log["data"], 16) == int(order["deposit"]["amount"] * 10**6)
    assert int(chain("eth_getTransactionCount", account, "latest"), 16) == nonce + 1


def _again(desk: Desk, service_id: str) -> dict[str, Any] | None:
    """The end of the same command; None while the killed one's agent still has the wallet."""
    said = desk("fund", service_id, "--yes", "--json")
    if said.code == 9 and said.error["code"] == "READ_ONLY":
        return None
    assert said.code == 0, said.stderr
    return said.document


UNSIGNED = "waits for your signature in the desk. Nothing was signed, and nothing left your wallet"
UNKNOWN = "may have been signed, and made"


def said_of(desk: Desk, service_id: str) -> str:
    """What a list of orders, the order itself and ``why`` say of its payment, all the same."""
    begun = f"The payment of order {service_id} from your wallet"
    said = {
        line
        for words in (("orders", "list"), ("orders", "show", service_id), ("why", service_id))
        for line in desk(*words).stderr.splitlines()
        if service_id in line
    }
    assert len(said) == 1, said
    (line,) = said
    assert line.startswith(begun)
    return line


def test_what_was_never_signed_is_told_and_what_may_have_been_stays_unknown(
    desk: Desk, account: str
) -> None:
    """A desk is killed before it asks the wallet, while it asks, and once the wallet signed."""
    first, second, signed = (
        order_of(desk, amount, "usdc.base", "btc.bitcoin", "--to", BITCOIN)
        for amount in ("81", "82", "83")
    )
    shown, asked = first["serviceId"], second["serviceId"]
    chain = chain_of(desk)
    nonce = int(chain("eth_getTransactionCount", account, "latest"), 16)

    # The trader said yes, and the journal does not have it.
    desk.killed("ledger.deposit_sent.before.1", "fund", shown, "--yes", "--json")
    keys = desk.home / "profiles" / "sandbox" / "keys"
    with (keys / "lock").open("rb") as others:
        fcntl.flock(others, fcntl.LOCK_EX)
        assert UNSIGNED in said_of(desk, shown), "the journal alone proves it"
    wait_for(lambda: _again(desk, shown))

    desk.killed("wallet.sign.before.1", "fund", asked, "--yes", "--json")
    with (keys / "lock").open("rb") as others:
        fcntl.flock(others, fcntl.LOCK_EX)
        assert UNKNOWN in said_of(desk, asked), "another process may be signing it"
    assert UNSIGNED in said_of(desk, asked)
    aside = keys.rename(desk.home / "aside")
    shutil.copytree(aside, keys, ignore=shutil.ignore_patterns("transactions.db*"))
    assert UNKNOWN in said_of(desk, asked), "records that are gone prove nothing"
    for left in keys.glob("transactions.db*"):
        left.unlink()
    records = keys / "transactions.db"
    records.touch(0o600)
    records.write_bytes(b"no records" * 1000)
    assert UNKNOWN in said_of(desk, asked), "its records cannot be read"
    shutil.rmtree(keys)
    aside.rename(keys)
    assert UNSIGNED in said_of(desk, asked)
    wait_for(lambda: _again(desk, asked))

    desk.killed("wallet.sign.after.1", "fund", signed["serviceId"], "--yes", "--json")
    assert UNKNOWN in said_of(desk, signed["serviceId"])
    ended = wait_for(lambda: _again(desk, signed["serviceId"]))
    (log,) = transfers(chain, USDC, signed["deposit"]["address"])
    assert (log["transactionHash"], int(log["data"], 16)) == (ended["hash"], 83 * 10**6)
    assert int(chain("eth_getTransactionCount", account, "latest"), 16) == nonce + 3
    assert "The payment of order" not in desk("orders", "list").stderr


SOL_USDC, SOL = find_token("solana", "USDC"), find_token("solana", "SOL")


@pytest.fixture
def chain(sandbox: Sandbox) -> SolanaChain:
    return SolanaChain(sandbox.rpc("solana"))


@pytest.fixture(scope="module")
def solana(sandbox: Sandbox) -> str:
    return account_of(sandbox, "solana", SolanaChain(sandbox.rpc("solana")), SOL_USDC, SOL)


def deposits(chain: SolanaChain, order: dict[str, Any]) -> list[dict[str, Any]]:
    """What was executed and names the order's deposit address."""
    place = order["deposit"]["address"]
    # A transfer of tokens names the token account, and the owner when it opens one.
    return [one for one in chain.history(place) if one["err"] is None]


def test_a_deposit_on_solana_is_paid_from_the_wallet_once(
    desk: Desk, solana: str, chain: SolanaChain
) -> None:
    """Coins: ``tests/wallet/test_solana_deposits.py``."""
    order = order_of(desk, "60", "usdc.solana", "btc.bitcoin", "--to", BITCOIN)
    held, place = chain.balance(SOL_USDC, solana), order["deposit"]["address"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    paying = ("fund", order["serviceId"], "--yes", "--json")
    running = start_command(*paying, home=desk.home, env=desk.environ, **pipes)
    wait_for(lambda: running.poll() is not None or deposits(chain, order), "a payment")
    # Blocks come by the clock: nobody waits until what was paid is final.
    desk.sandbox.control("POST", "/clock", {"advance": 15})
    out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err
    told = json.loads(out)
    assert (told["account"], told["depositAddress"]) == (solana, place)
    assert chain.balance(SOL_USDC, place) == 60 * 10**6
    (paid,) = deposits(chain, order)
    assert paid["signature"] == told["hash"]
    assert order["serviceId"] in paid["memo"]
    assert held - chain.balance(SOL_USDC, solana) == 60 * 10**6
    desk.made("orders", "watch", order["serviceId"])
    again = desk.refused(9, "PAID_BEFORE", "fund", order["serviceId"], "--yes")
    assert told["hash"] in again["message"]
    assert len(deposits(chain, order)) == 1


ARBITRUM_ETH = find_token("arbitrum", "ETH")
FIRST, SECOND, THIRD = ("0x" + digits * 20 for digits in ("1a", "2b", "3c"))


def settled(group: dict[str, Any]) -> dict[str, Any]:
    """What stays of a group that is paid, while its orders go on."""
    return {fact: what for fact, what in group.items() if fact not in ("money", "next")}


def test_a_file_is_run_to_payouts_on_the_chain(desk: Desk, account: str, tmp_path: Path) -> None:
    chain, paid_out = chain_of(desk), chain_of(desk, "arbitrum")
    held = chain.balance(USDC, account)
    rows = (
        f"{FIRST},150,ETH,arbitrum,USDC.base",
        f"{SECOND},160,ETH,arbitrum,USDC.base",
        f"{THIRD},0.05,ETH,arbitrum,ETH.base",
    )
    file = batch_file(tmp_path, *rows)
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
        wait_for(lambda to=receiver: paid_out.balance(ARBITRUM_ETH, to) > 0)
    desk.made("orders", "watch", *(row["serviceId"] for row in batch["rows"]))
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


def test_each_step_has_its_command(desk: Desk, account: str, tmp_path: Path) -> None:
    file = batch_file(tmp_path, f"{FIRST},170,ETH,arbitrum,USDC.base")
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
    file = batch_file(tmp_path, f"{receiver},180,ETH,arbitrum,USDC.base")
    desk.killed("api.create_multi_exchange.after.1", "batch", "run", file, "--yes", "--json")
    # Nobody has said yes to this command.
    unsaid = desk.refused(Exit.BAD_INPUT, "NEEDS_YES", "batch", "resume")
    assert unsaid["money"] == "in your wallet; no deposit was paid"
    done = desk.made("batch", "resume", "--yes")
    (group,) = done["groups"]
    assert group["standing"] == "paid"
    wait_for(lambda: chain_of(desk, "arbitrum").balance(ARBITRUM_ETH, receiver) > 0)


def test_a_bundle_that_fails_says_where_the_money_is(
    desk: Desk, account: str, tmp_path: Path
) -> None:
    file = batch_file(tmp_path, f"{FIRST},180,ETH,arbitrum,USDC.base")
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
    out = desk.made("wallet", "withdraw", "--chain", "base", "--yes")
    taken = {(one["symbol"], one["prepaid"]): one["amount"] for one in out["withdrawn"]}
    assert taken["USDC", False] == 180
    assert "ETH" in {symbol for symbol, _ in taken}, taken
    assert chain.balance(USDC, account) == held + there
    assert (chain.balance(USDC, smart), chain.balance(ETH, smart)) == (0, 0)
    # What was built on it needs the money again.
    status = desk("batch", "status", name, "--json").document["groups"][0]
    assert out["hash"] in status["money"]
    desk.refused(Exit.NOT_FOUND, "NOTHING_HELD", "wallet", "withdraw", "--chain", "base", "--yes")
