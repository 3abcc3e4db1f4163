"""The ledger chains of the sandbox: what the catalogue says of them and how their blocks beat.

Blocks come closer together than in life where life is too slow for a desk to be tried:
a Bitcoin block every 100 s instead of 600 s of world time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SANDBOX_CHAIN_IDS = 1_337_000_000
"""Added to every real EVM chain id, so that nothing signed here is valid elsewhere."""

_EVM = r"^(0x)[0-9A-Fa-f]{40}$"
_SOLANA = r"^[1-9A-HJ-NP-Za-km-z]{32,44}$"
_BITCOIN = (
    r"^(bc1q[02-9ac-hj-np-z]{38}|bc1[pq][02-9ac-hj-np-z]{58}|[13][1-9A-HJ-NP-Za-km-z]{25,34})$"
)
_MONERO = r"^[48][0-9AB][1-9A-HJ-NP-Za-km-z]{93}([1-9A-HJ-NP-Za-km-z]{11})?$"
_XRP = r"^r[1-9A-HJ-NP-Za-km-z]{24,34}$"
_NO_CONTRACTS = r"^$"


@dataclass(frozen=True)
class ChainRow:
    """One chain. ``beat`` is ``slots`` where blocks ignore the speed of the world.

    ``confirmations`` is what a venue waits for before it credits a deposit.
    """

    name: str
    short_name: str
    kind: str
    block_ms: int
    confirmations: int
    first_height: int
    explorer: str
    address_page: str
    transaction_page: str = "tx"
    chain_id: int | None = None
    enabled: bool = True
    beat: Literal["world", "slots"] = "world"

    @property
    def address_pattern(self) -> str:
        return _PATTERNS[self.kind][0]

    @property
    def contract_pattern(self) -> str:
        return _PATTERNS[self.kind][1]

    @property
    def needs_memo(self) -> bool:
        return self.kind == "xrp"


_PATTERNS = {
    "evm": (_EVM, _EVM),
    "sol": (_SOLANA, _SOLANA),
    "bitcoin": (_BITCOIN, _NO_CONTRACTS),
    "xmr": (_MONERO, _NO_CONTRACTS),
    "xrp": (_XRP, _XRP),
}


def _evm(
    name: str,
    short_name: str,
    chain_id: int,
    explorer: str,
    *,
    block_ms: int,
    confirmations: int,
    first_height: int,
    enabled: bool = True,
) -> ChainRow:
    return ChainRow(
        name,
        short_name,
        "evm",
        block_ms,
        confirmations,
        first_height,
        explorer,
        "address",
        chain_id=SANDBOX_CHAIN_IDS + chain_id,
        enabled=enabled,
    )


CHAIN_ROWS: tuple[ChainRow, ...] = (
    ChainRow(
        "Bitcoin", "bitcoin", "bitcoin", 100_000, 2, 922_400, "https://mempool.space", "address"
    ),
    _evm(
        "Ethereum",
        "ethereum",
        1,
        "https://etherscan.io",
        block_ms=12_000,
        confirmations=12,
        first_height=23_800_000,
    ),
    ChainRow(
        "Solana",
        "solana",
        "sol",
        400,
        8,
        379_000_000,
        "https://solscan.io",
        "account",
        beat="slots",
    ),
    _evm(
        "Base",
        "base",
        8453,
        "https://basescan.org",
        block_ms=2_000,
        confirmations=20,
        first_height=38_400_000,
    ),
    _evm(
        "Arbitrum",
        "arbitrum",
        42161,
        "https://arbiscan.io",
        block_ms=1_000,
        confirmations=40,
        first_height=401_000_000,
    ),
    _evm(
        "Polygon",
        "polygon",
        137,
        "https://polygonscan.com",
        block_ms=2_000,
        confirmations=60,
        first_height=79_000_000,
    ),
    _evm(
        "BNB Chain",
        "bsc",
        56,
        "https://bscscan.com",
        block_ms=3_000,
        confirmations=15,
        first_height=68_000_000,
    ),
    ChainRow("Monero", "monero", "xmr", 60_000, 3, 3_545_000, "https://xmrchain.net", "search"),
    ChainRow(
        "XRP Ledger",
        "xrp",
        "xrp",
        4_000,
        3,
        100_200_000,
        "https://livenet.xrpl.org",
        "accounts",
        transaction_page="transactions",
    ),
    _evm(
        "Optimism",
        "optimism",
        10,
        "https://optimistic.etherscan.io",
        block_ms=2_000,
        confirmations=20,
        first_height=144_000_000,
    ),
    _evm(
        "Avalanche",
        "avalanche",
        43114,
        "https://snowtrace.io",
        block_ms=2_000,
        confirmations=20,
        first_height=72_000_000,
        enabled=False,
    ),
)
