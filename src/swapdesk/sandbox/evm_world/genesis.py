"""Block 0 of an embedded chain: tokens, pools, venues, canonical contracts and inventories, each
with its storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from msgspec import Struct, field

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


class TokenAccounts(Struct):
    """The accounts of one token: units by holder, and what holders allow to spenders."""

    units: dict[str, int] = field(default_factory=dict)
    allowed: dict[tuple[str, str], int] = field(default_factory=dict)

    def give(self, holder: str, units: int) -> None:
        self.units[holder] = self.units.get(holder, 0) + units

    @property
    def held(self) -> int:
        return sum(self.units.values())


def token_storage(
    contract: TokenContract, symbol: str, decimals: int, supply: int, accounts: TokenAccounts
) -> Storage:
    """A token of any kind. The supply of a wrapped coin is the coin it holds, not a word."""
    variables = artefact(contract.kind).variables
    storage: Storage = {
        **text(variables["ledger.name"].slot, contract.name),
        **text(variables["ledger.symbol"].slot, symbol),
        variables["ledger.decimals"].slot: decimals,
    }
    if contract.kind != TokenContractKind.WRAPPED:
        storage[variables["ledger.totalSupply"].slot] = supply
    if contract.kind.takes_permits:
        storage.update(text(variables["permits.version"].slot, contract.version))
    balances, allowances = variables["ledger.balanceOf"].slot, variables["ledger.allowance"].slot
    storage.update((entry(balances, holder), units) for holder, units in accounts.units.items())
    storage.update(
        (entry(allowances, owner, spender), units)
        for (owner, spender), units in accounts.allowed.items()
    )
    return {slot: word for slot, word in storage.items() if word}


def pool_storage(token0: str, token1: str, reserve0: int, reserve1: int, fee: int) -> Storage:
    """``fee`` is in parts of 10,000."""
    variables = artefact("Pool").variables
    return {
        variables["token0"].slot: number(token0),
        variables["token1"].slot: number(token1),
        variables["reserve0"].slot: reserve0,
        variables["reserve1"].slot: reserve1,
        variables["fee"].slot: fee,
    }


def router_storage(
    name: str, wrapped_native: str, pools: Iterable[tuple[str, str, str]]
) -> Storage:
    """Of ``Router`` or ``PermitRouter``; ``pools`` are (token, token, pool)."""
    variables = artefact(name).variables
    storage: Storage = {variables["routing.WETH"].slot: number(wrapped_native)}
    slot = variables["routing.poolOf"].slot
    for a, b, pool in pools:
        storage[entry(slot, a, b)] = storage[entry(slot, b, a)] = number(pool)
    return storage


def addresses_storage(name: str, addresses: Mapping[str, str]) -> Storage:
    """A contract whose only words at first are addresses, by variable."""
    variables = artefact(name).variables
    return {variables[each].slot: number(address) for each, address in addresses.items()}


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


class Place(Struct, frozen=True):
    """A contract at an address, with its storage and its coins."""

    address: str
    artefact: str
    storage: Storage
    balance: int = 0


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
    found = {
        _octets(place.address): Allocation(
            place.balance, artefact(place.artefact).code, place.storage
        )
        for place in _places(chain, parties, key)
    }
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


def _places(chain: str, parties: Mapping[str, str], key: bytes) -> list[Place]:
    pooled = _pooled(chain)
    wallets = _Wallets(key)
    places = [
        _token(token, _accounts(token, pooled.get(token.token_id, []), parties, wallets))
        for token in funded_tokens(chain)
    ]
    for pool in pools_of(chain):
        storage = pool_storage(
            address_of(pool.token0), address_of(pool.token1), *pool.reserves, pool.fee
        )
        places.append(Place(pool.address, "Pool", storage))
    places += [
        _router(chain, "Router", BASALT, _VENUES[Role.ROUTER]),
        Place(
            _VENUES[Role.SETTLEMENT],
            "Settlement",
            addresses_storage("Settlement", {"solver": parties[SOLVER]}),
        ),
        Place(
            _VENUES[Role.PORTAL],
            "Portal",
            addresses_storage("Portal", {"relayer": parties[RELAYER]}),
        ),
        Place(ARBITRAGE, "Arbitrage", addresses_storage("Arbitrage", {"owner": parties[KEEPER]})),
        Place(PERMIT2, "Permit2", {}),
        Place(MULTICALL3, "Multicall", {}),
        *account_places(),
    ]
    if pools_on(chain, FATHOM):
        places.append(_router(chain, "PermitRouter", FATHOM, _VENUES[Role.PERMIT_ROUTER]))
    return places


def account_places() -> tuple[Place, ...]:
    """What UserOperations need: the EntryPoint, and smart accounts with their factory."""
    return (
        Place(
            ENTRY_POINT, "EntryPoint", addresses_storage("EntryPoint", {"creator": SENDER_CREATOR})
        ),
        Place(SENDER_CREATOR, "SenderCreator", {}),
        Place(
            SANDBOX_ACCOUNT_FACTORY,
            "AccountFactory",
            addresses_storage("AccountFactory", {"accountImplementation": SANDBOX_ACCOUNT}),
        ),
        Place(SANDBOX_ACCOUNT, "Account", addresses_storage("Account", {"owner": NOBODY})),
    )


def _router(chain: str, name: str, venue: str, address: str) -> Place:
    pairs = (
        (address_of(pool.token0), address_of(pool.token1), pool.address)
        for pool in pools_on(chain, venue)
    )
    return Place(address, name, router_storage(name, address_of(wrapped_native(chain)), pairs))


def _pooled(chain: str) -> dict[str, list[tuple[str, int]]]:
    """Pools and what they hold, by token id."""
    found: dict[str, list[tuple[str, int]]] = {}
    for pool in pools_of(chain):
        for token, units in zip(pool.tokens, pool.reserves, strict=True):
            found.setdefault(token.token_id, []).append((pool.address, units))
    return found


class _Wallets(dict[str, str]):
    """Addresses of the exchanges' wallets by name."""

    def __init__(self, key: bytes) -> None:
        super().__init__()
        self._key = key

    def __missing__(self, wallet: str) -> str:
        self[wallet] = "0x" + sandbox_key(self._key, wallet).address.hex()
        return self[wallet]


def _accounts(
    token: WorldToken, pooled: list[tuple[str, int]], parties: Mapping[str, str], wallets: _Wallets
) -> TokenAccounts:
    """Who holds a token in block 0. Of what circulates the treasury has what nobody else holds;
    what the exchanges trade with comes on top, as their books have it."""
    accounts = TokenAccounts()
    for pool, units in pooled:
        accounts.give(pool, units)
        accounts.give(ARBITRAGE, _KEEPER_TIMES * units)
    if pooled:
        inventory = _inventory(token)
        for holder, spender in (
            (parties[SOLVER], _VENUES[Role.SETTLEMENT]),
            (parties[RELAYER], _VENUES[Role.PORTAL]),
        ):
            accounts.give(holder, inventory)
            accounts.allowed[holder, spender] = UNLIMITED
    accounts.give(parties[TREASURY], _treasury(token, accounts.held))
    for wallet, units in reserves_of(token):
        accounts.give(wallets[wallet], units)
    return accounts


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


def _token(token: WorldToken, accounts: TokenAccounts) -> Place:
    contract = contract_of(token)
    storage = token_storage(contract, token.row.symbol, token.row.decimals, accounts.held, accounts)
    coins = accounts.held if contract.kind == TokenContractKind.WRAPPED else 0
    return Place(address_of(token), contract.kind, storage, coins)


def _octets(address: str) -> bytes:
    return bytes.fromhex(address[2:])
