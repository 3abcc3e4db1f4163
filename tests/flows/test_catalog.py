"""The token catalogue: filled from a real service, kept on disk, never lost to a failure; what a
person calls a token, and what a wallet is asked about."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus.values import EVERY_KIND
from flows.orders import NOW
from rows import each_row
from sampling import examples
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.client.errors import AnswerRefused, ClientError
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.catalog import Catalog, resolve
from swapdesk.flows.catalog.search import TokenSearch
from swapdesk.flows.catalog.token_list import Verdict
from swapdesk.flows.catalog.token_safety import check_token, token_refusal, verdict_of
from swapdesk.flows.check_line import refusal, texts
from swapdesk.flows.connection import Connection
from swapdesk.flows.desk import Desk
from swapdesk.flows.wallet.local_wallet import MOST_TOKENS, ChainTokens
from swapdesk.paths import Home
from swapdesk.sandbox.world import build_chains
from swapdesk.settings import load_settings
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.tokens import Token, TokenQuery
from world import FIRST_KEY, URL, World, sandbox_goods

OLDER_CATALOGUE = """
CREATE TABLE generation (number INTEGER PRIMARY KEY, begun REAL NOT NULL, finished REAL) STRICT;
INSERT INTO generation VALUES (1, 1795183331.0, 1795183331.0);
PRAGMA user_version = 2;
"""
WORLD = sandbox_goods(NOW)["tokens"]
LISTED = [token for token in WORLD if not token.unverified]


def token_json(number: int, **changes: Any) -> dict[str, Any]:
    """A token as it travels, a copy of the sandbox's first one under another id."""
    value: dict[str, Any] = json.loads(encode_json(WORLD[0]))
    return {**value, "id": f"{number:024x}", "symbol": f"T{number}", **changes}


def answering(
    handler: Callable[[httpx2.Request], httpx2.Response], clock: ManualClock
) -> PartnerApi:
    return PartnerApi(
        "http://127.0.0.1/v2",
        Credentials.of_key("key", "secret"),
        clock=clock,
        transport=httpx2.MockTransport(handler),
    )


def scripted(
    pages: list[list[Any]], broken: bytes | None = None
) -> Callable[[httpx2.Request], httpx2.Response]:
    """A foreign service with these pages of tokens, of which the last one may be ``broken``."""

    def handler(request: httpx2.Request) -> httpx2.Response:
        name = request.url.path.rsplit("/", 1)[1]
        if name == "chains":
            chains = [json.loads(encode_json(chain)) for chain in build_chains()]
            return httpx2.Response(200, json={"chains": chains, "total": 1, "totalPages": 1})
        if name == "swaps":
            return httpx2.Response(200, json=[])
        page = int(request.url.params.get("page", "1"))
        if broken is not None and page == len(pages):
            return httpx2.Response(200, content=broken)
        body = {
            "tokens": pages[page - 1],
            "total": sum(map(len, pages)),
            "totalPages": len(pages),
        }
        return httpx2.Response(200, json=body)

    return handler


async def refreshed(
    cache: Catalog, clock: ManualClock, *pages: list[Any], broken: bytes | None = None
) -> None:
    """By a service with these pages."""
    async with answering(scripted([*pages], broken), clock) as api:
        await cache.refresh(api)


@pytest.fixture
def cache(tmp_path: Path, clock: ManualClock) -> Iterator[Catalog]:
    opened = Catalog.open(tmp_path / "catalog.db", clock)
    yield opened
    opened.close()


async def test_a_refresh_brings_every_listed_token_in_the_order_of_the_service(
    own_catalog: Catalog, api: PartnerApi
) -> None:
    await own_catalog.refresh(api)
    answer = await api.list_tokens(TokenQuery(page_size=1000))
    assert [row.id for row in own_catalog.rows] == [token.id for token in answer.tokens]
    assert list(own_catalog.rows) == sorted(own_catalog.rows, key=lambda row: row.order)
    for token in LISTED:
        found = own_catalog.token(token.id.upper())
        assert (found.address, found.price, found.decimals) == (
            token.address,
            token.price,
            token.decimals,
        )
        assert found.chain_data.address_validation == token.chain_data.address_validation
    assert own_catalog.token("f" * 24) is None
    assert {chain.short_name for chain in own_catalog.chains()} >= {"bitcoin", "ethereum", "xrp"}
    assert {provider.short_name for provider in own_catalog.providers} == {"aa", "bb", "cc"}
    assert own_catalog.provider_name("aa") == "Venue aa"


async def test_of_a_list_that_nobody_read_no_token_is_missing(
    cache: Catalog, clock: ManualClock
) -> None:
    """A desk that begins on an empty home has the line before it has the list."""
    said = resolve("btc", cache).problem
    assert said == "The list of tokens is not here yet. What is typed is read again when it is."
    await refreshed(cache, clock, [token_json(1)])
    assert "No token is called" in resolve("nothing", cache).problem


async def test_a_failed_refresh_leaves_the_old_list(
    cache: Catalog, clock: ManualClock, tmp_path: Path
) -> None:
    await refreshed(cache, clock, [token_json(1), token_json(2)], [token_json(3)])
    assert (cache.count, cache.skipped) == (3, 0)
    before = cache.rows
    clock.advance(60)
    with pytest.raises(AnswerRefused):
        await refreshed(cache, clock, [token_json(4)], [], broken=b"<html>")
    assert cache.rows == before
    reopened = Catalog.open(tmp_path / "catalog.db", clock)
    assert reopened.load() == 3
    assert (reopened.rows, reopened.age, reopened.stale) == (before, 60, False)
    clock.advance(7 * 3600)
    assert reopened.stale
    assert reopened.token(f"{4:024x}") is None
    reopened.close()


async def test_two_desks_that_start_at_once_both_have_the_list(
    world: World, tmp_path: Path
) -> None:
    settings = load_settings({}, Home.at(tmp_path / "home"))
    desks = []
    for _ in range(2):
        desk = Desk.open(settings, clock=world.clock, transport=world.network)
        desk.catalog.load()
        await desk.connect(Connection(URL, FIRST_KEY, "p"), follow=False)
        desks.append(desk)
    for desk in desks:
        await desk.refresh_reference()
        assert desk.catalog.count > 0
        assert not desk.catalog.overtaken
    for desk in desks:
        await desk.close()


async def test_a_full_disk_keeps_the_old_list_and_is_told(
    cache: Catalog, clock: ManualClock, tmp_path: Path
) -> None:
    await refreshed(cache, clock, [token_json(1)])
    pages = cache._file._connection.execute("PRAGMA page_count").fetchone()[0]
    cache._file._connection.execute(f"PRAGMA max_page_count = {pages}")
    many = [[token_json(number) for number in range(200)]]
    async with answering(scripted(many), clock) as more:
        with pytest.raises(OSError, match="full") as told:
            await cache.refresh(more)
        with pytest.raises(OSError, match="full") as of_contract:
            await cache.fetch_by_address(more, "0xc0")
    assert {told.value.filename, of_contract.value.filename} == {str(tmp_path / "catalog.db")}
    assert cache.count == 1


async def test_a_new_list_replaces_the_old_one(
    cache: Catalog, clock: ManualClock, tmp_path: Path
) -> None:
    await refreshed(cache, clock, [token_json(1), token_json(2)])
    assert cache.token(f"{1:024x}") is not None
    await refreshed(cache, clock, [token_json(2, price=7)])
    assert [row.symbol for row in cache.rows] == ["T2"]
    assert cache.token(f"{1:024x}") is None
    assert cache.token(f"{2:024x}").price == 7
    cache.close()
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as file:
        assert file.execute("SELECT count(*) FROM token").fetchone() == (1,)
        assert file.execute("SELECT count(*) FROM generation").fetchone() == (1,)


@pytest.mark.parametrize("unknown", EVERY_KIND)
async def test_a_new_member_of_a_chain_loses_no_token(
    cache: Catalog, unknown: Any, clock: ManualClock, tmp_path: Path
) -> None:
    """A list or an object there emptied the list, which was kept for six hours."""
    tokens = [token_json(1), token_json(2)]
    for token in tokens:
        token["chainData"] = {**token["chainData"], "newMember": unknown}
    await refreshed(cache, clock, tokens)
    assert (cache.skipped, cache.gap) == (0, "")
    assert [row.symbol for row in cache.rows] == ["T1", "T2"]


async def test_a_list_with_a_gap_says_so_in_every_run(
    cache: Catalog, clock: ManualClock, tmp_path: Path
) -> None:
    bad = {**token_json(2), "chainData": {**token_json(2)["chainData"], "priority": ["high"]}}
    await refreshed(cache, clock, [token_json(1), bad])
    cache.close()
    again = Catalog.open(tmp_path / "catalog.db", clock)
    again.load()
    assert again.gap == "1 of the service's tokens cannot be read and are left out"
    assert "1 cannot be read" in TokenSearch("t").hint(1, again, 50)
    assert again.gap in TokenSearch("nowhere").nothing(again)
    await refreshed(again, clock, [token_json(1), token_json(2)])
    assert again.gap == ""
    again.close()


async def test_a_list_of_which_nothing_can_be_read_replaces_none(
    cache: Catalog, clock: ManualClock, tmp_path: Path
) -> None:
    await refreshed(cache, clock, [token_json(1)])
    none = scripted([[{**token_json(2), "decimals": "many"}, 7]])
    async with answering(none, clock) as api:
        with pytest.raises(AnswerRefused, match=r"2 tokens, none of which can be read.*decimals"):
            await cache.refresh(api)
        with pytest.raises(AnswerRefused, match="none of which can be read"):
            await cache.fetch_by_address(api, "0x" + "a" * 40)
    assert [row.symbol for row in cache.rows] == ["T1"]


async def test_an_unreadable_token_of_a_contract_is_said(
    cache: Catalog, clock: ManualClock, tmp_path: Path
) -> None:
    async with answering(scripted([[token_json(1), {"id": "x"}]]), clock) as api:
        assert len(await cache.fetch_by_address(api, "0x" + "a" * 40)) == 1
    assert cache.skipped == 1


@pytest.mark.parametrize(
    "body", [b"[]", b'{"tokens": 1, "total": 1, "totalPages": 1}', b'{"tokens": []}', b"{"]
)
async def test_a_page_of_another_shape_is_refused(
    cache: Catalog, body: bytes, clock: ManualClock
) -> None:
    with pytest.raises(ClientError):
        await refreshed(cache, clock, [], broken=body)
    assert cache.age is None


async def test_other_work_goes_on_during_a_refresh(
    cache: Catalog, clock: ManualClock, tmp_path: Path
) -> None:
    """A page of a thousand is read in steps: a task beside it runs after every hundred."""
    page = [token_json(number) for number in range(1000)]
    turns = 0
    done = asyncio.Event()

    async def beside() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(beside())
    await refreshed(cache, clock, page)
    done.set()
    await task
    assert cache.count == 1000
    assert turns > 10


async def test_an_unverified_token_is_found_by_its_contract(
    own_catalog: Catalog, api: PartnerApi
) -> None:
    hidden = next(token for token in WORLD if token.unverified and token.address)
    assert own_catalog.row(hidden.id) is None
    found = await own_catalog.fetch_by_address(api, hidden.address)
    assert [row.id for row in found] == [hidden.id]
    assert found[0].unverified
    whole = own_catalog.token(hidden.id)
    assert whole.address == hidden.address
    await own_catalog.refresh(api)
    assert own_catalog.row(hidden.id) is not None
    assert own_catalog.count == len(LISTED) + 1


def test_a_clean_scan_is_old_from_the_moment_it_expires_and_a_finding_never() -> None:
    token = next(t for t in WORLD if t.security_scan and t.security_scan.result_type == "Benign")
    ends = token.security_scan.expires_at
    assert verdict_of(token, ends - timedelta(seconds=1)) is Verdict.BENIGN
    assert verdict_of(token, ends) is Verdict.STALE
    bad = next(t for t in WORLD if t.security_scan and t.security_scan.result_type == "Malicious")
    assert verdict_of(bad, NOW.replace(year=2036)) is Verdict.MALICIOUS
    unknown = bad.security_scan.model_copy(update={"result_type": "Haunted"})  # type: ignore[union-attr]
    assert verdict_of(bad.model_copy(update={"security_scan": unknown}), NOW) is Verdict.UNKNOWN
    assert verdict_of(bad.model_copy(update={"security_scan": None}), NOW) is Verdict.UNSCANNED


def damaged(path: Path) -> None:
    path.write_bytes(b"no database at all" * 100)


def older(path: Path) -> None:
    """It may have been emptied by a member of a chain that its version did not know."""
    with closing(sqlite3.connect(path)) as file:
        file.executescript(OLDER_CATALOGUE)


@pytest.mark.parametrize("begun", [damaged, older])
def test_a_damaged_or_older_file_is_begun_anew(
    begun: Callable[[Path], None], tmp_path: Path, clock: ManualClock
) -> None:
    path = tmp_path / "catalog.db"
    begun(path)
    catalog = Catalog.open(path, clock)
    assert (catalog.load(), catalog.age, catalog.stale) == (0, None, True)
    catalog.close()
    assert path.stat().st_mode & 0o777 == 0o600


async def test_the_coin_of_a_chain_comes_first_and_no_contract_twice(catalog: Catalog) -> None:
    tokens = ChainTokens(catalog)
    coin, *others = await tokens.assets("base")
    assert (coin.symbol, coin.contract) == ("ETH", None)
    contracts = [one.contract for one in others]
    assert None not in contracts
    assert len(set(contracts)) == len(contracts)
    assert await tokens.assets("BASE") == [coin, *others]


async def test_what_nobody_verified_is_not_asked_after(
    own_catalog: Catalog, api: PartnerApi, clock: ManualClock
) -> None:
    tokens = sandbox_goods(clock.now())["tokens"]
    strange = next(one for one in tokens if one.unverified and one.address is not None)
    (row,) = await own_catalog.fetch_by_address(api, strange.address)
    assert row.unverified
    chain = strange.chain_data.short_name
    known = {one.contract for one in await ChainTokens(own_catalog).assets(chain)}
    assert len(known) > 1
    assert strange.address not in known


async def test_of_a_long_list_so_many(catalog: Catalog) -> None:
    for chain in catalog.chains():
        assert len(await ChainTokens(catalog).assets(chain.short_name)) <= MOST_TOKENS


async def test_tokens_are_called_by_their_symbols_and_coins_are_not(catalog: Catalog) -> None:
    tokens = ChainTokens(catalog)
    (usdc,) = await tokens.called("base", ["USDC", "ETH", "NOPE"])
    assert (usdc.symbol, usdc.decimals) == ("USDC", 6)
    assert dict(await tokens.priced("base"))[usdc] is not None
    assert await tokens.called("atlantis", ["USDC"]) == []


async def test_a_chain_is_called_as_the_list_calls_it(catalog: Catalog) -> None:
    assert ChainTokens(catalog).chain_name("ethereum") == "Ethereum"
    assert ChainTokens(catalog).chain_name("atlantis") == "atlantis"
    assert ChainTokens(None).chain_name("ethereum") == "ethereum"
    assert await ChainTokens(None).priced("ethereum") == []


@each_row(
    ("spec", "symbol", "chain"),
    [
        ("btc", "BTC", "bitcoin"),
        ("BTC", "BTC", "bitcoin"),
        ("eth", "ETH", "ethereum"),
        ("eth.base", "ETH", "base"),
        ("Usdc.BASE", "USDC", "base"),
        ("usdc", "USDC", "ethereum"),
        ("usdc.e", "USDC.e", "arbitrum"),
        ("usdc.e.polygon", "USDC.e", "polygon"),
        (" sol ", "SOL", "solana"),
    ],
)
def test_a_symbol_with_or_without_its_chain(
    spec: str, symbol: str, chain: str, catalog: Catalog
) -> None:
    found = resolve(spec, catalog)
    assert found.problem == ""
    assert (found.token.symbol, found.token.chain_data.short_name) == (symbol, chain)
    assert found.candidates[0].id == found.token.id


def test_a_bare_symbol_lists_the_others(catalog: Catalog) -> None:
    found = resolve("usdc", catalog)
    assert found.ambiguous
    assert found.specs[0] == "USDC.ethereum" or found.candidates[0].id == found.specs[0]
    assert "USDC.base" in found.specs
    for spec, row in zip(found.specs, found.candidates, strict=True):
        named = resolve(spec, catalog)
        assert named.token.id == row.id
    assert not resolve("usdc.base", catalog).ambiguous


def test_disabled_and_malicious_tokens_are_never_the_choice(catalog: Catalog) -> None:
    found = resolve("usdc", catalog)
    assert all(row.enabled for row in found.candidates)
    assert found.candidates[0].verdict is Verdict.BENIGN
    copies = [r for r in catalog.rows_of_symbol("usdc") if r.verdict is Verdict.MALICIOUS]
    assert copies
    assert not {copy.id for copy in copies} & {row.id for row in found.candidates}
    for copy in copies:
        assert not resolve(f"usdc.{copy.chain}", catalog).ambiguous
        by_id = resolve(copy.id, catalog)
        assert by_id.token.id == copy.id
    gone = resolve("avax", catalog)
    assert gone.token is None
    assert gone.problem.endswith("is disabled at the service.")
    assert gone.disabled
    for unknown in ("disabled", "nope", ""):
        assert not resolve(unknown, catalog).disabled


def test_ids_and_contracts(catalog: Catalog) -> None:
    usdc = next(t for t in WORLD if t.symbol == "USDC" and t.chain == "base")
    for spec in (usdc.id, usdc.id.upper(), f"{usdc.address}.base", f"{usdc.address.upper()}.Base"):
        found = resolve(spec, catalog)
        assert found.token is not None, spec
        assert found.token.id == usdc.id
    assert resolve(usdc.address, catalog).token is not None
    elsewhere = resolve(f"{usdc.address}.polygon", catalog)
    assert elsewhere.problem == "No listed token has this contract."


@each_row(
    ("spec", "problem"),
    [
        ("", "Type a token."),
        (
            "usdx",
            'No token is called "usdx". Paste a contract address to find one that is not listed.',
        ),
        ("btc.base", "BTC is not on Base."),
        (
            "usdc.nowhere",
            'No chain is called "nowhere". USDC is on ethereum, solana, base, arbitrum'
            " and 13 more.",
        ),
        ("0x" + "12" * 20, "No listed token has this contract."),
        (
            "f" * 24,
            'No token is called "' + "f" * 24 + '". Paste a contract address to find '
            "one that is not listed.",
        ),
        (
            ".base",
            'No token is called ".base". Paste a contract address to find one that is not listed.',
        ),
    ],
)
def test_what_cannot_be_resolved_says_why(spec: str, problem: str, catalog: Catalog) -> None:
    found = resolve(spec, catalog)
    assert (found.token, found.candidates, found.problem) == (None, (), problem)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(200))
@given(text=st.text(max_size=60))
def test_any_text_resolves_or_says_why(text: str, catalog: Catalog) -> None:
    found = resolve(text, catalog)
    assert (found.token is None) is bool(found.problem)


def test_a_disabled_or_malicious_token_is_refused() -> None:
    unusable = {t.id for t in WORLD if token_refusal(t)}
    assert unusable == {
        t.id
        for t in WORLD
        if not t.enabled
        or not t.chain_data.enabled
        or (t.security_scan and t.security_scan.result_type == "Malicious")
    }
    assert unusable
    for token in WORLD:
        assert bool(refusal(check_token(token, now=NOW))) is (token.id in unusable)


def test_a_warning_asks_and_an_unscanned_token_does_not() -> None:
    bridged = next(t for t in WORLD if t.symbol == "USDC.e")
    check = check_token(bridged, now=NOW)
    assert verdict_of(bridged, NOW) is Verdict.WARNING
    assert texts(check, "warn")
    assert not refusal(check)
    scan = bridged.security_scan.model_copy(update={"result_type": "HOVERING"})
    check = check_token(bridged.model_copy(update={"security_scan": scan}), now=NOW)
    assert not refusal(check)
    assert texts(check, "warn")[-1].startswith("A scan says HOVERING of USDC.e on ")
    native = next(t for t in WORLD if t.symbol == "BTC" and t.chain == "bitcoin")
    check = check_token(native, now=NOW)
    assert check == ()


def _malicious(token: Token) -> bool:
    return token.security_scan is not None and token.security_scan.result_type == "Malicious"


def test_an_imitation_is_refused_with_its_contract(catalog: Catalog) -> None:
    fake = next(t for t in WORLD if t.unverified and t.address and "\u200b" in t.symbol)
    usdc = catalog.rows_of_symbol("usdc")[0]
    check = check_token(fake, now=NOW, imitates=usdc)
    assert refusal(check)
    known = f"looks like USDC on {usdc.chain_name} and is not"
    assert known in check[0].text
    # Found malicious as well, it names the token it copies all the same.
    worse = fake.model_copy(
        update={"security_scan": next(t.security_scan for t in WORLD if _malicious(t))}
    )
    said = [line.text for line in check_token(worse, now=NOW, imitates=usdc)]
    assert "malicious" in said[0]
    assert known in said[1]
    assert fake.address in check[0].text
    assert any("hidden characters" in line.text for line in check)
