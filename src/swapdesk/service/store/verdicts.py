"""Security verdicts of the embedded store, one for each token."""

from __future__ import annotations

import sqlite3


def save_scan(db: sqlite3.Connection, token_id: str, verdict: bytes) -> None:
    db.execute(
        "INSERT INTO scans (token_id, verdict) VALUES (?, ?)"
        " ON CONFLICT DO UPDATE SET verdict = excluded.verdict",
        (token_id, verdict),
    )


def load_scans(db: sqlite3.Connection) -> list[tuple[str, bytes]]:
    rows = db.execute("SELECT token_id, verdict FROM scans")
    return [(str(row["token_id"]), bytes(row["verdict"])) for row in rows]
