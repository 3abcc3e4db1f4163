"""``wallet policy`` as a trader calls it: set, shown, what it refuses, and raised again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.desks import Desk, InProcess, run_here
from cli.test_wallet_commands import live
from harness import cli

SWAP = ("swap", "20", "usdc.base", "weth.base", "--type", "dex", "--provider", "fa", "--yes")


@pytest.fixture
def free(desk: Desk) -> Iterator[Desk]:
    """A desk whose policy is gone after the test: others sign with the same wallet."""
    assert desk("wallet", "balance", "--json").code == 0
    yield desk
    assert desk("wallet", "policy", "set", "--anew", "--json").code == 0


def test_a_swap_is_refused_by_what_was_set(free: Desk) -> None:
    made = free.made(
        "wallet",
        "policy",
        "set",
        "--per-day",
        "usdc.base=15",
        "--per-payment",
        "usd=50",
        "--price",
        "usdc.base=1",
        "--price",
        "eth.base=3000",
    )
    payment, day = sorted(made["policy"]["limits"], key=lambda one: one["per"] == "day")
    assert (day["per"], day["most"], day["token"]["symbol"]) == ("day", 15, "USDC")
    assert (payment["per"], payment["most"], payment["token"]) == ("payment", 50, None)
    refused = free(*SWAP, "--json")
    assert refused.code == 9, refused
    assert refused.stdout == ""
    assert refused.error["money"].startswith("in your wallet; nothing was swapped")
    message = refused.error["message"]
    assert "per day 15 USDC" in message
    assert "left, this is 20" in message
    assert refused.error["next"] == (
        "you: pay less, wait, or raise it with swapdesk wallet policy set, or w and m in an open"
        " desk"
    )
    dry = free(*SWAP, "--dry-run", "--json")
    assert (dry.code, dry.document["refused"]) == (9, True)
    told = free("wallet", "policy", "show")
    assert told.code == 0, told
    assert "USDC.base" in told.stdout
    assert "price of ETH.base" in told.stdout
    # In the sandbox the pass phrase that raises it is known.
    raised = free.made(
        "wallet",
        "policy",
        "set",
        "--per-day",
        "usdc.base=none",
        "--chain",
        "base",
        "--until",
        "2100-01-01",
    )
    policy = raised["policy"]
    assert [one["per"] for one in policy["limits"]] == ["payment"]
    assert (policy["chains"], policy["until"]) == (["base"], "2100-01-01T00:00:00Z")
    plain = free("wallet", "policy", "show", "--plain")
    assert plain.code == 0, plain


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), "NOTHING_GIVEN"),
        (("--per-day", "usdc.base"), "BAD_LIMIT"),
        (("--per-day", "usd=-1"), "BAD_LIMIT"),
        (("--per-day", "usd=١"), "BAD_LIMIT"),
        (("--per-hour", "usd=1e9"), "BAD_LIMIT"),
        (("--token", "usdc"), "BAD_TOKEN"),
        (("--token", "usdc.nowhere"), "NO_SUCH_CHAIN"),
        (("--token", "nothing.base"), "TOKEN_NOT_FOUND"),
        (("--until", "tomorrow"), "BAD_TIME"),
        (("--payee", "0x12"), "BAD_REQUEST"),
    ],
)
def test_what_is_no_rule_changes_nothing(desk: Desk, words: tuple[str, ...], code: str) -> None:
    before = desk("wallet", "policy", "show", "--json").document
    refused = desk("wallet", "policy", "set", *words, "--json")
    assert refused.code in (2, 5)
    assert refused.error["code"] == code
    assert desk("wallet", "policy", "show", "--json").document == before


def test_without_one_nothing_is_limited(here: InProcess) -> None:
    told = here("wallet", "policy", "show", "--json")
    assert (told.code, told.document) == (0, {"policy": None, "problem": None})
    assert "No spending policy" in here("wallet", "policy", "show").stdout


def test_a_file_from_elsewhere_is_told(tmp_path: Path) -> None:
    home = live(tmp_path)
    made = cli("wallet", "new", "--passphrase-fd", "0", "--json", home=home, stdin="a phrase\n")
    assert made.code == 0, made
    [keys] = (tmp_path / "profiles").rglob("keys")
    policy = keys / "spending_policy.json"
    policy.write_text("{}")
    policy.chmod(0o600)
    told = run_here("wallet", "policy", "show", "--json", home=home)
    assert told.code == 9, told
    assert "nothing is signed" in told.document["problem"]
