"""Security scans follow the selection of tokens and never hold an answer up (contract 5.13)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest
from msgspec import Struct, field

from service.world import BTC, CHAINS, DISABLED, ETH, TOKENS, USDC
from swapdesk.clock import ManualClock
from swapdesk.service.app import assemble, build_service
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.scans import RETRY_AFTER, SCAN_SECONDS, TokenScans
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.tokens import ScanResult, Token, TokenQuery, TokenSecurityScan

LIFE = timedelta(hours=24)


class TestScanner(Struct):
    """Calls everything benign; ``silent`` never answers, ``broken`` fails."""

    __test__ = False

    clock: ManualClock
    silent: bool = False
    broken: bool = False
    scanned: list[str] = field(default_factory=list)

    async def scan(self, token: Token) -> TokenSecurityScan:
        self.scanned.append(token.symbol)
        if self.silent:
            await asyncio.get_running_loop().create_future()
        if self.broken:
            raise ConnectionError("no scanner there")
        now = self.clock.now()
        return TokenSecurityScan(
            result_type=ScanResult.BENIGN, scanned_at=now, expires_at=now + LIFE
        )


@pytest.fixture
def scanner(clock: ManualClock) -> TestScanner:
    return TestScanner(clock)


@pytest.fixture
def service(
    service: ServiceParts, clock: ManualClock, store: Any, venue_list: Any, scanner: TestScanner
) -> ServiceParts:
    return assemble(
        clock,
        service.rng,
        store,
        CHAINS,
        TOKENS,
        venue_list,
        service.directory.partners.values(),
        [],
        scanner=scanner,
    )


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def verdict(api: httpx.AsyncClient, token: Token) -> Any:
    """The verdict on the token's own page and in the list, which must agree."""
    one = (await api.get(f"/tokens/{token.id}")).json().get("securityScan")
    page = (await api.get("/tokens")).json()["tokens"]
    (listed,) = [row.get("securityScan") for row in page if row["id"] == token.id]
    assert one == listed
    return one


@pytest.mark.parametrize(
    ("path", "parameters", "selected"),
    [
        ("/quotes", {"amount": "0.5", "from": BTC.id, "to": ETH.id}, ["BTC", "ETH"]),
        ("/quotes", {"amount": "0.000000001", "from": BTC.id, "to": ETH.id}, []),
        ("/quotes", {"amount": "1000", "from": BTC.id, "to": ETH.id}, ["BTC", "ETH"]),
        ("/quotes/private-send", {"amount": "0.5", "from": BTC.id}, ["BTC"]),
        ("/minMax", {"tokenIdFrom": BTC.id, "tokenIdTo": "ETH"}, ["BTC", "ETH"]),
        ("/quotes", {"amount": "1", "from": BTC.id, "to": DISABLED.id}, []),
        ("/tokens", {"term": "BTC"}, []),
    ],
)
async def test_what_selects_a_token(
    api: httpx.AsyncClient,
    scanner: TestScanner,
    path: str,
    parameters: dict[str, str],
    selected: list[str],
) -> None:
    assert await verdict(api, BTC) is None
    await api.get(path, params=parameters)
    await settle()
    assert scanner.scanned == selected
    assert bool(await verdict(api, BTC)) == ("BTC" in selected)
    assert await verdict(api, USDC) is None


PAIR = {"tokenIdFrom": BTC.id, "tokenIdTo": ETH.id}


async def test_a_verdict_stands_until_it_expires(
    api: httpx.AsyncClient, clock: ManualClock, scanner: TestScanner
) -> None:
    await api.get("/minMax", params=PAIR)
    await settle()
    first = await verdict(api, BTC)
    clock.advance(LIFE.total_seconds() - 1)
    await api.get("/minMax", params=PAIR)
    await settle()
    assert scanner.scanned == ["BTC", "ETH"]
    clock.advance(1)
    assert await verdict(api, BTC) == first, "a stale verdict is shown as it is"
    await api.get("/minMax", params=PAIR)
    await settle()
    assert scanner.scanned == ["BTC", "ETH"] * 2
    assert (await verdict(api, BTC))["scannedAt"] > first["scannedAt"]


async def test_a_scan_never_holds_an_answer_up(
    api: httpx.AsyncClient, clock: ManualClock, scanner: TestScanner
) -> None:
    scanner.silent = True
    assert (await api.get("/minMax", params=PAIR)).status_code == 200
    assert (await api.get("/minMax", params=PAIR)).status_code == 200
    assert scanner.scanned == ["BTC", "ETH"], "one scan at a time"
    assert await verdict(api, BTC) is None
    clock.advance(SCAN_SECONDS)
    await settle()
    found = await verdict(api, BTC)
    assert (found["resultType"], found["unscannedReason"]) == ("Unscanned", "TIMEOUT")


async def test_a_scanner_that_fails_blocks_nothing(
    api: httpx.AsyncClient,
    clock: ManualClock,
    scanner: TestScanner,
    caplog: pytest.LogCaptureFixture,
) -> None:
    scanner.broken = True
    assert (await api.get("/minMax", params=PAIR)).status_code == 200
    await settle()
    found = await verdict(api, BTC)
    assert (found["resultType"], found["unscannedReason"]) == ("Unscanned", "PROVIDER_ERROR")
    assert "no scanner there" in caplog.text
    scanner.broken = False
    clock.advance(RETRY_AFTER.total_seconds())
    await api.get("/minMax", params=PAIR)
    await settle()
    assert (await verdict(api, BTC))["resultType"] == "Benign"


async def test_without_a_scanner_nothing_is_scanned(store: Any, clock: ManualClock) -> None:
    catalog = ServiceCatalog(CHAINS, TOKENS)
    TokenScans(catalog, store, None, clock).selected(*catalog.tokens)
    await settle()
    assert {token.security_scan for token in catalog.tokens} == {None}


def test_a_new_verdict_keeps_the_listing_and_its_order(clock: ManualClock) -> None:
    catalog = ServiceCatalog(CHAINS, TOKENS)
    before = [token.id for token in catalog.tokens]
    query = TokenQuery(term="BTC")
    page = catalog.encoded_page(query)
    now = clock.now()
    scan = TokenSecurityScan(result_type=ScanResult.MALICIOUS, scanned_at=now, expires_at=now)
    catalog.put_scan(BTC.id, scan)
    assert [token.id for token in catalog.tokens] == before
    for found in (catalog.token(BTC.id), catalog.token_by_cex_id("BTC")):
        assert found is not None
        assert found.security_scan == scan
    assert b"Malicious" in catalog.encoded_page(query)
    assert b"Malicious" not in page


async def test_verdicts_outlive_a_restart(
    api: httpx.AsyncClient,
    service: ServiceParts,
    store: Any,
    clock: ManualClock,
    scanner: TestScanner,
) -> None:
    await api.get("/minMax", params=PAIR)
    await settle()
    await store.add_requests("2026-11", {})  # written after what was handed over before it
    before = await verdict(api, BTC)
    partners = service.directory.partners.values()
    again = assemble(clock, service.rng, store, CHAINS, TOKENS, [], partners, [], scanner=scanner)
    app = build_service(again)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url=api.base_url, headers=api.headers
        ) as next_api,
    ):
        assert await verdict(next_api, BTC) == before
        await next_api.get("/minMax", params=PAIR)
        await settle()
        assert scanner.scanned == ["BTC", "ETH"], "the verdict still stands"
        clock.advance(LIFE.total_seconds())
        assert await verdict(next_api, BTC) == before, "a stale verdict is shown as it is"
        await next_api.get("/minMax", params=PAIR)
        await settle()
        assert scanner.scanned == ["BTC", "ETH"] * 2


async def test_a_verdict_of_the_catalogue_that_is_newer_stays(
    store: Any, clock: ManualClock
) -> None:
    old = TokenSecurityScan(
        result_type=ScanResult.WARNING, scanned_at=clock.now(), expires_at=clock.now() + LIFE
    )
    await store.save_scan(BTC.id, encode_json(old))
    await store.save_scan("f" * 24, encode_json(old))
    await store.save_scan(ETH.id, b"{}")
    clock.advance(60)
    new = old.model_copy(update={"scanned_at": clock.now()})
    catalog = ServiceCatalog(CHAINS, [BTC.model_copy(update={"security_scan": new}), ETH])
    await TokenScans(catalog, store, None, clock).restore()
    assert [token.security_scan for token in catalog.tokens] == [new, None]
