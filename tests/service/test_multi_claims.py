"""Of any number of submissions of a bundle, one counts (contract 17.2)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from service.new_store import open_new
from swapdesk.service.store.records import BundleUnderWay, StoredBatch, StoredBundle, StoredGroup
from swapdesk.service.store.sqlite import SqliteStore

NOW = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)


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


@pytest.mark.proves("code ALREADY_SUBMITTED")
async def test_each_bundle_is_claimed_once_over_several_connections(tmp_path: Path) -> None:
    """As processes have them: each connection writes in a thread of its own."""
    first = open_new(tmp_path / "service.db")
    stores = [first, *(SqliteStore.open(first.path) for _ in range(3))]
    await asyncio.gather(*(first.save_bundle(bundle(number)) for number in range(50)))
    won: dict[str, list[str]] = {}

    async def claim(store: SqliteStore, signature: str, group: str) -> None:
        (pending,) = await store.bundles_of_group("one", group)
        signed = replace(pending.batches[0], signature=signature)
        submitted = replace(pending, state="submitted", batches=(signed,))
        if await store.move_bundle(submitted, expected="pending"):
            won.setdefault(group, []).append(signature)

    groups = [f"group-{number}" for number in range(50)]
    claims = [(store, f"0x0{n}", group) for group in groups for n, store in enumerate(stores)]
    await asyncio.gather(*(claim(*each) for each in claims))
    kept = {each.multi_id: [each.batches[0].signature] for each in await first.bundles_under_way()}
    assert kept == won, "each once, none twice, by whoever was told so"
    assert kept.keys() == set(groups), "none forgotten"
    for store in stores:
        await store.close()


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
