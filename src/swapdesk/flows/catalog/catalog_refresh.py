"""Downloads the whole catalogue (chains, providers and tokens, page by page) and writes it as a new
generation of the file (contract 5.3, 5.7, 5.14).

Decoding a page of a thousand tokens at once would block the screen for 60 ms. Instead, the JSON of
a page is parsed once and the tokens are checked a hundred at a time. A chain is checked only once
for all its tokens.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from swapdesk.client.transport import RawAnswer, refuse_answer
from swapdesk.clock import Clock
from swapdesk.flows.catalog.catalog_file import UNLISTED, CatalogFile, unusable
from swapdesk.flows.catalog.token_list import TokenRow
from swapdesk.wire.chains import Chain, ChainQuery
from swapdesk.wire.encoding.codec import CodecError, ShapeError, decode_json, encode_json, validate
from swapdesk.wire.encoding.numbers import WireInteger
from swapdesk.wire.encoding.query import encode_query
from swapdesk.wire.operations import BY_NAME
from swapdesk.wire.tokens import Token, TokenQuery

if TYPE_CHECKING:
    from swapdesk.client.api import PartnerApi

log = logging.getLogger(__name__)


STEP = 100
BREATH = 50
"""Number of tokens that are checked before the event loop runs."""
_LARGE = 200_000
"""Size in bytes above which a page is parsed in a thread."""
MOST_PAGES = 200
"""The most pages that are read. A service that states more is not believed."""

Step = list[tuple[Token, bytes]]
"""Some tokens, each with its JSON without ``chainData``."""

_CHAIN_MEMBERS = tuple(str(field.alias) for field in Chain.model_fields.values())


class TokenReader:
    """Checks tokens of a page. ``skipped`` counts the unreadable tokens; ``reason`` says what is
    wrong with the first of them."""

    def __init__(self) -> None:
        self.read_count = 0
        self.skipped = 0
        self.reason = ""
        self._chains: dict[tuple[Any, ...], Chain] = {}

    def chains(self) -> list[Chain]:
        return list(self._chains.values())

    def read(self, values: list[Any]) -> Step:
        step: Step = []
        for value in values:
            try:
                token, rest = self._token(value)
            except ShapeError as error:
                self.skipped += 1
                self.reason = self.reason or str(error)
                continue
            step.append((token, encode_json(rest)))
        self.read_count += len(step)
        return step

    def _token(self, value: Any) -> tuple[Token, dict[str, Any]]:
        if not isinstance(value, dict):
            raise ShapeError([("", "must be an object")])
        rest = {name: member for name, member in value.items() if name != "chainData"}
        chain = self._chain(value.get("chainData"))
        return validate(Token, {**rest, "chainData": chain}, side="client"), rest

    def _chain(self, value: Any) -> Chain:
        members = tuple(map(value.get, _CHAIN_MEMBERS)) if isinstance(value, dict) else ()
        if not members or any(isinstance(member, (dict, list)) for member in members):
            return validate(Chain, value, side="client")
        chain = self._chains.get(members)
        if chain is None:
            chain = self._chains[members] = validate(Chain, value, side="client")
        return chain


async def read_pages(
    api: PartnerApi, query: TokenQuery, reader: TokenReader, clock: Clock
) -> AsyncIterator[Step]:
    """Yields the tokens of every page, about a hundred at a time. Raises ClientError, also if no
    token can be read."""
    operation = BY_NAME["list_tokens"]
    for page in range(query.page, MOST_PAGES + 1):
        asked = query.model_copy(update={"page": page})
        answer = await api.call(operation.method, operation.path, encode_query(asked))
        if len(answer.body) > _LARGE:
            # The parser works for 20 to 60 ms; beside it the loop gets its turns.
            tokens, pages = await asyncio.to_thread(_page, answer)
        else:
            tokens, pages = _page(answer)
        await clock.sleep(0)
        for part in _parts(tokens):
            step = reader.read(part[:BREATH])
            for at in range(BREATH, len(part), BREATH):
                await clock.sleep(0)
                step += reader.read(part[at : at + BREATH])
            # Storing a step takes half as long as reading it.
            await clock.sleep(0)
            yield step
        if page >= pages or not tokens:
            break
    if reader.skipped and not reader.read_count:
        message = (
            f"{reader.skipped} tokens, none of which can be read; of the first one {reader.reason}"
        )
        raise refuse_answer(answer, "wrong_shape", message)


def _parts(tokens: list[Any]) -> Iterator[list[Any]]:
    for at in range(0, len(tokens), STEP):
        yield tokens[at : at + STEP]


def _page(answer: RawAnswer) -> tuple[list[Any], int]:
    try:
        value = decode_json(answer.body, side="client", max_bytes=answer.operation.result_limit)
        if not isinstance(value, dict) or not isinstance(value.get("tokens"), list):
            raise ShapeError([("tokens", "must be a list")])
        pages: int = validate(WireInteger, value.get("totalPages"), side="client")
    except ShapeError as error:
        raise refuse_answer(answer, "wrong_shape", str(error)) from None
    except CodecError as error:
        raise refuse_answer(answer, "not_json", str(error)) from None
    return value["tokens"], pages


PAGE_SIZE = 1000
CHAIN_PAGE_SIZE = 100


async def read_all(api: PartnerApi, file: CatalogFile, clock: Clock) -> None:
    """Downloads the whole catalogue; it becomes current after the last page. Raises ClientError,
    and OSError if the file cannot be written."""
    try:
        generation = file.begin(clock.now())
        try:
            await _fill(api, file, clock, generation)
        except BaseException:
            _abandon(file, generation)
            raise
    except sqlite3.Error as error:
        raise unusable(file.path, error) from error


def _abandon(file: CatalogFile, generation: int) -> None:
    with contextlib.suppress(sqlite3.Error):
        file.abandon(generation)


async def _fill(api: PartnerApi, file: CatalogFile, clock: Clock, generation: int) -> None:
    chains = await all_chains(api)
    providers = await api.list_swaps()
    file.add_providers(generation, [encode_json(provider) for provider in providers])
    reader = TokenReader()
    async for step in read_pages(api, TokenQuery(page_size=PAGE_SIZE), reader, clock):
        file.add_tokens(generation, step, clock.now())
        await clock.sleep(0)
    # Disabled chains are not listed, but their tokens are; listed rows win.
    by_name = {chain.short_name.lower(): chain for chain in reader.chains()}
    by_name.update((chain.short_name.lower(), chain) for chain in chains)
    file.add_chains(generation, [(n, encode_json(c)) for n, c in by_name.items()])
    _note(reader)
    for _ in file.finish(generation, clock.now(), reader.skipped):
        await clock.sleep(0)


async def read_contract(
    api: PartnerApi, file: CatalogFile, clock: Clock, address: str
) -> tuple[list[TokenRow], int]:
    """Asks the service for one contract's tokens, including unverified ones, and stores them.
    Returns rows and the number of unreadable ones. Raises ClientError, and OSError if the file
    cannot be written."""
    reader = TokenReader()
    rows: list[TokenRow] = []
    query = TokenQuery(address=address, unverified=True)
    try:
        async for step in read_pages(api, query, reader, clock):
            rows += file.add_tokens(UNLISTED, step, clock.now())
        chains = [(chain.short_name, encode_json(chain)) for chain in reader.chains()]
        file.add_chains(UNLISTED, chains)
    except sqlite3.Error as error:
        raise unusable(file.path, error) from error
    _note(reader)
    return rows, reader.skipped


def _note(reader: TokenReader) -> None:
    if reader.skipped:
        log.warning("%d tokens cannot be read; the first: %s", reader.skipped, reader.reason)


async def all_chains(api: PartnerApi) -> list[Chain]:
    chains: list[Chain] = []
    page = 1
    while True:
        answer = await api.list_chains(ChainQuery(page=page, page_size=CHAIN_PAGE_SIZE))
        chains += answer.chains
        if page >= answer.total_pages or not answer.chains:
            return chains
        page += 1
