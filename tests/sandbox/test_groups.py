"""Groups of orders in a real sandbox: one bundle on an EVM chain pays every deposit."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

from sandbox.running import Running, until
from sandbox.traffic import Traffic, bundle


def bundler_events(running: Running) -> set[str]:
    """Ids of the events of the bundler that the service took: signed by it, and known to nobody
    before."""
    with closing(sqlite3.connect(running.data / "service.db")) as db:
        rows = db.execute("SELECT event_id FROM webhooks WHERE source = 'bundler'")
        return {row[0] for row in rows}


def test_the_node_tells_the_service_of_each_operation_of_a_bundle(everyones: Running) -> None:
    before = bundler_events(everyones)
    bundle(Traffic(everyones, random.Random(2)), 70_000)
    told = "the events of the bundler"
    until(lambda: len(bundler_events(everyones) - before) >= 2, told)
