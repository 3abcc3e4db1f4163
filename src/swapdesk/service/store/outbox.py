"""Changes of orders in the order of their commits: what the streams read."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import datetime

from swapdesk.service.store.database import Database, Subject, micros, moment_of
from swapdesk.service.store.records import OutboxRow

_HELD_SECONDS = 0.01
"""A row that an older transaction holds back is looked at again after so long, and then less and
less often: that one may end without telling anybody."""
_OLDEST_BEYOND = "SELECT committed FROM outbox WHERE sequence > :after ORDER BY sequence LIMIT 1"


class Outbox(Subject):
    """``sequence`` is the order of commits: whatever is committed after a read has a higher one."""

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
        """The next ones, at least so many where there are."""
        rows = await self._database.look(self._after, {"after": sequence, "limit": limit})
        return [OutboxRow(*row) for row in rows]

    async def newest(self) -> int:
        """The number that everything committed from now on lies beyond."""
        return await self._value(int, self._database.wording.newest) or 0

    async def oldest_beyond(self, sequence: int) -> datetime | None:
        """When the first change after ``sequence`` was made, also one that is not told yet because
        an older transaction still runs."""
        return await self._value(moment_of, _OLDEST_BEYOND, after=sequence)

    async def beyond(self, sequence: int) -> None:
        """Return once there are rows after ``sequence``."""
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
