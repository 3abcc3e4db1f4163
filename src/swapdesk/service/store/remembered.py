"""What is remembered so that nothing is done twice: events of webhooks, and scans of tokens."""

from __future__ import annotations

from datetime import datetime

from swapdesk.service.store.database import Database, Transaction, micros


class Webhooks:
    """Events that were delivered, until their signatures are too old."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, source: str, event_id: str, ends: datetime) -> bool:
        """Remember an event; False when it is known. One that was signed anew is remembered as
        long as the newest signature counts."""
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
        """Forget events that have ended."""
        values = {"now": micros(now)}
        await self._database.write(
            lambda db: db.run("DELETE FROM webhooks WHERE ends < :now", values)
        )


class Scans:
    """Security verdicts of tokens, as their JSON on the wire."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(
        self, token_id: str, now: datetime, until: datetime
    ) -> tuple[bytes | None, bool]:
        """The verdict of a token as it stands. Where it is missing or stale and nobody else scans
        the token, the caller does, until then: True."""
        values = {"token_id": token_id, "now": micros(now), "until": micros(until)}

        async def claimed(db: Transaction) -> tuple[bytes | None, bool]:
            mine = await db.run(
                "INSERT INTO scans (token_id, expires, claimed_until)"
                " VALUES (:token_id, 0, :until)"
                " ON CONFLICT (token_id) DO UPDATE SET claimed_until = excluded.claimed_until"
                " WHERE scans.expires <= :now AND scans.claimed_until <= :now",
                values,
            )
            found = await db.row("SELECT verdict FROM scans WHERE token_id = :token_id", values)
            return None if found is None else found["verdict"], bool(mine)

        return await self._database.write(claimed)

    async def save(self, token_id: str, verdict: bytes, expires: datetime) -> None:
        """Keep the newest verdict; ends the claim."""
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

    async def load(self) -> list[tuple[str, bytes]]:
        """Token ids and verdicts."""

        async def loaded(db: Transaction) -> list[tuple[str, bytes]]:
            rows = await db.rows("SELECT token_id, verdict FROM scans WHERE verdict IS NOT NULL")
            return [(row["token_id"], row["verdict"]) for row in rows]

        return await self._database.read(loaded)
