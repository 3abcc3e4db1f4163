"""``why`` where there is nothing to find, or not all of it yet."""

from __future__ import annotations

from cli.desks import Desk

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
