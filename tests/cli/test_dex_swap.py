"""Swaps on chains by a command: the profile's own wallet signs, in a sandbox of its own making."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal

import pytest

from cli.desks import Desk

PAIR = ("20", "usdc.base", "weth.base")


def test_a_swap_is_approved_signed_sent_and_completed(desk: Desk) -> None:
    told = desk.made("swap", *PAIR, "--type", "dex", "--provider", "ba", "--yes")
    assert told["provider"] == "ba"
    assert told["recipient"] == told["account"]
    assert len(told["hash"]) == 66
    assert len(told["signed"]) == 2
    assert told["order"]["isDex"] is True
    assert "depositAddress" not in told["order"]
    desk.made("orders", "watch", told["serviceId"])
    sent = desk("orders", "show", told["serviceId"], "--json").document["transactions"]
    assert [(one["for"], one["state"]) for one in sent if one["by"] == "wallet"] == [
        ("approve", "confirmed"),
        ("swap", "confirmed"),
    ]
    assert sent[1]["hash"] == told["hash"]
    # Two signatures and no transaction of one's own: the same command, another venue.
    signed = desk.made("swap", *PAIR, "--type", "dex", "--provider", "is", "--yes")
    assert signed["hash"] is None
    assert len(signed["signed"]) == 2
    # The venue takes by them a moment later, and what is signed next counts from there.
    desk.made("orders", "watch", signed["serviceId"])


def test_a_dry_run_prints_the_unsigned_payload_and_touches_nothing(desk: Desk) -> None:
    before = journal_of(desk)
    told = desk.made("swap", *PAIR, "--type", "dex", "--provider", "fa", "--dry-run")
    assert (told["dryRun"], told["refused"]) == (True, False)
    (step,) = told["steps"]
    assert step["payload"]["kind"] == "typedData"
    assert step["payload"]["data"]["primaryType"] == "Permit"
    assert step["payload"]["data"]["message"]["value"] == "20000000"
    assert {one["match"] for one in step["review"]["lines"]} == {"equal"}
    assert step["review"]["digest"].startswith("0x")
    assert told["asked"] == ["GET /quotes", "POST /dex/approve"]
    assert any("order" in one for one in told["notKnown"])
    assert journal_of(desk) == before

    chain = desk.made("swap", *PAIR, "--type", "dex", "--provider", "is", "--dry-run")
    # The second document exists only once the first is signed, and that is said.
    assert [one["name"] for one in chain["steps"]] == ["sign order 1 of 2"]
    assert any("Signatures 2 to 2" in one for one in chain["notKnown"])

    plain = desk("swap", *PAIR, "--type", "dex", "--provider", "ba", "--dry-run")
    assert plain.code == 0, plain.stderr
    for words in ("Step 1: approve 1", "May take", "data 0x095ea7b3", "Digest 0x"):
        assert words in plain.stdout
    assert "nothing was journaled, created, signed or sent" in plain.stderr
    assert journal_of(desk) == before


@pytest.mark.parametrize("words", [("--yes",), ("--dry-run",)])
def test_an_approval_that_cannot_be_read_creates_nothing(
    desk: Desk, words: tuple[str, ...]
) -> None:
    desk.sandbox.fault("garbage", operation="dex_approve", times=20)
    done = desk.refused(
        7, "ANSWER_NOT_JSON", "swap", *PAIR, "--type", "dex", "--provider", "fa", *words
    )
    assert done["message"].startswith("The answer of the service could not be used.")
    assert done["money"].startswith("in your wallet")


def journal_of(desk: Desk) -> list[object]:
    """Everything the journal keeps of intents and steps."""
    path = desk.home / "profiles" / "sandbox" / "journal.db"
    if not path.exists():
        return [[], []]
    with closing(sqlite3.connect(path)) as db:
        intents = db.execute("SELECT * FROM intent ORDER BY id").fetchall()
        return [intents, db.execute("SELECT * FROM step ORDER BY intent_id, seq").fetchall()]


def test_a_shown_quote_is_signed_dry_and_swapped(desk: Desk) -> None:
    shown = desk.made("quote", *PAIR, "--type", "dex", "--slippage", "2")
    (quote,) = [one for one in shown["quotes"] if one["swap"] == "ba"]
    dry = desk.made("sign", quote["quoteId"], "--dry-run")
    assert dry["asked"] == ["POST /dex/approve"]
    out, least = Decimal(dry["amountOut"]), Decimal(dry["leastOut"])
    assert Decimal("0.9799") < least / out <= Decimal("0.98")
    desk.refused(
        2, "TWO_CHOICES", "swap", *PAIR, "--quote", quote["quoteId"], "--slippage", "1", "--yes"
    )
    done = desk.made("swap", *PAIR, "--quote", quote["quoteId"], "--wallet", "trading", "--yes")
    assert done["leastOut"] == dry["leastOut"]


def test_a_chain_without_a_node_is_named_before_anything_is_asked(live_desk: Desk) -> None:
    pair = ("20", "usdc.ethereum", "weth.ethereum")
    said = live_desk.refused(2, "NO_NODES", "swap", *pair, "--type", "dex", "--yes")
    assert "set ethereum under [profiles.main.rpc]" in said["message"]
    assert said["money"].startswith("in your wallet")
