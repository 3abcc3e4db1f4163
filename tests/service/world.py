"""A tiny world for the service's tests: chains, tokens and partners."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from swapdesk.service.access import ApiKey, Partner, Tier, digest
from swapdesk.wire.account import RateWindows
from swapdesk.wire.chains import Chain
from swapdesk.wire.tokens import Token
from swapdesk.wire.webhook_signature import secret_of

CREATED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def chain(
    short_name: str,
    kind: str,
    name: str,
    pattern: str,
    *,
    number: int,
    chain_id: int | None = None,
    memo: bool = False,
    enabled: bool = True,
) -> Chain:
    return Chain(
        id=f"{number:024x}",
        created=CREATED,
        name=name,
        short_name=short_name,
        short_name_v1=short_name.upper(),
        icon=f"https://example.test/{short_name}.png",
        address_validation=pattern,
        token_address_validation=pattern,
        memo_needed=memo,
        explorer_url=f"https://{short_name}.example/tx/{{txHash}}",
        address_url="https://example.test/address/{address}",
        priority=Decimal(number),
        kind=kind,
        chain_id=chain_id,
        enabled=enabled,
    )


BITCOIN = chain("bitcoin", "bitcoin", "Bitcoin", "^(bc1|[13])[a-zA-HJ-NP-Z0-9]{25,61}$", number=1)
ETHEREUM = chain(
    "ethereum", "evm", "Ethereum", "^(0x)[0-9A-Fa-f]{40}$", number=2, chain_id=1_337_000_001
)
SOLANA = chain("solana", "sol", "Solana", "^[1-9A-HJ-NP-Za-km-z]{32,44}$", number=3)
RIPPLE = chain("xrp", "xrp", "XRP Ledger", "^r[1-9A-HJ-NP-Za-km-z]{25,34}$", number=4, memo=True)
DARK = chain(
    "Darkside",
    "evm",
    "Darkside",
    "^(0x)[0-9A-Fa-f]{40}$",
    number=5,
    chain_id=1_337_000_005,
    enabled=False,
)
CHAINS = (BITCOIN, ETHEREUM, SOLANA, RIPPLE, DARK)


def token(
    number: int,
    symbol: str,
    name: str,
    on: Chain,
    decimals: int,
    price: str | None,
    *,
    address: str | None = None,
    priority: int | None = None,
    rank: int | None = None,
    enabled: bool = True,
    unverified: bool = False,
    has_cex: bool = True,
    has_self_private: bool = True,
    cex_token_id: str | None = None,
) -> Token:
    return Token(
        id=f"{0xA0000 + number:024x}",
        icon=f"https://example.test/{symbol}.png",
        address=address,
        chain=on.short_name,
        chain_data=on,
        decimals=decimals,
        symbol=symbol,
        name=name,
        created=CREATED,
        mainnet=address is None,
        enabled=enabled,
        unverified=unverified,
        has_cex=has_cex,
        has_self_private=has_self_private,
        cex_token_id=f"{symbol}-{on.short_name}" if cex_token_id is None else cex_token_id,
        rank=None if rank is None else Decimal(rank),
        price=None if price is None else Decimal(price),
        priority=None if priority is None else Decimal(priority),
    )


_CONTRACT = "0x" + "ab" * 19
BTC = token(1, "BTC", "Bitcoin", BITCOIN, 8, "60000", priority=1, rank=1, cex_token_id="BTC")
ETH = token(2, "ETH", "Ether", ETHEREUM, 18, "3000", priority=2, rank=2, cex_token_id="ETH")
SOL = token(3, "SOL", "Solana", SOLANA, 9, "150", priority=3, rank=6, cex_token_id="SOL")
XRP = token(4, "XRP", "XRP", RIPPLE, 6, "0.5", priority=4, rank=5, cex_token_id="XRP")
USDC = token(
    5, "USDC", "USD Coin", ETHEREUM, 6, "1", address=_CONTRACT + "05", rank=7, cex_token_id="USDC"
)
USDC_SOL = token(
    6,
    "USDC",
    "USD Coin",
    SOLANA,
    6,
    "1",
    address="EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
    rank=7,
    has_self_private=False,
)
UNPRICED = token(7, "NOVA", "Nova", ETHEREUM, 18, None, address=_CONTRACT + "07")
DISABLED = token(8, "OLD", "Old Coin", ETHEREUM, 18, "1", address=_CONTRACT + "08", enabled=False)
UNVERIFIED = token(
    9, "FAKE", "Fake Coin", ETHEREUM, 18, "1", address=_CONTRACT + "09", unverified=True
)
ON_DARK = token(10, "DRK", "Dark Coin", DARK, 18, "1")
CHAIN_ONLY = token(11, "DEXY", "Dexy", ETHEREUM, 18, "1", address=_CONTRACT + "0b", has_cex=False)
TOKENS = (
    BTC,
    ETH,
    SOL,
    XRP,
    USDC,
    USDC_SOL,
    UNPRICED,
    DISABLED,
    UNVERIFIED,
    ON_DARK,
    CHAIN_ONLY,
)
KEYWORDS = {ETH.id: "gas money"}
INTERMEDIARIES = (XRP.id, SOL.id)

UNKNOWN_TOKEN = "f" * 24
UNKNOWN = "zzzzzzzzzzzzzzzzzzzzzz"
"""The id of no order and of no group."""

_PRO = (
    RateWindows(per_minute=500, per_hour=2000, per_day=5000),
    RateWindows(per_minute=50, per_hour=500, per_day=2000),
)
_FREE = (
    RateWindows(per_minute=5, per_hour=20, per_day=50),
    RateWindows(per_minute=1, per_hour=5, per_day=10),
)


def key(name: str, secret: str, *, read: bool = False) -> ApiKey:
    return ApiKey(name, digest(secret.encode()), "read" if read else "full")


FIRST = Partner(
    "partner-first",
    "First",
    Tier.PRO,
    (key("first-key", "first-secret"), key("first-reader", "reader-secret", read=True)),
    *_PRO,
)
SECOND = Partner("partner-second", "Second", Tier.PRO, (key("second-key", "second-secret"),), *_PRO)
FREE = Partner(
    "partner-free",
    "Free",
    Tier.FREE,
    (key("free-key", "free-secret"),),
    *_FREE,
    fixed_rates=False,
)
SUSPENDED = Partner(
    "partner-suspended",
    "Suspended",
    Tier.PRO,
    (key("suspended-key", "suspended-secret"),),
    *_PRO,
    suspended=True,
)
PARTNERS = (FIRST, SECOND, FREE, SUSPENDED)

EVM = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"
BTC_ADDRESS = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
XRP_ADDRESS = "rvYAfWj5gh67oV6fW32ZzP3Aw4Eubs59B"
"""Of somebody who is paid."""

AS_FIRST = {"Authorization": "first-key:first-secret"}
AS_READER = {"Authorization": "first-reader:reader-secret"}
AS_SECOND = {"Authorization": "second-key:second-secret"}
AS_FREE = {"Authorization": "free-key:free-secret"}
AS_SUSPENDED = {"Authorization": "suspended-key:suspended-secret"}
BY_PARTNER_ID = {"partner-id": "partner-first"}

WEBHOOK_SECRETS = {name: secret_of(name.encode() * 12) for name in ("aa", "bb", "bundler")}
