"""What the service tells of a chain, a token, a verdict and a provider: every field, to the value.

A field that is missing, renamed, swapped with its neighbour or never filled is noticed here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.clock import ManualClock
from swapdesk.sandbox.exchange import SimulatedExchange
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.tables import VENUE_ROWS
from swapdesk.sandbox.world import find_token
from world import open_world, sandbox_goods

NOW = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
BORN = "2024-07-06T21:14:22.000Z"
XRP = {
    "id": "0ba4b51cdf15c0ac72af16c7",
    "created": BORN,
    "modified": BORN,
    "name": "XRP Ledger",
    "shortName": "xrp",
    "shortNameV1": "XRP",
    "icon": "https://icons.example/chains/xrp.svg",
    "addressValidation": "^r[1-9A-HJ-NP-Za-km-z]{24,34}$",
    "tokenAddressValidation": "^r[1-9A-HJ-NP-Za-km-z]{24,34}$",
    "memoNeeded": True,
    "explorerUrl": "https://livenet.xrpl.org/transactions/{txHash}",
    "addressUrl": "https://livenet.xrpl.org/accounts/{address}",
    "priority": 8,
    "kind": "xrp",
    "chainId": None,
    "enabled": True,
}
ETHEREUM = {
    "id": "48653b4e6316d40676afb814",
    "created": BORN,
    "modified": BORN,
    "name": "Ethereum",
    "shortName": "ethereum",
    "shortNameV1": "ETHEREUM",
    "icon": "https://icons.example/chains/ethereum.svg",
    "addressValidation": "^(0x)[0-9A-Fa-f]{40}$",
    "tokenAddressValidation": "^(0x)[0-9A-Fa-f]{40}$",
    "memoNeeded": False,
    "explorerUrl": "https://etherscan.io/tx/{txHash}",
    "addressUrl": "https://etherscan.io/address/{address}",
    "priority": 1,
    "kind": "evm",
    "chainId": 1_337_000_001,
    "enabled": True,
}
IMPOSTOR = "269cdd94face5911e3571fc4"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """The catalogue of the sandbox behind the service; no exchange is asked for anything."""
    clock, market = ManualClock(NOW), Market(7)
    async with LedgerClient("http://127.0.0.1/", "nobody answers") as ledger:
        exchanges = [
            SimulatedExchange(row, market, clock, ledger, lambda: Decimal(1)) for row in VENUE_ROWS
        ]
        async with (
            open_world(tmp_path, clock, exchanges, **sandbox_goods(NOW)) as world,
            world.http() as client,
        ):
            yield client


async def told(api: httpx2.AsyncClient, path: str, name: str, key: str) -> dict[str, Any]:
    """The rows of a list by one of their fields."""
    answer = await api.get(path)
    assert answer.status_code == 200, answer.text
    body = answer.json(parse_float=Decimal)
    return {row[key]: row for row in (body[name] if name else body)}


async def test_every_field_of_a_chain(api: httpx2.AsyncClient) -> None:
    chains = await told(api, "/chains", "chains", "shortName")
    assert (chains["ethereum"], chains["xrp"]) == (ETHEREUM, XRP)


async def test_every_field_of_a_token(api: httpx2.AsyncClient) -> None:
    token = find_token("ethereum", "USDT").token_id
    answer = await api.get(f"/tokens/{token}")
    body = answer.json(parse_float=Decimal)
    scan = body.pop("securityScan")
    assert body == {
        "id": token,
        "icon": f"https://icons.example/tokens/{token}.svg",
        "address": "0xdAC17F958D2ee523a2206206994597C13D831ec7",
        "chain": "ethereum",
        "chainData": ETHEREUM,
        "decimals": 6,
        "symbol": "USDT",
        "name": "Tether USD",
        "created": BORN,
        "modified": "2026-11-20T13:02:11.000Z",
        "description": None,
        "mainnet": False,
        "enabled": True,
        "unverified": False,
        "hasDex": True,
        "hasCex": True,
        "hasBundler": True,
        "hasSelfPrivate": True,
        "cexTokenId": "USDT",
        "rank": 3,
        "cgId": "tether",
        "marketCapChange24h": Decimal("0.01"),
        "circulatingSupply": 183_900_000_000,
        "price": 1,
        "marketCap": 183_900_000_000,
        "volume": 88_000_000_000,
        "fdv": 183_900_000_000,
        "change": Decimal("0.01"),
        "priority": 2000,
        "warningMessage": "",
    }
    assert scan["resultType"] == "Benign"
    described = (await api.get(f"/tokens/{find_token('ethereum', 'USDC').token_id}")).json()
    assert described["description"] == "A stablecoin redeemable one to one for US dollars."


async def test_what_is_not_known_of_a_token_is_null(api: httpx2.AsyncClient) -> None:
    token = find_token("arbitrum", "TIDE").token_id
    body = (await api.get(f"/tokens/{token}")).json()
    empty = ("description", "rank", "cgId", "price", "marketCap", "volume", "fdv", "change")
    assert [body[name] for name in empty] == [None] * len(empty)
    assert {"marketCapChange24h", "circulatingSupply", "securityScan"}.isdisjoint(body)


async def test_every_field_of_a_verdict(api: httpx2.AsyncClient) -> None:
    body = (await api.get(f"/tokens/{IMPOSTOR}")).json(parse_float=Decimal)
    assert body["warningMessage"] == "This is not the USDC of Circle."
    assert body["securityScan"] == {
        "provider": "Lookout",
        "resultType": "Malicious",
        "providerResultType": "Malicious",
        "maliciousScore": Decimal("0.98"),
        "features": [
            {
                "featureId": "HONEYPOT",
                "type": "Malicious",
                "description": "The contract refuses to sell what was bought.",
            },
            {
                "featureId": "KNOWN_ATTACKER",
                "type": "Malicious",
                "description": "Made by an address that robbed others.",
            },
        ],
        "scannedAt": "2026-11-20T12:02:11.000Z",
        "expiresAt": "2026-11-21T12:02:11.000Z",
    }
    bridged = await api.get(f"/tokens/{find_token('arbitrum', 'USDC.e').token_id}")
    warned = bridged.json()["securityScan"]
    assert (warned["resultType"], warned["providerResultType"]) == ("Warning", "Spam risk")
    assert [one["type"] for one in warned["features"]] == ["Warning", "Benign"]
    coin = await api.get(f"/tokens/{find_token('bitcoin', 'BTC').token_id}")
    assert coin.json()["securityScan"] == {
        "provider": "Lookout",
        "resultType": "Unscanned",
        "features": [],
        "unscannedReason": "NATIVE_TOKEN",
        "unscannedDetail": "A native coin has no contract.",
        "scannedAt": "2026-11-20T12:02:11.000Z",
        "expiresAt": "2026-11-21T12:02:11.000Z",
    }


async def test_every_field_of_a_provider(api: httpx2.AsyncClient) -> None:
    providers = await told(api, "/swaps", "", "shortName")
    assert providers["mw"] == {
        "id": "4e3a4c3e4f123ef4c19e5259",
        "name": "Merrow",
        "shortName": "mw",
        "txUrl": "https://merrow.example/tx/",
        "enabled": False,
        "isDex": False,
        "deprecated": True,
        "markupSupported": False,
        "slippageSupported": False,
        "autoSlippageSupported": None,
        "logoUrl": "https://merrow.example/logo.svg",
    }
    assert [code for code, one in providers.items() if one["deprecated"]] == ["mw"]
    assert (providers["hy"]["enabled"], providers["hy"]["markupSupported"]) == (True, True)
