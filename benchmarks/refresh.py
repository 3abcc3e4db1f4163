"""``python -m benchmarks.refresh DIRECTORY``: a refresh of the catalogue from pages on disk.

The last line on stdout is JSON: the callbacks that held the loop, as :mod:`watched_desk` has them.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx2

from benchmarks.watched_desk import watch
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.clock import SystemClock
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.catalog_refresh import PAGE_SIZE
from swapdesk.flows.catalog.token_safety import row_of
from swapdesk.sandbox.world_generator import build_catalog
from swapdesk.wire.encoding.codec import encode_json


def write_pages(directory: Path, count: int) -> None:
    """Every page of a list of so many tokens, in its order, as it travels."""
    now = datetime.now(UTC)
    _, tokens = build_catalog(1, count, now)
    tokens.sort(key=lambda token: row_of(token, now).order)
    pages = -(-count // PAGE_SIZE)
    for page in range(pages):
        some = tokens[page * PAGE_SIZE : (page + 1) * PAGE_SIZE]
        head = b'{"total":%d,"totalPages":%d,"tokens":[' % (count, pages)
        body = b",".join(map(encode_json, some))
        (directory / f"{page + 1}.json").write_bytes(head + body + b"]}")


def _answer(directory: Path, request: httpx2.Request) -> httpx2.Response:
    name = request.url.path.rsplit("/", 1)[1]
    if name == "chains":
        body = b'{"chains":[],"total":0,"totalPages":1}'
    elif name == "swaps":
        body = b"[]"
    else:
        body = (directory / f"{request.url.params.get('page', '1')}.json").read_bytes()
    return httpx2.Response(200, content=body, headers={"content-type": "application/json"})


async def _refresh(directory: Path) -> None:
    clock = SystemClock()
    with tempfile.TemporaryDirectory() as scratch:
        catalog = Catalog.open(Path(scratch) / "catalog.db", clock)
        await catalog.load_in_steps()
        async with PartnerApi(
            "http://127.0.0.1/v2",
            Credentials.of_key("key", "secret"),
            clock=clock,
            rng=random.Random(1),
            transport=httpx2.MockTransport(lambda request: _answer(directory, request)),
        ) as api:
            begin, used = time.perf_counter(), time.process_time()
            await catalog.refresh(api)
            took, used = time.perf_counter() - begin, time.process_time() - used
            print(f"    {catalog.count} tokens read in {took:.1f} s, {used:.1f} s of CPU")
        catalog.close()


def main() -> None:
    stalls: list[tuple[float, float, str]] = []
    watch(stalls)
    asyncio.run(_refresh(Path(sys.argv[1])))
    print(json.dumps(stalls))


if __name__ == "__main__":
    main()
