"""Who and what stands on the embedded chains: accounts, token contracts and pools, and how deep.

Basalt has a pool for everything that is traded: volatile tokens against the wrapped coin,
steady ones against USDC. Fathom has few and thin ones, around the tokens that take permits.

A contract's own name is often another than the catalogue's, and it is part of what a permit
signs. Only tokens whose permits are known to follow EIP-2612 with the common domain (name,
version, chain id, contract) have them here; all others take approvals.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.sandbox.node.evm.genesis import OPERATOR, sandbox_key
from swapdesk.sandbox.token_rows import AssetRow, pooled
from swapdesk.sandbox.world import WorldToken, asset_of, find_token, seed_bytes, world_tokens

TREASURY = "treasury"
"""Holds every token that nobody else does, and gives them away."""
SOLVER = "isthmus"
"""Settles orders of Isthmus out of its inventory."""
RELAYER = "meridian"
"""Pays out what Meridian's portal took on another chain."""
BUNDLER = "bundler"
"""Sends bundles of UserOperations, and is paid back for their gas."""
KEEPER = OPERATOR
"""Moves pools after the market."""

COINS = 10**6 * 10**18
"""Wei of each from block 0, for gas."""


PARTIES = (TREASURY, SOLVER, RELAYER, KEEPER, BUNDLER)


def parties_of(key: bytes) -> dict[str, str]:
    """Their addresses by name in the sandbox with this key; the same on every chain."""
    return {name: checksummed("0x" + sandbox_key(key, name).address.hex()) for name in PARTIES}


class TokenContractKind(StrEnum):
    """The contracts a token may have; the value is the artefact's name."""

    TOKEN = "Token"
    PERMIT = "PermitToken"
    DOLLAR = "DollarToken"
    TETHER = "TetherToken"
    WRAPPED = "WrappedNative"

    @property
    def takes_permits(self) -> bool:
        return self in (TokenContractKind.PERMIT, TokenContractKind.DOLLAR)


class TokenContract(Struct, frozen=True):
    """``name`` and ``version`` are those of the contract; ``version`` is empty where the
    contract has no domain."""

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
"""By chain: the token that the coin becomes where a contract needs one."""


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
    """The contract of a token that is not native. A namesake of a known token, whose address is
    not the known one, has a plain contract."""
    row = token.row
    if row.address is not None:
        if WRAPPED_NATIVE.get(row.chain) == row.symbol:
            return TokenContract(TokenContractKind.WRAPPED, row.name)
        known = _KNOWN.get((row.chain, row.symbol))
        if known is not None:
            return known
    return TokenContract(TokenContractKind.TOKEN, row.name)


BASALT, FATHOM = "ba", "fa"
"""Codes of the venues that have pools."""

STEADY_SWING = 30
"""Basis points: what drifts less than this is traded against USDC."""

_FEES = {(BASALT, False): 30, (BASALT, True): 5, (FATHOM, False): 25, (FATHOM, True): 4}
"""Parts of 10,000, by venue and by whether both tokens are steady."""
_DEPTHS = ((10, 40_000_000), (40, 12_000_000), (100, 4_000_000))
_SHALLOW = 1_500_000
"""Dollars on each side of a pool of Basalt on Ethereum, up to a rank."""
_CHAIN_PARTS = {"ethereum": 1, "base": 2, "arbitrum": 2, "bsc": 2, "polygon": 8}
_FATHOM_PARTS = 25
_SUPPLY_PARTS = 20
"""A pool holds no more than this part of what there is of a token."""
_FATHOM_BOUGHT = 5
"""How many volatile tokens without permits Fathom has pools for, on each chain."""


class Pool(Struct, frozen=True, dict=True):
    """One pool; ``token0`` has the lower address. ``fee`` is in parts of 10,000 and ``depth``
    in dollars on each side at base prices."""

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
        """Those of block 0, in units of ``token0`` and ``token1``."""
        return units_for(self.token0, self.depth), units_for(self.token1, self.depth)


def address_of(token: WorldToken) -> str:
    """The contract. Raises ValueError for a coin."""
    if token.address is None:
        raise ValueError(f"{token.row.symbol} on {token.row.chain} has no contract")
    return token.address


def units_for(token: WorldToken, dollars: int) -> int:
    """So many dollars in the token's smallest unit, at its base price, rounded down."""
    worth = Fraction(dollars) / Fraction(asset_of(token).price)
    return int(worth * 10**token.row.decimals)


def wrapped_native(chain: str) -> WorldToken:
    return find_token(chain, WRAPPED_NATIVE[chain])


@lru_cache(maxsize=8)
def pools_of(chain: str) -> tuple[Pool, ...]:
    """Every pool of a chain, always in the same order."""
    return (*_basalt(chain), *_fathom(chain))


def pools_on(chain: str, venue: str) -> tuple[Pool, ...]:
    return tuple(pool for pool in pools_of(chain) if pool.venue == venue)


def _traded(chain: str) -> list[WorldToken]:
    """Tokens with a contract that stand in pools, best rank first."""
    found = [
        token
        for token in world_tokens().values()
        if token.row.chain == chain and token.address is not None and pooled(token.row) is not None
    ]
    return sorted(found, key=lambda token: (asset_of(token).rank or 0, address_of(token).lower()))


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


def _pool(chain: str, venue: str, one: WorldToken, other: WorldToken) -> Pool:
    token0, token1 = sorted((one, other), key=lambda token: int(address_of(token), 16))
    place = seed_bytes("pool", chain, venue, address_of(token0), address_of(token1))
    return Pool(
        chain,
        venue,
        checksummed("0x" + place[:20].hex()),
        token0,
        token1,
        _FEES[venue, _steady(one) and _steady(other)],
        _depth(chain, venue, (one, other)),
    )


def _depth(chain: str, venue: str, tokens: tuple[WorldToken, WorldToken]) -> int:
    rank = max(asset_of(token).rank or 0 for token in tokens)
    depth = next((dollars for last, dollars in _DEPTHS if rank <= last), _SHALLOW)
    depth //= _CHAIN_PARTS[chain] * (_FATHOM_PARTS if venue == FATHOM else 1)
    return min(depth, *(_most(asset_of(token)) for token in tokens))


def _most(asset: AssetRow) -> int:
    return int((asset.supply or Decimal(0)) * asset.price) // _SUPPLY_PARTS
