"""Batches of orders that were created together, and the bundles that pay their deposits. Only one
of several submissions of a bundle succeeds (contract 17.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict

from swapdesk.service.store import calls, orders
from swapdesk.service.store.database import (
    Database,
    Row,
    Subject,
    Taken,
    Transaction,
    Values,
    insertion,
    micros,
    moment_of,
)
from swapdesk.service.store.records import (
    BundleState,
    BundleUnderWay,
    Counting,
    RecentPayouts,
    StoredBatch,
    StoredBundle,
    StoredGroup,
    StoredOrder,
)
from swapdesk.service.store.rows import order_of


class Groups(Subject):
    def __init__(self, database: Database, report: orders.Listener) -> None:
        super().__init__(database)
        self._report = report

    async def begin(
        self,
        group: StoredGroup,
        its_orders: Sequence[StoredOrder],
        *,
        call: Counting | None = None,
        payouts: RecentPayouts | None = None,
        payment: str | None = None,
        in_doubt: bool = False,
    ) -> None:
        """Inserts a batch with its orders and counts the call, in one commit. Nothing is announced
        before ``payment`` is settled. If the outcome is unknown, the call may be repeated with
        ``in_doubt``. Raises PayoutsChanged, and what ``call.take`` raises."""
        is_told = payment is None
        rows = [
            orders.order_values(self._database, order) | {"told": is_told} for order in its_orders
        ]

        async def begun(db: Transaction) -> None:
            # First: it waits for the end of a commit that is in doubt, and meets what that left.
            await db.run(
                _INSERT_GROUP, asdict(group) | {"created": micros(group.created), "told": is_told}
            )
            await orders.admit(db, its_orders, payouts)
            await db.run_each(orders.INSERT_ORDER, rows)
            await calls.count_opened(db, group.multi_id, call, payment)

        try:
            await self._database.write(begun, behind=calls.line_of(call))
        except Taken:
            if not in_doubt:
                raise
        for order in its_orders:
            self._report(order, None)

    async def get(self, partner_id: str, multi_id: str) -> StoredGroup | None:
        """Returns the partner's batch; None if it is unknown or the call that created it is not
        paid for yet."""
        rows = await self._database.look(
            "SELECT multi_id, partner_id, created, chain FROM groups"
            " WHERE partner_id = :partner_id AND multi_id = :multi_id AND told",
            {"partner_id": partner_id, "multi_id": multi_id},
        )
        return _group_of(rows[0]) if rows else None

    async def owner(self, multi_id: str) -> str | None:
        return await self._value(
            str, "SELECT partner_id FROM groups WHERE multi_id = :multi_id", multi_id=multi_id
        )

    async def orders(self, partner_id: str, multi_id: str) -> list[StoredOrder]:
        """Returns a batch's orders in the sequence of the request, even if the call that created
        them is not paid for yet."""
        values = {"partner_id": partner_id, "multi_id": multi_id}

        async def found(db: Transaction) -> list[StoredOrder]:
            rows = await db.rows(
                "SELECT * FROM orders WHERE partner_id = :partner_id AND multi_id = :multi_id"
                " ORDER BY number",
                values,
            )
            return [order_of(row) for row in rows]

        return await self._database.read(found)

    async def save_bundle(self, bundle: StoredBundle) -> None:
        """Stores a pending bundle in place of the batch's earlier pending bundle. Raises
        BundleUnderWay if an order of the bundle is in another bundle that was submitted or
        executed."""
        values = _values(bundle)

        async def saved(db: Transaction) -> None:
            await db.alone(f"bundles {bundle.multi_id}")
            for other in map(_bundle_of, await db.rows(_BUNDLES, values)):
                if other.claimed & bundle.service_ids:
                    raise BundleUnderWay(bundle.multi_id)
            await db.run(
                "DELETE FROM bundles WHERE partner_id = :partner_id AND multi_id = :multi_id"
                " AND state = 'pending'",
                values,
            )
            await db.run(_INSERT_BUNDLE, values)

        await self._database.write(saved)

    async def bundles(self, partner_id: str, multi_id: str) -> list[StoredBundle]:
        return await self._bundles(_BUNDLES, {"partner_id": partner_id, "multi_id": multi_id})

    async def bundles_under_way(self) -> list[StoredBundle]:
        """Returns all submitted bundles without an outcome, of all partners, oldest first."""
        return await self._bundles(
            "SELECT * FROM bundles WHERE state = 'submitted' ORDER BY number", {}
        )

    async def move_bundle(self, bundle: StoredBundle, *, expected: BundleState) -> bool:
        """Writes the new state and outcome of a bundle. Returns False, and writes nothing, if the
        stored state is not ``expected``."""
        values = _values(bundle) | {"number": bundle.number, "expected": expected}

        async def moved(db: Transaction) -> bool:
            # Between a look at what others pay and this no other bundle may begin to pay it.
            await db.alone(f"bundles {bundle.multi_id}")
            changed = await db.run(
                "UPDATE bundles SET state = :state, modified = :modified, batches = :batches,"
                " tx_hash = :tx_hash, failure_reason = :failure_reason"
                " WHERE number = :number AND partner_id = :partner_id AND state = :expected",
                values,
            )
            return changed == 1

        return await self._database.write(moved)

    async def _bundles(self, query: str, values: Values) -> list[StoredBundle]:
        async def found(db: Transaction) -> list[StoredBundle]:
            return [_bundle_of(row) for row in await db.rows(query, values)]

        return await self._database.read(found)


_INSERT_GROUP = insertion("groups", ("multi_id", "partner_id", "created", "chain", "told"))
_INSERT_BUNDLE = insertion(
    "bundles", [name for name in StoredBundle.__struct_fields__ if name != "number"]
)
_BUNDLES = (
    "SELECT * FROM bundles WHERE partner_id = :partner_id AND multi_id = :multi_id"
    " ORDER BY number DESC"
)


def _group_of(row: Row) -> StoredGroup:
    return StoredGroup(row["multi_id"], row["partner_id"], moment_of(row["created"]), row["chain"])


def _values(bundle: StoredBundle) -> dict[str, Any]:
    written = asdict(bundle)
    del written["number"]
    return written | {
        "created": micros(bundle.created),
        "modified": micros(bundle.modified),
        "expires": micros(bundle.expires),
        "batches": msgspec.json.encode(bundle.batches).decode(),
    }


def _bundle_of(row: Row) -> StoredBundle:
    return StoredBundle(
        **{name: row[name] for name in StoredBundle.__struct_fields__}
        | {
            "created": moment_of(row["created"]),
            "modified": moment_of(row["modified"]),
            "expires": moment_of(row["expires"]),
            "batches": msgspec.json.decode(row["batches"], type=tuple[StoredBatch, ...]),
        }
    )
