"""The transactions of orders: what this desk sent for them, and the deposit the service named.

Nothing is written here. A hash stands where its payment is journaled: with the act of the ledger
that pays a deposit, a bundle or a part of a group, with the part of a swap on chains, and what the
service named as the deposit with the order (``order_log``). An order's link tells only the newest
of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.ledger import EXECUTED_IN_VAIN
from swapdesk.flows.orders.order_transactions import OrderTransaction


class TransactionLog:
    """Reading raises JournalUnavailable."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file

    def of(self, service_id: str) -> tuple[OrderTransaction, ...]:
        """Those of one order, by role and in the order in which they were begun; what the service
        named is the last."""
        return self._read(_ALL, "= ?1", service_id).get(service_id, ())

    def all(self) -> dict[str, tuple[OrderTransaction, ...]]:
        """The same of every order that has any, by its id."""
        return self._read(_ALL, "IS NOT NULL")

    def deposits(self, service_ids: Collection[str]) -> dict[str, tuple[OrderTransaction, ...]]:
        """What this desk sent by hand to pay the deposits of these orders, by their ids: one
        question for all of them."""
        those = "IN (SELECT value FROM json_each(?1))"
        return self._read(_DEPOSITS, those, json.dumps(list(service_ids)))

    def _read(
        self, query: str, those: str, *values: str
    ) -> dict[str, tuple[OrderTransaction, ...]]:
        """``those`` is the SQL condition of the orders."""
        found: dict[str, tuple[OrderTransaction, ...]] = {}
        query = f"{query.format(those=those)} ORDER BY place, number"
        for service_id, _, _, hash_, fate, role, by, address in self._file.read(query, values):
            if hash_ and fate:
                one = OrderTransaction(role, hash_, fate, by, address)
                found[service_id] = (*found.get(service_id, ()), one)
        return found


_HASH_AND_FATE = f"""json_extract(result, '$.hash') AS hash, CASE WHEN state = 'done'
  THEN 'confirmed' WHEN state <> 'refused' THEN 'sent'
  WHEN code = '{EXECUTED_IN_VAIN}' THEN 'failed' END AS fate"""
_DEPOSITS = f"""
SELECT service_id, 4 AS place, number, hash,
  -- A faucet answers when it has sent, and nobody here looks at the chain after it.
  iif(payer = 'faucet' AND fate IS NOT NULL, 'sent', fate), 'deposit', payer, NULL
FROM (SELECT subject AS service_id, number, {_HASH_AND_FATE}, json_extract(body, '$.by') AS payer
  FROM operation WHERE kind = 'deposit' AND subject {{those}})
WHERE payer <> 'bundle'
"""  # noqa: S608
_GROUP = "SELECT parent FROM operation WHERE kind = 'row' AND subject {those}"
"""Of all bundles only those of the order's group are looked through."""
_ALL = f"""
SELECT orders.service_id, 1 AS place, operation.number, {_HASH_AND_FATE}, kind, 'wallet', NULL
FROM orders JOIN operation ON operation.parent = orders.operation
WHERE kind IN ('approve', 'reset', 'swap') AND service_id {{those}}
UNION ALL
SELECT json_extract(deposit.value, '$.service_id') AS paid, 2, number,
  json_extract(result, '$.hash'), iif(state = 'done', 'confirmed', 'failed'), 'bundle', 'batch',
  json_extract(deposit.value, '$.address')
FROM operation, json_each(body, '$.items') AS item, json_each(item.value, '$.deposits') AS deposit
WHERE kind = 'bundle' AND json_extract(body, '$.kind') = 'evm' AND operation.parent IN ({_GROUP})
  AND paid {{those}}
UNION ALL
SELECT paid.value, 3, number, {_HASH_AND_FATE}, 'deposit', 'batch', NULL
FROM operation, json_each(body, '$.service_ids') AS paid
WHERE kind = 'part' AND operation.parent IN ({_GROUP}) AND paid.value {{those}}
UNION ALL {_DEPOSITS}
UNION ALL
SELECT service_id, 5, number, deposit, 'seen', 'deposit', 'service', NULL
FROM orders WHERE deposit IS NOT NULL AND service_id {{those}}
"""  # noqa: S608
