"""``fund`` and ``batch run`` on Solana: coins and tokens out of the profile's own wallet, a
transaction for each."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cli.desks import Desk, account_of, rpc_of
from cli.test_fund import BITCOIN, order_of
from harness import Sandbox, running_sandbox, start_command
from patience import PATIENCE
from sandbox.chain_money import Chain, SolanaChain
from sandbox.running import until
from swapdesk.sandbox.world import WorldToken, find_token

USDC, SOL = find_token("solana", "USDC"), find_token("solana", "SOL")
SIGNED = "wallet.sign.after.1"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One of its own: its clock is moved further than a live profile bears."""
    with running_sandbox(tmp_path_factory.mktemp("home"), wallet=True) as running:
        yield running


@pytest.fixture
def chain(sandbox: Sandbox) -> SolanaChain:
    return SolanaChain(rpc_of(sandbox, "solana"))


@pytest.fixture(scope="module")
def account(sandbox: Sandbox) -> str:
    return account_of(sandbox, "solana", SolanaChain(rpc_of(sandbox, "solana")), USDC, SOL)


def started(desk: Desk, *words: str) -> subprocess.Popen[bytes]:
    """A command that goes on while the clock is moved."""
    pipe = subprocess.PIPE
    return start_command(*words, home=desk.home, env=desk.environ, stdout=pipe, stderr=pipe)


def fund(desk: Desk, chain: SolanaChain, order: dict[str, Any]) -> tuple[int, Any]:
    """The command to its end. Blocks come by the clock: nobody waits until what was paid is
    final."""
    running = started(desk, "fund", order["serviceId"], "--yes", "--json")
    paid = until(lambda: running.poll() is not None or deposits(chain, order), "a payment")
    if paid is not True:
        desk.sandbox.control("POST", "/clock", {"advance": 15})
    out, err = running.communicate(timeout=PATIENCE)
    text = out if running.returncode == 0 else err.splitlines()[-1]
    return running.returncode, json.loads(text, parse_float=Decimal)


def deposits(chain: SolanaChain, order: dict[str, Any]) -> list[dict[str, Any]]:
    """What was executed and names the order's deposit address."""
    place = order["deposit"]["address"]
    # A transfer of tokens names the token account, and the owner when it opens one.
    return [one for one in chain.history(place) if one["err"] is None]


@pytest.mark.parametrize(("token", "amount"), [(USDC, "60"), (SOL, "1.5")])
def test_a_deposit_is_paid_from_the_wallet_once(
    desk: Desk, account: str, chain: SolanaChain, token: WorldToken, amount: str
) -> None:
    words = (amount, f"{token.row.symbol.lower()}.solana", "btc.bitcoin", "--to", BITCOIN)
    order = order_of(desk, *words)
    held, place = chain.balance(token, account), order["deposit"]["address"]
    desk.refused(130, "NOT_CONFIRMED", "fund", order["serviceId"])
    assert chain.balance(token, account) == held
    code, told = fund(desk, chain, order)
    assert code == 0, told
    units = int(Decimal(amount).scaleb(token.row.decimals))
    assert (told["account"], told["depositAddress"]) == (account, place)
    assert chain.balance(token, place) == units
    (paid,) = deposits(chain, order)
    assert paid["signature"] == told["hash"]
    assert order["serviceId"] in paid["memo"]
    fee = chain.cost_of(told["hash"], units) if token is SOL else 0
    assert held - chain.balance(token, account) == units + fee
    desk.made("orders", "watch", order["serviceId"])
    again = desk.refused(9, "PAID_BEFORE", "fund", order["serviceId"], "--yes")
    assert told["hash"] in again["message"]
    assert len(deposits(chain, order)) == 1


def test_what_is_not_to_be_paid_is_not(desk: Desk, account: str, chain: SolanaChain) -> None:
    rich = order_of(desk, "20000", "usdc.solana", "btc.bitcoin", "--to", BITCOIN)
    desk.refused(2, "WRONG_CHAIN", "fund", rich["serviceId"], "--yes", "--wallet", "trading")
    code, told = fund(desk, chain, rich)
    assert (code, told["error"]["code"]) == (9, "GATE")
    assert "SIMULATION_FAILED" in told["error"]["message"]
    assert deposits(chain, rich) == []


def test_a_file_is_run_by_two_transactions_for_two_tokens(
    desk: Desk, account: str, chain: SolanaChain, tmp_path: Path
) -> None:
    """Each is signed and sent by itself."""
    paid_out, coin = Chain(rpc_of(desk.sandbox, "arbitrum")), find_token("arbitrum", "ETH")
    first, second = "0x" + "4d" * 20, "0x" + "5e" * 20
    file = tmp_path / "sol.csv"
    file.write_text(
        "to,sell_amount,buy,chain,sell\n"
        f"{first},60,ETH,arbitrum,USDC.solana\n{second},0.5,ETH,arbitrum,SOL.solana\n"
    )
    seen = len(chain.history(account))
    running = started(desk, "batch", "run", str(file), "--yes", "--json")

    def goes_on() -> bool:
        return running.poll() is not None or len(chain.history(account)) > seen

    while running.poll() is None:
        until(goes_on, "a transaction or the end")
        seen = len(chain.history(account))
        desk.sandbox.control("POST", "/clock", {"advance": 15})
    out, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, err
    (group,) = json.loads(out)["groups"]
    assert (group["paid"], group["standing"]) == ("solana", "paid")
    assert [(one["for"], one["token"]) for one in group["payments"]] == [
        ("part", "USDC"),
        ("part", "SOL"),
    ]
    for receiver in (first, second):
        until(lambda to=receiver: paid_out.balance(coin, to) > 0)


def test_what_was_signed_and_expired_is_not_paid_and_may_be_once_more(
    desk: Desk, account: str, chain: SolanaChain
) -> None:
    order = order_of(desk, "79", "usdc.solana", "btc.bitcoin", "--to", BITCOIN)
    desk.killed(SIGNED, "fund", order["serviceId"], "--yes", "--json")
    # Longer than a blockhash lives, shorter than the order waits.
    desk.sandbox.control("POST", "/clock", {"advance": 90})

    def lost() -> bool:
        code, told = fund(desk, chain, order)
        if code == 9 and told["error"]["code"] == "READ_ONLY":
            return False
        assert (code, told["error"]["code"]) == (9, "LOST"), told
        assert "nothing" in told["error"]["message"].lower()
        return True

    until(lost, "the end of what expired")
    assert deposits(chain, order) == []
    code, told = fund(desk, chain, order)
    assert code == 0, told
    (paid,) = deposits(chain, order)
    assert paid["signature"] == told["hash"]
