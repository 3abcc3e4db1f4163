"""A node in this process: the life of legs, their faults and fixed rates, hot wallets, outages, and
money that is never lost or made.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.clock import SystemClock
from swapdesk.sandbox.node import ledger
from swapdesk.sandbox.node.database import OtherWorld
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.ledger import ISSUER, VENUE_DOLLARS, reserve_units
from swapdesk.sandbox.node.node import Node, OtherTerms, open_node
from swapdesk.sandbox.node.params import (
    AccountOf,
    ClockSet,
    FaucetPay,
    FaultAdd,
    NoParams,
    OpenLeg,
    SendOn,
    TransferOf,
)
from swapdesk.sandbox.tables import PAYOUT_WALLETS, VENUE_ROWS
from swapdesk.sandbox.world import WorldToken, find_token, seed_bytes, world_tokens
from swapdesk.wire.orders import LegStatus

BTC, ETH = find_token("bitcoin", "BTC"), find_token("ethereum", "ETH")
XRP, SOL = find_token("xrp", "XRP"), find_token("solana", "SOL")
HOUR = 3600
_numbers = count()


def address(token: WorldToken, name: str) -> str:
    return derive_address(token.chain.kind, seed_bytes("test", name))


def open_leg(
    node: Node, token_in: WorldToken = BTC, token_out: WorldToken = ETH, **more: Any
) -> Any:
    values = {
        "venue": "cb",
        "key": f"order{next(_numbers)}:in",
        "token_in": token_in.token_id,
        "token_out": token_out.token_id,
        "units_in": "50000000",
        "units_out": "14000000000000000000",
        "minimum": "100000",
        "payout_address": address(token_out, "receiver"),
        "expires": node._clock.now() + timedelta(seconds=HOUR),
        "exchange_seconds": 240,
        **more,
    }
    leg = OpenLeg(**values)
    return leg, node.call("venue_open", leg)


def report(node: Node, leg: Any) -> Any:
    return node.call("venue_report", AccountOf(venue=leg.venue, key=leg.key))


def pay(node: Node, token: WorldToken, to: Any, units: int, **more: Any) -> Any:
    values = {"key": f"pay{next(_numbers)}", "tag": to["tag"], **more}
    asked = FaucetPay(token=token.token_id, address=to["address"], units=str(units), **values)
    return node.call("faucet_pay", asked)


def advance(node: Node, seconds: int) -> None:
    node.call("clock_set", ClockSet(advance=Decimal(seconds)))


def balance(node: Node, token: WorldToken, owner: str) -> int:
    return node.ledger.balance(token.token_id, owner)


def reserve(token: WorldToken) -> int:
    """What each wallet of an exchange began with."""
    return reserve_units(token, VENUE_DOLLARS)


def audit(node: Node, of: str = "") -> list[str]:
    """Tokens of which somebody holds less than nothing, or whose balances do not add up to nothing:
    what is issued is a debt of the issuer. ``of`` is a condition that chooses tokens."""
    held: Counter[str] = Counter()
    wrong = set()
    query = f"SELECT * FROM balances {of}"  # noqa: S608 - words of ours
    for token, owner, units in node.database.connection.execute(query):
        held[token] += int(units)
        if int(units) < 0 and owner != ISSUER:
            wrong.add(token)
    return sorted(wrong | {token for token, units in held.items() if units})


def test_a_leg_from_deposit_to_payout(node: Node) -> None:
    leg, to = open_leg(node)
    assert report(node, leg)["status"] == LegStatus.WAITING
    paid = pay(node, BTC, to, 50_000_000)
    seen = report(node, leg)
    assert seen["status"] == LegStatus.CONFIRMING
    assert (seen["confirmations"], seen["confirmationsNeeded"]) == (0, 2)
    assert seen["depositHash"] == paid["hash"]
    advance(node, 200)
    assert report(node, leg)["status"] == LegStatus.EXCHANGING
    assert balance(node, BTC, to["address"]) == 0, "swept to the hot wallet"
    advance(node, 240)
    sending = report(node, leg)
    assert sending["status"] in (LegStatus.SENDING, LegStatus.FINISHED)
    assert balance(node, ETH, leg.payout_address) == 14 * 10**18
    advance(node, 12)
    done = report(node, leg)
    assert done["status"] == LegStatus.FINISHED
    payout = node.call("transfer_get", TransferOf(hash=done["payoutHash"]))
    assert payout["to"] == leg.payout_address
    assert payout["confirmations"] >= 1
    assert audit(node) == []


def test_the_same_key_opens_once(node: Node) -> None:
    leg, first = open_leg(node)
    again = leg.model_copy(update={"units_out": "13000000000000000000"})
    assert node.call("venue_open", again) == first
    assert node.call("venue_find", AccountOf(venue="cb", key=leg.key)) == first
    assert node.call("venue_find", AccountOf(venue="hy", key=leg.key)) is None
    other = leg.model_copy(update={"payout_address": address(ETH, "thief")})
    with pytest.raises(Problem):
        node.call("venue_open", other)


def test_the_faucet_pays_a_key_once(node: Node) -> None:
    _, to = open_leg(node)
    assert pay(node, BTC, to, 5, key="k")["hash"] == pay(node, BTC, to, 5, key="k")["hash"]
    assert balance(node, BTC, to["address"]) == 5
    with pytest.raises(Problem):
        pay(node, BTC, to, 6, key="k")


def test_what_a_venue_does_not_trade_is_refused(node: Node) -> None:
    with pytest.raises(Problem, match="does not trade"):
        open_leg(node, find_token("monero", "XMR"), ETH, venue="jn")


def test_two_deposits_are_one_when_both_are_in_time(node: Node) -> None:
    leg, to = open_leg(node)
    pay(node, BTC, to, 20_000_000)
    advance(node, 100)
    pay(node, BTC, to, 30_000_000)
    advance(node, 100)
    assert report(node, leg)["status"] == LegStatus.CONFIRMING, "the second one does not count yet"
    advance(node, HOUR)
    assert report(node, leg)["unitsIn"] == "50000000"
    assert balance(node, ETH, leg.payout_address) == 14 * 10**18


class Paid(Struct):
    """What reaches a leg over 0.5 BTC for 14 ETH, and how that ends."""

    deposits: list[tuple[int, int]]
    """Seconds after the one before, and base units."""
    status: LegStatus
    units_in: int | None
    out: int = 0
    """What the receiver got."""
    back: int = 0
    """What the refund address got; it is known where this is not 0."""
    told: int | None = None
    """What the exchange says it sent back."""
    held: bool = False
    more: dict[str, Any] = field(default_factory=dict)


HALF, ETHER = 50_000_000, 10**18
FINISHED, EXPIRED, REFUNDED = LegStatus.FINISHED, LegStatus.EXPIRED, LegStatus.REFUNDED
FIXED = {"fixed": True, "venue": "hy"}
DEPOSITS = {
    "none": Paid([], EXPIRED, None),
    "short": Paid([(0, HALF // 2)], FINISHED, HALF // 2, 7 * ETHER),
    "double": Paid([(0, 2 * HALF)], FINISHED, 2 * HALF, 28 * ETHER),
    "below the minimum": Paid([(0, 99_999)], REFUNDED, 99_999, back=99_999, told=99_999),
    "below the minimum, nowhere to": Paid([(0, 99_999)], LegStatus.FAILED, 99_999),
    "late": Paid([(HOUR + 1, HALF)], REFUNDED, HALF, back=HALF, told=HALF),
    "late, nowhere to": Paid([(HOUR + 1, HALF)], EXPIRED, None, held=True),
    "two late": Paid([(HOUR + 1, HALF), (HOUR, 7)], REFUNDED, HALF, back=HALF + 7, told=HALF),
    "a second one": Paid([(0, HALF), (HOUR, 7)], FINISHED, HALF, 14 * ETHER, back=7),
    "a second one, nowhere to": Paid([(0, HALF), (HOUR, 7)], FINISHED, HALF, 14 * ETHER, held=True),
    "more than a fixed rate": Paid(
        [(0, HALF + 4_000)], FINISHED, HALF + 4_000, 14 * ETHER, 3_990, 3_990, more=FIXED
    ),
    "less than a fixed rate": Paid([(0, HALF // 2)], FINISHED, HALF // 2, 7 * ETHER, more=FIXED),
}


@pytest.mark.parametrize("name", DEPOSITS)
def test_what_becomes_of_a_deposit(node: Node, name: str) -> None:
    case, refund = DEPOSITS[name], address(BTC, "refund")
    known = refund if case.back else None
    leg, to = open_leg(node, refund_address=known, **case.more)
    for seconds, units in case.deposits:
        advance(node, seconds)
        pay(node, BTC, to, units)
        assert not report(node, leg)["held"], "it is not confirmed yet"
    advance(node, HOUR + 1)
    seen = report(node, leg)
    units_in, told = (None if each is None else str(each) for each in (case.units_in, case.told))
    assert (seen["status"], seen["unitsIn"], seen["held"]) == (case.status, units_in, case.held)
    assert (seen["refundUnits"], seen["refundChain"]) == (told, told and "bitcoin")
    assert seen["depositArrived"] is bool(case.deposits)
    assert balance(node, ETH, leg.payout_address) == case.out
    assert balance(node, BTC, refund) == case.back
    wallet = node.ledger.hot_wallet(leg.venue, BTC.chain)
    arrived = sum(units for _, units in case.deposits)
    kept = balance(node, BTC, to["address"]) + balance(node, BTC, wallet) - reserve(BTC)
    assert kept == arrived - case.back
    assert audit(node) == []


def test_xrp_without_the_right_tag_is_nobodys(node: Node) -> None:
    more = {"units_in": "2500000000", "minimum": "10000000"}
    leg, to = open_leg(node, XRP, ETH, **more)
    neighbour, other = open_leg(node, XRP, ETH, **more)
    assert to["address"] == other["address"]
    assert to["tag"] != other["tag"]
    for tag in (None, "1"):
        pay(node, XRP, to, 2_500_000_000, tag=tag)
    advance(node, 600)
    for each in (leg, neighbour):
        assert report(node, each)["status"] == LegStatus.WAITING
    pay(node, XRP, to, 2_500_000_000)
    advance(node, HOUR)
    assert report(node, leg)["status"] == LegStatus.FINISHED
    assert audit(node) == []


def test_another_token_on_the_address_is_not_credited(node: Node) -> None:
    leg, to = open_leg(
        node, ETH, BTC, units_in="1000000000000000000", units_out="3000000", minimum="1"
    )
    pay(node, find_token("ethereum", "USDC"), to, 10**6)
    assert report(node, leg)["status"] == LegStatus.WAITING


def test_a_fault_of_a_venue_meets_the_next_legs_there(node: Node) -> None:
    node.call("fault_add", FaultAdd(fault="expire", venue="cb", leg="in", times=2))
    untouched, _ = open_leg(node, venue="hy")
    out, _ = open_leg(node, key="x:out")
    hit = [open_leg(node)[0] for _ in range(3)]
    advance(node, 0)
    states = [report(node, leg)["status"] for leg in (untouched, out, *hit)]
    waiting, expired = LegStatus.WAITING, LegStatus.EXPIRED
    assert states == [waiting, waiting, expired, expired, waiting]
    assert node.call("fault_list", NoParams()) == []


def test_heights_follow_the_world(node: Node) -> None:
    first = node.call("chain_heights", NoParams())
    node.call("clock_set", ClockSet(speed=Decimal(10)))
    advance(node, 1000)
    then = node.call("chain_heights", NoParams())
    assert then["bitcoin"] - first["bitcoin"] == 100
    assert then["monero"] - first["monero"] in (166, 167)


def reopened(node: Node, path: Path, **more: Any) -> Node:
    node.close()
    return Node(path, SystemClock(), **more)


def test_everything_survives_and_the_clock_goes_on(tmp_path: Path, issued: Path) -> None:
    path = shutil.copy(issued, tmp_path / "node.db")
    node = Node(path, SystemClock(), seed=7, speed=Decimal(2))
    leg, to = open_leg(node)
    advance(node, 100)
    pay(node, BTC, to, 50_000_000)
    before = node.clock.moment()
    node = reopened(node, path)
    assert (node.seed, node.clock.speed) == (7, Decimal(2))
    assert node.clock.moment().now >= before.now
    assert node.clock.moment().world >= before.world
    assert report(node, leg)["status"] == LegStatus.CONFIRMING
    advance(node, HOUR)
    assert report(node, leg)["status"] == LegStatus.FINISHED
    node = reopened(node, path, speed=Decimal(30))
    assert node.clock.speed == 30
    assert audit(node) == []
    node.close()
    with pytest.raises(OtherTerms):
        Node(path, SystemClock(), seed=8)


class _WallSetBack(SystemClock):
    """A wall clock that somebody set back by a day."""

    def now(self) -> Any:
        return super().now() - timedelta(days=1)


def test_time_never_runs_backward(tmp_path: Path, issued: Path) -> None:
    path = shutil.copy(issued, tmp_path / "node.db")
    node = Node(path, SystemClock())
    before = node.clock.moment()
    node.close()
    node = Node(path, _WallSetBack())
    assert node.clock.moment().now >= before.now
    node.close()


def test_nobody_pays_more_than_they_hold(node: Node) -> None:
    _, to = open_leg(node)
    faucet = node.ledger.faucet(BTC.chain)
    held = balance(node, BTC, faucet)
    with pytest.raises(Problem, match="holds too little"):
        pay(node, BTC, to, held + 1)
    assert (balance(node, BTC, faucet), balance(node, BTC, to["address"])) == (held, 0)
    pay(node, BTC, to, held)
    assert (balance(node, BTC, faucet), balance(node, BTC, to["address"])) == (0, held)
    assert audit(node) == []


def test_a_step_that_breaks_leaves_nothing_behind(node: Node) -> None:
    leg, to = open_leg(node)
    pay(node, BTC, to, 50_000_000)
    arrival: Callable[..., None] = node.ledger.on_arrival

    def broken(*_: object) -> None:
        raise RuntimeError("power cut")

    node.ledger.on_arrival = broken
    with pytest.raises(RuntimeError):
        advance(node, 200)
    assert node.accounts.rows.by_key(leg.venue, leg.key)["status"] == LegStatus.CONFIRMING
    assert balance(node, BTC, to["address"]) == 50_000_000
    node.ledger.on_arrival = arrival
    advance(node, HOUR)
    assert report(node, leg)["status"] == LegStatus.FINISHED
    assert audit(node) == []


PAID = 50_000_000
OUT = 14 * 10**18
REFUND = address(BTC, "refund")
MOMENTS = ("opened", "paid", "exchanging")


def fault(node: Node, opened: Any, name: str, **more: Any) -> None:
    order = opened.key.partition(":")[0]
    node.call("fault_add", FaultAdd(fault=name, service_id=order, **more))


def sender(node: Node, transaction_hash: str) -> str:
    found = node.call("transfer_get", TransferOf(hash=transaction_hash))
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


LEFT = [
    *(("refund", when, "hy", 49_875_000, "49875000", 0) for when in MOMENTS),
    # It does not say how much it sent back.
    ("refund", "opened", "kt", 49_850_000, None, 0),
    ("fail_after_deposit", "opened", "cb", 0, None, PAID),
    ("fail_after_deposit", "paid", "cb", 0, None, PAID),
    ("fail_after_deposit", "exchanging", "cb", 0, None, 0),
]
"""What goes back of a deposit, what the exchange says of it, and what is left where it was paid."""


@pytest.mark.parametrize(("name", "when", "venue", "back", "told", "left"), LEFT)
def test_a_leg_that_comes_to_nothing_gives_back_its_deposit_less_the_fee_or_holds_it(
    node: Node, name: str, when: str, venue: str, back: int, told: str | None, left: int
) -> None:
    leg, to = met(node, name, when, venue=venue, refund_address=REFUND)
    advance(node, 10 * HOUR)
    seen = report(node, leg)
    status = LegStatus.REFUNDED if back else LegStatus.FAILED
    assert (seen["status"], seen["refundUnits"], seen["declined"]) == (status, told, False)
    assert (seen["refundChain"], bool(seen["refundHash"])) == (
        "bitcoin" if back else None,
        back > 0,
    )
    assert seen["depositArrived"]
    assert balance(node, BTC, to["address"]) == left, "the fee is the exchange's"
    assert (balance(node, BTC, REFUND), balance(node, ETH, leg.payout_address)) == (back, 0)
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
    node.call("fault_add", FaultAdd(fault="release", venue="cb"))
    assert [status(node, leg) for leg, _ in legs] == [
        LegStatus.EXCHANGING,
        LegStatus.EXCHANGING,
        LegStatus.WAITING,
    ]
    fault(node, legs[0][0], "hold")
    assert status(node, legs[0][0]) is LegStatus.VERIFYING
    node.call("fault_clear", NoParams())
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


@pytest.mark.parametrize("when", MOMENTS)
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
    sent = node.call("venue_send_on", asked)
    assert node.call("venue_send_on", asked)["hash"] == sent["hash"]
    with pytest.raises(Problem, match="sent elsewhere"):
        node.call("venue_send_on", asked.model_copy(update={"address": REFUND}))
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
        with pytest.raises(Problem):
            node.call("venue_send_on", asked.model_copy(update={"key": key}))


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
    with pytest.raises(Problem, match=reason):
        fault(node, leg, name)
    assert node.call("fault_list", NoParams()) == []


def test_a_leg_that_an_order_does_not_have(node: Node) -> None:
    leg, _ = open_leg(node)
    with pytest.raises(Problem, match="no out leg"):
        fault(node, leg, "hold", leg="out")


@pytest.mark.parametrize("name", ["refund", "reroute"])
def test_an_excess_that_went_back_does_not_go_back_again(node: Node, name: str) -> None:
    leg, to = open_leg(node, fixed=True, refund_address=REFUND)
    exchanging(node, leg, to, PAID + 4_000)
    assert balance(node, BTC, REFUND) == 4_000
    fault(node, leg, name)
    if name == "reroute":
        node.call("venue_send_on", SendOn(venue="cb", key=leg.key, address=REFUND))
    advance(node, HOUR)
    seen = report(node, leg)
    assert (seen["status"], seen["refundUnits"]) == (LegStatus.REFUNDED, str(PAID + 4_000))
    assert balance(node, BTC, REFUND) == PAID + 4_000
    assert audit(node) == []


def test_every_fault_at_once_and_a_repeated_key(node: Node) -> None:
    order = "order-with-all:in"
    for name in ("hold", "fallback"):
        node.call("fault_add", FaultAdd(fault=name, service_id="order-with-all"))
    leg, to = open_leg(node, key=order)
    assert node.call("fault_list", NoParams()) == []
    pay(node, BTC, to, PAID)
    advance(node, HOUR)
    assert status(node, leg) is LegStatus.VERIFYING
    fault(node, leg, "release")
    advance(node, HOUR)
    assert status(node, leg) is LegStatus.FALLBACK


def test_a_node_that_is_down_takes_its_chain_with_it(node: Node) -> None:
    leg, to = open_leg(node)
    other, _ = open_leg(node, ETH, XRP, units_in=str(10**18), units_out="1000000", minimum="1")
    node.call("fault_add", FaultAdd(fault="node_down", chain="bitcoin"))
    for call in (
        lambda: report(node, leg),
        lambda: open_leg(node),
        lambda: open_leg(node, ETH, BTC, units_in=str(10**18), units_out="1", minimum="1"),
        lambda: pay(node, BTC, to, PAID),
        lambda: node.call("venue_find", AccountOf(venue="cb", key=leg.key)),
    ):
        with pytest.raises(Problem, match="node of bitcoin"):
            call()
    assert status(node, other) is LegStatus.WAITING
    assert "bitcoin" not in node.call("chain_heights", NoParams())
    node.call("fault_clear", NoParams())
    exchanging(node, leg, to)


async def test_other_chain_ids_than_those_of_the_world_are_refused(tmp_path: Path) -> None:
    await open_node(tmp_path, SystemClock()).end()
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
