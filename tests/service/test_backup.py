"""Backup, destruction, restoration: nothing that was acknowledged before the backup is missing."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import databases
from databases import Cluster
from patience import PATIENCE
from service.new_store import announced, open_new, url_at
from service.orders_fixtures import EVERYTHING
from service.test_store import begun, order
from swapdesk.service.store.sqlite import back_up
from swapdesk.service.store.store import Store


def copied(engine: databases.Name, store_file: Path, copy: Path) -> None:
    """As the operator's page says, while the service writes."""
    if engine == "sqlite":
        back_up(store_file, copy)
    else:
        run("pg_dump", "--format=custom", f"--file={copy}", f"--dbname={url_at(store_file)}")


def restored(engine: databases.Name, store_file: Path, copy: Path) -> None:
    if engine == "sqlite":
        for left in store_file.parent.glob(f"{store_file.name}*"):
            left.unlink()
        copy.rename(store_file)
        return
    url = url_at(store_file)
    Cluster.of_run().recreate(urlsplit(url).path[1:])
    run("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={url}", str(copy))


def run(program: str, *words: str) -> None:
    subprocess.run([databases.installed() / program, *words], check=True, timeout=PATIENCE)


async def orders_of(store: Store) -> set[str]:
    rows, _ = await store.orders.page(*EVERYTHING)
    return {row.service_id for row in rows}


async def test_what_was_acknowledged_before_the_backup_is_there_and_goes_on(
    engine: databases.Name, tmp_path: Path
) -> None:
    place = tmp_path / "data"
    place.mkdir()
    store = open_new(place / "service.db")
    for number in range(1, 21):
        await begun(store, number)
    copying = asyncio.create_task(
        asyncio.to_thread(copied, engine, place / "service.db", tmp_path / "copy")
    )
    number = 20
    while not copying.done():
        number += 1
        await begun(store, number)
        await asyncio.sleep(0)
    await copying
    newest = await store.outbox.newest()
    await store.close()
    await asyncio.to_thread(restored, engine, place / "service.db", tmp_path / "copy")
    again = open_new(place / "service.db")
    kept = await orders_of(again)
    assert {f"order{each:05}" for each in range(1, 21)} <= kept
    # It goes on where it was: each order moves, is told, and no number is given twice.
    assert await again.orders.advance(order(1), expected_version=1)
    await begun(again, number + 1)
    assert f"order{number + 1:05}" in await orders_of(again)
    rows = await announced(again)
    assert [row.service_id for row in rows] == ["order00001"]
    assert engine == "postgres" or rows[0].sequence > newest
    await again.close()
