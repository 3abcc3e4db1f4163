"""Runs the sandbox's service and its control as one process, started with ``python -m``.

Orders on stdin: ``fd`` and ``controlFd`` (listening sockets), ``nodeUrl``, ``nodeToken``,
``controlToken``, ``data`` (directory), ``host`` (the address it listens on), ``names`` (further
host names it is served under), ``tokens`` (size of the catalogue, null for the sandbox's own),
``chainIds`` of the embedded chains, ``dialect`` (whether names in answers are those of the contract
or of the public service), and ``store`` (URL of a database, used instead of a file).

``HostCheck`` refuses a page whose host name was made to point to this machine (DNS rebinding), with
or without credentials. The service itself decides which pages of other sites it answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
import socket
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
from msgspec import Struct
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from swapdesk.chain.node_http import NodeUncertain, NodeUnreachable
from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.chain.unused_curve import leave_out_validator_keys
from swapdesk.clock import Clock, SystemClock
from swapdesk.paths import read_private, write_private
from swapdesk.sandbox.control import Control, WorldPace
from swapdesk.sandbox.exchange import SimulatedExchange
from swapdesk.sandbox.fault_layer import FaultLayer, bundle_end
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.http_server import (
    FORWARDED_HOST,
    build_server,
    misdirected,
    refuse,
    serve_until,
    started,
)
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.onchain import build_onchain
from swapdesk.sandbox.partner_keys import PartnerKeys, load_key, partner_keys, webhook_secret
from swapdesk.sandbox.processes import (
    BAD_INPUT,
    announce,
    leave_loaded_alone,
    run_child,
    stop_event,
)
from swapdesk.sandbox.service_file import store_at
from swapdesk.sandbox.tables import VENUE_ROWS, ChainIds
from swapdesk.sandbox.world import (
    INTERMEDIARIES,
    Scanner,
    build_chains,
    build_tokens,
    find_token,
    keywords,
    rows_by_id,
)
from swapdesk.service.access import Overrides, StoredKey, StoredPartner, Tier, digest
from swapdesk.service.app import Onchain, assemble, build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.database import SchemaError, StoreUnavailable
from swapdesk.service.store.store import Store
from swapdesk.service.webhooks import BUNDLER
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.tokens import Token

OVERRIDES = {
    "alice": Overrides(default_markup=Decimal("0.5")),
    "erin": Overrides(quote=(2, 20, 50), exchange=(1, 5, 10), read=(5, 100, 1000)),
}
"""Terms of accounts, by name, that differ from those of the tier (contract 17.8). Erin's limits
make a 429 easy to reach."""


def build_partners(keys: Iterable[PartnerKeys], now: datetime) -> list[StoredPartner]:
    """Returns the accounts of these API keys as records for the store, created at ``now``."""
    accounts: dict[str, StoredPartner] = {}
    for partner_key in keys:
        key = StoredKey(
            partner_key.api_key,
            digest(partner_key.api_secret.encode()),
            partner_key.scope,
            created=now,
        )
        account = accounts.get(partner_key.partner_id) or StoredPartner(
            partner_id=partner_key.partner_id,
            name=partner_key.name,
            tier=Tier(partner_key.tier),
            created=now,
            suspended=partner_key.suspended,
            overrides=OVERRIDES.get(partner_key.name, Overrides()),
        )
        accounts[partner_key.partner_id] = replace(account, keys=(*account.keys, key))
    return list(accounts.values())


class HostCheck:
    """ASGI middleware that refuses requests to host names other than ``hosts`` and the loopback
    names. Behind a trusted proxy, the host name under which the caller reached the proxy is checked
    too."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], clock: Clock) -> None:
        self._app = app
        self._hosts = frozenset(map(str.lower, hosts))
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = None
        if scope["type"] != "lifespan":
            refused = misdirected(Headers(scope=scope), self._hosts)
            forwarded = scope.get("state", {}).get(FORWARDED_HOST)
            if refused is None and forwarded is not None:
                refused = misdirected({"host": forwarded}, self._hosts)
                named = (b"host", forwarded.encode("latin-1"))
                others = [header for header in scope["headers"] if header[0] != b"host"]
                scope = {**scope, "headers": [named, *others]}
        if refused is None:
            await self._app(scope, receive, send)
        else:
            await refuse(scope, send, self._clock, *refused, ErrorCode.BAD_REQUEST)


DATABASE = "service.db"
WORLD = "world"
"""Name of the file with the identity of a directory's data."""
NODE_SECONDS = 15.0
"""Seconds that the service waits for the node at its start."""


class SandboxService(Struct, frozen=True):
    """The service and its control as ASGI applications over one store. Requests go to ``door``; it
    passes them through the host check and the fault layer to ``application``."""

    application: Starlette
    door: HostCheck
    control: Control
    parts: ServiceParts
    onchain: Onchain


async def build_sandbox_service(
    data: Path,
    ledger: LedgerClient,
    time: Mapping[str, Any],
    clock: SystemClock,
    store: Store,
    rng: random.Random,
    *,
    node_url: str,
    control_token: str,
    host: str,
    names: Iterable[str] = (),
    tokens: int | None = None,
    chain_ids: ChainIds = "sandbox",
    dialect: Dialect = Dialect.CONTRACT,
    transport: httpx2.AsyncBaseTransport | None = None,
    stop: asyncio.Event | None = None,
) -> SandboxService:
    """Builds the service of a data directory over a node. ``time`` is the node's answer to
    ``clock_get``. ``tokens`` is the size of the catalogue, None for the sandbox's own. ``stop`` is
    set if the store becomes unusable. Raises SandboxKeyRefused."""
    pace = WorldPace(clock, time)
    market = Market(int(time["seed"]))
    faults = ActiveFaults()
    key = load_key(data)
    await store.partners.add_missing(build_partners(partner_keys(key), clock.now()))
    chains, catalog = _catalog(market.seed, tokens, clock, chain_ids)
    onchain = build_onchain(node_url, key, chains, catalog, clock, market, transport)
    parts = assemble(
        clock=clock,
        rng=rng,
        store=store,
        chains=chains,
        tokens=catalog,
        venues=[
            SimulatedExchange(row, market, clock, ledger, lambda: pace.speed, faults)
            for row in VENUE_ROWS
        ],
        partners=(),
        intermediaries=[find_token(*place).token_id for place in INTERMEDIARIES],
        keywords=keywords(),
        scanner=Scanner(market.seed, clock, rows_by_id()),
        onchain=onchain,
        intervene=partial(bundle_end, faults),
        dialect=dialect,
        webhook_secrets={
            source: webhook_secret(key, source)
            for source in (*(row.code for row in VENUE_ROWS), BUNDLER)
        },
    )
    hosts = frozenset({host, *names})
    application = build_service(parts, stop=stop)
    layer = FaultLayer(application, faults, clock)
    control = Control(
        token=control_token,
        hosts=hosts,
        ledger=ledger,
        clock=clock,
        pace=pace,
        market=market,
        faults=faults,
        layer=layer,
        store=store,
    )
    return SandboxService(application, HostCheck(layer, hosts, clock), control, parts, onchain)


async def _run(orders: dict[str, Any]) -> int:
    stop = stop_event(lifeline=True, hard=True)
    data = Path(orders["data"])
    async with LedgerClient(orders["nodeUrl"], orders["nodeToken"]) as ledger:
        clock = SystemClock()
        time = await _time_of(ledger, clock)
        try:
            store = await _opened(data, orders["store"])
        except (SchemaError, StoreUnavailable) as error:
            announce({"refused": f"{orders['store'] or data / DATABASE}: {error}"})
            return BAD_INPUT
        try:
            # Ids are capabilities and must not be guessed, so they follow no seed.
            rng = random.SystemRandom()
            service = await build_sandbox_service(
                data,
                ledger,
                time,
                clock,
                store,
                rng,
                node_url=orders["nodeUrl"],
                control_token=orders["controlToken"],
                host=str(orders["host"]),
                names=orders["names"],
                tokens=orders["tokens"],
                chain_ids=orders["chainIds"],
                dialect=Dialect(orders["dialect"]),
                stop=stop,
            )
            warming = asyncio.create_task(service.onchain.warm(clock))
            try:
                await _serve(stop, orders, service, clock)
            finally:
                warming.cancel()
                await asyncio.gather(warming, return_exceptions=True)
                await service.onchain.close()
        finally:
            await store.close()
    return 0


async def _opened(data: Path, url: str | None) -> Store:
    """Opens the store: the file in ``data``, or the database at ``url`` if given. Raises
    SchemaError, for example if another sandbox uses the database, and StoreUnavailable."""
    if url is None:
        return Store.open(data / DATABASE)
    return await Store.connect(store_at(url), {"the sandbox": _identity(data)})


def _identity(data: Path) -> str:
    """Returns the identity of a directory's data, drawn at random and stored at the first call."""
    with contextlib.suppress(FileExistsError):
        write_private(data / WORLD, secrets.token_hex(16).encode())
    return read_private(data / WORLD).decode()


def _catalog(
    seed: int, count: int | None, clock: Clock, ids: ChainIds
) -> tuple[list[Chain], list[Token]]:
    if count is None:
        chains = build_chains(ids)
        return chains, build_tokens(chains, clock.now())
    from swapdesk.sandbox.world_generator import build_catalog

    return build_catalog(seed, count, clock.now(), ids)


async def _time_of(ledger: LedgerClient, clock: Clock) -> dict[str, Any]:
    until = clock.monotonic() + NODE_SECONDS
    while True:
        try:
            time: dict[str, Any] = await ledger.call("clock_get")
            return time
        except (NodeUnreachable, NodeUncertain):
            if clock.monotonic() >= until:
                raise
            await clock.sleep(0.1)


async def _serve(
    stop: asyncio.Event, orders: dict[str, Any], sandbox: SandboxService, clock: Clock
) -> None:
    service = build_server(sandbox.door, clock, lifespan=True)
    beside = build_server(sandbox.control, clock)
    serving = asyncio.create_task(
        serve_until(
            stop,
            (service, socket.socket(fileno=orders["fd"])),
            (beside, socket.socket(fileno=orders["controlFd"])),
            before_exit=sandbox.parts.hub.close,
        )
    )
    if await started(service, stop) and await started(beside, stop):
        leave_loaded_alone()
        announce({"ready": True})
    await serving


if __name__ == "__main__":
    leave_out_validator_keys()
    sys.exit(run_child(_run))
