"""What the service asks of its store: one protocol, whatever database stands behind it.

Every write is one durable transaction with its outbox rows; a method returns after the
commit. State moves by compare-and-set only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from swapdesk.service.store.records import (
    BundleState,
    OrderFilter,
    OrderVersion,
    OutboxRow,
    StoredBundle,
    StoredGroup,
    StoredOrder,
    StoredQuote,
    Usage,
)


class QuoteConsumed(Exception):
    """The quote was consumed before: ``service_id`` is the order it became."""

    def __init__(self, service_id: str) -> None:
        super().__init__(service_id)
        self.service_id = service_id


class QuoteGone(Exception):
    """The quote is not in the store: unknown, foreign or dropped after it expired."""


class StoreUnavailable(Exception):
    """The store did not answer; nothing is known to have changed."""


class Store(Protocol):
    """Durable state of the service. Any method raises StoreUnavailable when it cannot answer."""

    async def save_quotes(self, quotes: Sequence[StoredQuote]) -> None: ...

    async def get_quote(self, partner_id: str, quote_id: str) -> StoredQuote | None: ...

    async def drop_quotes(self, expired_before: datetime) -> int: ...

    async def begin_order(self, order: StoredOrder) -> None:
        """Consume the quote and insert the order in one commit.

        Raises QuoteConsumed, or QuoteGone for a quote of nobody or of another partner.
        """
        ...

    async def begin_group(self, group: StoredGroup, orders: Sequence[StoredOrder]) -> None:
        """Insert a group and its orders, which have no stored quote, in one commit."""
        ...

    async def get_group(self, partner_id: str, multi_id: str) -> StoredGroup | None: ...

    async def orders_of_group(self, partner_id: str, multi_id: str) -> list[StoredOrder]:
        """In the order they were asked for."""
        ...

    async def save_bundle(self, bundle: StoredBundle) -> None:
        """Keep a pending bundle in place of the group's other pending one.

        Raises BundleUnderWay when one that was submitted, or paid, has an order in common.
        """
        ...

    async def bundles_of_group(self, partner_id: str, multi_id: str) -> list[StoredBundle]:
        """Newest first."""
        ...

    async def move_bundle(self, bundle: StoredBundle, *, expected: BundleState) -> bool:
        """Write what became of a bundle; False when it was in another state, or is gone."""
        ...

    async def bundles_under_way(self) -> list[StoredBundle]:
        """Everybody's that were submitted and have no outcome, oldest first."""
        ...

    async def order_of_quote(self, partner_id: str, quote_id: str) -> StoredOrder | None:
        """The one order a quote became, also after the quote itself was dropped."""
        ...

    async def advance_order(self, order: StoredOrder, *, expected_version: int) -> bool:
        """Write the new state, its outbox row and ``expected_version + 1``, and end the lease.

        False when someone was first, the rank would fall, or the transaction the order was
        confirmed with is another order's already.
        """
        ...

    async def postpone_order(
        self, service_id: str, *, owner: str, due_at: datetime | None, attempt: int
    ) -> None:
        """End the owner's lease without a change of state and look again at ``due_at``."""
        ...

    async def get_order(self, partner_id: str, service_id: str) -> StoredOrder | None: ...

    async def order_of_transaction(self, chain: str, transaction: str) -> str | None:
        """Id of the DEX order that this transaction was confirmed for, whoever's it is."""
        ...

    async def order_version(self, partner_id: str, service_id: str) -> OrderVersion | None:
        """The version of an order as it stands, read anew each time."""
        ...

    async def recent_payouts(
        self, partner_id: str, since: datetime, limit: int
    ) -> list[tuple[str, int | None]]:
        """Venue code and hot wallet of the last leg of a partner's newest private orders."""
        ...

    async def list_orders(self, wanted: OrderFilter) -> tuple[list[StoredOrder], int]:
        """One page and the total of all pages."""
        ...

    async def claim_due(
        self, now: datetime, *, owner: str, lease_until: datetime, limit: int
    ) -> list[StoredOrder]:
        """Rows whose ``due_at`` has come and that nobody else leases."""
        ...

    async def next_due(self) -> datetime | None: ...

    async def read_outbox(self, after: int, limit: int) -> list[OutboxRow]: ...

    async def last_outbox(self) -> int: ...

    async def outbox_beyond(self, sequence: int) -> None:
        """Return once there are rows after ``sequence``."""
        ...

    async def drop_outbox(self, committed_before: datetime) -> int: ...

    async def add_requests(self, month: str, counts: dict[str, int]) -> None:
        """Add to the request counters of partners for a month ``YYYY-MM``."""
        ...

    async def save_usage(self, rows: Sequence[Usage]) -> None:
        """Keep the newest window of each partner, class and length."""
        ...

    async def load_usage(self, since: datetime) -> list[Usage]:
        """Windows that had not ended at ``since``."""
        ...

    async def save_scan(self, token_id: str, verdict: bytes) -> None:
        """Keep the newest security verdict of a token, as its JSON on the wire."""
        ...

    async def load_scans(self) -> list[tuple[str, bytes]]:
        """Token ids and verdicts."""
        ...

    async def requests_in_month(self, partner_id: str, month: str) -> int: ...

    async def close(self) -> None: ...


def save_scan(db: sqlite3.Connection, token_id: str, verdict: bytes) -> None:
    db.execute(
        "INSERT INTO scans (token_id, verdict) VALUES (?, ?)"
        " ON CONFLICT DO UPDATE SET verdict = excluded.verdict",
        (token_id, verdict),
    )


def load_scans(db: sqlite3.Connection) -> list[tuple[str, bytes]]:
    rows = db.execute("SELECT token_id, verdict FROM scans")
    return [(str(row["token_id"]), bytes(row["verdict"])) for row in rows]
