"""The tokens of the sandbox: an asset on a chain, with the decimals it has there.

Contracts are those of the real chains where they are well known, so that a desk shows what
its user would see in life; all others are derived and belong to nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scan = Literal["benign", "warning", "malicious", "unscanned", "expired", "native", "none"]


@dataclass(frozen=True)
class TokenRow:
    """One token. ``asset`` is its key in ASSETS, None when nothing prices it.

    ``token_id`` is set where the public service's own id is known (wire decisions 3).
    """

    chain: str
    symbol: str
    name: str
    decimals: int
    asset: str | None
    address: str | None = None
    native: bool = False
    enabled: bool = True
    unverified: bool = False
    traded: bool = True
    on_chain: bool = True
    scan: Scan = "benign"
    warning: str = ""
    description: str | None = None
    token_id: str | None = None
    price: str | None = None


def _native(
    chain: str,
    symbol: str,
    name: str,
    decimals: int,
    *,
    asset: str | None = None,
    token_id: str | None = None,
    on_chain: bool = True,
    enabled: bool = True,
) -> TokenRow:
    return TokenRow(
        chain,
        symbol,
        name,
        decimals,
        asset or symbol,
        native=True,
        scan="native",
        token_id=token_id,
        on_chain=on_chain,
        enabled=enabled,
    )


def _issued(
    chain: str,
    symbol: str,
    name: str,
    decimals: int,
    address: str | None = None,
    *,
    asset: str | None = None,
    scan: Scan = "benign",
    token_id: str | None = None,
    traded: bool = True,
    enabled: bool = True,
    warning: str = "",
    description: str | None = None,
) -> TokenRow:
    return TokenRow(
        chain,
        symbol,
        name,
        decimals,
        asset or symbol,
        address,
        scan=scan,
        token_id=token_id,
        traded=traded,
        enabled=enabled,
        warning=warning,
        description=description,
    )


_BRIDGED = "A bridged copy, not issued by Circle. Check that the other side takes it."
_PEGGED = "A copy issued by an exchange and backed by coins on the original chain."

_NATIVE: tuple[TokenRow, ...] = (
    _native("bitcoin", "BTC", "Bitcoin", 8, on_chain=False),
    _native("ethereum", "ETH", "Ethereum", 18, token_id="6689b73ec90e45f3b3e51566"),
    _native("base", "ETH", "Ethereum", 18, token_id="6689b73ec90e45f3b3e51590"),
    _native("arbitrum", "ETH", "Ethereum", 18),
    _native("optimism", "ETH", "Ethereum", 18),
    _native("polygon", "POL", "Polygon", 18),
    _native("bsc", "BNB", "BNB", 18),
    _native("solana", "SOL", "Solana", 9, token_id="6689b73ec90e45f3b3e51577"),
    _native("monero", "XMR", "Monero", 12, on_chain=False),
    _native("xrp", "XRP", "XRP", 6, on_chain=False),
    _native("avalanche", "AVAX", "Avalanche", 18),
)

_STABLE: tuple[TokenRow, ...] = (
    _issued(
        "ethereum",
        "USDC",
        "USD Coin",
        6,
        "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        token_id="6689b73ec90e45f3b3e51554",
        description="A stablecoin redeemable one to one for US dollars.",
    ),
    _issued(
        "base",
        "USDC",
        "USD Coin",
        6,
        "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        token_id="6689b757c90e45f3b3e51805",
    ),
    _issued("arbitrum", "USDC", "USD Coin", 6, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"),
    _issued("optimism", "USDC", "USD Coin", 6, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85"),
    _issued(
        "polygon",
        "USDC",
        "USD Coin",
        6,
        "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
        scan="expired",
    ),
    _issued(
        "bsc",
        "USDC",
        "USD Coin",
        18,
        "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",
        scan="unscanned",
    ),
    _issued("solana", "USDC", "USD Coin", 6, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"),
    _issued("avalanche", "USDC", "USD Coin", 6, "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E"),
    _issued(
        "arbitrum",
        "USDC.e",
        "Bridged USDC",
        6,
        "0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8",
        asset="USDC",
        scan="warning",
        traded=False,
        warning=_BRIDGED,
    ),
    _issued(
        "polygon",
        "USDC.e",
        "Bridged USDC",
        6,
        "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174",
        asset="USDC",
        scan="warning",
        traded=False,
        warning=_BRIDGED,
    ),
    _issued("ethereum", "USDT", "Tether USD", 6, "0xdAC17F958D2ee523a2206206994597C13D831ec7"),
    _issued("arbitrum", "USDT", "Tether USD", 6, "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9"),
    _issued("optimism", "USDT", "Tether USD", 6, "0x94b008aA00579c1307B0EF2c499aD98a8ce58e58"),
    _issued("polygon", "USDT", "Tether USD", 6, "0xc2132D05D31c914a87C6611C10748AEb04B58e8F"),
    _issued("bsc", "USDT", "Tether USD", 18, "0x55d398326f99059fF775485246999027B3197955"),
    _issued("solana", "USDT", "Tether USD", 6, "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB"),
    _issued("avalanche", "USDT", "Tether USD", 6),
    _issued("ethereum", "DAI", "Dai", 18, "0x6B175474E89094C44Da98b954EedeAC495271d0F"),
    _issued("base", "DAI", "Dai", 18),
    _issued("arbitrum", "DAI", "Dai", 18, scan="unscanned"),
    _issued("polygon", "DAI", "Dai", 18, enabled=False),
    _issued("xrp", "RLUSD", "Ripple USD", 6, "rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De"),
)

_PEGS: tuple[TokenRow, ...] = (
    _issued("bsc", "BTC", "Bitcoin on BNB Chain", 18, warning=_PEGGED),
    _issued("bsc", "ETH", "Ethereum on BNB Chain", 18, warning=_PEGGED),
    _issued("bsc", "XRP", "XRP on BNB Chain", 18, warning=_PEGGED),
    _issued("bsc", "SOL", "Solana on BNB Chain", 18, warning=_PEGGED),
    _issued("solana", "BTC", "Bitcoin on Solana", 8, warning=_PEGGED),
    _issued("solana", "ETH", "Ethereum on Solana", 8, warning=_PEGGED),
    _issued("base", "SOL", "Solana on Base", 9, warning=_PEGGED),
    _issued("polygon", "ETH", "Ethereum on Polygon", 18, enabled=False),
    _issued(
        "ethereum",
        "WETH",
        "Wrapped Ether",
        18,
        "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
        asset="ETH",
    ),
    _issued(
        "base",
        "WETH",
        "Wrapped Ether",
        18,
        "0x4200000000000000000000000000000000000006",
        asset="ETH",
        traded=False,
    ),
    _issued(
        "ethereum",
        "WBTC",
        "Wrapped Bitcoin",
        8,
        "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599",
        asset="BTC",
    ),
    _issued("arbitrum", "WBTC", "Wrapped Bitcoin", 8, asset="BTC"),
    _issued("polygon", "WBTC", "Wrapped Bitcoin", 8, asset="BTC", scan="none"),
    _issued("base", "cbBTC", "Coinbase Wrapped BTC", 8, asset="BTC"),
)

_COINS: tuple[TokenRow, ...] = (
    _issued("ethereum", "LINK", "Chainlink", 18, "0x514910771AF9Ca656af840dff83E8264EcF986CA"),
    _issued("arbitrum", "LINK", "Chainlink", 18),
    _issued("polygon", "LINK", "Chainlink", 18),
    _issued("ethereum", "UNI", "Uniswap", 18, "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984"),
    _issued("ethereum", "AAVE", "Aave", 18, "0x7Fc66500c84A76Ad7e9c93437bFc5Ac33E2DDaE9"),
    _issued("polygon", "AAVE", "Aave", 18),
    _issued("ethereum", "LDO", "Lido DAO", 18, "0x5A98FcBEA516Cf06857215779Fd812CA3beF1B32"),
    _issued("ethereum", "CRV", "Curve DAO", 18, "0xD533a949740bb3306d119CC777fa900bA034cd52"),
    _issued("ethereum", "SHIB", "Shiba Inu", 18, "0x95aD61b0a150d79219dCF64E1E6Cc01f0B64C4cE"),
    _issued("ethereum", "PEPE", "Pepe", 18, "0x6982508145454Ce325dDbE47a25d4ec3d2311933"),
    _issued("ethereum", "NEAR", "NEAR Protocol", 24, "0x85F17Cf997934a597031b2E18a9aB6ebD4B9f6a4"),
    _issued(
        "ethereum", "GATE", "Gate Pass", 0, scan="none", description="Counted in whole passes."
    ),
    _issued("base", "AERO", "Aerodrome", 18),
    _issued("base", "KRILL", "Krill", 9, scan="unscanned"),
    _issued("arbitrum", "ARB", "Arbitrum", 18, "0x912CE59144191C1204E64559FE8253a0e49E6548"),
    _issued("arbitrum", "GMX", "GMX", 18, "0xfc5A1A6EB076a2C7aD06eD22C90d7E710E35ad0a"),
    _issued("arbitrum", "TIDE", "Tidewater", 12, scan="none"),
    _issued("optimism", "OP", "Optimism", 18, "0x4200000000000000000000000000000000000042"),
    _issued("bsc", "CAKE", "PancakeSwap", 18, "0x0E09FaBB73Bd3Ade0a17ECC321fD13a19e81cE82"),
    _issued("bsc", "DOGE", "Dogecoin on BNB Chain", 8, warning=_PEGGED),
    _issued("bsc", "ADA", "Cardano on BNB Chain", 18, warning=_PEGGED, enabled=False),
    _issued("solana", "JUP", "Jupiter", 6, "JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN"),
    _issued("solana", "BONK", "Bonk", 5, "DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263"),
    _issued("solana", "RAY", "Raydium", 6, "4k3Dyjzvzp8eMZWUXbBCjEvwSkkk59S5iCNLY3QrkX6R"),
    _issued("solana", "WIF", "dogwifhat", 6, "EKpQGSJtjMFqKZ9KQanSqYXRcF8fBopzLHYxdM65zcjm"),
    _issued("solana", "PYTH", "Pyth Network", 6),
    _issued("solana", "JTO", "Jito", 9),
    TokenRow(
        "ethereum",
        "USDC",
        "USDCoin",
        6,
        None,
        traded=False,
        scan="malicious",
        warning="This is not the USDC of Circle.",
        description="USD Coin. Official. Claim your reward at usdc-bonus.example.",
        price="0.0413",
    ),
)

HONEST_ROWS: tuple[TokenRow, ...] = (*_NATIVE, *_STABLE, *_PEGS, *_COINS)
