"""The sandbox's on-chain venues: Basalt, Fathom, Isthmus and Meridian on the EVM chains, Atoll
on Solana."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from urllib.parse import urlsplit

import httpx2

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.deployments import SANDBOX_VENUES
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.clock import Clock
from swapdesk.sandbox.evm_world.genesis import (
    BASALT,
    FATHOM,
    RELAYER,
    SOLVER,
    address_of,
    contract_of,
    pools_of,
    pools_on,
    wrapped_native,
)
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.evm.genesis import sandbox_key
from swapdesk.sandbox.node.solana.genesis import MAKER, key_seed
from swapdesk.sandbox.node.solana.terms import CHAIN as SOLANA
from swapdesk.sandbox.node.solana.terms import PATH as SOLANA_PATH
from swapdesk.sandbox.tables import EVM_CHAINS, ON_CHAIN_NAMES, quoted_by_maker
from swapdesk.sandbox.world import (
    asset_of,
    chains_by_name,
    find_token,
    object_id,
    rows_by_id,
)
from swapdesk.service.app import Onchain
from swapdesk.service.bundling import NodeBundler
from swapdesk.service.dex.desk import EvmSightings, Sightings, SolanaSightings
from swapdesk.service.multi.funding import BlockhashNode
from swapdesk.service.payments import CallTerms, Facilitator
from swapdesk.service.venues.onchain.adapter import DexVenue
from swapdesk.service.venues.onchain.assembly import open_readers, pool_venue
from swapdesk.service.venues.onchain.atoll import Atoll, PriceOfToken
from swapdesk.service.venues.onchain.documents import Permits
from swapdesk.service.venues.onchain.facilitator import ChainFacilitator
from swapdesk.service.venues.onchain.hot_wallet import HotWallet
from swapdesk.service.venues.onchain.meridian import Meridian
from swapdesk.service.venues.onchain.pool_venue import Pools
from swapdesk.service.venues.onchain.reader import ChainPlace, OnchainReader, PoolPlace
from swapdesk.wire.chains import Chain, SwapProvider
from swapdesk.wire.tokens import Token

_CONTRACTS = {venue.provider: venue.address for venue in SANDBOX_VENUES}


def rpc_url(node_url: str, chain: str) -> str:
    """Returns the JSON-RPC URL of an embedded chain; ``node_url`` is the URL of the node."""
    parts = urlsplit(node_url)
    path = SOLANA_PATH if chain == SOLANA else f"/evm/{chain}"
    return f"{parts.scheme}://{parts.netloc}{path}"


def build_onchain(
    node_url: str,
    key: bytes,
    chains: Iterable[Chain],
    tokens: Iterable[Token],
    clock: Clock,
    market: Market,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> Onchain:
    """Builds the on-chain venues for the chains of a node. ``key`` is the sandbox's secret
    (``sandbox.key``). ``transport`` is given only for a node in the same process."""
    ids = {chain.short_name: chain.chain_id for chain in chains if chain.enabled}
    places = (
        _place(node_url, name, chain_id)
        for name in EVM_CHAINS
        if (chain_id := ids.get(name)) is not None
    )
    readers = open_readers(places, clock, transport)
    basalt = Pools(readers, {name: _places(name, BASALT) for name in readers})
    fathom = Pools(readers, {name: _places(name, FATHOM) for name in readers})
    permits = {name: Permits(reader) for name, reader in readers.items()}
    prices = {token.chain_data.short_name: token.price for token in tokens if token.mainnet}
    relayer = _wallet(key, RELAYER)
    venues: list[DexVenue] = [
        pool_venue("basalt", _provider("ba"), _CONTRACTS["ba"], basalt, permits),
        pool_venue("fathom", _provider("fa"), _CONTRACTS["fa"], fathom, permits),
        pool_venue(
            "isthmus",
            _provider("is"),
            _CONTRACTS["is"],
            basalt,
            permits,
            _wallet(key, SOLVER),
        ),
        Meridian(
            _provider("me"),
            _CONTRACTS["me"],
            readers,
            {name: _assets(name) for name in readers},
            relayer,
            prices.get,
        ),
    ]
    sightings: dict[str, Sightings] = {
        name: EvmSightings(reader) for name, reader in readers.items()
    }
    nodes: dict[str, BlockhashNode] = {}
    if SOLANA in ids:
        client = SolanaClient(rpc_url(node_url, SOLANA), transport=transport)
        seed = key_seed(key, MAKER)
        venues.append(Atoll(_provider("at"), SOLANA, client, seed, _priced(market, clock)))
        sightings[SOLANA] = SolanaSightings(client)
        nodes[SOLANA] = client
    return Onchain(
        venues,
        readers,
        sightings,
        bundler=NodeBundler(readers),
        solana=nodes,
        payments=_payments(key, readers, relayer, clock),
    )


CALLS_CHAIN, CALLS_TOKEN = "base", "USDC"
"""Chain and token in which calls without credentials are paid (contract 14.1)."""


def _payments(
    key: bytes, readers: Mapping[str, OnchainReader], relayer: HotWallet, clock: Clock
) -> tuple[CallTerms, Facilitator] | None:
    reader = readers.get(CALLS_CHAIN)
    if reader is None:
        return None
    token = find_token(CALLS_CHAIN, CALLS_TOKEN)
    contract = contract_of(token)
    terms = CallTerms(
        chain_id=reader.place.chain_id,
        asset=checksummed(address_of(token)),
        name=contract.name,
        version=contract.version,
        pay_to=_wallet(key, "calls").address,
    )
    return terms, ChainFacilitator(reader, relayer, clock)


def _priced(market: Market, clock: Clock) -> PriceOfToken:
    rows = rows_by_id()

    def price_of(token: Token) -> Decimal | None:
        row = rows.get(token.id)
        asset = None if row is None else quoted_by_maker(row)
        return None if asset is None else market.price(asset.code, clock.now())

    return price_of


def _place(node_url: str, name: str, chain_id: int) -> ChainPlace:
    return ChainPlace(
        name=name,
        chain_id=chain_id,
        rpc=rpc_url(node_url, name),
        wrapped=checksummed(address_of(wrapped_native(name))),
        confirmations=chains_by_name()[name].confirmations,
    )


def _places(chain: str, venue: str) -> list[PoolPlace]:
    return [
        PoolPlace(
            pool.address,
            checksummed(address_of(pool.token0)),
            checksummed(address_of(pool.token1)),
            pool.fee,
        )
        for pool in pools_on(chain, venue)
    ]


def _assets(chain: str) -> dict[str, str]:
    return {
        checksummed(address_of(token)): asset_of(token).code
        for pool in pools_of(chain)
        for token in pool.tokens
    }


def _wallet(key: bytes, name: str) -> HotWallet:
    account = sandbox_key(key, name)
    return HotWallet(account.secret, "0x" + account.address.hex())


def _provider(code: str) -> SwapProvider:
    name = ON_CHAIN_NAMES[code]
    host = name.split()[0].lower()
    return SwapProvider(
        id=object_id("venue", code),
        name=name,
        short_name=code,
        tx_url=f"https://{host}.example/tx/",
        enabled=True,
        is_dex=True,
        slippage_supported=True,
        auto_slippage_supported=True,
        logo_url=f"https://{host}.example/logo.svg",
    )
