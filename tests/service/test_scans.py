"""Security scans follow the selection of tokens and never hold an answer up (contract 5.13)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec import Struct, field

from manual_time import rest
from service.http_calls import running, small_service
from service.new_store import open_new
from service.world import AS_FIRST, BTC, CHAINS, DISABLED, ETH, TOKENS, USDC
from swapdesk.clock import ManualClock
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.scans import CLAIM, RETRY_AFTER, SCAN_SECONDS, TokenScans
from swapdesk.service.store.store import Store
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
    clock: ManualClock, store: Store, venue_list: Any, scanner: TestScanner
) -> ServiceParts:
    return small_service(clock, store, venues=venue_list, intermediaries=[], scanner=scanner)


async def verdict(api: httpx2.AsyncClient, token: Token) -> Any:
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
    api: httpx2.AsyncClient,
    store: Store,
    scanner: TestScanner,
    path: str,
    parameters: dict[str, str],
    selected: list[str],
) -> None:
    assert await verdict(api, BTC) is None
    await api.get(path, params=parameters)
    await rest()
    assert sorted(scanner.scanned) == sorted(selected)
    assert bool(await verdict(api, BTC)) == ("BTC" in selected)
    assert await verdict(api, USDC) is None


async def selected(api: httpx2.AsyncClient, store: Store) -> None:
    """Bitcoin and Ether are asked for, and whatever follows from that has happened."""
    pair = {"tokenIdFrom": BTC.id, "tokenIdTo": ETH.id}
    assert (await api.get("/minMax", params=pair)).status_code == 200
    await rest()


async def test_a_verdict_stands_until_it_expires(
    api: httpx2.AsyncClient, store: Store, clock: ManualClock, scanner: TestScanner
) -> None:
    await selected(api, store)
    first = await verdict(api, BTC)
    clock.advance(LIFE.total_seconds() - 1)
    await selected(api, store)
    assert sorted(scanner.scanned) == ["BTC", "ETH"]
    clock.advance(1)
    assert await verdict(api, BTC) == first, "a stale verdict is shown as it is"
    await selected(api, store)
    assert sorted(scanner.scanned) == ["BTC", "BTC", "ETH", "ETH"]
    assert (await verdict(api, BTC))["scannedAt"] > first["scannedAt"]


async def test_a_scan_never_holds_an_answer_up(
    api: httpx2.AsyncClient, store: Store, clock: ManualClock, scanner: TestScanner
) -> None:
    scanner.silent = True
    await selected(api, store)
    await selected(api, store)
    assert sorted(scanner.scanned) == ["BTC", "ETH"], "one scan at a time"
    assert await verdict(api, BTC) is None
    clock.advance(SCAN_SECONDS)
    await rest()
    found = await verdict(api, BTC)
    assert (found["resultType"], found["unscannedReason"]) == ("Unscanned", "TIMEOUT")


async def test_a_scanner_that_fails_blocks_nothing(
    api: httpx2.AsyncClient,
    store: Store,
    clock: ManualClock,
    scanner: TestScanner,
    caplog: pytest.LogCaptureFixture,
) -> None:
    scanner.broken = True
    await selected(api, store)
    found = await verdict(api, BTC)
    assert (found["resultType"], found["unscannedReason"]) == ("Unscanned", "PROVIDER_ERROR")
    assert "no scanner there" in caplog.text
    scanner.broken = False
    clock.advance(RETRY_AFTER.total_seconds())
    await selected(api, store)
    assert (await verdict(api, BTC))["resultType"] == "Benign"


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
        assert found.security_scan == scan
    assert b"Malicious" in catalog.encoded_page(query)
    assert b"Malicious" not in page


async def test_verdicts_outlive_a_restart(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    store: Store,
    clock: ManualClock,
    scanner: TestScanner,
) -> None:
    await selected(api, store)
    before = await verdict(api, BTC)
    partners = [*service.directory.partners.values()]
    again = small_service(clock, store, partners, scanner=scanner)
    async with running(again, AS_FIRST) as next_api:
        assert await verdict(next_api, BTC) == before
        await selected(next_api, store)
        assert sorted(scanner.scanned) == ["BTC", "ETH"], "the verdict still stands"


async def test_a_verdict_is_known_to_every_process_a_second_later(
    tmp_path: Path, service: ServiceParts, clock: ManualClock, scanner: TestScanner
) -> None:
    """Who asks another one is warned as well: also of a token that it never saw selected, and of a
    newer verdict."""
    partners = [*service.directory.partners.values()]
    store = open_new(tmp_path / "service.db")
    other = small_service(clock, store, partners, scanner=scanner)
    async with running(service, AS_FIRST) as api, running(other, AS_FIRST) as next_api:
        for later in (LIFE.total_seconds(), 0):
            await selected(api, store)
            assert await verdict(next_api, BTC) != await verdict(api, BTC)
            clock.advance(1)
            await rest()
            assert await verdict(next_api, BTC) == await verdict(api, BTC)
            clock.advance(later)
            await rest()
    assert len(scanner.scanned) == 4
    await store.close()


async def test_a_verdict_of_the_catalogue_that_is_newer_stays(
    store: Store, clock: ManualClock
) -> None:
    old = TokenSecurityScan(
        result_type=ScanResult.WARNING, scanned_at=clock.now(), expires_at=clock.now() + LIFE
    )
    await store.scans.save(BTC.id, encode_json(old), old.expires_at)
    await store.scans.save("f" * 24, encode_json(old), old.expires_at)
    await store.scans.save(ETH.id, b"{}", old.expires_at)
    clock.advance(60)
    new = old.model_copy(update={"scanned_at": clock.now()})
    catalog = ServiceCatalog(CHAINS, [BTC.model_copy(update={"security_scan": new}), ETH])
    await TokenScans(catalog, store, None, clock).catch_up()
    assert [token.security_scan for token in catalog.tokens] == [new, None]


async def test_of_several_processes_one_scans_a_token(
    tmp_path: Path, store: Store, clock: ManualClock
) -> None:
    """The others take its verdict; a scan whose process was killed is made again."""
    scanner = TestScanner(clock)
    other_store = open_new(tmp_path / "service.db")
    catalogs = [ServiceCatalog(CHAINS, TOKENS) for _ in range(2)]
    one = TokenScans(catalogs[0], store, scanner, clock)
    other = TokenScans(catalogs[1], other_store, scanner, clock)

    async def selected(*scans: TokenScans) -> None:
        for each in scans:
            each.selected(BTC)
        await rest()

    def verdicts() -> list[TokenSecurityScan | None]:
        found = (catalog.token(BTC.id) for catalog in catalogs)
        return [None if token is None else token.security_scan for token in found]

    assert await store.scans.claim(BTC.id, clock.now(), clock.now() + CLAIM) == (None, True)
    await selected(one, other)
    assert scanner.scanned == []
    clock.advance(CLAIM.total_seconds())
    await selected(one, other)
    assert scanner.scanned == ["BTC"]
    await selected(one, other)
    assert scanner.scanned == ["BTC"]
    first, second = verdicts()
    assert first == second
    clock.advance(LIFE.total_seconds())
    await selected(other)
    await selected(one)
    assert scanner.scanned == ["BTC", "BTC"]
    assert verdicts()[0] == verdicts()[1] != first
    await other_store.close()
