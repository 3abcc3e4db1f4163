"""The transactions of orders: what this desk sent for them, and the deposit the service named.

Nothing is written here. A hash stands where its payment is journaled: with the call that pays a
deposit (``call_log``), with the step of a swap on chains (``creates``), with the bundle of a group
or its payment on Solana (``bundle_log``, ``wallet_payment_log``), and what the service named as
the deposit with the order (``order_log``). An order's link tells only the newest of them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from typing import ClassVar, Literal

from msgspec import Struct

from swapdesk.flows.journal.batch_records import BundleState, Paying
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.journal_records import EXECUTED_IN_VAIN, StepState
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.journal.outgoing_writes import PAYMENT, WALLET_PAYMENT

TransactionRole = Literal[
    "deposit",
    "bundle",  # It paid the deposits of a whole group.
    "approve",
    "reset",  # An approval of nothing, which some tokens need before another one.
    "swap",
]
"""What a transaction did for its order."""


Fate = Literal[
    "sent",
    "confirmed",
    "failed",
    "seen",  # The service named it.
]


Sender = Literal[
    "wallet",
    "faucet",
    "batch",
    "service",  # Not known: the service named it.
]


class OrderTransaction(Struct, frozen=True):
    """``address`` is where a bundle paid the order's deposit; None where the order says it."""

    PRINTED: ClassVar = {"for": "role", "hash": "hash", "state": "fate", "by": "by"}

    role: TransactionRole
    hash: str
    fate: Fate
    by: Sender
    address: str | None = None

    @property
    def own(self) -> bool:
        """Whether this desk sent it."""
        return self.by != "service"


class TransactionLog:
    """Reading raises JournalUnavailable."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file

    def of(self, service_id: str) -> tuple[OrderTransaction, ...]:
        """Those of one order, by role and in the order in which they were begun; what the service
        named is the last."""
        return tuple(one for _, one in self._each(service_id))

    def all(self) -> dict[str, tuple[OrderTransaction, ...]]:
        """The same of every order that has any, by its id."""
        return _by_order(self._each(None))

    def deposits(self, service_ids: Collection[str]) -> dict[str, tuple[OrderTransaction, ...]]:
        """What this desk sent by hand to pay the deposits of these orders, by their ids: one
        question for all of them."""
        wanted = json.dumps(list(service_ids))
        query = _CALLS.format(one=_OF_ORDERS)
        rows = self._file.read(query, (PAYMENT, WALLET_PAYMENT, wanted))
        return _by_order(one for row in rows for one in _paid(row))

    def _each(self, service_id: str | None) -> Iterator[tuple[str, OrderTransaction]]:
        for row in self._rows(_PARTS_OF_SWAPS, _OF_INTENT, service_id):
            if (fate := _fate(row)) is not None:
                yield row["service_id"], _made(row, row["kind"], fate, "wallet")
        for row in self._rows(_BUNDLES, _OF_BUNDLE, service_id, "evm"):
            fate = "confirmed" if row["state"] == BundleState.CONFIRMED else "failed"
            yield (
                row["service_id"],
                _made(row, "bundle", fate, "batch", row["address"]),
            )
        for row in self._rows(_PARTS, _OF_PART, service_id, Paying.PART):
            if (fate := _fate(row)) is not None:
                yield row["service_id"], _made(row, "deposit", fate, "batch")
        for row in self._rows(_CALLS, _OF_ORDER, service_id, PAYMENT, WALLET_PAYMENT):
            yield from _paid(row)
        for row in self._rows(_TOLD, _OF_ORDER, service_id):
            yield row["service_id"], _made(row, "deposit", "seen", "service")

    def _rows(
        self, query: str, one: str, service_id: str | None, *values: str
    ) -> list[sqlite3.Row]:
        if service_id is None:
            return self._file.read(query.format(one=""), values)
        return self._file.read(query.format(one=one), (*values, service_id))


def _by_order(
    each: Iterable[tuple[str, OrderTransaction]],
) -> dict[str, tuple[OrderTransaction, ...]]:
    found: dict[str, tuple[OrderTransaction, ...]] = {}
    for service_id, one in each:
        found[service_id] = (*found.get(service_id, ()), one)
    return found


def _made(
    row: sqlite3.Row, role: TransactionRole, fate: Fate, by: Sender, address: str | None = None
) -> OrderTransaction:
    return OrderTransaction(role, row["hash"], fate, by, address)


def _paid(row: sqlite3.Row) -> Iterator[tuple[str, OrderTransaction]]:
    """The deposit that a call paid, with its order's id."""
    if (fate := _fate(row)) is not None:
        faucet = row["path"] == PAYMENT
        by: Sender = "faucet" if faucet else "wallet"
        # A faucet answers when it has sent, and nobody here looks at the chain after it.
        yield (
            row["service_id"],
            _made(row, "deposit", "sent" if faucet else fate, by),
        )


def _fate(row: sqlite3.Row) -> Fate | None:
    if row["state"] in (StepState.ACKED, State.DONE):
        return "confirmed"
    if row["state"] not in (StepState.REFUSED, State.REFUSED):
        return "sent"
    return "failed" if row["code"] == EXECUTED_IN_VAIN else None


_PARTS_OF_SWAPS = """
SELECT orders.service_id, kind, state, code, json_extract(result, '$.hash') AS hash
FROM orders JOIN operation ON operation.parent = orders.operation
WHERE kind IN ('approve', 'reset', 'swap') AND json_extract(result, '$.hash') > '' {one}
ORDER BY operation.number
"""
_OF_INTENT = "AND orders.service_id = ?"
_BUNDLES = """
SELECT json_extract(deposit.value, '$.service_id') AS service_id, bundle.state, tx_hash AS hash,
  json_extract(deposit.value, '$.address') AS address
FROM bundle, json_each(built, '$.items') AS item, json_each(item.value, '$.deposits') AS deposit
WHERE tx_hash > '' AND json_extract(built, '$.kind') = ? {one}
ORDER BY bundle.rowid
"""
_PARTS = """
SELECT paid.value AS service_id, state, code, hash
FROM bundle_payment, json_each(service_ids) AS paid
WHERE hash > '' AND paying = ? {one}
ORDER BY bundle_payment.rowid
"""
_GROUP = """
AND (batch_id, group_number) IN
  (SELECT asked.parent, json_extract(asked.body, '$.number')
   FROM operation AS made JOIN operation AS asked ON asked.id = made.parent
   WHERE made.kind = 'row' AND made.subject = ?2)
"""
"""Of all bundles only those of the order's group are looked through."""
_OF_BUNDLE = f"{_GROUP} AND json_extract(deposit.value, '$.service_id') = ?2"
_OF_PART = f"{_GROUP} AND paid.value = ?2"
_CALLS = """
SELECT service_id, path, state, code, hash FROM call
WHERE hash > '' AND service_id > '' AND path IN (?, ?) {one}
ORDER BY id
"""
_OF_ORDER = "AND service_id = ?"
_OF_ORDERS = "AND service_id IN (SELECT value FROM json_each(?))"
_TOLD = "SELECT service_id, deposit AS hash FROM orders WHERE deposit IS NOT NULL {one}"
