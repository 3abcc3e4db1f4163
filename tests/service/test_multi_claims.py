"""Of any number of processes that submit a bundle, one does (contract 17.2)."""

from __future__ import annotations

import asyncio
import multiprocessing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from service.new_store import open_new
from swapdesk.service.store.records import BundleUnderWay, StoredBatch, StoredBundle, StoredGroup
from swapdesk.service.store.sqlite import SqliteStore

NOW = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
PROCESSES = 8


def bundle(number: int, *service_ids: str, state: Any = "pending", paid: bool = False) -> Any:
    batch = StoredBatch(
        service_ids=service_ids or (f"order-{number}",),
        operation={"sender": "0x00", "nonce": "0x0"},
        hash=f"0x{number:064x}",
        entry_point="0x00",
        version="0.7",
        paid=paid,
    )
    return StoredBundle(
        number=0,
        multi_id=f"group-{number}",
        partner_id="one",
        chain="ethereum",
        created=NOW,
        modified=NOW,
        expires=NOW + timedelta(minutes=30),
        state=state,
        owner="0x00",
        batches=(batch,),
    )


def claim_all(path: str, process: int, count: int, won: Any) -> None:
    """Try to submit every bundle, each process beginning elsewhere."""

    async def claim() -> list[int]:
        store = SqliteStore.open(path)
        mine = []
        for step in range(count):
            number = (step + process * count // PROCESSES) % count
            pending = next(iter(await store.bundles_of_group("one", f"group-{number}")), None)
            if pending is None or pending.state != "pending":
                continue
            signed = replace(pending.batches[0], signature=f"0x{process:02x}")
            submitted = replace(pending, state="submitted", batches=(signed,))
            if await store.move_bundle(submitted, expected="pending"):
                mine.append(number)
        await store.close()
        return mine

    won.put((process, asyncio.run(claim())))


@pytest.mark.proves("code ALREADY_SUBMITTED")
@pytest.mark.timeout(900)
def test_each_bundle_is_claimed_once_by_many_processes(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Once 100 bundles; 3 times 2,000 with ``--full``."""
    full = request.config.getoption("--full", default=False)
    for repeat in range(3 if full else 1):
        claimed_once(tmp_path / f"{repeat}.db", 2_000 if full else 100)


def claimed_once(path: Path, count: int) -> None:
    asyncio.run(filled(path, count))
    # Forked, so that the processes need not import anything; there are no threads yet.
    context = multiprocessing.get_context("fork")
    won = context.Queue()
    processes = [
        context.Process(target=claim_all, args=(str(path), number, count, won))
        for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    found = dict(won.get(timeout=600) for _ in processes)
    for process in processes:
        process.join()
    numbers = [number for mine in found.values() for number in mine]
    assert sorted(numbers) == list(range(count)), "each once, none twice, none forgotten"
    by_process = {number: process for process, mine in found.items() for number in mine}
    signed = {
        int(each.multi_id.removeprefix("group-")): each.batches[0].signature
        for each in asyncio.run(under_way(path))
    }
    assert signed == {number: f"0x{one:02x}" for number, one in by_process.items()}


async def filled(path: Path, count: int) -> None:
    store = open_new(path)
    await asyncio.gather(*(store.save_bundle(bundle(number)) for number in range(count)))
    await store.close()


async def under_way(path: Path) -> list[StoredBundle]:
    store = SqliteStore.open(path)
    found = await store.bundles_under_way()
    await store.close()
    return found


async def test_a_pending_bundle_is_replaced_and_one_under_way_is_not(tmp_path: Path) -> None:
    store = open_new(tmp_path / "service.db")
    await store.save_bundle(bundle(1, "a", "b"))
    await store.save_bundle(bundle(1, "b", "c"))
    (pending,) = await store.bundles_of_group("one", "group-1")
    assert pending.service_ids == {"b", "c"}
    assert not await store.move_bundle(
        replace(pending, partner_id="two", state="submitted"), expected="pending"
    )
    assert await store.move_bundle(replace(pending, state="submitted"), expected="pending")
    assert not await store.move_bundle(replace(pending, state="submitted"), expected="pending")
    for wanted in (("c",), ("a", "b")):
        with pytest.raises(BundleUnderWay):
            await store.save_bundle(bundle(1, *wanted))
    await store.save_bundle(bundle(1, "a"))
    newest, older = await store.bundles_of_group("one", "group-1")
    assert (newest.state, older.state) == ("pending", "submitted")
    assert newest.number > older.number
    partly = replace(older, state="failed", batches=bundle(1, "b", paid=True).batches)
    assert await store.move_bundle(partly, expected="submitted")
    await store.save_bundle(bundle(1, "a", "c"))
    with pytest.raises(BundleUnderWay):
        await store.save_bundle(bundle(1, "b"))
    assert await store.bundles_of_group("two", "group-1") == []
    await store.close()


async def test_a_group_and_its_bundles_survive_a_restart(tmp_path: Path) -> None:
    store = open_new(tmp_path / "service.db")
    group = StoredGroup("group-1", "one", NOW, "ethereum")
    await store.begin_group(group, [])
    await store.save_bundle(bundle(1, "a"))
    (pending,) = await store.bundles_of_group("one", "group-1")
    moved = replace(pending, state="failed", failure_reason="why", tx_hash="0x01", modified=NOW)
    assert await store.move_bundle(moved, expected="pending")
    await store.close()
    store = SqliteStore.open(tmp_path / "service.db")
    assert await store.get_group("one", "group-1") == group
    assert await store.get_group("two", "group-1") is None
    assert await store.bundles_of_group("one", "group-1") == [moved]
    assert await store.bundles_under_way() == []
    await store.close()
