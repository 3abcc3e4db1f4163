"""Payments for single calls. Orders and groups that were created by a paid call are announced once
the payment is settled."""

from __future__ import annotations

from datetime import datetime

from swapdesk.service.store import orders
from swapdesk.service.store.calls import PAY_FOR
from swapdesk.service.store.database import Subject, Transaction, micros


class CallPayments(Subject):
    async def reserve(self, payment: str, ends: datetime) -> bool:
        """Records that a payment is used for a call; returns False if it is recorded already."""
        return await self._change(
            "INSERT INTO payments (payment, ends) VALUES (:payment, :ends)"
            " ON CONFLICT (payment) DO NOTHING",
            payment=payment,
            ends=micros(ends),
        )

    async def free(self, payment: str, sent: str | None = None) -> None:
        """Makes a payment usable again. ``sent`` is the hash of its failed transaction; None if no
        transaction was sent. Does nothing if the payment was settled or has another transaction."""
        await self._change(
            "DELETE FROM payments WHERE payment = :payment AND transaction_hash IS NULL"
            " AND COALESCE(sent, '') = :sent",
            payment=payment,
            sent=sent or "",
        )

    async def pay_for(self, payment: str, service_id: str) -> None:
        """Assigns a reserved payment to an order that an earlier call created and did not pay
        for."""
        await self._change(PAY_FOR, payment=payment, opened=service_id)

    async def note_sent(self, payment: str, transaction: str) -> None:
        """Records the hash of a payment's transaction, before the transaction is sent to a
        chain."""
        await self._change(
            "UPDATE payments SET sent = :sent WHERE payment = :payment",
            payment=payment,
            sent=transaction,
        )

    async def under_way(self, ended_after: datetime) -> list[tuple[str, str]]:
        """Returns payments, as (id, transaction hash), that were sent but not settled and are valid
        beyond ``ended_after``."""
        rows = await self._database.look(
            "SELECT payment, sent FROM payments"
            " WHERE ends > :ended AND sent IS NOT NULL AND transaction_hash IS NULL",
            {"ended": micros(ended_after)},
        )
        return [(row["payment"], row["sent"]) for row in rows]

    async def settle(self, payment: str, transaction: str) -> None:
        """Records that a payment was made by this transaction. In the same commit, announces the
        orders that the payment was for and adds finished orders to the books."""

        async def settled(db: Transaction) -> None:
            row = await db.row(
                "UPDATE payments SET transaction_hash = :hash WHERE payment = :payment"
                " RETURNING opened",
                {"payment": payment, "hash": transaction},
            )
            if row is None or row["opened"] is None:
                return
            opened = {"opened": row["opened"]}
            await db.run("UPDATE groups SET told = TRUE WHERE multi_id = :opened", opened)
            await orders.tell_opened(db, row["opened"])

        await self._database.write(settled)

    async def drop(self, ended_before: datetime) -> None:
        await self._change("DELETE FROM payments WHERE ends < :ended", ended=micros(ended_before))

    async def _change(self, statement: str, **values: str | int) -> bool:
        return bool(await self._database.write(lambda db: db.run(statement, values)))
