"""Records that prevent doing something twice: webhook events that were delivered, and security
scans of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from swapdesk.service.store.database import Subject, Transaction, micros


class Webhooks(Subject):
    """The webhook events that were delivered, kept until their signatures are too old."""

    async def note(self, source: str, event_id: str, ends: datetime) -> bool:
        """Records an event; returns False if it was recorded already. ``ends`` is when the event's
        signature becomes too old to be accepted."""
        values = {"source": source, "event_id": event_id, "ends": micros(ends)}

        async def noted(db: Transaction) -> bool:
            if await db.run(
                "INSERT INTO webhooks (source, event_id, ends) VALUES (:source, :event_id, :ends)"
                " ON CONFLICT (source, event_id) DO NOTHING",
                values,
            ):
                return True
            await db.run(
                "UPDATE webhooks SET ends = :ends"
                " WHERE source = :source AND event_id = :event_id AND ends < :ends",
                values,
            )
            return False

        return await self._database.write(noted)

    async def drop(self, now: datetime) -> None:
        values = {"now": micros(now)}
        await self._database.write(
            lambda db: db.run("DELETE FROM webhooks WHERE ends < :now", values)
        )


class Scans(Subject):
    """The security verdicts of tokens, as JSON in the form of the API."""

    async def claim(
        self, token_id: str, now: datetime, until: datetime
    ) -> tuple[bytes | None, bool]:
        """Returns a token's stored verdict (None if there is none), and whether the caller has to
        scan the token. If so, the scan is reserved for the caller until ``until``."""
        values = {"token_id": token_id, "now": micros(now), "until": micros(until)}

        async def claimed(db: Transaction) -> tuple[bytes | None, bool]:
            mine = await db.run(
                "INSERT INTO scans (token_id, expires, claimed_until)"
                " VALUES (:token_id, 0, :until)"
                " ON CONFLICT (token_id) DO UPDATE SET claimed_until = excluded.claimed_until"
                " WHERE scans.expires <= :now AND scans.claimed_until <= :now",
                values,
            )
            row = await db.row(_VERDICT, values)
            return None if row is None else row["verdict"], bool(mine)

        return await self._database.write(claimed)

    async def save(self, token_id: str, verdict: bytes, expires: datetime) -> None:
        """Stores the verdict of a scan and ends the reservation that ``claim`` made."""
        values = {"token_id": token_id, "verdict": verdict, "expires": micros(expires)}
        await self._database.write(
            lambda db: db.run(
                "INSERT INTO scans (token_id, verdict, expires, claimed_until)"
                " VALUES (:token_id, :verdict, :expires, 0)"
                " ON CONFLICT (token_id) DO UPDATE SET verdict = excluded.verdict,"
                " expires = excluded.expires, claimed_until = 0",
                values,
            )
        )

    async def newer(self, ends: Mapping[str, int]) -> list[tuple[str, bytes, int]]:
        """Returns verdicts newer than the caller's, as (token id, verdict, expiry). ``ends`` states
        by token id when the caller's verdicts expire. Times are microseconds since 1970."""

        async def read(db: Transaction) -> list[tuple[str, bytes, int]]:
            standing = await db.row(_STANDING)
            # No verdict is followed by another before it has ended: each of them raises the sum.
            if standing is None or int(standing["ends"]) == sum(
                end // _SECOND for end in ends.values()
            ):
                return []
            verdicts = []
            for token_id, expires in map(tuple, await db.rows(_ENDS)):
                if expires > ends.get(token_id, 0):
                    row = await db.row(_VERDICT, {"token_id": token_id})
                    if row is not None:
                        verdicts.append((token_id, row["verdict"], expires))
            return verdicts

        return await self._database.read(read)


_SECOND = 1_000_000
_STANDING = f"SELECT COALESCE(SUM(expires / {_SECOND}), 0) AS ends FROM scans"  # noqa: S608 - ours
_ENDS = "SELECT token_id, expires FROM scans WHERE verdict IS NOT NULL"
_VERDICT = "SELECT verdict FROM scans WHERE token_id = :token_id"
