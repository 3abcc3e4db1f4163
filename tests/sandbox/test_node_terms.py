"""What the node does beside a plain swap: faults of legs, fixed rates, hot wallets, outages."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sandbox.test_node import (
    BTC,
    ETH,
    HOUR,
    XRP,
    address,
    advance,
    audit,
    balance,
    open_leg,
    pay,
    report,
)
from swapdesk.chain.rpc.ledger import LedgerMethod
from swapdesk.clock import SystemClock
from swapdesk.sandbox.node import ledger
from swapdesk.sandbox.node.database import OtherWorld
from swapdesk.sandbox.node.ledger import LedgerRefusal
from swapdesk.sandbox.node.node import Node, OtherTerms, open_node
from swapdesk.sandbox.node.params import (
    AccountOf,
    FaultAdd,
    NoParams,
    SendOn,
    TransferOf,
)
from swapdesk.sandbox.tables import PAYOUT_WALLETS, VENUE_ROWS
from swapdesk.sandbox.world import world_tokens
from swapdesk.wire.orders import LegStatus

PAID = 50_000_000
OUT = 14 * 10**18
REFUND = address(BTC, "refund")


def fault(node: Node, opened: Any, name: str, **more: Any) -> None:
    order = opened.key.partition(":")[0]
    node.call(LedgerMethod.FAULT_ADD, FaultAdd(fault=name, service_id=order, **more))


def sender(node: Node, transaction_hash: str) -> str:
    found = node.call(LedgerMethod.TRANSFER_GET, TransferOf(hash=transaction_hash))
    return str(found["from"])


def status(node: Node, leg: Any) -> LegStatus:
    return LegStatus(report(node, leg)["status"])


def exchanging(node: Node, leg: Any, to: Any, units: int = PAID) -> None:
    pay(node, BTC, to, units)
    advance(node, 200)
    assert status(node, leg) is LegStatus.EXCHANGING


def met(node: Node, name: str, when: str, **terms: Any) -> tuple[Any, Any]:
    """A leg with its deposit, under a fault that is set when it is opened, paid or exchanging."""
    leg, to = open_leg(node, **terms)
    if when == "opened":
        fault(node, leg, name)
    if when == "exchanging":
        exchanging(node, leg, to)
    else:
        pay(node, BTC, to, PAID)
    if when != "opened":
        fault(node, leg, name)
    return leg, to


@pytest.mark.parametrize(
    ("when", "venue", "back", "told"),
    [
        ("opened", "hy", 49_875_000, "49875000"),
        ("paid", "hy", 49_875_000, "49875000"),
        ("exchanging", "hy", 49_875_000, "49875000"),
        # It does not say how much it sent back.
        ("opened", "kt", 49_850_000, None),
    ],
)
def test_refund_gives_back_the_deposit_less_the_fee(
    node: Node, when: str, venue: str, back: int, told: str | None
) -> None:
    leg, to = met(node, "refund", when, venue=venue, refund_address=REFUND)
    advance(node, HOUR)
    seen = report(node, leg)
    assert (seen["status"], seen["refundUnits"]) == (LegStatus.REFUNDED, told)
    assert (seen["refundChain"], seen["refundHash"] is None) == ("bitcoin", False)
    assert balance(node, BTC, REFUND) == back
    assert balance(node, BTC, to["address"]) == 0, "the fee is the exchange's"
    assert balance(node, ETH, leg.payout_address) == 0
    assert audit(node) == []


@pytest.mark.parametrize("when", ["opened", "exchanging"])
def test_a_hold_lasts_until_it_is_released(node: Node, when: str) -> None:
    leg, _ = met(node, "hold", when)
    advance(node, 5 * HOUR)
    assert status(node, leg) is LegStatus.VERIFYING
    fault(node, leg, "release")
    assert status(node, leg) is LegStatus.EXCHANGING
    advance(node, HOUR)
    assert status(node, leg) is LegStatus.FINISHED
    assert balance(node, ETH, leg.payout_address) == OUT
    assert audit(node) == []


def test_an_exchange_releases_what_it_holds_and_a_cleared_hold_holds_nothing(node: Node) -> None:
    legs = [open_leg(node) for _ in range(3)]
    for leg, _ in legs:
        fault(node, leg, "hold")
    for _, to in legs[:2]:
        pay(node, BTC, to, PAID)
    advance(node, HOUR // 2)
    fault(node, legs[2][0], "release")
    node.call(LedgerMethod.FAULT_ADD, FaultAdd(fault="release", venue="cb"))
    assert [status(node, leg) for leg, _ in legs] == [
        LegStatus.EXCHANGING,
        LegStatus.EXCHANGING,
        LegStatus.WAITING,
    ]
    fault(node, legs[0][0], "hold")
    assert status(node, legs[0][0]) is LegStatus.VERIFYING
    node.call(LedgerMethod.FAULT_CLEAR, NoParams())
    assert status(node, legs[0][0]) is LegStatus.EXCHANGING


def test_a_fallback_is_paid_from_another_wallet(node: Node) -> None:
    plain, to = open_leg(node)
    exchanging(node, plain, to)
    leg, to = open_leg(node)
    exchanging(node, leg, to)
    fault(node, leg, "fallback")
    advance(node, HOUR // 2)
    done, usual = report(node, leg), report(node, plain)
    assert (done["status"], usual["status"]) == (LegStatus.FALLBACK, LegStatus.FINISHED)
    assert balance(node, ETH, leg.payout_address) == 2 * OUT
    hot = [node.ledger.hot_wallet("cb", ETH.chain, n) for n in range(PAYOUT_WALLETS)]
    assert sender(node, usual["payoutHash"]) == hot[0]
    assert sender(node, done["payoutHash"]) == hot[1]


@pytest.mark.parametrize("wallet", range(PAYOUT_WALLETS))
def test_the_wallet_asked_for_is_the_one_that_pays(node: Node, wallet: int) -> None:
    leg, to = open_leg(node, payout_wallet=wallet)
    pay(node, BTC, to, PAID)
    advance(node, HOUR)
    paid_by = sender(node, report(node, leg)["payoutHash"])
    assert paid_by == node.ledger.hot_wallet("cb", ETH.chain, wallet)
    assert len({node.ledger.hot_wallet("cb", ETH.chain, n) for n in range(PAYOUT_WALLETS)}) == 5


@pytest.mark.parametrize("when", ["opened", "paid", "exchanging"])
def test_a_declined_deposit_is_sent_on_once(node: Node, when: str) -> None:
    leg, _ = met(node, "reroute", when)
    advance(node, HOUR // 2)
    seen = report(node, leg)
    assert (seen["status"], seen["declined"], seen["unitsIn"]) == (
        LegStatus.FAILED,
        True,
        str(PAID),
    )
    other, place = open_leg(node, venue="jn")
    asked = SendOn(venue="cb", key=leg.key, address=place["address"], tag=place["tag"])
    sent = node.call(LedgerMethod.VENUE_SEND_ON, asked)
    assert node.call(LedgerMethod.VENUE_SEND_ON, asked)["hash"] == sent["hash"]
    with pytest.raises(LedgerRefusal, match="sent elsewhere"):
        node.call(LedgerMethod.VENUE_SEND_ON, asked.model_copy(update={"address": REFUND}))
    advance(node, HOUR // 2 - 5)
    assert status(node, other) is LegStatus.FINISHED
    assert balance(node, ETH, other.payout_address) == OUT
    assert audit(node) == []


def test_what_is_not_held_is_not_sent_on(node: Node) -> None:
    leg, to = open_leg(node)
    asked = SendOn(venue="cb", key=leg.key, address=REFUND)
    for key, units in (("nobody:in", 0), (leg.key, 0), (leg.key, PAID)):
        if units:
            exchanging(node, leg, to, units)
        with pytest.raises(LedgerRefusal):
            node.call(LedgerMethod.VENUE_SEND_ON, asked.model_copy(update={"key": key}))


@pytest.mark.parametrize("when", ["opened", "paid", "exchanging"])
def test_a_failed_leg_holds_its_deposit(node: Node, when: str) -> None:
    leg, to = met(node, "fail_after_deposit", when, refund_address=REFUND)
    advance(node, 10 * HOUR)
    seen = report(node, leg)
    assert (seen["status"], seen["declined"]) == (LegStatus.FAILED, False)
    assert seen["depositArrived"]
    assert balance(node, BTC, to["address"]) == (0 if when == "exchanging" else PAID)
    assert (balance(node, BTC, REFUND), balance(node, ETH, leg.payout_address)) == (0, 0)
    assert audit(node) == []


@pytest.mark.parametrize(
    ("state", "name", "reason"),
    [
        ("waiting", "release", "nothing is on hold"),
        ("confirming", "expire", "deposit has arrived"),
        ("finished", "refund", "too late: this leg is FINISHED"),
        ("finished", "hold", "too late"),
        ("finished", "fallback", "too late"),
    ],
)
def test_a_fault_that_comes_too_late_says_so(
    node: Node, state: str, name: str, reason: str
) -> None:
    leg, to = open_leg(node)
    if state != "waiting":
        pay(node, BTC, to, PAID)
    if state == "finished":
        advance(node, HOUR)
    with pytest.raises(LedgerRefusal, match=reason):
        fault(node, leg, name)
    assert node.call(LedgerMethod.FAULT_LIST, NoParams()) == []


def test_a_leg_that_an_order_does_not_have(node: Node) -> None:
    leg, _ = open_leg(node)
    with pytest.raises(LedgerRefusal, match="no out leg"):
        fault(node, leg, "hold", leg="out")


@pytest.mark.parametrize("name", ["refund", "reroute"])
def test_an_excess_that_went_back_does_not_go_back_again(node: Node, name: str) -> None:
    leg, to = open_leg(node, fixed=True, refund_address=REFUND)
    exchanging(node, leg, to, PAID + 4_000)
    assert balance(node, BTC, REFUND) == 4_000
    fault(node, leg, name)
    if name == "reroute":
        node.call(LedgerMethod.VENUE_SEND_ON, SendOn(venue="cb", key=leg.key, address=REFUND))
    advance(node, HOUR)
    seen = report(node, leg)
    assert (seen["status"], seen["refundUnits"]) == (LegStatus.REFUNDED, str(PAID + 4_000))
    assert balance(node, BTC, REFUND) == PAID + 4_000
    assert audit(node) == []


def test_every_fault_at_once_and_a_repeated_key(node: Node) -> None:
    order = "order-with-all:in"
    for name in ("hold", "fallback"):
        node.call(LedgerMethod.FAULT_ADD, FaultAdd(fault=name, service_id="order-with-all"))
    leg, to = open_leg(node, key=order)
    assert node.call(LedgerMethod.FAULT_LIST, NoParams()) == []
    pay(node, BTC, to, PAID)
    advance(node, HOUR)
    assert status(node, leg) is LegStatus.VERIFYING
    fault(node, leg, "release")
    advance(node, HOUR)
    assert status(node, leg) is LegStatus.FALLBACK


def test_a_node_that_is_down_takes_its_chain_with_it(node: Node) -> None:
    leg, to = open_leg(node)
    other, _ = open_leg(node, ETH, XRP, units_in=str(10**18), units_out="1000000", minimum="1")
    node.call(LedgerMethod.FAULT_ADD, FaultAdd(fault="node_down", chain="bitcoin"))
    for call in (
        lambda: report(node, leg),
        lambda: open_leg(node),
        lambda: open_leg(node, ETH, BTC, units_in=str(10**18), units_out="1", minimum="1"),
        lambda: pay(node, BTC, to, PAID),
        lambda: node.call(LedgerMethod.VENUE_FIND, AccountOf(venue="cb", key=leg.key)),
    ):
        with pytest.raises(LedgerRefusal, match="node of bitcoin"):
            call()
    assert status(node, other) is LegStatus.WAITING
    assert "bitcoin" not in node.call(LedgerMethod.CHAIN_HEIGHTS, NoParams())
    node.call(LedgerMethod.FAULT_CLEAR, NoParams())
    exchanging(node, leg, to)


def test_an_outage_that_counts_calls(node: Node) -> None:
    leg, _ = open_leg(node)
    node.call(LedgerMethod.FAULT_ADD, FaultAdd(fault="node_down", chain="ethereum", times=2))
    for _ in range(2):
        with pytest.raises(LedgerRefusal, match="does not answer"):
            report(node, leg)
    assert status(node, leg) is LegStatus.WAITING


@pytest.mark.parametrize(
    "selector",
    [{"chain": "atlantis"}, {"venue": "cb"}, {"service_id": "x"}, {}],
)
def test_what_a_node_that_is_down_is_selected_by(node: Node, selector: dict[str, str]) -> None:
    with pytest.raises(LedgerRefusal):
        node.call(LedgerMethod.FAULT_ADD, FaultAdd(fault="node_down", **selector))


async def test_other_chain_ids_than_those_of_the_world_are_refused(tmp_path: Path) -> None:
    await open_node(tmp_path, SystemClock()).close()
    with pytest.raises(OtherTerms, match="made with chain ids sandbox"):
        open_node(tmp_path, SystemClock(), ids="real")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("PRAGMA user_version = 4", "schema 4, not"),
        ("UPDATE meta SET value = 'x' WHERE name = 'world digest'", "other coins or exchanges"),
    ],
)
def test_the_world_of_another_release_or_of_other_tables_is_not_gone_on_with(
    tmp_path: Path, issued: Path, change: str, words: str
) -> None:
    path = shutil.copy(issued, tmp_path / "node.db")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(change)
        before = list(file.iterdump())
    with pytest.raises(OtherWorld, match=words):
        Node(path, SystemClock())
    with closing(sqlite3.connect(path)) as file:
        assert list(file.iterdump()) == before


def test_the_tables_of_a_world_decide_who_gets_how_much(
    tmp_path: Path, issued: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coin with other decimals, and an exchange that is gone."""
    path = shutil.copy(issued, tmp_path / "node.db")
    other = replace(BTC, row=replace(BTC.row, decimals=9))
    tables = (
        ("world_tokens", lambda: world_tokens() | {BTC.token_id: other}),
        ("VENUE_ROWS", VENUE_ROWS[1:]),
    )
    for name, table in tables:
        with monkeypatch.context() as changed:
            changed.setattr(ledger, name, table)
            with pytest.raises(OtherWorld):
                Node(path, SystemClock())
    Node(path, SystemClock()).close()
