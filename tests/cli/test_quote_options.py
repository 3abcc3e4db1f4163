"""``quote`` with options: fixed, reverse, both, providers, presets, explained."""

from __future__ import annotations

import json
from decimal import Decimal

from cli.desks import Desk
from swapdesk.flows.quotes.quote_request import QuoteOptions, QuotePresets
from swapdesk.wire.quotes import RouteType

PAIR = ("btc.bitcoin", "eth.ethereum")


def test_fixed_rates_beside_floating_ones_take_two_quotes(desk: Desk) -> None:
    board = desk("quote", "0.1", *PAIR, "--both", "--json").document
    assert board["cost"] == 2
    assert {row["fixed"] for row in board["quotes"]} == {True, False}
    only = desk("quote", "0.1", *PAIR, "--fixed", "--json").document
    assert {row["fixed"] for row in only["quotes"]} == {True}
    assert all("fixed" in row["badges"] for row in only["quotes"])


def test_reverse_quotes_are_ranked_by_what_they_take(desk: Desk) -> None:
    result = desk("quote", "1.5", *PAIR, "--receive", "--json")
    board = json.loads(result.stdout, parse_float=Decimal)
    sends = [row["sends"] for row in board["quotes"]]
    assert board["receive"] is True
    assert sends == sorted(sends)
    assert all(row["amountOut"] >= Decimal("1.4998") for row in board["quotes"])
    table = desk("quote", "1.5", *PAIR, "--receive").stdout.splitlines()
    assert "SEND BTC" in table[0]


def test_a_chosen_provider_and_an_explanation(desk: Desk) -> None:
    first = desk("quote", "0.1", *PAIR, "--type", "standard", "--json").document["quotes"]
    code = first[0]["swap"]
    board = desk("quote", "0.1", *PAIR, "--provider", code, "--explain", "--json").document
    assert {row["swap"] for row in board["quotes"]} == {code}
    steps = board["quotes"][0]["waterfall"]["steps"]
    assert [step["label"] for step in steps][:2] == ["You send", "Provider pays out"]
    assert board["quotes"][0]["waterfall"]["verdict"] == "sums"
    said = desk("quote", "0.1", *PAIR, "--provider", code).stderr
    assert "1 usable route. Nothing has moved." in said
    said = desk("quote", "0.1", *PAIR, "--provider", code, "--explain", "--plain").stdout
    assert "Provider fee in price: inside the rate (unknown)." in said


PAYS = ("--to", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "--yes")


def test_a_preset_asks_as_it_was_kept(desk: Desk) -> None:
    desk("tokens", "btc")
    (profile,) = (desk.home / "profiles").iterdir()
    presets = QuotePresets(profile / "quote_presets.json")
    presets.put("sure", QuoteOptions(fixed=True, floating=False))
    refused = desk("swap", "0.1", *PAIR, *PAYS, "--preset", "sure", "--json")
    assert refused.error["code"] == "BAD_REFUND_ADDRESS", refused
    presets.put("quiet", QuoteOptions(types=(RouteType.PRIVATE,)))
    made = desk.made("swap", "0.1", *PAIR, *PAYS, "--preset", "quiet", "--max-loss", "any")
    assert made["order"]["anonymous"] is True, made
