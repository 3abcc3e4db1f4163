"""The whole way in a pipe: create, pay, follow, with exact numbers and exit codes; swaps that the
wallet signs, what ``why`` finds, and a service that answers as the public one was recorded."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal

import pytest

from cli.desks import Desk, batch_file
from harness import wait_for
from live_service import live_service
from swapdesk.sandbox.tables import CHAIN_ROWS

BTC_ETH = ("0.1", "btc.bitcoin", "eth.ethereum", "--to", "@bob")


def test_swap_then_watch(desk: Desk) -> None:
    order = desk.process("swap", *BTC_ETH, "--yes", "--json", "--fund").document
    deposit = order["deposit"]
    assert Decimal(deposit["amount"]) == Decimal("0.1")
    assert (deposit["symbol"], deposit["chain"]) == ("BTC", "bitcoin")
    assert deposit["address"] == order["order"]["depositAddress"]
    assert order["check"] == {"payable": True, "lowerByPercent": None, "providerChanged": False}
    assert order["funded"]["hash"]

    watched = desk.process("orders", "watch", str(order["serviceId"]), "--json")
    assert watched.code == 0, watched.stderr
    lines = watched.documents
    assert {line["id"] for line in lines} == {order["serviceId"]}
    assert lines[-1]["displayStatus"] == "SWAP_COMPLETED"
    assert lines[-1]["ended"] is True
    assert lines[-1]["intentId"] == order["intentId"]
    assert lines[-1]["order"]["serviceId"] == order["serviceId"]
    statuses = [line["status"] for line in lines]
    assert statuses == sorted(statuses)
    assert len({(line["displayStatus"], line["ended"]) for line in lines}) == len(lines)
    assert all(line["money"] and line["next"] and line["at"].endswith("Z") for line in lines)


def test_private_send_then_watch(desk: Desk) -> None:
    order = desk.made("send", "0.05", "btc.bitcoin", "--to", "@cold", "--yes", "--fund")
    assert order["order"]["anonymous"] is True
    watched = desk.made("orders", "watch", str(order["serviceId"]))
    assert watched["displayStatus"] == "SWAP_COMPLETED"
    assert watched["order"]["inToken"]["id"] == order["order"]["outToken"]["id"]
    # From now on its recipient is one that was paid.
    again = desk.made("send", "0.05", "btc.bitcoin", "--to", "@cold", "--dry-run")
    assert any(line.startswith("Paid ") for line in again["checks"])


def test_a_chosen_provider_and_quote(desk: Desk) -> None:
    board = desk("quote", *BTC_ETH[:3], "--json").document
    row = next(row for row in board["quotes"] if row["type"] == "standard" and row["place"] > 1)
    taken = desk.made("swap", *BTC_ETH, "--quote", row["quoteId"], "--yes")
    assert taken["order"]["in"] == row["swap"]
    # A floating rate: between quote and create the market moves on.
    paid, quoted = Decimal(taken["order"]["outAmount"]), Decimal(row["amountOut"])
    assert abs(paid - quoted) < quoted / 100
    named = desk.made("swap", *BTC_ETH, "--provider", row["provider"], "--yes")
    assert named["order"]["in"] == row["swap"]


def test_the_forms_to_read(desk: Desk) -> None:
    table = desk("quote", *BTC_ETH[:3])
    assert table.stdout.splitlines()[0].split()[:3] == ["ROUTE", "PROVIDER", "NET"]
    assert "Nothing has moved." in table.stderr
    assert "{" not in table.stdout
    sentences = desk("quote", *BTC_ETH[:3], "--plain").stdout.splitlines()
    assert sentences[0].startswith("1. ")
    assert all(line.endswith(".") for line in sentences)


def test_orders_are_listed_and_shown(desk: Desk) -> None:
    order = desk.made("swap", *BTC_ETH, "--type", "private", "--yes")
    assert (order["order"]["anonymous"], order["funded"]) == (True, None)
    name = str(order["serviceId"])
    listed = desk("orders", "list", "--json").document
    assert name in [entry["serviceId"] for entry in listed["orders"]]
    shown = desk("orders", "show", name[:8], "--json").document
    assert shown["deposit"] == order["deposit"]
    assert shown["displayStatus"] == "WAITING_FOR_DEPOSIT"
    table = desk("orders", "list").stdout
    assert name[:6] in table
    card = desk("orders", "show", name)
    address = str(order["deposit"]["address"])
    assert " ".join(address[i : i + 4] for i in range(0, len(address), 4)) in card.stdout
    assert name in desk("orders", "show", name, "--plain").stdout


def test_tokens_and_chains(desk: Desk) -> None:
    chains = desk("chains", "--json").document["chains"]
    assert {chain["kind"] for chain in chains} == {row.kind for row in CHAIN_ROWS if row.enabled}
    found = desk("tokens", "--symbol", "usdc", "--json").document["tokens"]
    assert len({token["chain"] for token in found}) > 2
    assert {token["symbol"].lower() for token in found} == {"usdc"}
    one = desk("tokens", "usdc", "--chain", "base", "--limit", "1", "--json").document
    assert [token["chain"] for token in one["tokens"]] == ["base"]
    assert "USDC.base" in desk("tokens", "usdc", "--chain", "base").stdout
    assert "Bitcoin, written bitcoin" in desk("chains", "--plain").stdout


def test_raw_calls(desk: Desk) -> None:
    read = desk("api", "GET", "/v2/tokens", "-q", "symbol=BTC", "-q", "pageSize=1")
    assert read.code == 0
    assert read.document["tokens"][0]["symbol"] == "BTC"
    quotes = desk("quote", *BTC_ETH[:3], "--type", "standard", "--json").document["quotes"]
    body = {
        "quoteId": quotes[0]["quoteId"],
        "addressTo": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    }
    written = desk.process("api", "POST", "/exchanges", "-d", "-", "--yes", stdin=json.dumps(body))
    assert written.code == 0, written.stderr
    name = written.document["serviceId"]
    # Journaled before it was shown: it is known without asking the service.
    assert name in [o["serviceId"] for o in desk("orders", "list", "--json").document["orders"]]


HASH = "0x" + "8f2c" * 16


def test_group_is_found_whole_right_after_it_was_created(desk: Desk) -> None:
    """The journal has the ids of its orders alone; one read brings all of them."""
    rows = (f"@bob,{amount},ETH,base,USDC.ethereum" for amount in (161, 162, 163))
    made = desk.made("batch", "create", batch_file(desk.home, *rows), "--yes", "--again")
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


@pytest.mark.parametrize(
    ("amount", "sold", "money"),
    [
        # A token whose chain has a node of its own, which tells what the ledger of the sandbox
        # tells; and one that is paid with a memo.
        ("7000", "usdc.base", "7,000 USDC at"),
        ("3000", "xrp.xrp", "3,000 XRP at"),
    ],
)
def test_payment_that_the_service_has_not_seen_is_told_as_its_chain_shows_it(
    desk: Desk, amount: str, sold: str, money: str
) -> None:
    """What else is found of a payment: ``tests/flows/support``."""
    order = desk.made("swap", amount, sold, "eth.ethereum", "--to", "@bob", "--yes")["order"]
    desk.sandbox.fault("venue_down", venue=order["in"])
    paid = {"serviceId": order["serviceId"], "amount": float(amount)}
    hash_ = desk.sandbox.control("POST", "/deposits", paid)["hash"]

    def in_a_block() -> bool:
        told = desk.sandbox.control("POST", "/transfers", {"hash": hash_})["transfer"]
        return told is None or told["confirmations"] > 0

    wait_for(in_a_block, what="a block")
    told = desk.made("why", hash_)
    (found,), chains = told["orders"], told["searched"][-1]
    assert found["rule"] == "payment-as-asked"
    assert found["order"]["serviceId"] == order["serviceId"]
    assert found["money"].startswith(money)
    # Node and ledger told the same, in whatever letters it was asked for.
    assert (chains["place"], chains["answer"]) == ("the chains", "found")
    assert "and 1 more" not in chains["said"]


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
    """Everything the journal keeps of creates and their parts."""
    path = desk.home / "profiles" / "sandbox" / "journal.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT * FROM operation ORDER BY number").fetchall()


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


BITCOIN = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
RECEIVER = "0x" + "1a" * 20


@pytest.fixture(params=[b'{"ok":true}', b"OK"], ids=["json", "text"])
def live(other_desk: Desk, request: pytest.FixtureRequest) -> Iterator[Desk]:
    with live_service(other_desk.sandbox.ready["url"], request.param) as url:
        other_desk.environ["SWAPDESK_API_URL"] = url
        yield other_desk


def test_a_service_is_well_in_either_form(live: Desk) -> None:
    found = {one["check"]: one for one in live("doctor", "--json").document["findings"]}
    assert (found["service"]["state"], found["credentials"]["state"]) == ("ok", "ok"), found


@pytest.mark.parametrize("live", [b"{}"], indirect=True)
def test_a_fixed_rate_from_quote_to_order(live: Desk) -> None:
    for words in (
        ("0.05", "btc.bitcoin", "eth.ethereum", "--fixed"),
        ("1", "btc.bitcoin", "eth.ethereum", "--receive"),
    ):
        board = live.made("quote", *words)
        assert all(row["fixed"] for row in board["quotes"])
        made = live.made(
            "swap", *words, "--to", RECEIVER, "--refund", BITCOIN, "--type", "standard", "--yes"
        )
        order = made["order"]
        assert (order["fixed"], order["refundAddress"]) == (True, BITCOIN)
        assert words[-1] == "--fixed" or order["outAmount"] == 1
        assert made["deposit"]["address"] == order["depositAddress"]
        shown = live("orders", "show", order["serviceId"], "--json")
        assert shown.document["order"]["inAmount"] == order["inAmount"]
    listed = live("orders", "list", "--json").document
    assert len(listed["orders"]) >= 2


@pytest.mark.parametrize("live", [b"{}"], indirect=True)
def test_without_priorities_a_coin_is_named_before_its_copies(live: Desk) -> None:
    for symbol, first in (("btc", "BTC.bitcoin"), ("eth", "ETH.ethereum")):
        refused = live("quote", "0.05", symbol, "usdc.base", "--json")
        assert refused.error["code"] == "AMBIGUOUS_TOKEN", refused
        assert f'["{first}"' in refused.stderr, refused


@pytest.mark.parametrize("live", [b"{}"], indirect=True)
def test_a_chain_is_called_as_the_service_calls_it(live: Desk) -> None:
    swap, to = ("swap", "0.05", "btc.bitcoin"), "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh"
    waived = ("--waive-memo", "NO MEMO", "--yes", "--json")
    made = live(*swap, "xrp.ripple", "--to", to, *waived)
    assert made.code == 0, made
    assert made.document["order"]["receiverAddress"] == to
    wrong = live(*swap, "atom.cosmoshub-4", "--to", RECEIVER, *waived)
    assert wrong.code not in (0, 1), wrong
    assert "Cosmos Hub needs one that starts with cosmos1" in wrong.stderr, wrong
