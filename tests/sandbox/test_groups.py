"""Groups of orders in a real sandbox: one bundle on an EVM chain pays every deposit."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import pytest

from sandbox.running import Running, until
from sandbox.traffic import ETH_BASE, SOL, Traffic, bundle, group, person, signature


@pytest.fixture
def traffic(everyones: Running) -> Traffic:
    return Traffic(everyones, random.Random(2))


def bundler_events(running: Running) -> set[str]:
    """Ids of the events of the bundler that the service took: signed by it, and known to nobody
    before."""
    with closing(sqlite3.connect(running.data / "service.db")) as db:
        rows = db.execute("SELECT event_id FROM webhooks WHERE source = 'bundler'")
        return {row[0] for row in rows}


def test_the_node_tells_the_service_of_each_operation_of_a_bundle(traffic: Traffic) -> None:
    before = bundler_events(traffic.running)
    bundle(traffic, 70_000)
    told = "the events of the bundler"
    until(lambda: len(bundler_events(traffic.running) - before) >= 2, told)


@pytest.mark.parametrize(
    ("fault", "ends"), [("bundle_fail", "failed"), ("bundle_withdraw", "withdrawn")]
)
def test_a_bundle_ends_as_it_was_asked_for(traffic: Traffic, fault: str, ends: str) -> None:
    by = person(fault)
    place = group(traffic, [(ETH_BASE, "0.2")], SOL, 71_000)
    built = traffic.api("POST", f"{place}/tx/build", json={"sender": by.address})
    traffic.control("/faults", multiId=place.rpartition("/")[2], fault=fault)
    signatures = [signature(each["txData"], by) for each in built["transactions"]]
    traffic.api("POST", f"{place}/tx", json={"signatures": signatures})

    def ended() -> object:
        told = traffic.api("GET", place)
        return told if told["bundleStatus"] not in ("pending", "submitted") else None

    told = until(ended, ends)
    assert told["bundleStatus"] == ends
    assert ("failureReason" in told) == (ends == "failed")
    assert told["orders"][0]["status"] == 0, "nothing was paid"
