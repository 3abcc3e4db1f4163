"""The token catalogue: filled from a real service, kept on disk, never lost to a failure; what a
person calls a token, and what a wallet is asked about.

Finding tokens: ranked hits, slips of the fingers, copies and hostile symbols; the list in
columns, in which a search finds the same as in rows.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cached_catalog import cache_catalog
from corpus.honest_names import HONEST
from corpus.texts import RANKED, look_alikes
from corpus.values import EVERY_KIND
from flows.orders import NOW
from rows import each_row
from sampling import examples
from swapdesk.chain.addresses.display import grouped
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.client.errors import AnswerRefused, ClientError
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.catalog import Catalog, resolve
from swapdesk.flows.catalog.confusables import (
    Suspicion,
    code_points,
    draws_like,
    is_plain,
    skeleton,
    suspicion,
)
from swapdesk.flows.catalog.search import (
    TokenSearch,
    imitated_by,
    lookalikes,
    named_contract,
    search,
)
from swapdesk.flows.catalog.token_list import CanDo, TextColumn, TokenList, TokenRow, Verdict, pack
from swapdesk.flows.catalog.token_safety import check_token, row_of, token_refusal, verdict_of
from swapdesk.flows.check_line import refusal, texts
from swapdesk.flows.connection import Connection
from swapdesk.flows.desk import Desk
from swapdesk.flows.wallet.local_wallet import MOST_TOKENS, ChainTokens
from swapdesk.paths import Home
from swapdesk.sandbox.world import build_chains
from swapdesk.sandbox.world_generator import build_catalog
from swapdesk.settings import load_settings
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.text import safe_text
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


@each_row("unknown", EVERY_KIND)
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


@each_row("body", [b"[]", b'{"tokens": 1, "total": 1, "totalPages": 1}', b'{"tokens": []}', b"{"])
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


CLEAN = next(
    token.security_scan
    for token in WORLD
    if token.security_scan and token.security_scan.result_type == "Benign"
)
FOUND = CLEAN.model_copy(update={"result_type": "Malicious"})
HAUNTED = CLEAN.model_copy(update={"result_type": "Haunted"})


@each_row(
    ("scan", "now", "verdict"),
    [
        (CLEAN, CLEAN.expires_at - timedelta(seconds=1), Verdict.BENIGN),
        (CLEAN, CLEAN.expires_at, Verdict.STALE),
        (FOUND, NOW.replace(year=2036), Verdict.MALICIOUS),
        (HAUNTED, NOW, Verdict.UNKNOWN),
        (None, NOW, Verdict.UNSCANNED),
    ],
)
def test_a_clean_scan_is_old_from_the_moment_it_expires_and_a_finding_never(
    scan: Any, now: datetime, verdict: Verdict
) -> None:
    token = WORLD[0].model_copy(update={"security_scan": scan})
    assert verdict_of(token, now) is verdict


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
    assert await tokens.assets("BASE") == [coin, *others]
    for chain in catalog.chains():
        _, *others = await tokens.assets(chain.short_name)
        contracts = {one.contract for one in others} - {None}
        assert len(contracts) == len(others) < MOST_TOKENS


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


ROWS = sorted(
    (row_of(token, NOW) for token in sandbox_goods(NOW)["tokens"]), key=lambda row: row.order
)
USDC = next(row for row in ROWS if row.symbol == "USDC" and row.chain == "ethereum")


def row(symbol: str, name: str = "", **changes: object) -> TokenRow:
    """A row as it comes from the service: text made safe, keys from it."""
    symbol = safe_text(symbol, 40)
    made = USDC._replace(
        id=hashlib.sha256(f"{symbol} {name}".encode()).hexdigest()[:24],
        symbol=symbol,
        name=name or symbol,
        symbol_key=symbol.lower(),
        text_key=f"{symbol} {name}".lower(),
        priority=None,
        rank=None,
        unverified=True,
    )
    return made._replace(**changes)


@each_row(
    ("typed", "symbol", "chain"),
    [
        ("eth", "ETH", "ethereum"),
        ("wrapped b", "WBTC", None),
        # Several words and a dot narrow to a chain.
        ("usdc base", "USDC", "base"),
        ("usdc.base", "USDC", "base"),
        ("usdc.e", "USDC.e", None),
        # A contract is found in any case.
        (USDC.contract.upper().replace("0X", "0x"), "USDC", "ethereum"),
        (USDC.contract[:12], "USDC", "ethereum"),
    ],
)
def test_what_is_typed_finds_first(typed: str, symbol: str, chain: str | None) -> None:
    first = search(ROWS, typed)[0]
    assert (first.symbol, first.chain if chain else None) == (symbol, chain)


def test_the_exact_symbol_comes_first_then_beginnings_then_names() -> None:
    found = search(ROWS, "eth")
    assert {found.symbol for found in found[:6]} == {"ETH"}
    names = [hit.symbol_key for hit in found]
    assert names.index("weth") > max(i for i, name in enumerate(names) if name == "eth")


@each_row(
    ("shown", "reads", "alike"),
    [
        *((one, other, False) for one in RANKED for other in RANKED if one != other),
        ("AI", "AL", False),
        ("AI", "Al", True),
        ("", "USDC", False),
        # A bar is a letter and a separator.
        ("SU|", "SUI", True),
        ("U|S|D|C", "USDC", True),
        ("SU|", "SU2", False),
    ],
)
def test_what_draws_like_another(shown: str, reads: str, alike: bool) -> None:
    assert draws_like(shown, reads) is alike


def test_nothing_typed_is_the_whole_list_in_its_order() -> None:
    assert search(ROWS, "", limit=10_000) == ROWS
    assert search(ROWS, "  ", limit=3) == ROWS[:3]


@each_row(
    "text",
    [
        "https://etherscan.io/token/{}?a=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed#balances",
        "https://app.example/#/swap?outputCurrency={}",
        "https://explorer.example/address%2F{}",
        "{chain}:{}",
        "eip155:{id}:{}",
        "ethereum:{}@{id}",
        "grouped",
    ],
)
def test_a_contract_is_found_in_a_link_behind_its_chain_and_as_it_is_drawn(text: str) -> None:
    assert USDC.contract is not None
    parts = {"chain": "eth", "id": 1}
    asked = grouped(USDC.contract) if text == "grouped" else text.format(USDC.contract, **parts)
    assert search(ROWS, asked) == search(ROWS, USDC.contract) == [USDC]
    assert named_contract(asked)[0] == USDC.contract


def test_a_contract_of_another_chain_than_the_one_before_it_is_none() -> None:
    assert USDC.contract is not None
    assert search(ROWS, f"avax:{USDC.contract}") == []
    assert search(ROWS, "https://etherscan.io/token/") == []
    for plain in (
        "usdc",
        "wrapped ether on the base network",
        "https://example.com/some/long/page",
    ):
        assert named_contract(plain) == (plain, frozenset())


def test_sorting_puts_unknown_values_last() -> None:
    prices = [row.price for row in search(ROWS, "", sort="price", limit=10_000)]
    known = [price for price in prices if price is not None]
    assert prices == sorted(known, reverse=True) + [None] * (len(prices) - len(known))
    assert None in prices
    by_symbol = [row.symbol_key for row in search(ROWS, "", sort="symbol", limit=10_000)]
    assert by_symbol == sorted(by_symbol)


@given(st.text(max_size=120), st.integers(0, 20), st.sampled_from(["rank", "price", "change"]))
def test_search_never_fails_and_keeps_its_limit(text: str, limit: int, sort: str) -> None:
    found = search(ROWS, text, limit=limit, sort=sort)  # type: ignore[arg-type]
    assert len(found) <= limit
    assert len({row.id for row in found}) == len(found)


def test_the_copy_of_a_token_is_named() -> None:
    copies = lookalikes(USDC, ROWS)
    assert ("USDC", "USDCoin", Verdict.MALICIOUS) in [
        (copy.symbol, copy.name, copy.verdict) for copy in copies
    ]
    assert not {copy.id for copy in copies} & {
        row.id for row in ROWS if row.symbol == "USDC" and row.verdict is Verdict.BENIGN
    }
    bridged = next(row for row in ROWS if row.symbol == "USDC.e")
    assert bridged not in copies


def test_an_imitation_names_the_original() -> None:
    fake = row("UЅDС", "UЅDС")
    original = imitated_by(fake, [*ROWS, fake])
    assert original.symbol == "USDC"
    honest = [r for r in ROWS if r.verdict is Verdict.BENIGN and not r.unverified]
    assert [r.symbol for r in honest if imitated_by(r, ROWS) is not None] == []


@each_row(
    ("symbol", "expected"),
    [
        ("USDC", None),
        ("US\u200bDC", "has hidden characters"),
        (safe_text("US\u200bDC", 40), "has hidden characters"),
        ("UЅDС", "mixes letters of several scripts"),
        ("ЅОС", "is written in look-alike letters"),
        ("ＵＳＤＣ", "has unusual characters"),
        ("柴犬", None),
    ],
)
def test_the_reason_of_a_badge(symbol: str, expected: Suspicion | None) -> None:
    assert suspicion(symbol) == expected
    assert is_plain(symbol) is (symbol == "USDC")


def test_code_points_spell_a_symbol_out() -> None:
    assert code_points("UЅ") == "U+0055 U+0405"


def test_a_row_orders_as_the_service_does() -> None:
    first = row("A", priority=Decimal(0), rank=None)
    second = row("B", priority=Decimal(1), rank=Decimal(1))
    last = row("C", priority=None, rank=Decimal(1))
    assert sorted([last, second, first], key=lambda r: r.order) == [first, second, last]


CHAINS, TOKENS = build_catalog(7, 1_500, NOW)
MANY = sorted((row_of(token, NOW) for token in TOKENS), key=lambda row: row.order)
LIST = TokenList.of(MANY)
LINES = st.lists(st.text(st.characters(exclude_characters="\x1e\x1f", codec="utf-8")), max_size=8)


@given(LINES)
def test_lines_come_back_as_they_were(lines: list[str]) -> None:
    column = TextColumn.of(lines)
    assert [column.text(at) for at in range(len(column))] == lines
    assert len(column.lines()) == len(lines)


@given(st.lists(st.text("abé\n", max_size=6), max_size=12), st.text("abé", min_size=1, max_size=3))
def test_a_column_finds_what_a_walk_finds(lines: list[str], wanted: str) -> None:
    column = TextColumn.of(lines)
    numbers = range(len(lines))
    assert list(column.holding(wanted)) == [at for at in numbers if wanted in lines[at]]
    assert list(column.beginning(wanted)) == [at for at in numbers if lines[at].startswith(wanted)]
    assert list(column.equal(wanted)) == [at for at in numbers if lines[at] == wanted]


def test_rows_come_out_of_the_columns_as_they_went_in() -> None:
    assert list(LIST) == MANY
    assert LIST[3:700:50] == MANY[3:700:50]
    assert LIST[-1] == MANY[-1]
    assert TokenList.of(MANY) == LIST
    assert TokenList.of(MANY[1:]) != LIST
    with pytest.raises(IndexError):
        LIST[len(MANY)]


def test_what_is_disabled_can_nothing() -> None:
    off = [row._replace(enabled=False) for row in MANY]
    columns = TokenList.of(off)
    for what in CanDo:
        assert any(row.can(what) for row in MANY)
        assert not any(row.can(what) for row in off)
        assert not any(columns.can(at, what) for at in range(len(off)))


def test_rows_are_added_at_their_places() -> None:
    some = random.Random(5).sample(MANY, 40)
    rest = TokenList.of(row for row in MANY if row not in some)
    assert list(rest.with_rows(some)) == MANY
    assert list(TokenList.of([]).with_rows(MANY[:1])) == MANY[:1]


def test_a_benign_scan_grows_old_and_no_other() -> None:
    benign = next(row for row in MANY if row.verdict is Verdict.BENIGN)
    warned = next(row for row in MANY if row.verdict is Verdict.WARNING)
    part = pack([(benign, 1000.0), (warned, 1000.0)])
    young, old = TokenList.joined([part], 999.9), TokenList.joined([part], 1000.0)
    assert [row.verdict for row in young] == [Verdict.BENIGN, Verdict.WARNING]
    assert [row.verdict for row in old] == [Verdict.STALE, Verdict.WARNING]


def walked(text: str, chain: str | None, can_do: CanDo | None) -> set[str]:
    """Ids of all rows that hold every word and pass the filters; a dot parts words where no row
    has them as they are."""

    def holding(words: list[str]) -> set[str]:
        return {
            row.id
            for row in MANY
            if all(word in row.text_key for word in words)
            and (chain is None or row.chain == chain)
            and (can_do is None or row.can(can_do))
        }

    found = holding(text.split())
    return found if found or "." not in text else holding(text.replace(".", " ").split())


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(MANY),
    st.integers(1, 5),
    st.sampled_from(["", " usd", " base", " inu"]),
    st.sampled_from([None, "ethereum", "solana"]),
    st.sampled_from([None, *CanDo]),
)
def test_a_search_finds_every_row_that_a_walk_finds(
    row: TokenRow, length: int, more: str, chain: str | None, can_do: CanDo | None
) -> None:
    text = row.symbol_key[:length].strip() + more
    found = [hit.id for hit in search(LIST, text, chain=chain, can_do=can_do, limit=10_000)]
    whole = walked(text, chain, can_do)
    assert len(set(found)) == len(found)
    assert set(found[: len(whole)]) == whole
    assert len(found) == len(whole) or len(whole) < 8
    by_price = search(LIST, text, chain=chain, can_do=can_do, sort="price", limit=10_000)
    assert {hit.id for hit in by_price} == whole
    prices = [hit.price for hit in by_price if hit.price is not None]
    assert prices == sorted(prices, reverse=True)


def slipped(typed: str) -> set[str]:
    """Every text one missing, extra, wrong or swapped character away."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    places = range(len(typed))
    missing = {typed[:at] + typed[at + 1 :] for at in places}
    wrong = {typed[:at] + one + typed[at + 1 :] for at in places for one in letters}
    extra = {typed[:at] + one + typed[at:] for at in [*places, len(typed)] for one in letters}
    swapped = {
        typed[:at] + typed[at + 1] + typed[at] + typed[at + 2 :] for at in places[: len(typed) - 1]
    }
    return missing | wrong | extra | swapped


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(MANY), st.data())
def test_a_slip_finds_every_symbol_that_a_walk_finds(row: TokenRow, data: st.DataObject) -> None:
    near = sorted(slipped(row.symbol_key))
    typed = data.draw(st.sampled_from([one for one in near if " " not in one] or ["usdx"]))
    found = [hit.id for hit in search(LIST, typed, limit=10_000)]
    whole = walked(typed, None, None)
    due = []
    if len(whole) < 8 and 3 <= len(typed) <= 10:
        words = slipped(typed)
        due = [one.id for one in MANY if one.symbol_key in words and one.id not in whole]
        if row.symbol_key in words:
            assert row.id in found
    assert found[len(whole) :] == due


def test_a_limit_keeps_the_best() -> None:
    for text in ("u", "eth", "moon inu", "usdc"):
        whole = search(LIST, text, limit=10_000)
        assert search(LIST, text, limit=5) == whole[:5]


def test_what_draws_alike_is_all_that_a_search_for_copies_needs() -> None:
    for row in MANY[::29]:
        alike = LIST.drawn_like(row)
        assert row in alike
        assert lookalikes(row, alike) == lookalikes(row, MANY)
        assert imitated_by(row, alike) == imitated_by(row, MANY)
        assert all(
            skeleton(row.symbol) & skeleton(one.symbol) or skeleton(row.name) & skeleton(one.name)
            for one in alike
        )


def test_facts_of_a_chain() -> None:
    assert LIST.contracts_on("Base") == {
        row.contract for row in MANY if row.chain == "base" and row.contract
    }


def stored(path: Path, steps: list[list[Token]]) -> TokenList:
    """What a file holds after a refresh that brought these steps."""
    cache_catalog(path, NOW, CHAINS, *steps)
    with closing(Catalog.open(path, ManualClock(NOW))) as catalog:
        catalog.load()
    return catalog.rows


def test_a_list_out_of_order_is_put_in_order(tmp_path: Path) -> None:
    tokens = sorted(TOKENS[:900], key=lambda token: row_of(token, NOW).order)
    tidy = stored(tmp_path / "tidy.db", [tokens[:450], tokens[450:]])
    assert list(tidy) == [row_of(token, NOW) for token in tokens]
    mixed = random.Random(3).sample(tokens, len(tokens))
    assert stored(tmp_path / "mixed.db", [mixed[:450], mixed[450:]]) == tidy


def test_of_a_token_that_comes_twice_the_later_one_is_listed(tmp_path: Path) -> None:
    """Pages shift while they are read."""
    tokens = sorted(TOKENS[:30], key=lambda token: row_of(token, NOW).order)
    dearer = tokens[9].model_copy(update={"price": Decimal(77)})
    found = stored(tmp_path / "catalog.db", [tokens[:10], [dearer, *tokens[10:]]])
    assert [row.id for row in found] == [token.id for token in tokens]
    assert found[9].price == 77


def flagged(shown: str, reads: str) -> bool:
    """Whether the desk says of a symbol, as it came over the wire, that it is not ``reads``."""
    safe = safe_text(shown, 80)
    return suspicion(safe) is not None or draws_like(safe, reads)


def test_of_two_thousand_imitations_nearly_none_passes() -> None:
    cases = look_alikes()
    missed = [(shown, reads) for shown, reads in cases if not flagged(shown, reads)]
    assert len(RANKED) == 50
    assert len(cases) >= 2_000
    assert len(missed) <= 0.005 * len(cases), missed
    # What is written backwards is suspected by its characters alone.
    forwards = [one for one in cases if one[1][::-1] not in one[0]]
    drawn = [one for one in forwards if draws_like(safe_text(one[0], 80), one[1])]
    assert len(drawn) >= 0.99 * len(forwards)


def test_honest_foreign_names_are_not_said_to_imitate() -> None:
    wrong = [(name, symbol) for name in HONEST for symbol in RANKED if draws_like(name, symbol)]
    assert wrong == []


def test_of_two_hundred_honest_names_nearly_none_is_suspected() -> None:
    assert len(set(HONEST)) >= 200
    wrong = [name for name in HONEST if suspicion(safe_text(name, 80)) is not None]
    assert len(wrong) <= 0.01 * len(HONEST), wrong
