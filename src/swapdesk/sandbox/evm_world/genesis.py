"""Block 0 of an embedded chain: accounts, tokens, pools, venues and canonical contracts, each with
its storage.

Basalt has pools of volatile tokens against the wrapped coin and of steady ones against USDC; Fathom
has a few thin pools. A token takes permits only if they are known to follow EIP-2612; note that its
contract's name, which a permit signs, can differ from the catalogue's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cache, cached_property, lru_cache

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.deployments import (
    ENTRY_POINT,
    MULTICALL3,
    PERMIT2,
    SANDBOX_ACCOUNT,
    SANDBOX_ACCOUNT_FACTORY,
    SANDBOX_VENUES,
    Role,
)
from swapdesk.sandbox.contracts.artefact import Storage, artefact, entry, number, text
from swapdesk.sandbox.node.evm.genesis import OPERATOR, Allocation, sandbox_key
from swapdesk.sandbox.node.ledger import reserves_of
from swapdesk.sandbox.tables import HONEST_ROWS, AssetRow, pooled
from swapdesk.sandbox.world import WorldToken, asset_of, find_token, seed_bytes, world_tokens

TREASURY = "treasury"
"""Account that holds every token that nobody else holds, and gives tokens away."""
SOLVER = "isthmus"
"""Account that settles orders of Isthmus from its inventory."""
RELAYER = "meridian"
"""Account that pays out on one chain what Meridian's contract ``Portal`` received on another
chain."""
BUNDLER = "bundler"
"""Account that sends bundles of UserOperations, and is refunded their gas."""
KEEPER = OPERATOR
"""Account whose transactions bring the pools back to the market's prices."""

COINS = 10**6 * 10**18
"""Wei for gas that each account of ``PARTIES``, and each wallet of an exchange, has in block 0."""


PARTIES = (TREASURY, SOLVER, RELAYER, KEEPER, BUNDLER)


def parties_of(key: bytes) -> dict[str, str]:
    """Returns the addresses of the accounts in ``PARTIES``, by name. They depend on ``key``, the
    sandbox's secret, but not on the chain."""
    return {name: checksummed("0x" + sandbox_key(key, name).address.hex()) for name in PARTIES}


class TokenContractKind(StrEnum):
    """The kinds of token contracts. The value of each is the name of its artefact."""

    TOKEN = "Token"
    PERMIT = "PermitToken"
    DOLLAR = "DollarToken"
    TETHER = "TetherToken"
    WRAPPED = "WrappedNative"

    @property
    def takes_permits(self) -> bool:
        return self in (TokenContractKind.PERMIT, TokenContractKind.DOLLAR)


class TokenContract(Struct, frozen=True):
    """The contract of a token: its kind, and the ``name`` and ``version`` it is deployed with.

    ``version`` is empty if the contract takes no permits.
    """

    kind: TokenContractKind
    name: str
    version: str = ""


WRAPPED_NATIVE = {
    "ethereum": "WETH",
    "base": "WETH",
    "arbitrum": "WETH",
    "polygon": "WPOL",
    "bsc": "WBNB",
}
"""Symbol of the wrapped native coin, by chain."""


def _dollar(name: str, version: str = "2") -> TokenContract:
    return TokenContract(TokenContractKind.DOLLAR, name, version)


def _permit(name: str, version: str = "1") -> TokenContract:
    return TokenContract(TokenContractKind.PERMIT, name, version)


_KNOWN: dict[tuple[str, str], TokenContract] = {
    ("ethereum", "USDC"): _dollar("USD Coin"),
    ("base", "USDC"): _dollar("USD Coin"),
    ("arbitrum", "USDC"): _dollar("USD Coin"),
    ("polygon", "USDC"): _dollar("USD Coin"),
    ("base", "USDbC"): _dollar("USD Base Coin"),
    ("ethereum", "EURC"): _dollar("EURC"),
    ("base", "EURC"): _dollar("EURC"),
    ("ethereum", "cbBTC"): _dollar("Coinbase Wrapped BTC"),
    ("base", "cbBTC"): _dollar("Coinbase Wrapped BTC"),
    ("ethereum", "PYUSD"): _dollar("PayPal USD", "1"),
    ("ethereum", "USDT"): TokenContract(TokenContractKind.TETHER, "Tether USD"),
    ("arbitrum", "USDC.e"): _permit("USD Coin (Arb1)"),
    ("ethereum", "wstETH"): _permit("Wrapped liquid staked Ether 2.0"),
    ("ethereum", "stETH"): _permit("Liquid staked Ether 2.0", "2"),
    ("ethereum", "weETH"): _permit("Wrapped eETH"),
    ("ethereum", "AAVE"): _permit("Aave Token"),
    ("ethereum", "1INCH"): _permit("1INCH Token"),
    ("ethereum", "ENS"): _permit("Ethereum Name Service"),
    ("ethereum", "GHO"): _permit("Gho Token"),
    ("ethereum", "LUSD"): _permit("LUSD Stablecoin"),
    ("ethereum", "USDS"): _permit("USDS Stablecoin"),
    ("ethereum", "ENA"): _permit("ENA"),
    ("ethereum", "USDe"): _permit("USDe"),
    ("ethereum", "sUSDe"): _permit("Staked USDe"),
    ("ethereum", "COW"): _permit("CoW Protocol Token"),
    ("ethereum", "MNT"): _permit("Mantle"),
    ("base", "AERO"): _permit("Aerodrome"),
    ("arbitrum", "ARB"): _permit("Arbitrum"),
}


def contract_of(token: WorldToken) -> TokenContract:
    """Returns the contract of a token; the token must not be a native coin. A token whose address
    is not known gets a plain contract."""
    row, plain = token.row, TokenContract(TokenContractKind.TOKEN, token.row.name)
    if row.address is None:
        return plain
    if WRAPPED_NATIVE.get(row.chain) == row.symbol:
        return TokenContract(TokenContractKind.WRAPPED, row.name)
    return _KNOWN.get((row.chain, row.symbol), plain)


BASALT, FATHOM = "ba", "fa"
"""Codes of the venues that have pools."""

STEADY_SWING = 30
"""A token is steady if its largest price drift is below this many basis points. Steady tokens are
traded against USDC."""

_FEES = {(BASALT, False): 30, (BASALT, True): 5, (FATHOM, False): 25, (FATHOM, True): 4}
"""Fees of pools in parts of 10,000, by venue and by whether both tokens of the pool are steady."""
_DEPTHS = ((10, 40_000_000), (40, 12_000_000), (100, 4_000_000))
_SHALLOW = 1_500_000
"""Dollars on each side of a Basalt pool on Ethereum for an asset ranked behind all of
``_DEPTHS``."""
_CHAIN_PARTS = {"ethereum": 1, "base": 2, "arbitrum": 2, "bsc": 2, "polygon": 8}
_FATHOM_PARTS = 25
_SUPPLY_PARTS = 20
"""Divisor of a token's supply. Each side of a pool is worth at most the supply divided by this."""
_FATHOM_BOUGHT = 5
"""Number of volatile tokens without permits that have a pool at Fathom, on each chain."""


class Pool(Struct, frozen=True, dict=True):
    """A pool of two tokens, ``token0`` with the lower address. ``fee`` is in parts of 10,000,
    ``depth`` in dollars on each side."""

    chain: str
    venue: str
    address: str
    token0: WorldToken
    token1: WorldToken
    fee: int
    depth: int

    @property
    def tokens(self) -> tuple[WorldToken, WorldToken]:
        return self.token0, self.token1

    @cached_property
    def reserves(self) -> tuple[int, int]:
        """The pool's reserves in block 0, in the smallest units of ``token0`` and ``token1``."""
        return units_for(self.token0, self.depth), units_for(self.token1, self.depth)


def address_of(token: WorldToken) -> str:
    """Returns the token's contract address. Raises ValueError if the token is a native coin."""
    if token.address is None:
        raise ValueError(f"{token.row.symbol} on {token.row.chain} has no contract")
    return token.address


def units_for(token: WorldToken, dollars: int) -> int:
    """Converts dollars to the token's smallest unit, at its base price, rounded down."""
    worth = Fraction(dollars) / Fraction(asset_of(token).price)
    return int(worth * 10**token.row.decimals)


def wrapped_native(chain: str) -> WorldToken:
    return find_token(chain, WRAPPED_NATIVE[chain])


@lru_cache(maxsize=8)
def pools_of(chain: str) -> tuple[Pool, ...]:
    """Returns all pools of a chain, at Basalt and at Fathom, always in the same order."""
    return (*_basalt(chain), *_fathom(chain))


def pools_on(chain: str, venue: str) -> tuple[Pool, ...]:
    return tuple(pool for pool in pools_of(chain) if pool.venue == venue)


def _traded(chain: str) -> list[WorldToken]:
    tokens = [
        token
        for token in world_tokens().values()
        if token.row.chain == chain and token.address is not None and pooled(token.row) is not None
    ]
    return sorted(tokens, key=lambda token: (asset_of(token).rank or 0, address_of(token).lower()))


def _steady(token: WorldToken) -> bool:
    return asset_of(token).swing < STEADY_SWING


def _basalt(chain: str) -> Iterator[Pool]:
    coin, dollar = wrapped_native(chain), find_token(chain, "USDC")
    yield _pool(chain, BASALT, coin, dollar)
    for token in _traded(chain):
        if token in (coin, dollar):
            continue
        yield _pool(chain, BASALT, token, dollar if _steady(token) else coin)
        if token.row.symbol == "USDT":
            yield _pool(chain, BASALT, token, coin)


def _fathom(chain: str) -> Iterator[Pool]:
    coin, dollar = wrapped_native(chain), find_token(chain, "USDC")
    tokens = [token for token in _traded(chain) if token not in (coin, dollar)]
    permitted = [token for token in tokens if contract_of(token).kind.takes_permits]
    if not permitted and not contract_of(dollar).kind.takes_permits:
        return
    yield _pool(chain, FATHOM, coin, dollar)
    bought = [token for token in tokens if token not in permitted and not _steady(token)]
    tether = [token for token in tokens if token.row.symbol == "USDT" and token not in permitted]
    for token in (*tether, *permitted, *bought[:_FATHOM_BOUGHT]):
        yield _pool(chain, FATHOM, token, dollar if _steady(token) else coin)


def _pool(chain: str, venue: str, first: WorldToken, other: WorldToken) -> Pool:
    token0, token1 = sorted((first, other), key=lambda token: int(address_of(token), 16))
    place = seed_bytes("pool", chain, venue, address_of(token0), address_of(token1))
    return Pool(
        chain,
        venue,
        checksummed("0x" + place[:20].hex()),
        token0,
        token1,
        _FEES[venue, _steady(first) and _steady(other)],
        _depth(chain, venue, (first, other)),
    )


def _depth(chain: str, venue: str, tokens: tuple[WorldToken, WorldToken]) -> int:
    rank = max(asset_of(token).rank or 0 for token in tokens)
    depth = next((dollars for last, dollars in _DEPTHS if rank <= last), _SHALLOW)
    depth //= _CHAIN_PARTS[chain] * (_FATHOM_PARTS if venue == FATHOM else 1)
    return min(depth, *(_most(asset_of(token)) for token in tokens))


def _most(asset: AssetRow) -> int:
    return int((asset.supply or Decimal(0)) * asset.price) // _SUPPLY_PARTS


Allowances = Mapping[tuple[str, str], int]
"""How many units of a token each owner allows each spender to take, by the pair (owner,
spender)."""


def token_storage(
    contract: TokenContract,
    symbol: str,
    decimals: int,
    units: Mapping[str, int],
    allowed: Allowances,
) -> Storage:
    """Returns the storage of a token contract. ``units`` are the balances by holder; ``allowed``
    are the allowances by owner and spender."""
    slots = artefact(contract.kind).slots
    storage: Storage = {
        **text(slots["ledger.name"], contract.name),
        **text(slots["ledger.symbol"], symbol),
        slots["ledger.decimals"]: decimals,
    }
    if contract.kind != TokenContractKind.WRAPPED:
        storage[slots["ledger.totalSupply"]] = sum(units.values())
    if contract.kind.takes_permits:
        storage.update(text(slots["permits.version"], contract.version))
    balances, allowances = slots["ledger.balanceOf"], slots["ledger.allowance"]
    storage.update((entry(balances, holder), held) for holder, held in units.items())
    storage.update((entry(allowances, *pair), most) for pair, most in allowed.items())
    return {slot: word for slot, word in storage.items() if word}


def pool_storage(token0: str, token1: str, reserve0: int, reserve1: int, fee: int) -> Storage:
    """Returns the storage of a pool; ``fee`` is in parts of 10,000."""
    slots = artefact("Pool").slots
    return {
        slots["token0"]: number(token0),
        slots["token1"]: number(token1),
        slots["reserve0"]: reserve0,
        slots["reserve1"]: reserve1,
        slots["fee"]: fee,
    }


def router_storage(
    name: str, wrapped_native: str, pools: Iterable[tuple[str, str, str]]
) -> Storage:
    """Returns the storage of the contract ``Router`` or ``PermitRouter``, as ``name`` says.
    ``pools`` are addresses: (token, other token, their pool)."""
    slots = artefact(name).slots
    storage: Storage = {slots["routing.WETH"]: number(wrapped_native)}
    slot = slots["routing.poolOf"]
    for a, b, pool in pools:
        storage[entry(slot, a, b)] = storage[entry(slot, b, a)] = number(pool)
    return storage


def addresses_storage(name: str, addresses: Mapping[str, str]) -> Storage:
    """Returns the storage of a contract that stores only addresses, given by variable name."""
    slots = artefact(name).slots
    return {slots[variable]: number(address) for variable, address in addresses.items()}


def balance_slot(token: WorldToken, holder: str) -> int:
    return entry(artefact(contract_of(token).kind).slots["ledger.balanceOf"], holder)


ARBITRAGE = checksummed("0x" + seed_bytes("contract", "arbitrage")[:20].hex())
"""Address of the keeper's contract, which swaps in the pools; the same on every chain."""
SENDER_CREATOR = checksummed("0x" + seed_bytes("contract", "sender creator")[:20].hex())
"""Address of the contract that calls factories of smart accounts for the EntryPoint."""
NOBODY = "0x000000000000000000000000000000000000dEaD"
"""Owner of the code behind the smart accounts' proxies; nobody has its signing key."""
UNLIMITED = (1 << 256) - 1

_INVENTORY = 20_000_000
"""Largest value in US dollars that the solver and the relayer each hold of a token that is in a
pool."""
_INVENTORY_PARTS = 25
_KEEPER_TIMES = 3
"""The keeper's contract holds this many times the amount that a token's pools hold."""
_WRAPPED = 10**6
_UNKNOWN_SUPPLY = 10**9

_VENUES = {venue.role: venue.address for venue in SANDBOX_VENUES}


Contracts = dict[str, tuple[str, Storage]]
"""Artefact name and storage of each contract, by address."""


def funded_tokens(chain: str) -> tuple[WorldToken, ...]:
    """Returns the enabled tokens of ``tokens.tsv`` that have a contract on an embedded chain."""
    return tuple(
        token
        for token in world_tokens().values()
        if token.row.chain == chain
        and token.row.enabled
        and token.address is not None
        and token.row in _HONEST
    )


_HONEST = frozenset(HONEST_ROWS)


def world_contracts(chain: str, key: bytes) -> dict[bytes, Allocation]:
    """Returns the contracts and accounts of a chain's block 0, by address. ``key`` is the sandbox's
    secret (``sandbox.key``)."""
    parties = parties_of(key)
    allocations = _tokens(chain, parties, key)
    for address, (name, storage) in _contracts(chain, parties).items():
        allocations[octets(address)] = Allocation(0, artefact(name).code, storage)
    for name in (TREASURY, SOLVER, RELAYER, BUNDLER):
        allocations[octets(parties[name])] = Allocation(balance=COINS)
    for wallet, units in _coins(chain).items():
        # What an exchange pays for gas is not of what it trades with.
        allocations[sandbox_key(key, wallet).address] = Allocation(balance=COINS + units)
    return allocations


def _coins(chain: str) -> dict[str, int]:
    coins: dict[str, int] = {}
    for token in world_tokens().values():
        if token.row.chain == chain and token.row.enabled and token.row in _HONEST:
            for wallet, units in reserves_of(token):
                coins[wallet] = coins.get(wallet, 0) + (units if token.row.native else 0)
    return coins


def _contracts(chain: str, parties: Mapping[str, str]) -> Contracts:
    contracts: Contracts = {
        _VENUES[Role.ROUTER]: _router(chain, "Router", BASALT),
        _VENUES[Role.SETTLEMENT]: _of("Settlement", solver=parties[SOLVER]),
        _VENUES[Role.PORTAL]: _of("Portal", relayer=parties[RELAYER]),
        ARBITRAGE: _of("Arbitrage", owner=parties[KEEPER]),
        PERMIT2: ("Permit2", {}),
        MULTICALL3: ("Multicall", {}),
        **account_contracts(),
    }
    for pool in pools_of(chain):
        tokens = (address_of(pool.token0), address_of(pool.token1))
        contracts[pool.address] = "Pool", pool_storage(*tokens, *pool.reserves, pool.fee)
    if pools_on(chain, FATHOM):
        contracts[_VENUES[Role.PERMIT_ROUTER]] = _router(chain, "PermitRouter", FATHOM)
    return contracts


def account_contracts() -> Contracts:
    """Returns the contracts that UserOperations need: the EntryPoint, and smart accounts with their
    factory."""
    return {
        ENTRY_POINT: _of("EntryPoint", creator=SENDER_CREATOR),
        SENDER_CREATOR: ("SenderCreator", {}),
        SANDBOX_ACCOUNT_FACTORY: _of("AccountFactory", accountImplementation=SANDBOX_ACCOUNT),
        SANDBOX_ACCOUNT: _of("Account", owner=NOBODY),
    }


def _of(name: str, **addresses: str) -> tuple[str, Storage]:
    return name, addresses_storage(name, addresses)


def _router(chain: str, name: str, venue: str) -> tuple[str, Storage]:
    pairs = (
        (address_of(pool.token0), address_of(pool.token1), pool.address)
        for pool in pools_on(chain, venue)
    )
    return name, router_storage(name, address_of(wrapped_native(chain)), pairs)


def _tokens(chain: str, parties: Mapping[str, str], key: bytes) -> dict[bytes, Allocation]:
    pooled = _pooled(chain)

    @cache
    def address_of_wallet(wallet: str) -> str:
        return "0x" + sandbox_key(key, wallet).address.hex()

    allocations: dict[bytes, Allocation] = {}
    for token in funded_tokens(chain):
        contract = contract_of(token)
        units, allowed = _accounts(token, pooled.get(token.token_id, []), parties)
        for wallet, reserve in reserves_of(token):
            units[address_of_wallet(wallet)] += reserve
        coins = units.total() if contract.kind == TokenContractKind.WRAPPED else 0
        storage = token_storage(contract, token.row.symbol, token.row.decimals, units, allowed)
        allocations[octets(address_of(token))] = Allocation(
            coins, artefact(contract.kind).code, storage
        )
    return allocations


def _pooled(chain: str) -> dict[str, list[tuple[str, int]]]:
    holdings: dict[str, list[tuple[str, int]]] = {}
    for pool in pools_of(chain):
        for token, units in zip(pool.tokens, pool.reserves, strict=True):
            holdings.setdefault(token.token_id, []).append((pool.address, units))
    return holdings


def _accounts(
    token: WorldToken, pooled: list[tuple[str, int]], parties: Mapping[str, str]
) -> tuple[Counter[str], Allowances]:
    """Returns a token's balances by holder, without those of the exchanges' wallets, and its
    allowances, both for block 0. ``pooled`` are pools with their reserves of the token. The
    treasury gets the rest of the supply."""
    units: Counter[str] = Counter()
    allowed: dict[tuple[str, str], int] = {}
    for pool, reserve in pooled:
        units[pool] += reserve
        units[ARBITRAGE] += _KEEPER_TIMES * reserve
    if pooled:
        inventory = min(units_for(token, _INVENTORY), _supply(token) // _INVENTORY_PARTS)
        for holder, spender in (
            (parties[SOLVER], _VENUES[Role.SETTLEMENT]),
            (parties[RELAYER], _VENUES[Role.PORTAL]),
        ):
            units[holder] += inventory
            allowed[holder, spender] = UNLIMITED
    units[parties[TREASURY]] += _treasury(token, units.total())
    return units, allowed


def _supply(token: WorldToken) -> int:
    supply = token.asset.supply if token.asset is not None else None
    return int((supply or Decimal(_UNKNOWN_SUPPLY)) * 10**token.row.decimals)


def _treasury(token: WorldToken, held: int) -> int:
    if contract_of(token).kind == TokenContractKind.WRAPPED:
        return int(_WRAPPED * 10**token.row.decimals)
    left = _supply(token) - held
    if left <= 0:
        raise ValueError(f"there is too little of {token.row.symbol} on {token.row.chain}")
    return left


def octets(address: str) -> bytes:
    return bytes.fromhex(address[2:])
