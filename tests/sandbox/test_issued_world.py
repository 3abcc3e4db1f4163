"""A data directory and tables that changed since it was begun."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from sandbox.test_node import BTC, advance, audit, balance, open_leg, pay, report
from swapdesk.clock import SystemClock
from swapdesk.sandbox.node import issued_world
from swapdesk.sandbox.node.issued_world import OtherWorld
from swapdesk.sandbox.node.node import Node
from swapdesk.sandbox.venue_rows import VENUE_ROWS
from swapdesk.sandbox.world import WorldToken, world_tokens
from swapdesk.wire.orders import LegStatus

ISSUED = [token for token in world_tokens().values() if token.asset is not None]


class Tables:
    """The tables that the next node reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def have(self, tokens: Iterable[WorldToken]) -> None:
        kept = list(tokens)
        self._monkeypatch.setattr(issued_world, "_issued", lambda: kept)

    def without_venue(self, code: str) -> None:
        rows = tuple(row for row in VENUE_ROWS if row.code != code)
        self._monkeypatch.setattr(issued_world, "VENUE_ROWS", rows)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    return Tables(monkeypatch)


def opened(directory: Path) -> Node:
    return Node(directory / "node.db", SystemClock(), seed=1)


def stored(directory: Path) -> dict[str, list[tuple[str, ...]]]:
    with sqlite3.connect(directory / "node.db") as file:
        found = {
            name: sorted(file.execute(f"SELECT * FROM {name}").fetchall())  # noqa: S608
            for name in ("balances", "issued")
        }
    file.close()
    return found


def swapped(node: Node, key: str) -> None:
    """A leg from BTC to ETH to its end."""
    leg, to = open_leg(node, key=key)
    pay(node, BTC, to, 50_000_000)
    for seconds in (200, 240, 60):
        advance(node, seconds)
    assert report(node, leg)["status"] == LegStatus.FINISHED


def test_a_new_coin_gets_its_accounts_in_an_old_directory(tmp_path: Path, tables: Tables) -> None:
    tables.have(token for token in ISSUED if token.token_id != BTC.token_id)
    node = opened(tmp_path)
    assert balance(node, BTC, node.ledger.faucet(BTC.chain)) == 0
    node.close()
    tables.have(ISSUED)
    node = opened(tmp_path)
    swapped(node, "order-a:in")
    assert audit(node) == []
    node.close()


def test_a_venue_that_newly_trades_a_coin_that_moved(tmp_path: Path, tables: Tables) -> None:
    tables.without_venue("ar")
    node = opened(tmp_path)
    swapped(node, "order-b:in")
    faucet = node.ledger.faucet(BTC.chain)
    left = balance(node, BTC, faucet)
    node.close()
    tables.without_venue("nobody")
    node = opened(tmp_path)
    assert balance(node, BTC, node.ledger.hot_wallet("ar", BTC.chain)) > 0
    assert balance(node, BTC, faucet) == left, "what moved is not issued again"
    assert audit(node) == []
    node.close()


def test_what_never_moved_is_issued_at_its_new_price(tmp_path: Path, tables: Tables) -> None:
    assert BTC.asset is not None
    dearer = replace(BTC, asset=replace(BTC.asset, price=2 * BTC.asset.price))
    node = opened(tmp_path)
    before = balance(node, BTC, node.ledger.faucet(BTC.chain))
    node.close()
    tables.have(dearer if token is BTC else token for token in ISSUED)
    node = opened(tmp_path)
    assert balance(node, BTC, node.ledger.faucet(BTC.chain)) == before // 2
    assert audit(node) == []
    node.close()


@pytest.mark.parametrize("change", ["gone", "other decimals"])
def test_a_coin_of_orders_that_is_gone_is_refused(
    tmp_path: Path, tables: Tables, change: str
) -> None:
    node = opened(tmp_path)
    swapped(node, "order-c:in")
    node.close()
    before = stored(tmp_path)
    other = replace(BTC, row=replace(BTC.row, decimals=9))
    if change == "gone":
        tables.have(token for token in ISSUED if token is not BTC)
    else:
        tables.have(other if token is BTC else token for token in ISSUED)
    named = "BTC bitcoin" if change == "gone" else "BTC bitcoin with 8 decimals"
    told = rf"^{tmp_path} has orders of another world \({named}\); choose another"
    with pytest.raises(OtherWorld, match=told):
        opened(tmp_path)
    assert stored(tmp_path) == before
    tables.have(ISSUED)
    opened(tmp_path).close()
    assert stored(tmp_path) == before


def test_an_exchange_of_orders_that_is_gone_is_refused(tmp_path: Path, tables: Tables) -> None:
    node = opened(tmp_path)
    leg, _ = open_leg(node)
    node.close()
    tables.without_venue(leg.venue)
    with pytest.raises(OtherWorld, match=f"exchange {leg.venue}"):
        opened(tmp_path)


def test_a_directory_without_a_digest_opens_as_it_was(tmp_path: Path) -> None:
    node = opened(tmp_path)
    swapped(node, "order-e:in")
    node.close()
    before = stored(tmp_path)
    with sqlite3.connect(tmp_path / "node.db") as file:
        file.execute("DELETE FROM meta WHERE name LIKE 'world %'")
    file.close()
    node = opened(tmp_path)
    assert node.database.get("world digest")
    assert audit(node) == []
    node.close()
    assert stored(tmp_path) == before
