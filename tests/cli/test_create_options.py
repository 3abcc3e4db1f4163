"""Fixed and reverse orders, markup, and the least that may arrive, from a command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.desks import Desk
from cli.test_withheld import MINE, answers, swap_at
from harness import Sandbox
from swapdesk.chain.addresses.kinds import derive_address

REFUND = derive_address("bitcoin", b"refund".ljust(32))
PAIR = ("btc.bitcoin", "eth.ethereum", "--to", MINE, "--yes", "--json")


SWAP = ("swap", "0.1", *PAIR)
QUOTE = ("quote", "0.1", *PAIR[:2])
BY_WALLET = ("swap", "20", "usdc.base", "weth.base", "--yes")
REFUSED = {
    2: [
        (SWAP, ("--fixed",), "refund"),
        (SWAP, ("--receive",), "refund"),
        (SWAP, ("--markup", "4.01"), "markup"),
        (SWAP, ("--deviation", "5"), "rotate"),
        (SWAP, ("--rotate", "--lookback", "0"), "lookback"),
        (SWAP, ("--rotate", "--deviation", "100.01"), "deviation"),
        (SWAP, ("--in-leg", "aa", "--in-leg", "aa"), "in-leg"),
        (SWAP, ("--min-out", "1,5"), "min-out"),
        (SWAP, ("--middle-refund", MINE), "middle-refund"),
        (SWAP, ("--fixed", "--refund", REFUND, "--quote", "a" * 24), "quote"),
        (SWAP, ("--memo", "1", "--waive-memo", "NO MEMO"), "waive-memo"),
        (SWAP, ("--preset", "mine", "--markup", "1"), "preset"),
        (SWAP, ("--preset", "mine", "--type", "private"), "preset"),
        (SWAP, ("--preset", "mine", "--quote", "a" * 24), "quote"),
        (SWAP, ("--slippage", "1"), "slippage"),
        (SWAP, ("--account", "trading"), "account"),
        (QUOTE, ("--both", "--receive"), "both"),
        (QUOTE, ("--markup", "5"), "markup"),
        (QUOTE, ("--provider", "aa", "--type", "private"), "providers"),
        (QUOTE, ("--provider", "aa", "--provider", "aa"), "providers"),
        (QUOTE, ("--preset", "mine", "--fixed"), "preset"),
        (QUOTE, ("--slippage", "50.1"), "BAD_OPTION"),
        (QUOTE, ("--slippage", "-1"), "USAGE"),
        (QUOTE, ("--slippage", "much"), "USAGE"),
        (BY_WALLET, (), "USAGE"),
        (BY_WALLET, ("--type", "dex", "--fund"), "fund"),
        (("sign", "a" * 24), (), "NEEDS_DRY_RUN"),
    ],
    5: [
        (SWAP, ("--preset", "mine"), "preset"),
        (QUOTE, ("--preset", "mine"), "preset"),
        (BY_WALLET, ("--type", "dex", "--account", "nobody"), "NO_ACCOUNT"),
        (("sign", "a" * 24), ("--dry-run",), "QUOTE_NOT_FOUND"),
    ],
}


@pytest.mark.parametrize(
    ("end", "line", "options", "said"),
    [(end, *row) for end, rows in REFUSED.items() for row in rows],
)
def test_what_cannot_work_is_refused_before_a_quote_is_spent(
    desk: Desk, end: int, line: tuple[str, ...], options: tuple[str, ...], said: str
) -> None:
    refused = desk(*line, *options, "--json")
    assert refused.code == end, refused
    assert said in (refused.error["code"], *refused.error["fields"]), refused.error


def test_a_provider_that_does_not_take_the_amount_says_what_it_takes(desk: Desk) -> None:
    quoted = desk("quote", "0.1", *PAIR[:2], "--json").document
    small = next(one for one in quoted["unusable"] if "below minimum" in one["reason"])
    refused = desk("swap", "0.1", *PAIR, "--provider", small["swap"])
    assert (refused.code, refused.error["code"]) == (4, "NO_USABLE_ROUTE")
    assert small["reason"] in refused.error["message"]
    assert refused.error["next"] == "you: change the amount or the tokens"


LESS = answers("outAmount", lambda amount: amount * 0.9)


def test_less_than_quoted_is_accepted_down_to_the_least(clean: Sandbox, tmp_path: Path) -> None:
    created, shown = swap_at(clean, tmp_path, LESS, "--min-out", "0.5")
    assert created.code == 0, created
    assert created.document["deposit"] == shown.document["deposit"]
    assert created.document["deposit"] is not None
    assert "less than its quote. That is not below --min-out." in created.stderr


def test_less_than_the_least_stays_hidden(clean: Sandbox, tmp_path: Path) -> None:
    created, _ = swap_at(clean, tmp_path, LESS, "--min-out", "2.8")
    assert (created.code, created.error["code"]) == (9, "ORDER_DIFFERS"), created
    assert created.document["deposit"] is None
