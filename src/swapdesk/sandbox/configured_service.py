"""``swapdesk serve --config``: serves the chains and venues that a file names, without the sandbox,
in one process or several over one database.

The catalogue contains the tokens that the file's pools trade. Without market prices, the service
states no dollars and scans no tokens.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import random
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import uvloop
from msgspec.structs import asdict
from starlette.types import ASGIApp

from swapdesk.chain.node_http import NodeError
from swapdesk.chain.rpc.evm import quantity
from swapdesk.chain.unused_curve import leave_out_validator_keys
from swapdesk.clock import Clock, SystemClock
from swapdesk.paths import make_directories
from swapdesk.sandbox.http_server import DRAIN_SECONDS, build_server, serve_until, started
from swapdesk.sandbox.processes import (
    BAD_INPUT,
    OK,
    DirectoryInUse,
    Stop,
    announce,
    leave_loaded_alone,
    listen,
    lock_directory,
    run_child,
    stop_event,
    url_of,
)
from swapdesk.sandbox.run_file import LINE_VERSION
from swapdesk.sandbox.service_file import (
    MetricsEntry,
    PaymentsEntry,
    ServiceConfig,
    ServiceFileRefused,
    VenueEntry,
    read_service_file,
)
from swapdesk.sandbox.service_process import DATABASE, HostCheck
from swapdesk.sandbox.supervisor import Child, ChildRefused, ChildSilent
from swapdesk.sandbox.world import build_chains, build_tokens, object_id
from swapdesk.service.app import Onchain, Role, assemble, build_service, in_background
from swapdesk.service.dex.desk import EvmSightings
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.observation import Log, Observer, write_log
from swapdesk.service.payments import CallTerms, Facilitator
from swapdesk.service.router import PREFIX
from swapdesk.service.store.database import SchemaError, StoreUnavailable
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

logger = logging.getLogger(__name__)


CLOCK_TOLERANCE = timedelta(seconds=30)


class ServiceRefused(Exception):
    """Raised if the service cannot be started as its file says. ``key`` is the path of the wrong
    entry within the file; it is empty if no entry is wrong."""

    def __init__(self, message: str, *key: str) -> None:
        super().__init__(message)
        self.key = key


async def build_configured(
    config: ServiceConfig,
    readers: Mapping[str, OnchainReader],
    store: Store,
    clock: Clock,
    rng: random.Random,
    observers: Sequence[Observer] = (),
) -> ServiceParts:
    """Builds the service that ``config`` describes. Raises ServiceRefused if an intermediary is
    unknown or the ``payments`` entry cannot be used."""
    wallets = _wallets(store)
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
        clock_tolerance=CLOCK_TOLERANCE,
        front=config.http,
        observers=observers,
    )


WalletOf = Callable[[bytes], HotWallet]


def _wallets(store: Store) -> WalletOf:

    @cache
    def wallet_of(secret: bytes) -> HotWallet:
        from eth_account import Account  # on use: it takes longer than all the rest

        return HotWallet(secret, Account.from_key(secret).address, store)

    return wallet_of


async def _payments(
    entry: PaymentsEntry | None,
    readers: Mapping[str, OnchainReader],
    wallet_of: WalletOf,
    clock: Clock,
) -> tuple[CallTerms, Facilitator] | None:
    if entry is None:
        return None
    reader, wallet = readers[entry.chain], wallet_of(entry.secret)
    try:
        terms = await read_terms(reader, entry.token, entry.pay_to)
        gas = await reader.client.balance(wallet.address)
    except NodeError as error:
        raise ServiceRefused(
            f"payments: the node of {entry.chain} cannot be asked about the token: {error}",
            *("chains", entry.chain, "rpc"),
        ) from None
    except ValueError as error:
        message = f"payments.token: {entry.token} {error}"
        raise ServiceRefused(message, "payments", "token") from None
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
        # Of no moment at which a process began: all of them tell the same.
        token.model_copy(update={**_UNPRICED, "modified": token.created})
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


def _intermediaries(config: ServiceConfig, tokens: list[Token]) -> Iterable[str]:
    for symbol, chain in config.intermediaries:
        token = next((t for t in tokens if (t.symbol, t.chain) == (symbol, chain)), None)
        if token is None:
            raise ServiceRefused(
                f"intermediaries: {symbol}.{chain} is not traded by a pool of this file",
                "intermediaries",
            )
        yield token.id


async def check_nodes(readers: Iterable[OnchainReader]) -> None:
    """Raises ServiceRefused if a node serves another chain than the service file names. A node that
    does not answer is only logged."""
    for reader in readers:
        try:
            chain_id = quantity(await reader.client.ask("eth_chainId"))
        except NodeError as error:
            logger.warning("the node of %s does not answer: %s", reader.place.name, error)
            continue
        if chain_id != reader.place.chain_id:
            raise ServiceRefused(
                f"chains.{reader.place.name}.chain_id is {reader.place.chain_id},"
                f" and the node at {reader.place.rpc} says {chain_id}",
                *("chains", reader.place.name, "chain_id"),
            )


def serve_configured(file: Path, config: ServiceConfig, workers: int | None = None) -> None:
    """Serves requests until SIGTERM or SIGINT; a second signal aborts open requests. Prints a JSON
    line when ready. ``workers`` is the number of processes started for the background work; None
    means that this process does it. Raises ServiceRefused."""
    write_log(config.log.level)
    role = Role.BOTH if workers is None else Role.ANSWERS
    uvloop.run(_serve(file.absolute(), config, role, workers or 0))


def work_configured(file: Path, config: ServiceConfig) -> None:
    """Does the background work for every process that uses the same store, until SIGTERM or SIGINT.
    Prints a JSON line when ready. Raises ServiceRefused."""
    write_log(config.log.level)
    uvloop.run(_serve(file, config, Role.WORKS, 0))


async def _serve(file: Path, config: ServiceConfig, role: Role, workers: int) -> None:
    if role is not Role.BOTH and config.store is None:
        raise ServiceRefused(
            "several processes need [store] with a PostgreSQL database: the file in data is of one"
        )
    clock = SystemClock()
    stop = stop_event(patient=True)
    async with AsyncExitStack() as held:
        parts, metrics = await _opened(config, config.metrics, clock, held)
        if Role.ANSWERS not in role:
            await _work(config, parts, stop, metrics)
        else:
            try:
                listener = held.enter_context(listen(config.bind, config.port))
            except OSError as error:
                raise _not_free(config.bind, config.port, "--port", error) from None
            await held.enter_async_context(_beside(file, workers, config.metrics, clock))
            await _answer(config, parts, role, listener, stop, metrics)
        if parts.readiness.outgrown is not None:
            raise _unusable(config, parts.readiness.outgrown)


async def _opened(
    config: ServiceConfig, place: MetricsEntry | None, clock: Clock, held: AsyncExitStack
) -> tuple[ServiceParts, str | None]:
    readers = open_readers(config.chains, clock)
    for reader in readers.values():
        held.push_async_callback(reader.close)
    # Before the store: what a node contradicts must not be claimed there.
    await check_nodes(readers.values())
    store = await _open_store(config, clock, held)
    held.push_async_callback(store.close)
    # Ids are capabilities and must not be guessed, so they follow no seed.
    rng = random.SystemRandom()
    observers: list[Observer] = [Log(addresses=config.log.addresses)]
    if place is None:
        return await build_configured(config, readers, store, clock, rng, observers), None
    # On use: a service without metrics does without the library.
    from swapdesk.service.metrics import Metrics, metrics_app

    metrics = Metrics()
    parts = await build_configured(config, readers, store, clock, rng, [*observers, metrics])
    # A page that was misled here would read what the operator alone should know.
    hosts = frozenset({place.bind, *config.hosts})
    door = HostCheck(metrics_app(metrics, parts), hosts, clock)
    return parts, await held.enter_async_context(_served_beside(place, door, clock))


async def _open_store(config: ServiceConfig, clock: Clock, held: AsyncExitStack) -> Store:
    world = {f"chain {place.name}": str(place.chain_id) for place in config.chains}
    if config.store is not None:
        try:
            return await Store.connect(config.store, world)
        except (SchemaError, StoreUnavailable, ValueError) as error:
            raise _unusable(config, error) from None
    try:
        make_directories(config.data)
        held.callback(os.close, await lock_directory(config.data, clock))
        return Store.open(config.data / DATABASE, world)
    except (DirectoryInUse, SchemaError, OSError) as error:
        raise _unusable(config, error) from None


def _unusable(config: ServiceConfig, why: object) -> ServiceRefused:
    if config.store is None:
        return ServiceRefused(f"data: {why}", "data")
    return ServiceRefused(f"store: {config.store.url}: {why}", "store", "url")


@asynccontextmanager
async def _served_beside(place: MetricsEntry, door: ASGIApp, clock: Clock) -> AsyncIterator[str]:
    try:
        listener = listen(place.bind, place.port)
    except OSError as error:
        raise _not_free(place.bind, place.port, "--metrics-port", error, "metrics") from None
    stop = asyncio.Event()
    with listener:
        server = build_server(door, clock)
        serving = asyncio.create_task(serve_until(stop, (server, listener)))
        try:
            await started(server, stop)
            yield f"{url_of(place.bind, listener)}/metrics"
        finally:
            stop.set()
            await serving


def _not_free(bind: str, port: int, option: str, error: OSError, *table: str) -> ServiceRefused:
    key = (*table, "port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "bind")
    message = f"{'.'.join(key)}: {bind}:{port}: {error.strerror}"
    if error.errno == errno.EADDRINUSE:
        message += f": give this process a port of its own with {option}"
    return ServiceRefused(message, *key)


async def _answer(
    config: ServiceConfig,
    parts: ServiceParts,
    role: Role,
    listener: socket.socket,
    stop: Stop,
    metrics: str | None,
) -> None:
    hosts = frozenset({config.bind, *config.hosts}) | config.http.hosts
    door = HostCheck(build_service(parts, role, stop), hosts, parts.clock)
    server = build_server(
        door, parts.clock, lifespan=True, front=config.http, drain_seconds=DRAIN_SECONDS
    )
    serving = asyncio.create_task(
        serve_until(stop, (server, listener), before_exit=parts.hub.close, hurry=stop.again)
    )
    if await started(server, stop):
        leave_loaded_alone()
        public = config.http.public_url
        _tell_left_out(config)
        _say(
            {
                "url": f"{url_of(config.bind, listener)}{config.http.prefix}{PREFIX}",
                **({"publicUrl": f"{public}{PREFIX}"} if public else {}),
                **_line(config, metrics),
            }
        )
    await serving


async def _work(
    config: ServiceConfig, parts: ServiceParts, stop: asyncio.Event, metrics: str | None
) -> None:
    async with in_background(parts, Role.WORKS, stop):
        _tell_left_out(config)
        _say(_line(config, metrics))
        await stop.wait()


def _tell_left_out(config: ServiceConfig) -> None:
    for entry in config.lacking:
        logger.warning("left out: venues.%s: %s", entry.code, entry.shortfall)


def _say(line: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps({"schemaVersion": LINE_VERSION, **line}) + "\n")
    sys.stdout.flush()


def _line(config: ServiceConfig, metrics: str | None) -> dict[str, object]:
    return {
        "chains": [place.name for place in config.chains],
        "venues": [entry.code for entry in config.venues if not entry.lacks],
        "leftOut": [entry.code for entry in config.lacking],
        "metrics": metrics,
        "pid": os.getpid(),
    }


# Workers as processes of their own, beside one that answers


_REFUSED_SECONDS = 2.0


@asynccontextmanager
async def _beside(
    file: Path, workers: int, metrics: MetricsEntry | None, clock: Clock
) -> AsyncIterator[None]:
    """Runs worker processes while the context is open and restarts those that die. Worker N serves
    its metrics on the port of ``metrics`` plus N. Raises ServiceRefused if one does not start."""
    places = [metrics and metrics.beside(number) for number in range(1, workers + 1)]
    orders = [{"config": str(file), "metrics": place and asdict(place)} for place in places]
    children = [Child(__spec__.name, partial(dict, order), (), clock) for order in orders]
    keeping: list[asyncio.Task[None]] = []
    try:
        begun = await asyncio.gather(*(child.start() for child in children), return_exceptions=True)
        for failure in filter(None, begun):
            if isinstance(failure, (ChildRefused, ChildSilent)):
                raise ServiceRefused(f"a worker does not begin: {failure}")
            if isinstance(failure, BaseException):
                raise failure
        keeping += [asyncio.create_task(_kept(child, clock)) for child in children]
        yield
    finally:
        for task in keeping:
            task.cancel()
        await asyncio.gather(*keeping, return_exceptions=True)
        await asyncio.gather(*(child.stop() for child in children))


async def _kept(child: Child, clock: Clock) -> None:
    while True:
        try:
            await child.keep()
        except ChildRefused as refused:
            logger.error("a worker does not begin: %s", refused)
            await clock.sleep(_REFUSED_SECONDS)


async def _work_for_starter(orders: dict[str, Any]) -> int:
    stop = stop_event(lifeline=True, hard=True)
    try:
        async with AsyncExitStack() as held:
            config = read_service_file(Path(orders["config"]))
            write_log(config.log.level)
            place = orders["metrics"] and MetricsEntry(**orders["metrics"])
            parts, _ = await _opened(config, place, SystemClock(), held)
            async with in_background(parts, Role.WORKS, stop):
                announce({"ready": True})
                await stop.wait()
    except (ServiceFileRefused, ServiceRefused) as refused:
        announce({"refused": str(refused)})
        return BAD_INPUT
    return OK


if __name__ == "__main__":
    leave_out_validator_keys()
    sys.exit(run_child(_work_for_starter))
