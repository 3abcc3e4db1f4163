"""Block 0 of an embedded chain: tokens, pools, venues, canonical contracts and inventories, each
with its storage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache

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
from swapdesk.sandbox.evm_world.pools import (
    BASALT,
    BUNDLER,
    COINS,
    FATHOM,
    KEEPER,
    RELAYER,
    SOLVER,
    TREASURY,
    TokenContract,
    TokenContractKind,
    address_of,
    contract_of,
    parties_of,
    pools_of,
    pools_on,
    units_for,
    wrapped_native,
)
from swapdesk.sandbox.node.evm.genesis import Allocation, sandbox_key
from swapdesk.sandbox.node.issued_world import reserves_of
from swapdesk.sandbox.token_rows import HONEST_ROWS
from swapdesk.sandbox.world import WorldToken, seed_bytes, world_tokens

Allowances = Mapping[tuple[str, str], int]
"""Units that an owner allows to a spender."""


def token_storage(
    contract: TokenContract,
    symbol: str,
    decimals: int,
    units: Mapping[str, int],
    allowed: Allowances,
) -> Storage:
    """A token of any kind with its ``units`` by holder. The supply of a wrapped coin is the coin
    it holds, not a word."""
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
    """``fee`` is in parts of 10,000."""
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
    """Of ``Router`` or ``PermitRouter``; ``pools`` are (token, token, pool)."""
    slots = artefact(name).slots
    storage: Storage = {slots["routing.WETH"]: number(wrapped_native)}
    slot = slots["routing.poolOf"]
    for a, b, pool in pools:
        storage[entry(slot, a, b)] = storage[entry(slot, b, a)] = number(pool)
    return storage


def addresses_storage(name: str, addresses: Mapping[str, str]) -> Storage:
    """A contract whose only words at first are addresses, by variable."""
    slots = artefact(name).slots
    return {slots[each]: number(address) for each, address in addresses.items()}


def balance_slot(token: WorldToken, holder: str) -> int:
    return entry(artefact(contract_of(token).kind).slots["ledger.balanceOf"], holder)


ARBITRAGE = checksummed("0x" + seed_bytes("contract", "arbitrage")[:20].hex())
"""The keeper's contract, on every chain."""
SENDER_CREATOR = checksummed("0x" + seed_bytes("contract", "sender creator")[:20].hex())
"""Calls factories for the EntryPoint."""
NOBODY = "0x000000000000000000000000000000000000dEaD"
"""Owns the code that smart accounts are proxies of, so that nobody else ever does."""
UNLIMITED = (1 << 256) - 1

_INVENTORY = 20_000_000
"""Dollars that solver and relayer hold of every token that is traded."""
_INVENTORY_PARTS = 25
"""But no more than this part of what there is of it."""
_KEEPER_TIMES = 3
"""The keeper's contract holds so many times what is in the pools."""
_WRAPPED = 10**6
"""Coins in wrapped form that the treasury holds."""
_UNKNOWN_SUPPLY = 10**9

_VENUES = {venue.role: venue.address for venue in SANDBOX_VENUES}


Contracts = dict[str, tuple[str, Storage]]
"""Artefact and storage of contracts by address."""


def funded_tokens(chain: str) -> tuple[WorldToken, ...]:
    """Tokens that have a contract on an embedded chain: every enabled one of the table."""
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
    """Contracts and accounts of a chain by address, for the sandbox with this key."""
    parties = parties_of(key)
    found = _tokens(chain, parties, key)
    for address, (name, storage) in _contracts(chain, parties).items():
        found[_octets(address)] = Allocation(0, artefact(name).code, storage)
    for name in (TREASURY, SOLVER, RELAYER, BUNDLER):
        found[_octets(parties[name])] = Allocation(balance=COINS)
    for wallet, units in _coins(chain).items():
        # What an exchange pays for gas is not of what it trades with.
        found[sandbox_key(key, wallet).address] = Allocation(balance=COINS + units)
    return found


def _coins(chain: str) -> dict[str, int]:
    """Wei of the exchanges' wallets by name; some hold tokens alone."""
    coins: dict[str, int] = {}
    for token in world_tokens().values():
        if token.row.chain == chain and token.row.enabled and token.row in _HONEST:
            for wallet, units in reserves_of(token):
                coins[wallet] = coins.get(wallet, 0) + (units if token.row.native else 0)
    return coins


def _contracts(chain: str, parties: Mapping[str, str]) -> Contracts:
    found: Contracts = {
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
        found[pool.address] = "Pool", pool_storage(*tokens, *pool.reserves, pool.fee)
    if pools_on(chain, FATHOM):
        found[_VENUES[Role.PERMIT_ROUTER]] = _router(chain, "PermitRouter", FATHOM)
    return found


def account_contracts() -> Contracts:
    """What UserOperations need: the EntryPoint, and smart accounts with their factory."""
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
    """A wrapped coin has the coins for what is held of it."""
    pooled = _pooled(chain)

    @cache
    def address_of_wallet(wallet: str) -> str:
        return "0x" + sandbox_key(key, wallet).address.hex()

    found: dict[bytes, Allocation] = {}
    for token in funded_tokens(chain):
        contract = contract_of(token)
        units, allowed = _accounts(token, pooled.get(token.token_id, []), parties)
        for wallet, reserve in reserves_of(token):
            units[address_of_wallet(wallet)] += reserve
        coins = units.total() if contract.kind == TokenContractKind.WRAPPED else 0
        storage = token_storage(contract, token.row.symbol, token.row.decimals, units, allowed)
        found[_octets(address_of(token))] = Allocation(coins, artefact(contract.kind).code, storage)
    return found


def _pooled(chain: str) -> dict[str, list[tuple[str, int]]]:
    """Pools and what they hold, by token id."""
    found: dict[str, list[tuple[str, int]]] = {}
    for pool in pools_of(chain):
        for token, units in zip(pool.tokens, pool.reserves, strict=True):
            found.setdefault(token.token_id, []).append((pool.address, units))
    return found


def _accounts(
    token: WorldToken, pooled: list[tuple[str, int]], parties: Mapping[str, str]
) -> tuple[Counter[str], Allowances]:
    """Who holds a token in block 0. Of what circulates the treasury has what nobody else holds;
    what the exchanges trade with comes on top, as their books have it."""
    units: Counter[str] = Counter()
    allowed: dict[tuple[str, str], int] = {}
    for pool, reserve in pooled:
        units[pool] += reserve
        units[ARBITRAGE] += _KEEPER_TIMES * reserve
    if pooled:
        inventory = _inventory(token)
        for holder, spender in (
            (parties[SOLVER], _VENUES[Role.SETTLEMENT]),
            (parties[RELAYER], _VENUES[Role.PORTAL]),
        ):
            units[holder] += inventory
            allowed[holder, spender] = UNLIMITED
    units[parties[TREASURY]] += _treasury(token, units.total())
    return units, allowed


def _inventory(token: WorldToken) -> int:
    return min(units_for(token, _INVENTORY), _supply(token) // _INVENTORY_PARTS)


def _supply(token: WorldToken) -> int:
    """Units in circulation, those of the asset on every chain it is on."""
    supply = token.asset.supply if token.asset is not None else None
    return int((supply or Decimal(_UNKNOWN_SUPPLY)) * 10**token.row.decimals)


def _treasury(token: WorldToken, held: int) -> int:
    if contract_of(token).kind == TokenContractKind.WRAPPED:
        return int(_WRAPPED * 10**token.row.decimals)
    left = _supply(token) - held
    if left <= 0:
        raise ValueError(f"there is too little of {token.row.symbol} on {token.row.chain}")
    return left


def _octets(address: str) -> bytes:
    return bytes.fromhex(address[2:])
