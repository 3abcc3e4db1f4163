"""``why`` where there is nothing to find, or not all of it yet."""

from __future__ import annotations

import pytest

from cli.desks import Desk
from harness import wait_for

HASH = "0x" + "8f2c" * 16


def test_group_is_found_whole_right_after_it_was_created(desk: Desk) -> None:
    """The journal has the ids of its orders alone; one read brings all of them."""
    file = desk.home / "group.csv"
    rows = "".join(f"@bob,{amount},ETH,base,USDC.ethereum\n" for amount in (161, 162, 163))
    file.write_text(f"to,sell_amount,buy,chain,sell\n{rows}")
    made = desk.made("batch", "create", str(file), "--yes", "--again")
    [group] = made["groups"]
    unasked = desk("why", group["multiId"], "--reads", "0", "--json")
    assert (unasked.code, unasked.stdout) == (5, ""), unasked
    assert "Not asked: 1 read by id" in unasked.stderr
    found = desk.made("why", group["multiId"], "--reads", "1")
    ids = {order["serviceId"] for order in found["orders"]}
    assert len(ids) == 3
    assert {order["order"]["multiId"] for order in found["orders"]} == {group["multiId"]}


def test_new_home_knows_tokens_and_what_was_given_is_not_asked_for_again(
    desk: Desk, other_desk: Desk
) -> None:
    words = ("0.05", "btc.bitcoin", "eth.ethereum", "--to", "@bob", "--yes", "--json")
    theirs = desk("swap", *words).document["serviceId"]
    # Without the list of tokens an amount says nothing.
    asked = other_desk("why", "I sent 12.5 USDC", "--json")
    assert (asked.code, asked.document["orders"]) == (5, []), asked
    assert "Send us the order id or the transaction hash" in asked.document["reply"]
    given = other_desk("why", f"order {theirs}, paid by {HASH}", "--json")
    assert given.code == 5, given
    assert "you: pass it to the service" in given.stderr
    reply, escalation = given.document["reply"], given.document["escalation"]
    assert "end us" not in reply
    for known in (theirs, HASH):
        assert known in reply
        assert known in escalation
    assert "Asked: whether there is such an order" in escalation
    printed = other_desk("why", f"order {theirs}, paid by {HASH}")
    assert reply in printed.stdout
    assert escalation.partition("\nWritten")[0] in printed.stdout


SEEN: dict[str, tuple[str, str, str, dict[str, object], str, str]] = {
    # A token whose chain has a node of its own, which tells what the ledger of the sandbox tells.
    "as asked": ("7000", "usdc.base", "/deposits", {}, "payment-as-asked", "7,000 USDC at"),
    "with its memo": ("3000", "xrp.xrp", "/deposits", {}, "payment-as-asked", "3,000 XRP at"),
    "another memo": (
        "3001", "xrp.xrp", "/deposits", {"memo": "77"}, "payment-another-memo", "3,001 XRP at",
    ),
    "another token": (
        "7001", "usdc.base", "/faucet", {"chain": "base", "token": "WETH", "amount": 2},
        "payment-wrong-token", "2 WETH at",
    ),
}  # fmt: skip
"""What is sold, by which way of the control it is paid and with what, and what is found."""


@pytest.mark.parametrize("seen", SEEN)
def test_payment_that_the_service_has_not_seen_is_told_as_its_chain_shows_it(
    desk: Desk, seen: str
) -> None:
    amount, sold, way, pays, rule, money = SEEN[seen]
    order = desk.made("swap", amount, sold, "eth.ethereum", "--to", "@bob", "--yes")["order"]
    desk.sandbox.fault("venue_down", venue=order["in"])
    paid = {"serviceId": order["serviceId"], "amount": float(amount)}
    if way == "/faucet":
        paid = {"address": order["depositAddress"]}
    hash_ = desk.sandbox.control("POST", way, {**paid, **pays})["hash"]

    def in_a_block() -> bool:
        told = desk.sandbox.control("POST", "/transfers", {"hash": hash_})["transfer"]
        return told is None or told["confirmations"] > 0

    wait_for(in_a_block, what="a block")
    told = desk.made("why", hash_)
    (found,), chains = told["orders"], told["searched"][-1]
    assert (found["rule"], found["order"]["serviceId"]) == (rule, order["serviceId"])
    assert found["money"].startswith(money)
    # Node and ledger told the same, in whatever letters it was asked for.
    assert (chains["place"], chains["answer"]) == ("the chains", "found")
    assert "and 1 more" not in chains["said"]
