"""What is asked of all orders at once, answered by the journal: reading them takes seconds for
whoever has traded for a year."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.journal_migration import NAMED, OF_PAID, PAID_AT, PRESENT
from swapdesk.flows.orders.order_merge import ended
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.encoding.timestamps import parse_rfc3339
from swapdesk.wire.orders import Order


class PaidRecipient(NamedTuple):
    """Whom orders of this desk paid: how often and, where the service said so, when last."""

    address: str
    times: int
    last: datetime | None


SHORTEST_PREFIX = 4
"""Characters of the beginning of an id that name its order."""

_NAMED = f"""
SELECT service_id FROM orders INDEXED BY orders_named
  WHERE json_valid(last) AND instr({NAMED}, ?1)
UNION SELECT service_id FROM orders CROSS JOIN json_each(payments) AS shown
  WHERE payments IS NOT NULL AND instr(lower(json_extract(shown.value, '$.hash')), ?1)
UNION SELECT subject FROM operation
  WHERE kind IN ('create', 'call', 'deposit') AND subject > '' AND parent IS NULL
  AND (instr(lower(json_extract(result, '$.hash')), ?1)
    OR instr(lower(json_extract(result, '$.request_id')), ?1))
UNION SELECT made.subject FROM operation AS part JOIN operation AS made ON made.id = part.parent
  WHERE made.kind = 'create' AND made.subject > ''
    AND instr(lower(json_extract(part.result, '$.hash')), ?1)
UNION SELECT made.subject FROM operation AS asked CROSS JOIN operation AS made
  ON made.parent = asked.id AND made.kind = 'row'
  WHERE asked.kind = 'create_group' AND made.subject > ''
  AND instr(lower(json_extract(asked.result, '$.request_id')), ?1)
UNION SELECT made.subject FROM operation AS bundle CROSS JOIN operation AS made
  ON made.parent = bundle.parent AND made.kind = 'row'
  WHERE bundle.kind = 'bundle' AND made.subject > ''
  AND instr(lower(json_extract(bundle.result, '$.hash')), ?1)
UNION SELECT paid.value
  FROM operation AS part CROSS JOIN json_each(part.body, '$.service_ids') AS paid
  WHERE part.kind = 'part' AND instr(lower(json_extract(part.result, '$.hash')), ?1)
"""  # noqa: S608

_CALLED = """
SELECT service_id FROM orders
  WHERE substr(service_id, 1, length(?1)) = ?1 AND length(?1) >= ?2
UNION SELECT service_id FROM orders WHERE json_valid(last)
  AND ?1 IN (json_extract(last, '$.id'), json_extract(last, '$.multiId'),
    json_extract(last, '$.depositTag'), json_extract(last, '$.receiverTag'))
UNION SELECT subject FROM operation
  WHERE kind = 'create' AND subject > '' AND json_extract(body, '$.intent.quote_id') = ?1
UNION SELECT made.subject FROM operation AS asked CROSS JOIN operation AS made
  ON made.parent = asked.id AND made.kind = 'row'
  WHERE asked.subject = ?1 AND asked.kind = 'create_group' AND made.subject > ''
"""

_BEGUN = """
SELECT begun.value AS word, min(service_id) AS service_id
  FROM json_each(?) AS begun JOIN orders
  ON service_id >= begun.value AND service_id < begun.value || '~'
  GROUP BY begun.value HAVING count(*) = 1
"""
"""No id has a tilde, which stands behind every sign of one."""

_OF_AMOUNT = """
SELECT service_id, last FROM orders WHERE json_valid(last) AND (
  json_extract(last, '$.inAmount') BETWEEN ?1 AND ?2
  OR json_extract(last, '$.outAmount') BETWEEN ?1 AND ?2
  OR json_extract(last, '$.refundAmount') BETWEEN ?1 AND ?2)
"""

_CREATED = "made.state = 'done' AND made.code IS NULL"
"""Of a row that became the order it asked for."""

_RELEASED = f"""
SELECT json_extract(operation.body, '$.intent.token_in.kind') AS kind,
    json_extract(orders.last, '$.depositAddress') AS address
  FROM orders INDEXED BY orders_released
  JOIN operation ON operation.id = orders.operation
  WHERE orders.standing = '{DepositRelease.RELEASED}' AND json_valid(orders.last)
UNION SELECT CASE json_extract(bundle.body, '$.kind') WHEN 'solana' THEN 'sol' ELSE 'evm' END,
    json_extract(deposit.value, '$.address')
  FROM operation AS bundle CROSS JOIN json_each(bundle.body, '$.items') AS item
  CROSS JOIN json_each(item.value, '$.deposits') AS deposit
  CROSS JOIN operation AS made ON made.subject = json_extract(deposit.value, '$.service_id')
  WHERE bundle.kind = 'bundle' AND made.kind = 'row' AND {_CREATED}
"""  # noqa: S608


_PAID = f"""
WITH asked AS MATERIALIZED (
  SELECT id, json_extract(body, '$.body') AS request FROM operation
  WHERE kind = 'create_group' AND json_valid(json_extract(body, '$.body'))
)
SELECT address, count(*) AS times, max(at) AS last FROM (
  SELECT json_extract(last, '$.receiverAddress') AS address, {PAID_AT} AS at
    FROM orders INDEXED BY orders_paid WHERE {OF_PAID}
  UNION ALL SELECT confirmed, {PAID_AT} FROM (
      SELECT made.subject AS service_id, json_extract(request,
        '$.orders[' || json_extract(made.body, '$.place') || '].addressTo') AS confirmed
      FROM asked CROSS JOIN operation AS made ON made.parent = asked.id
      WHERE made.kind = 'row' AND made.subject > '' AND {_CREATED}
    ) CROSS JOIN orders USING (service_id)
    WHERE coalesce(operation, '') = '' AND display = 'SWAP_COMPLETED' AND json_valid(last)
      AND (confirmed = json_extract(last, '$.receiverAddress') OR confirmed LIKE '0x%'
        AND lower(confirmed) = lower(json_extract(last, '$.receiverAddress')))
) GROUP BY address
"""  # noqa: S608
"""An order of a batch has no intent: what was confirmed of it stands in the request of its group,
and the service has to say the same recipient still."""


class OrderIndex:
    """Reads only."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file

    def count_open(self) -> int:
        """How many orders were under way when they were last seen."""
        rows = self._file.read(
            f"SELECT display, count(*) AS orders FROM orders WHERE {PRESENT}"  # noqa: S608
            " GROUP BY display",
            (),
        )
        return sum(row["orders"] for row in rows if not ended(row["display"]))

    def ids(self) -> set[str]:
        """Every order this desk knows."""
        rows = self._file.read("SELECT service_id FROM orders", ())
        return {row["service_id"] for row in rows}

    def begun(self, words: Collection[str]) -> dict[str, str]:
        """Of words those that begin the id of exactly one order, each with that id."""
        rows = self._file.read(_BEGUN, (json.dumps(list(words)),))
        return {row["word"]: row["service_id"] for row in rows}

    def present(self) -> list[str]:
        """Orders of which something may still become: all but those that were completed, and of
        which nothing is left to do."""
        rows = self._file.read(
            f"SELECT service_id FROM orders WHERE {PRESENT}",  # noqa: S608
            (),
        )
        return [row["service_id"] for row in rows]

    def unrepeated(self) -> list[str]:
        """Orders created here that the service has not repeated yet."""
        rows = self._file.read(
            f"SELECT service_id FROM orders WHERE standing = '{DepositRelease.UNREPEATED}'"  # noqa: S608
            " AND operation > ''",
            (),
        )
        return [row["service_id"] for row in rows]

    def made_here(self, ids: Collection[str]) -> list[str]:
        """Which of these orders an intent of this home became."""
        rows = self._file.read(
            "SELECT service_id FROM orders WHERE operation > ''"
            " AND service_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return [row["service_id"] for row in rows]

    def of_others(self, intent_id: str) -> set[str]:
        """Orders that other intents became."""
        rows = self._file.read(
            "SELECT service_id FROM orders WHERE operation > '' AND operation != ?",
            (intent_id,),
        )
        return {row["service_id"] for row in rows}

    def seen_before(self, moment: datetime) -> set[str]:
        """Orders that were first seen before ``moment``."""
        return self._before("SELECT service_id, first_seen AS at FROM orders", moment)

    def created_before(self, moment: datetime) -> set[str]:
        """Orders that the service made before ``moment``, as far as it said when."""
        return self._before(
            "SELECT service_id, json_extract(last, '$.created') AS at FROM orders"
            " WHERE json_valid(last)",
            moment,
        )

    def released_deposits(self) -> frozenset[tuple[str, str]]:
        """Where orders of this desk are or were to be paid, each with the kind of the chain that
        was confirmed: of orders that were released, and of those of a batch that were found as
        asked for and put into a bundle. Any other address is the service's word alone."""
        rows = self._file.read(_RELEASED, ())
        return frozenset((row["kind"], row["address"]) for row in rows if row["address"])

    def paid_recipients(self) -> list[PaidRecipient]:
        """Recipients of orders that were confirmed here, one by one or as rows of a batch, stayed
        so and were completed."""
        rows = self._file.read(_PAID, ())
        return [
            PaidRecipient(
                row["address"], row["times"], parse_rfc3339(row["last"]) if row["last"] else None
            )
            for row in rows
            if row["address"]
        ]

    def named(self, part: str) -> frozenset[str]:
        """Orders with this in one of their addresses, in the hash of one of their transactions or
        in the request id of their create, in letters of either case."""
        rows = self._file.read(_NAMED, (part.lower(),))
        return frozenset(row["service_id"] for row in rows)

    def called(self, text: str) -> frozenset[str]:
        """Orders of this id or with an id that begins so, and those of this group, quote, record
        or memo."""
        rows = self._file.read(_CALLED, (text, SHORTEST_PREFIX))
        return frozenset(row["service_id"] for row in rows)

    def of_amount(self, least: Decimal, most: Decimal) -> list[tuple[str, Order]]:
        """Orders that send, pay out or gave back about as much, in tokens of any kind."""
        # The bounds are compared as floating numbers; who asks compares the amounts themselves.
        rows = self._file.read(_OF_AMOUNT, (float(least), float(most)))
        return [
            (row["service_id"], decode(Order, row["last"].encode(), side="client")) for row in rows
        ]

    def _before(self, query: str, moment: datetime) -> set[str]:
        rows = self._file.read(query, ())
        return {
            row["service_id"] for row in rows if row["at"] and parse_rfc3339(row["at"]) < moment
        }
