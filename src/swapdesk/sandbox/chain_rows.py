"""The ledger chains of the sandbox: what the catalogue says of them and how their blocks beat.

Blocks come closer together than in life where life is too slow for a desk to be tried:
a Bitcoin block every 100 s instead of 600 s of world time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from swapdesk.chain.addresses.derive import derive_address
from swapdesk.sandbox.chain_patterns import CONTRACT_PATTERNS, NO_CONTRACTS, address_pattern

SANDBOX_CHAIN_IDS = 1_337_000_000
"""Added to every real EVM chain id, so that nothing signed here is valid elsewhere."""

MEMO_KINDS = frozenset({"xrp", "xlm", "ton", "cosmos"})
"""Chains where an exchange has one address for all clients and a memo for each."""


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
        """What a payout address looks like (spec: Chain.addressValidation)."""
        return address_pattern(self.kind, self.short_name)

    @property
    def contract_pattern(self) -> str:
        """What a token's contract looks like (spec: Chain.tokenAddressValidation)."""
        return CONTRACT_PATTERNS.get(self.kind, NO_CONTRACTS)

    def address(self, seed: bytes) -> str:
        """The address of a 32-byte seed on this chain; nobody holds its key."""
        return derive_address(self.kind, seed, self.name)

    @property
    def needs_memo(self) -> bool:
        """Whether exchanges tell their clients apart by a memo here (spec: Chain.memoNeeded)."""
        return self.kind in MEMO_KINDS


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
        42_161,
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
        43_114,
        "https://snowtrace.io",
        block_ms=2_000,
        confirmations=20,
        first_height=72_000_000,
        enabled=False,
    ),
    ChainRow(
        "Litecoin", "litecoin", "ltc", 50_000, 3, 3_010_000, "https://litecoinspace.org", "address"
    ),
    ChainRow(
        "Stellar",
        "stellar",
        "xlm",
        5000,
        2,
        60_100_000,
        "https://stellar.expert/explorer/public",
        "account",
    ),
    ChainRow("TON", "ton", "ton", 5000, 3, 64_900_000, "https://tonscan.org", "address"),
    ChainRow(
        "Tron",
        "tron",
        "tron",
        3000,
        19,
        78_000_000,
        "https://tronscan.org/#",
        "address",
        "transaction",
    ),
    ChainRow("Sui", "sui", "sui", 500, 10, 231_000_000, "https://suiscan.xyz/mainnet", "account"),
    ChainRow(
        "Dogecoin", "dogecoin", "doge", 60_000, 3, 5_990_000, "https://dogechain.info", "address"
    ),
    ChainRow(
        "Cardano",
        "cardano",
        "ada",
        20_000,
        8,
        12_700_000,
        "https://cardanoscan.io",
        "address",
        "transaction",
    ),
    ChainRow(
        "Polkadot",
        "polkadot",
        "dot",
        6000,
        6,
        28_700_000,
        "https://polkadot.subscan.io",
        "account",
        "extrinsic",
    ),
    ChainRow(
        "Cosmos Hub",
        "cosmos",
        "cosmos",
        6000,
        2,
        28_300_000,
        "https://www.mintscan.io/cosmos",
        "address",
    ),
    ChainRow(
        "Osmosis",
        "osmosis",
        "cosmos",
        2000,
        4,
        47_600_000,
        "https://www.mintscan.io/osmosis",
        "address",
    ),
    ChainRow(
        "Celestia",
        "celestia",
        "cosmos",
        6000,
        2,
        8_900_000,
        "https://www.mintscan.io/celestia",
        "address",
    ),
    ChainRow(
        "Kusama",
        "kusama",
        "dot",
        6000,
        6,
        31_100_000,
        "https://kusama.subscan.io",
        "account",
        "extrinsic",
    ),
    ChainRow(
        "Bitcoin Cash",
        "bitcoincash",
        "bch",
        100_000,
        2,
        925_600,
        "https://blockchair.com/bitcoin-cash",
        "address",
        "transaction",
    ),
    ChainRow(
        "Dash", "dash", "dash", 50_000, 2, 2_373_000, "https://insight.dash.org/insight", "address"
    ),
    ChainRow("Algorand", "algorand", "algo", 3000, 2, 55_200_000, "https://allo.info", "account"),
    _evm(
        "Linea",
        "linea",
        59_144,
        "https://lineascan.build",
        block_ms=2000,
        confirmations=20,
        first_height=25_600_000,
    ),
    _evm(
        "Gnosis",
        "gnosis",
        100,
        "https://gnosisscan.io",
        block_ms=5000,
        confirmations=12,
        first_height=43_200_000,
    ),
    _evm(
        "Scroll",
        "scroll",
        534_352,
        "https://scrollscan.com",
        block_ms=2000,
        confirmations=20,
        first_height=25_200_000,
    ),
    _evm(
        "zkSync Era",
        "zksync",
        324,
        "https://era.zksync.network",
        block_ms=1000,
        confirmations=30,
        first_height=65_800_000,
    ),
    _evm(
        "Blast",
        "blast",
        81_457,
        "https://blastscan.io",
        block_ms=2000,
        confirmations=20,
        first_height=27_700_000,
    ),
    _evm(
        "Mantle",
        "mantle",
        5000,
        "https://mantlescan.xyz",
        block_ms=2000,
        confirmations=20,
        first_height=87_800_000,
    ),
    _evm(
        "Sonic",
        "sonic",
        146,
        "https://sonicscan.org",
        block_ms=1000,
        confirmations=10,
        first_height=56_300_000,
    ),
    _evm(
        "Celo",
        "celo",
        42_220,
        "https://celoscan.io",
        block_ms=1000,
        confirmations=20,
        first_height=51_900_000,
    ),
)
