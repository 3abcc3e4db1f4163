"""What contract a catalogue token has, and what its contract says of itself.

A contract's own name is often another than the catalogue's, and it is part of what a permit
signs. Only tokens whose permits are known to follow EIP-2612 with the common domain (name,
version, chain id, contract) have them here; all others take approvals.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from swapdesk.sandbox.world import WorldToken


class Kind(StrEnum):
    """The contracts a token may have; the value is the artefact's name."""

    TOKEN = "Token"
    PERMIT = "PermitToken"
    DOLLAR = "DollarToken"
    TETHER = "TetherToken"
    WRAPPED = "WrappedNative"

    @property
    def takes_permits(self) -> bool:
        return self in (Kind.PERMIT, Kind.DOLLAR)


@dataclass(frozen=True)
class TokenContract:
    """``name`` and ``version`` are those of the contract; ``version`` is empty where the
    contract has no domain."""

    kind: Kind
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
    return TokenContract(Kind.DOLLAR, name, version)


def _permit(name: str, version: str = "1") -> TokenContract:
    return TokenContract(Kind.PERMIT, name, version)


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
    ("ethereum", "USDT"): TokenContract(Kind.TETHER, "Tether USD"),
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
            return TokenContract(Kind.WRAPPED, row.name)
        known = _KNOWN.get((row.chain, row.symbol))
        if known is not None:
            return known
    return TokenContract(Kind.TOKEN, row.name)
