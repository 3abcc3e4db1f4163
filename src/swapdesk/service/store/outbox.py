"""The outbox: changes of orders, numbered in the order of their commits, for the order streams."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import datetime

from swapdesk.service.store.database import Database, Subject, micros, moment_of
from swapdesk.service.store.records import OutboxRow

_HELD_SECONDS = 0.01
"""Seconds until a change that an older transaction holds up is read again; doubled each time."""
_OLDEST_BEYOND = "SELECT committed FROM outbox WHERE sequence > :after ORDER BY sequence LIMIT 1"


class Outbox(Subject):
    """The changes of orders to be announced. ``sequence`` grows in the order of commits, so that a
    reader can continue after the last number read."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        words = database.wording
        beyond = f"FROM outbox WHERE sequence > :after AND {words.settled}"
        self._after = (
            "SELECT sequence, service_id, partner_id, version, status, rank"
            f" {beyond} ORDER BY sequence {words.first_rows}"
        )
        self._first = (
            f"SELECT {words.settled} AS settled FROM outbox WHERE sequence > :after"  # noqa: S608 - ours
            " ORDER BY sequence LIMIT 1"
        )

    async def after(self, sequence: int, limit: int) -> list[OutboxRow]:
        """Returns at most ``limit`` of the next rows after ``sequence``, and all further rows with
        the ``sequence`` of the last."""
        rows = await self._database.look(self._after, {"after": sequence, "limit": limit})
        return [OutboxRow(*row) for row in rows]

    async def newest(self) -> int:
        """Returns a number below the ``sequence`` of every change committed from now on."""
        return await self._value(int, self._database.wording.newest) or 0

    async def oldest_beyond(self, sequence: int) -> datetime | None:
        """Returns the time of the first change after ``sequence``, even if it cannot be delivered
        yet; None if there is none."""
        return await self._value(moment_of, _OLDEST_BEYOND, after=sequence)

    async def beyond(self, sequence: int) -> None:
        held = _HELD_SECONDS
        with self._database.growth() as grown:
            # Only after listening: a commit between the two would be missed otherwise.
            while not (rows := await self._database.look(self._first, {"after": sequence})) or (
                not rows[0]["settled"]
            ):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(held if rows else None):
                        await grown.wait()
                grown.clear()
                held = 2 * held if rows else _HELD_SECONDS

    async def drop(self, committed_before: datetime) -> int:
        values = {"committed": micros(committed_before)}
        return await self._database.write(
            lambda db: db.run("DELETE FROM outbox WHERE committed < :committed", values)
        )
