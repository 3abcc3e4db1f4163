"""Asking the service for the whole list: chains, providers and tokens, page by page.

Written into a new generation of the file beside the one in use (contract 5.3, 5.7, 5.14).
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from swapdesk.clock import Clock
from swapdesk.flows.catalog.catalog_file import UNLISTED, CatalogFile, unusable
from swapdesk.flows.catalog.catalog_reading import TokenReader, read_pages
from swapdesk.flows.catalog.token_row import TokenRow
from swapdesk.wire.chains import Chain, ChainQuery
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.tokens import TokenQuery

if TYPE_CHECKING:
    from swapdesk.client.api import PartnerApi

log = logging.getLogger(__name__)

PAGE_SIZE = 1000
CHAIN_PAGE_SIZE = 100

Progress = Callable[[int, int], None]
"""Called with tokens read so far and tokens expected."""


@dataclass(frozen=True)
class RefreshReport:
    """What a refresh brought. ``skipped`` tokens could not be read and are left out."""

    tokens: int
    chains: int
    providers: int
    skipped: int
    seconds: float


async def read_all(
    api: PartnerApi, file: CatalogFile, clock: Clock, on_progress: Progress | None
) -> RefreshReport:
    """A new generation, current once its last page is there. Raises ClientError, and OSError when
    the file takes no more; nothing of it is used then."""
    began = clock.monotonic()
    try:
        generation = file.begin(clock.now())
    except sqlite3.Error as error:
        raise unusable(file.path, error) from error
    try:
        return await _fill(api, file, clock, generation, began, on_progress)
    except sqlite3.Error as error:
        _abandon(file, generation)
        raise unusable(file.path, error) from error
    except BaseException:
        _abandon(file, generation)
        raise


def _abandon(file: CatalogFile, generation: int) -> None:
    """Remove what was written; what a full disk keeps, the next whole list removes."""
    with contextlib.suppress(sqlite3.Error):
        file.abandon(generation)


async def _fill(
    api: PartnerApi,
    file: CatalogFile,
    clock: Clock,
    generation: int,
    began: float,
    on_progress: Progress | None,
) -> RefreshReport:
    chains = await _all_chains(api)
    providers = await api.list_swaps()
    file.add_providers(generation, [encode_json(provider) for provider in providers])
    reader = TokenReader()
    count = 0
    async for step, total in read_pages(api, TokenQuery(page_size=PAGE_SIZE), reader, clock):
        count += len(file.add_tokens(generation, step, clock.now()))
        if on_progress is not None:
            on_progress(count, total)
        await clock.sleep(0)
    # Disabled chains are not listed, but their tokens are; listed rows win.
    known = {chain.short_name.lower(): chain for chain in reader.chains()}
    known.update((chain.short_name.lower(), chain) for chain in chains)
    file.add_chains(generation, [(n, encode_json(c)) for n, c in known.items()])
    _note(reader)
    for _ in file.finish(generation, clock.now(), reader.skipped):
        await clock.sleep(0)
    return RefreshReport(
        count, len(known), len(providers), reader.skipped, clock.monotonic() - began
    )


async def read_contract(
    api: PartnerApi, file: CatalogFile, clock: Clock, address: str
) -> tuple[list[TokenRow], int]:
    """Tokens of a contract that no list has, unverified ones too, kept beside every list; and
    how many of them could not be read.

    Raises ClientError, and OSError when the file takes no more.
    """
    reader = TokenReader()
    found: list[TokenRow] = []
    query = TokenQuery(address=address, unverified=True)
    try:
        async for step, _ in read_pages(api, query, reader, clock):
            found += file.add_tokens(UNLISTED, step, clock.now())
        chains = [(chain.short_name, encode_json(chain)) for chain in reader.chains()]
        file.add_chains(UNLISTED, chains)
    except sqlite3.Error as error:
        raise unusable(file.path, error) from error
    _note(reader)
    return found, reader.skipped


def _note(reader: TokenReader) -> None:
    if reader.skipped:
        log.warning("%d tokens cannot be read; the first: %s", reader.skipped, reader.reason)


async def _all_chains(api: PartnerApi) -> list[Chain]:
    chains: list[Chain] = []
    page = 1
    while True:
        answer = await api.list_chains(ChainQuery(page=page, page_size=CHAIN_PAGE_SIZE))
        chains += answer.chains
        if page >= answer.total_pages or not answer.chains:
            return chains
        page += 1
