"""Fixed and reverse orders, markup, and the least that may arrive, from a command line."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from cli.desks import Desk
from cli.test_withheld import MINE, answers, swap_at
from harness import Sandbox
from swapdesk.chain.addresses.kinds import derive_address

REFUND = derive_address("bitcoin", b"refund".ljust(32))
PAIR = ("btc.bitcoin", "eth.ethereum", "--to", MINE, "--yes", "--json")


def test_a_markup_is_part_of_the_price(desk: Desk) -> None:
    """Three percent are more than any two exchanges of the sandbox differ by."""
    plain = desk("swap", "0.1", *PAIR)
    marked = desk("swap", "0.1", *PAIR, "--markup", "3", "--max-loss", "any")
    assert (plain.code, marked.code) == (0, 0), marked
    less = Decimal(str(marked.document["order"]["outAmount"]))
    assert less < Decimal(str(plain.document["order"]["outAmount"]))
    assert marked.document["check"]["lowerByPercent"] is None


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (("--fixed",), "refund"),
        (("--receive",), "refund"),
        (("--markup", "4.01"), "markup"),
        (("--deviation", "5"), "rotate"),
        (("--rotate", "--lookback", "0"), "lookback"),
        (("--rotate", "--deviation", "100.01"), "deviation"),
        (("--in-leg", "aa", "--in-leg", "aa"), "in-leg"),
        (("--min-out", "1,5"), "min-out"),
        (("--middle-refund", MINE), "middle-refund"),
        (("--fixed", "--refund", REFUND, "--quote", "a" * 24), "quote"),
        (("--memo", "1", "--waive-memo", "NO MEMO"), "waive-memo"),
    ],
)
def test_what_cannot_work_is_refused_before_a_quote_is_spent(
    desk: Desk, options: tuple[str, ...], field: str
) -> None:
    refused = desk("swap", "0.1", *PAIR, *options)
    assert refused.code == 2, refused
    assert field in refused.error["fields"], refused.error


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
