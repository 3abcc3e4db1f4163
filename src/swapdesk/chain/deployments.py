"""Contracts that are known by their address: canonical ones and those of the venues.

The wallet agent accepts a contract as a spender or target only if it is listed here or in the
profile's configuration. The sandbox's code at these addresses was written for this project.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

SANDBOX_CHAIN_IDS = 1_337_000_000
"""Added to a real chain's id to get the sandbox's, so that a sandbox signature is not valid on the
real chain."""

PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11"
ENTRY_POINT = "0x0000000071727De22E5E9d8BAf0edAc6f37da032"
"""Address of the EntryPoint v0.7 of ERC-4337."""
ENTRY_POINT_08 = "0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108"
"""Address of the EntryPoint v0.8; the sandbox has no code there."""
SANDBOX_ACCOUNT_FACTORY = "0xAF9007b5164A666507A0Ba515b31aa0992BF4DDd"
"""Address of the contract that makes the smart accounts of the sandbox; it is the same on every
chain."""
SANDBOX_ACCOUNT = "0x98Ae8e5866cFFc98F97251DcE2619E0bEBb5460D"
"""Address of the code that the sandbox's smart accounts run. Each account is a proxy for this
code."""


class Role(StrEnum):
    """What a venue's contract does, which decides which of its calls may be signed."""

    ROUTER = "router"
    """Swaps tokens of an owner who approved the contract; has the methods of Uniswap v2."""
    PERMIT_ROUTER = "permit_router"
    """Swaps tokens of an owner who signed an EIP-2612 permit for the contract."""
    SETTLEMENT = "settlement"
    """Executes a signed order: takes the tokens that the order sells and pays out those that it
    buys."""
    PORTAL = "portal"
    """Locks tokens for a payout on another chain."""


class VenueContract(Struct, frozen=True):
    """A contract of a venue, at the same address on every chain. ``provider`` is the venue's code
    in the API."""

    provider: str
    role: Role
    address: str


SANDBOX_VENUES: tuple[VenueContract, ...] = (
    VenueContract("ba", Role.ROUTER, "0x97518736834b15523de22e1eb773F2eAc928f113"),
    VenueContract("fa", Role.PERMIT_ROUTER, "0x568ba20066d0503329631401d74238b25Fbe8E4a"),
    VenueContract("is", Role.SETTLEMENT, "0x766061b7D3c53833c609E022ca5bD2263DD3f53E"),
    VenueContract("me", Role.PORTAL, "0x56cC9F3D93954Cd7a4435a489E05Ead7C94A5C3E"),
)
"""The contracts of Basalt, Fathom, Isthmus and Meridian on the embedded chains."""


COIN_SYMBOLS: dict[int, frozenset[str]] = {
    chain_id: frozenset(symbols.split())
    for chain_id, symbols in {
        1: "ETH",
        10: "ETH",
        56: "BNB",
        100: "XDAI",
        130: "ETH",
        137: "POL MATIC",
        146: "S",
        324: "ETH",
        480: "ETH",
        5000: "MNT",
        8453: "ETH",
        34443: "ETH",
        42161: "ETH",
        42220: "CELO",
        43114: "AVAX",
        59144: "ETH",
        80094: "BERA",
        81457: "ETH",
        534352: "ETH",
    }.items()
}
"""By real chain id, the symbols of the chain's coin, in capitals. They are a constant because no
contract states them."""


def coin_symbols(chain_id: int | None) -> frozenset[str]:
    """Returns the symbols that the coin of a chain may have. A ``chain_id`` of None means Solana.
    Empty if the chain is unknown."""
    if chain_id is None:
        return frozenset({"SOL"})
    real = chain_id - SANDBOX_CHAIN_IDS if chain_id >= SANDBOX_CHAIN_IDS else chain_id
    return COIN_SYMBOLS.get(real, frozenset())


class CallAsset(Struct, frozen=True):
    """A token in which API calls can be paid (contract 14.1). These tokens are built in, because a
    request for the list would itself have to be paid."""

    chain: str
    chain_id: int
    contract: str
    symbol: str
    decimals: int


_USDC_OF_BASE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
CALL_ASSETS = tuple(
    CallAsset("base", chain_id, _USDC_OF_BASE, "USDC", 6)
    for chain_id in (8453, SANDBOX_CHAIN_IDS + 8453)
)


def call_asset(chain_id: int | None, contract: str | None) -> CallAsset | None:
    """Returns the token with this contract if API calls can be paid in the token; otherwise None.
    ``contract`` may be in upper or lower case."""
    if contract is None:
        return None
    for asset in CALL_ASSETS:
        if asset.chain_id == chain_id and asset.contract.lower() == contract.lower():
            return asset
    return None
