"""``swapdesk serve --config``: a service over chains and venues that a file names.

One process without a supervisor, a node or a control. Its catalogue is the program's own: the
chains of the file and the tokens there that a pool of the file trades. It has no source of market
prices, so no amount is told in dollars and no token is scanned.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING

import uvloop

from swapdesk.chain.rpc.evm import EvmError, quantity
from swapdesk.clock import Clock, SystemClock
from swapdesk.paths import make_directories
from swapdesk.sandbox.http_server import build_server, serve_until, started
from swapdesk.sandbox.processes import DirectoryInUse, listen, lock_directory, stop_event, url_of
from swapdesk.sandbox.run_file import LINE_VERSION
from swapdesk.sandbox.service_file import PaymentsEntry, ServiceConfig, VenueEntry
from swapdesk.sandbox.service_process import DATABASE, HostCheck
from swapdesk.sandbox.world import build_chains, build_tokens, object_id
from swapdesk.service.app import Onchain, assemble, build_service
from swapdesk.service.dex.desk import EvmSightings
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.observation import Log, Observer, write_log
from swapdesk.service.payments import CallTerms, Facilitator
from swapdesk.service.router import PREFIX
from swapdesk.service.store.database import SchemaError
from swapdesk.service.store.store import Store
from swapdesk.service.venues.onchain.adapter import DexVenue
from swapdesk.service.venues.onchain.assembly import open_readers, pool_venue
from swapdesk.service.venues.onchain.documents import Permits
from swapdesk.service.venues.onchain.facilitator import ChainFacilitator, read_terms
from swapdesk.service.venues.onchain.hot_wallet import HotWallet
from swapdesk.service.venues.onchain.pool_venue import Pools
from swapdesk.service.venues.onchain.reader import OnchainReader
from swapdesk.wire.chains import Chain, SwapProvider
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.service.metrics import Metrics

logger = logging.getLogger(__name__)


class ServiceRefused(Exception):
    """The service cannot be started as the file says; the message says why."""


async def build_configured(
    config: ServiceConfig,
    readers: Mapping[str, OnchainReader],
    store: Store,
    clock: Clock,
    rng: random.Random,
    observers: Sequence[Observer] = (),
) -> ServiceParts:
    """The service of a file over its chains and its store. Raises ServiceRefused for an
    intermediary that the catalogue has not, and where payments cannot be taken."""
    wallets = _wallets()
    venues = [_venue(entry, readers, wallets) for entry in config.venues if not entry.lacks]
    chains, tokens = _catalog(config, clock)
    onchain = Onchain(
        venues,
        readers,
        {name: EvmSightings(reader) for name, reader in readers.items()},
        payments=await _payments(config.payments, readers, wallets, clock),
    )
    return assemble(
        clock=clock,
        rng=rng,
        store=store,
        chains=chains,
        tokens=tokens,
        venues=(),
        partners=(),
        intermediaries=list(_intermediaries(config, tokens)),
        onchain=onchain,
        dialect=config.dialect,
        observers=observers,
    )


WalletOf = Callable[[bytes], HotWallet]


def _wallets() -> WalletOf:
    """One wallet for each key, since its transactions take their numbers in turn."""

    @cache
    def wallet_of(secret: bytes) -> HotWallet:
        from eth_account import Account  # on use: it takes longer than all the rest

        return HotWallet(secret, Account.from_key(secret).address)

    return wallet_of


async def _payments(
    entry: PaymentsEntry | None,
    readers: Mapping[str, OnchainReader],
    wallet_of: WalletOf,
    clock: Clock,
) -> tuple[CallTerms, Facilitator] | None:
    """What calls cost, as the token tells it. Raises ServiceRefused where it cannot be asked or
    takes no such payments. An account without gas can be filled later, so it is only said."""
    if entry is None:
        return None
    reader, wallet = readers[entry.chain], wallet_of(entry.secret)
    try:
        terms = await read_terms(reader, entry.token, entry.pay_to)
        gas = await reader.client.balance(wallet.address)
    except EvmError as error:
        raise ServiceRefused(
            f"payments: the node of {entry.chain} cannot be asked about the token: {error}"
        ) from None
    except ValueError as error:
        raise ServiceRefused(f"payments.token: {entry.token} {error}") from None
    if gas == 0:
        logger.warning(
            "payments: %s has nothing to pay gas with on %s; no payment is settled until it has",
            wallet.address,
            entry.chain,
        )
    return terms, ChainFacilitator(reader, wallet, clock)


def _venue(
    entry: VenueEntry, readers: Mapping[str, OnchainReader], wallet_of: WalletOf
) -> DexVenue:
    wallet = None if entry.secret is None else wallet_of(entry.secret)
    permits = {name: Permits(reader) for name, reader in readers.items()}
    provider = SwapProvider(
        id=object_id("configured venue", entry.code),
        name=entry.name,
        short_name=entry.code,
        enabled=True,
        is_dex=True,
        slippage_supported=True,
        auto_slippage_supported=True,
    )
    return pool_venue(
        entry.kind, provider, entry.contract, Pools(readers, entry.pools), permits, wallet
    )


def _catalog(config: ServiceConfig, clock: Clock) -> tuple[list[Chain], list[Token]]:
    """The chains of the file by its ids, and the tokens that its pools trade."""
    places = {place.name: place for place in config.chains}
    chains = [
        chain.model_copy(update={"chain_id": places[chain.short_name].chain_id})
        for chain in build_chains()
        if chain.short_name in places
    ]
    traded = {
        (name, contract.lower())
        for entry in config.venues
        if not entry.lacks
        for name, pools in entry.pools.items()
        for pool in pools
        for contract in (pool.token0, pool.token1)
    }
    others = [chain for chain in build_chains() if chain.short_name not in places]
    everything = build_tokens([*chains, *others], clock.now())
    tokens = [
        token.model_copy(update=_UNPRICED)
        for token in everything
        if (place := places.get(token.chain)) is not None
        and (token.chain, (token.address or place.wrapped).lower()) in traded
    ]
    return chains, tokens


_UNPRICED = {
    "has_dex": True,
    "has_cex": False,
    "has_bundler": False,
    "has_self_private": False,
    "cex_token_id": "",
    "price": None,
    "market_cap": None,
    "volume": None,
    "fdv": None,
    "change": None,
    "market_cap_change24h": None,
    "security_scan": None,
}
"""A token that pools alone trade, without what only a market tells."""


def _intermediaries(config: ServiceConfig, tokens: list[Token]) -> Iterable[str]:
    for symbol, chain in config.intermediaries:
        found = next((t for t in tokens if (t.symbol, t.chain) == (symbol, chain)), None)
        if found is None:
            raise ServiceRefused(
                f"intermediaries: {symbol}.{chain} is not traded by a pool of this file"
            )
        yield found.id


async def check_nodes(readers: Iterable[OnchainReader]) -> None:
    """Raises ServiceRefused for a node of another chain. One that does not answer may come later:
    until then its chain has no quotes."""
    for reader in readers:
        try:
            told = quantity(await reader.client.ask("eth_chainId"))
        except EvmError as error:
            logger.warning("the node of %s does not answer: %s", reader.place.name, error)
            continue
        if told != reader.place.chain_id:
            raise ServiceRefused(
                f"chains.{reader.place.name}.chain_id is {reader.place.chain_id},"
                f" and the node at {reader.place.rpc} says {told}"
            )


def serve_configured(config: ServiceConfig) -> None:
    """Serve until SIGTERM or SIGINT. One JSON line says when it is ready. Raises ServiceRefused."""
    write_log(config.log.level)
    uvloop.run(_serve(config, SystemClock()))


async def _serve(config: ServiceConfig, clock: Clock) -> None:
    stop = stop_event()
    with ExitStack() as held:
        try:
            make_directories(config.data)
            held.callback(os.close, await lock_directory(config.data, clock))
            store = Store.open(config.data / DATABASE)
        except (DirectoryInUse, SchemaError, OSError) as error:
            raise ServiceRefused(f"data: {error}") from None
        try:
            listener = listen(config.bind, config.port)
        except OSError as error:
            await store.close()
            raise ServiceRefused(f"bind: {config.bind}:{config.port}: {error.strerror}") from None
        try:
            readers = open_readers(config.chains, clock)
            try:
                await check_nodes(readers.values())
                # Ids are capabilities and must not be guessed, so they follow no seed.
                rng = random.SystemRandom()
                metrics = counted(config)
                observers: list[Observer] = [Log(addresses=config.log.addresses)]
                observers += [] if metrics is None else [metrics]
                parts = await build_configured(config, readers, store, clock, rng, observers)
                async with metrics_served(config, parts, metrics) as url:
                    await _answer(config, parts, listener, clock, stop, url)
            finally:
                for reader in readers.values():
                    await reader.close()
        finally:
            listener.close()
            await store.close()


def counted(config: ServiceConfig) -> Metrics | None:
    """What counts for the metrics that a file asks for."""
    if config.metrics is None:
        return None
    # On use: a service without metrics does without the library.
    from swapdesk.service.metrics import Metrics

    return Metrics()


@asynccontextmanager
async def metrics_served(
    config: ServiceConfig, parts: ServiceParts, metrics: Metrics | None
) -> AsyncIterator[str | None]:
    """Answer ``/metrics`` and ``/ready`` on the port of their own meanwhile; where that is.
    Raises ServiceRefused."""
    place = config.metrics
    if place is None or metrics is None:
        yield None
        return
    from swapdesk.service.metrics import metrics_app

    try:
        listener = listen(place.bind, place.port)
    except OSError as error:
        raise ServiceRefused(f"metrics: {place.bind}:{place.port}: {error.strerror}") from None
    # Whoever is misled here by a page reads what the operator alone should know.
    door = HostCheck(
        metrics_app(metrics, parts), frozenset({place.bind, *config.hosts}), parts.clock
    )
    stop = asyncio.Event()
    with listener:
        server = build_server(door, parts.clock)
        serving = asyncio.create_task(serve_until(stop, (server, listener)))
        try:
            await started(server, stop)
            yield f"{url_of(place.bind, listener)}/metrics"
        finally:
            stop.set()
            await serving


async def _answer(
    config: ServiceConfig,
    parts: ServiceParts,
    listener: socket.socket,
    clock: Clock,
    stop: asyncio.Event,
    metrics: str | None,
) -> None:
    hosts = frozenset({config.bind, *config.hosts})
    server = build_server(HostCheck(build_service(parts), hosts, clock), clock, lifespan=True)
    serving = asyncio.create_task(
        serve_until(stop, (server, listener), before_exit=parts.hub.close)
    )
    if await started(server, stop):
        sys.stdout.write(json.dumps({**_line(config, listener), "metrics": metrics}) + "\n")
        sys.stdout.flush()
    await serving


def _line(config: ServiceConfig, listener: socket.socket) -> dict[str, object]:
    """What the service says once it is ready; ``leftOut`` are venues that it started without,
    ``metrics`` is where these are, None for nowhere."""
    return {
        "schemaVersion": LINE_VERSION,
        "url": f"{url_of(config.bind, listener)}{PREFIX}",
        "chains": [place.name for place in config.chains],
        "venues": [entry.code for entry in config.venues if not entry.lacks],
        "leftOut": [entry.code for entry in config.lacking],
        "pid": os.getpid(),
    }
