"""The whole way in a pipe: create, pay, follow, with exact numbers and exit codes."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from cli.desks import Desk
from harness import Result
from swapdesk.sandbox.tables import CHAIN_ROWS

BTC_ETH = ("0.1", "btc.bitcoin", "eth.ethereum", "--to", "@bob")


def created(result: Result) -> dict[str, object]:
    assert result.code == 0, result.stderr
    return result.document


def test_swap_then_watch(desk: Desk) -> None:
    order = created(desk.process("swap", *BTC_ETH, "--yes", "--json", "--fund"))
    deposit = order["deposit"]
    assert isinstance(deposit, dict)
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


@pytest.mark.parametrize("form", [(), ("--plain",), ("--json",)])
def test_hostile_names_do_not_reach_the_terminal(desk: Desk, form: tuple[str, ...]) -> None:
    result = desk.process("tokens", "--limit", "20000", *form)
    assert result.code == 0
    for line in result.stdout.splitlines():
        assert line.isprintable(), ascii(line)


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
