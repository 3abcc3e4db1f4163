"""Changes of orders in the order of their commits: what the streams read."""

from __future__ import annotations

from datetime import datetime

from swapdesk.service.store.database import Database, micros, moment_of
from swapdesk.service.store.records import OutboxRow

_OLDEST_BEYOND = "SELECT committed FROM outbox WHERE sequence > :after ORDER BY sequence LIMIT 1"


class Outbox:
    """``sequence`` is the order of commits: whatever is committed after a read has a higher one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        words = database.wording
        beyond = f"FROM outbox WHERE sequence > :after AND {words.settled}"
        self._after = (
            "SELECT sequence, service_id, partner_id, version, status, rank"
            f" {beyond} ORDER BY sequence {words.first_rows}"
        )
        self._grown = f"SELECT 1 {beyond} LIMIT 1"

    async def after(self, sequence: int, limit: int) -> list[OutboxRow]:
        """The next ones, at least so many where there are."""
        rows = await self._database.look(self._after, {"after": sequence, "limit": limit})
        return [OutboxRow(*row) for row in rows]

    async def newest(self) -> int:
        """The number that everything committed from now on lies beyond."""
        rows = await self._database.look(self._database.wording.newest)
        return int(rows[0]["newest"]) if rows else 0

    async def oldest_beyond(self, sequence: int) -> datetime | None:
        """When the first change after ``sequence`` was made, also one that is not told yet because
        an older transaction still runs."""
        rows = await self._database.look(_OLDEST_BEYOND, {"after": sequence})
        return moment_of(rows[0]["committed"]) if rows else None

    async def beyond(self, sequence: int) -> None:
        """Return once there are rows after ``sequence``."""
        with self._database.growth() as grown:
            # Only after listening: a commit between the two would be missed otherwise.
            while not await self._database.look(self._grown, {"after": sequence}):
                await grown.wait()
                grown.clear()

    async def drop(self, committed_before: datetime) -> int:
        values = {"committed": micros(committed_before)}
        return await self._database.write(
            lambda db: db.run("DELETE FROM outbox WHERE committed < :committed", values)
        )
