"""Searching tokens and chains, reading one token, listing providers, over HTTP."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import httpx2
import pytest
from msgspec import field

from rows import each_row
from service.http_calls import calling, declined, small_service
from service.price_venue import PriceVenue
from service.world import (
    AS_FIRST,
    BTC,
    CHAIN_ONLY,
    CHAINS,
    DARK,
    DISABLED,
    ETH,
    ETHEREUM,
    ON_DARK,
    SOL,
    TOKENS,
    UNPRICED,
    UNVERIFIED,
    USDC,
    USDC_SOL,
    XRP,
    token,
)
from swapdesk.clock import ManualClock
from swapdesk.service.app import build_service
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.store.store import Store
from swapdesk.service.venues.adapter import CentralizedVenue
from swapdesk.wire.chains import ChainQuery, SwapProvider
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.tokens import Token, TokenQuery, TokenSearchResult

VERIFIED = [one for one in TOKENS if not one.unverified]


async def listed(
    api: httpx2.AsyncClient, kind: str = "tokens", member: str = "id", /, **parameters: Any
) -> list[str]:
    """What the only page of tokens, or of chains, has under this name of a member."""
    body = (await api.get(f"/{kind}", params=parameters)).raise_for_status().json()
    assert body["total"] == len(body[kind])
    return [row[member] for row in body[kind]]


async def test_order_is_priority_then_rank_then_symbol_then_id(api: httpx2.AsyncClient) -> None:
    assert await listed(api) == [
        BTC.id,
        ETH.id,
        SOL.id,
        XRP.id,
        USDC.id,
        USDC_SOL.id,
        CHAIN_ONLY.id,
        ON_DARK.id,
        UNPRICED.id,
        DISABLED.id,
    ]


def test_equal_tokens_are_in_order_of_their_ids() -> None:
    twins = [token(n, "TWIN", "Twin", ETHEREUM, 18, None, address=f"0x{n:040x}") for n in (9, 3, 5)]
    catalog = ServiceCatalog(CHAINS, twins)
    assert [one.id for one in catalog.tokens] == sorted(one.id for one in twins)


async def test_disabled_tokens_are_listed_and_refused_by_their_path(
    api: httpx2.AsyncClient,
) -> None:
    rows = (await api.get("/tokens", params={"symbol": "OLD"})).json()["tokens"]
    assert [row["enabled"] for row in rows] == [False]
    await declined(api.get(f"/tokens/{DISABLED.id}"), "TOKEN_DISABLED")


@pytest.mark.proves("input list_tokens term")
@each_row(
    ("term", "found"),
    [
        ("bitcoin", [BTC]),
        ("BITC", [BTC]),
        ("usd", [USDC, USDC_SOL]),
        ("usd coin", [USDC, USDC_SOL]),
        ("epjfwdd5", [USDC_SOL]),
        ("USDC-SOLANA", [USDC_SOL]),
        ("gas money", [ETH]),
        ("GAS", [ETH]),
        (".*", []),
        ("b%c", []),
        ("btc bitcoin", []),
        ("nothing of this name", []),
    ],
)
async def test_term(api: httpx2.AsyncClient, term: str, found: list[Token]) -> None:
    assert await listed(api, term=term) == [one.id for one in found]


def test_term_is_case_folded_in_every_script() -> None:
    catalog = ServiceCatalog(CHAINS, [token(1, "STR", "Straße", ETHEREUM, 18, None)])
    for term in ("STRASSE", "straße", "strasse"):
        assert catalog.search(TokenQuery(term=term))[1] == 1


@pytest.mark.proves(
    "input list_tokens chain",
    "input list_tokens mainnet",
    "input list_tokens hasCex",
    "input list_tokens hasDex",
    "input list_tokens address",
    "input list_tokens symbol",
    "input list_tokens hasSelfPrivate",
    "input list_tokens hasBundler",
)
@each_row(
    ("parameters", "found"),
    [
        ({"symbol": "usdc"}, [USDC, USDC_SOL]),
        ({"symbol": "usd"}, []),
        ({"chain": "SOLANA"}, [SOL, USDC_SOL]),
        ({"chain": "darkside"}, [ON_DARK]),
        ({"chain": "sol"}, []),
        ({"chain": "XRP"}, [XRP]),
        ({"chain": "xrp ledger"}, []),
        ({"chain": "nowhere"}, []),
        ({"chain": "solana", "symbol": "USDC"}, [USDC_SOL]),
        ({"address": str(USDC.address).upper()}, [USDC]),
        ({"address": str(USDC.address)[:-1]}, []),
        ({"address": str(UNVERIFIED.address)}, [UNVERIFIED]),
        ({"address": str(UNVERIFIED.address), "unverified": "false"}, [UNVERIFIED]),
        ({"symbol": "FAKE"}, []),
        ({"symbol": "FAKE", "unverified": "true"}, [UNVERIFIED]),
        ({"term": "fake"}, []),
        ({"hasCex": "false"}, [CHAIN_ONLY]),
        ({"hasDex": "true"}, []),
        ({"hasBundler": "true"}, []),
        ({"mainnet": "true"}, [BTC, ETH, SOL, XRP, ON_DARK]),
        ({"hasSelfPrivate": "false"}, [USDC_SOL]),
    ],
)
async def test_filters(
    api: httpx2.AsyncClient, parameters: dict[str, str], found: list[Token]
) -> None:
    assert await listed(api, **parameters) == [one.id for one in found]


@pytest.mark.proves("input list_tokens unverified")
async def test_unverified_tokens_come_beside_the_others(api: httpx2.AsyncClient) -> None:
    assert len(await listed(api, unverified="true")) == len(VERIFIED) + 1
    assert len(await listed(api)) == len(VERIFIED)


@pytest.mark.proves("input list_tokens pageSize", "input list_tokens page")
async def test_pages(api: httpx2.AsyncClient) -> None:
    seen = []
    for page in range(1, 5):
        body = (await api.get("/tokens", params={"page": page, "pageSize": 4})).json()
        assert (body["total"], body["totalPages"]) == (10, 3)
        seen += [row["id"] for row in body["tokens"]]
    assert seen == [one.id for one in ServiceCatalog(CHAINS, VERIFIED).tokens]


async def test_a_kept_page_is_the_same_page(api: httpx2.AsyncClient) -> None:
    parameters = {"pageSize": 3, "page": 2, "hasCex": "true"}
    first = await api.get("/tokens", params=parameters)
    await api.get("/tokens", params={"pageSize": 3, "page": 1, "hasCex": "true"})
    again = await api.get("/tokens", params=parameters)
    assert again.content == first.content
    read = decode(TokenSearchResult, first.content, side="client")
    assert [one.id for one in read.tokens] == [XRP.id, USDC.id, USDC_SOL.id]


def test_kept_pages_are_bounded() -> None:
    catalog = ServiceCatalog(CHAINS, TOKENS)
    first = catalog.encoded_page(TokenQuery(page=1))
    for page in range(2, 400):
        catalog.encoded_page(TokenQuery(page=page))
    assert len(catalog._pages) == 256
    assert catalog._page_bytes == sum(map(len, catalog._pages.values()))
    assert catalog.encoded_page(TokenQuery(page=1)) == first


@pytest.mark.proves("input get_token id")
async def test_one_token(api: httpx2.AsyncClient) -> None:
    body = (await api.get(f"/tokens/{USDC.id}")).json()
    assert (body["symbol"], body["decimals"], body["price"]) == ("USDC", 6, 1)
    assert body["chain"] == body["chainData"]["shortName"] == "ethereum"
    assert body["address"] == USDC.address
    assert "securityScan" not in body
    assert (await api.get(f"/tokens/{USDC.id.upper()}")).json() == body
    native = (await api.get(f"/tokens/{BTC.id}")).json()
    assert native["address"] is None
    assert native["priority"] == 1


ENABLED = ["bitcoin", "ethereum", "solana", "xrp"]


@pytest.mark.proves(
    "input list_chains hasCex",
    "input list_chains hasDex",
    "input list_chains kind",
    "input list_chains name",
    "input list_chains chainId",
    "input list_chains memoNeeded",
)
@each_row(
    ("parameters", "found"),
    [
        ({}, ENABLED),
        ({"hasCex": "true"}, ENABLED),
        ({"hasCex": "false"}, []),
        ({"hasDex": "false"}, ENABLED),
        ({"hasDex": "true"}, []),
        ({"kind": ["EVM"]}, ["ethereum"]),
        ({"kind": ["evm", "sol"]}, ["ethereum", "solana"]),
        ({"kind": ["evm,sol"]}, []),
        ({"name": "LEDGER"}, ["xrp"]),
        ({"name": "coin"}, ["bitcoin"]),
        ({"name": "dark"}, []),
        ({"chainId": "1337000001"}, ["ethereum"]),
        ({"chainId": "1337000005"}, []),
        ({"chainId": "1"}, []),
        ({"memoNeeded": "true"}, ["xrp"]),
        ({"memoNeeded": "false"}, ["bitcoin", "ethereum", "solana"]),
    ],
)
async def test_chains(
    api: httpx2.AsyncClient, parameters: dict[str, Any], found: list[str]
) -> None:
    assert await listed(api, "chains", "shortName", **parameters) == found


def test_chains_with_the_lowest_priority_come_first() -> None:
    order = {chain.short_name: place for place, chain in enumerate(reversed(CHAINS))}
    turned = [
        chain.model_copy(update={"priority": Decimal(order[chain.short_name])}) for chain in CHAINS
    ]
    found = ServiceCatalog(turned, []).list_chains(ChainQuery()).chains
    assert [chain.short_name for chain in found] == ["xrp", "solana", "ethereum", "bitcoin"]


@pytest.mark.proves("input list_chains page", "input list_chains pageSize")
async def test_pages_of_chains(api: httpx2.AsyncClient) -> None:
    body = (await api.get("/chains", params={"page": 2, "pageSize": 3})).json()
    assert ([row["shortName"] for row in body["chains"]], body["total"], body["totalPages"]) == (
        ["xrp"],
        4,
        2,
    )


@pytest.fixture
def venue_list() -> list[CentralizedVenue]:
    return [PriceVenue("bb"), PriceVenue("aa", enabled=False, fee=Decimal("0.1"))]


async def test_all_providers_are_listed(api: httpx2.AsyncClient) -> None:
    rows = (await api.get("/swaps")).json()
    assert [(row["shortName"], row["enabled"]) for row in rows] == [("aa", False), ("bb", True)]


class DescribedVenue(PriceVenue):
    """A venue whose entry in the list a test states."""

    entry: dict[str, Any] = field(default_factory=dict)

    @property
    def provider(self) -> SwapProvider:
        return super().provider.model_copy(update=self.entry)


@pytest.mark.proves(
    "input list_swaps isDex",
    "input list_swaps markupSupported",
    "input list_swaps slippageSupported",
)
@each_row("name", ["isDex", "markupSupported", "slippageSupported"])
async def test_filters_of_providers(clock: ManualClock, store: Store, name: str) -> None:
    names = {
        "isDex": "is_dex",
        "markupSupported": "markup_supported",
        "slippageSupported": "slippage_supported",
    }
    venues = [PriceVenue("no"), DescribedVenue("ya", entry={names[name]: True})]
    parts = small_service(clock, store, venues=venues)
    async with calling(build_service(parts), AS_FIRST) as api:
        for wanted, codes in ((None, ["no", "ya"]), ("true", ["ya"]), ("false", ["no"])):
            parameters = {} if wanted is None else {name: wanted}
            rows = (await api.get("/swaps", params=parameters)).json()
            assert [row["shortName"] for row in rows] == codes


def test_a_token_that_can_be_swapped_owns_a_shared_cex_id() -> None:
    tokens = [
        token(1, "OFF", "Off", ETHEREUM, 18, None, priority=1, enabled=False, cex_token_id="S"),
        token(2, "DARK", "Dark", DARK, 18, None, priority=2, cex_token_id="S"),
        token(3, "COPY", "Copy", ETHEREUM, 18, None, priority=3, unverified=True, cex_token_id="S"),
        token(4, "REAL", "Real", ETHEREUM, 18, None, priority=4, cex_token_id="S"),
        token(5, "LATE", "Late", ETHEREUM, 18, None, priority=5, cex_token_id="s"),
    ]
    for left, symbol in ((5, "REAL"), (4, "REAL"), (3, "COPY"), (2, "OFF")):
        found = ServiceCatalog(CHAINS, tokens[:left]).token_by_cex_id("s")
        assert found.symbol == symbol
