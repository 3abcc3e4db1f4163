"""A desk without a key that pays each call from its wallet, under a spending policy."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from unittest import mock

import pytest

from cli.desks import InProcess
from harness import Sandbox, home_of
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import CommandError
from swapdesk.cli.output import Output
from swapdesk.cli.secret_input import read_passphrase
from swapdesk.cli.session import _pay_calls
from swapdesk.flows.desk import Desk
from swapdesk.flows.wallet.call_payments import NewPayee
from swapdesk.paths import Home
from swapdesk.settings import load_settings

READ, SET = ("api", "GET", "/orders"), ("wallet", "policy", "set")
COST = "0.0001"
OTHER = derive_address("evm", b"o" * 32)


def test_calls_are_paid_within_the_policy_and_not_beyond(clean: Sandbox, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home_of(clean, home, wallet=False)
    config = home / "config.toml"
    config.touch(0o600)
    config.write_text('[profiles.sandbox]\npay = "x402"\n')

    run = InProcess(home)
    # The first command that looks at chains makes a wallet, and the faucet fills it.
    run.made("wallet", "balance")
    unset = run.refused(9, "POLICY_NEEDED", *READ)
    assert unset["next"].startswith("you: swapdesk wallet policy set --per-day usdc.base=1, or")
    # What limits a single payment alone, or another token, bounds nothing over time.
    for rule in (("--per-payment", "usdc.base=1"), ("--chain", "base")):
        run.made(*SET, *rule)
        run.refused(9, "POLICY_NEEDED", *READ)
    run.made(*SET, "--anew", "--per-day", f"usdc.base={COST}")
    paid = run(*READ, "--json")
    assert (paid.code, paid.document["total"]) == (0, 0)
    assert paid.stderr.partition(f"{COST} USDC for each look at orders, to ")[2].startswith("0x")
    more = run.refused(9, "POLICY_DAY", *READ)
    assert f"0 left, this is {COST}" in more["message"]
    # What a call may cost, and who may be paid for it, is the person's to say.
    rules = ("--per-day", "usdc.base=1", "--per-call", "usdc.base=0.00009", "--call-payee", OTHER)
    shown = run.made(*SET, *rules)["policy"]
    assert shown["callPayees"] == [OTHER]
    day, call = sorted(shown["limits"], key=lambda one: one["per"] != "day")
    assert (str(day["used"]), call["per"]) == (COST, "call")
    # They are signatures and no transactions, which an empty list says.
    listed = run("wallet", "transactions", "--json")
    assert (listed.code, listed.document["transactions"]) == (0, [])
    assert "No transaction was signed. Payments of calls" in listed.stderr
    run.made(*SET, "--anew", "--per-day", "usdc.base=0.001")
    assert "a minute counts calls of every kind" in run("account", "limits").stdout
    # A key beside it is one way too many; whoever only reads pays nothing.
    reader = run.refused(9, "READ_ONLY", "--read-only", *READ)
    assert reader["money"] == "in your wallet; nothing was sent"
    assert reader["next"] == "whoever has a profile with a key that may write"
    config.write_text('[profiles.sandbox]\npay = "cash"\n')
    run.refused(2, "CONFIG", *READ)
    config.write_text('[profiles.main]\nurl = "https://api.example/v2"\npay = "x402"\nkey = "k"\n')
    both = run.refused(2, "NOT_CONFIGURED", "--profile", "main", *READ)
    assert "take out one of them" in both["message"]


def test_a_live_profile_pays_on_the_chain_that_the_service_names(
    clean: Sandbox, here: InProcess, tmp_path: Path
) -> None:
    """Its wallet has no account yet, and its configuration a node or none."""
    (tmp_path / "config.toml").touch(0o600)
    table = f'[profiles.main]\nurl = "{clean.ready["url"]}"\npay = "x402"\n'
    (tmp_path / "config.toml").write_text(table)

    here.environ["SWAPDESK_PROFILE"] = "main"
    base, balance = clean.rpc("base"), ("wallet", "balance")
    for nodes in ("", f'[profiles.main.rpc]\npolygon = "{base}"\n'):
        (tmp_path / "config.toml").write_text(table + nodes)
        for words in (READ, balance):
            here.refused(9, "NO_NODE", *words)
    (tmp_path / "config.toml").write_text(f'{table}[profiles.main.rpc]\nbase = "{base}"\n')
    here.refused(9, "NO_ACCOUNT", *READ)
    # What the wallet has is told all the same, on the chain of the payments.
    told = here(*balance, "--json")
    assert told.code == 0
    assert "list of chains could not be read. The call was not paid: the wallet" in told.stderr
    assert "knows no chain" not in told.stderr


def test_a_pass_phrase_of_a_descriptor_serves_all_that_a_command_signs() -> None:
    """Its calls and what it sends; the descriptor can be read once."""
    reading, writing = os.pipe()
    os.write(writing, b"a phrase\n")
    os.close(writing)
    call = CliContext(Output("json"), passphrase_fd=reading)
    assert [read_passphrase(call).reveal() for _ in range(2)] == ["a phrase", "a phrase"]
    os.close(reading)
    call = CliContext(Output("json"), passphrase_fd=reading)
    with pytest.raises(CommandError) as refused:
        read_passphrase(call)
    assert refused.value.code == "BAD_DESCRIPTOR"


async def test_a_new_payee_is_agreed_to_at_a_terminal_alone(tmp_path: Path) -> None:
    asked = NewPayee("0x6A65", ("This one: 0.0001 USDC to 0x6A65.",), "6A65")
    desk = Desk.open(load_settings({}, Home.at(tmp_path)))
    call = CliContext(Output("json"))
    call.opened = desk
    _pay_calls(call)
    for there, typed, agreed in ((True, "6A65\n", True), (True, "yes\n", False),
                                 (False, "6A65\n", False)):  # fmt: skip
        with (
            mock.patch.object(CliContext, "interactive", new=there),
            mock.patch.object(sys, "stdin", io.StringIO(typed)),
        ):
            assert await desk.payer.consent(asked) is agreed
    await desk.close()
