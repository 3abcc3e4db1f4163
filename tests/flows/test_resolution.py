"""What a person calls a token, and which one is meant."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sampling import examples
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.catalog.token_row import Verdict
from swapdesk.flows.catalog.token_safety import check_token, token_refusal, verdict_of
from swapdesk.wire.tokens import Token
from world import sandbox_goods

NOW = ManualClock().now()
WORLD = sandbox_goods(NOW)["tokens"]


@pytest.mark.parametrize(
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
async def test_a_symbol_with_or_without_its_chain(
    spec: str, symbol: str, chain: str, catalog: Catalog
) -> None:
    found = resolve(spec, catalog)
    assert found.problem is None
    assert (found.token.symbol, found.token.chain_data.short_name) == (symbol, chain)
    assert found.candidates[0].id == found.token.id


async def test_a_bare_symbol_lists_the_others(catalog: Catalog) -> None:
    found = resolve("usdc", catalog)
    assert found.ambiguous
    assert found.specs[0] == "USDC.ethereum" or found.candidates[0].id == found.specs[0]
    assert "USDC.base" in found.specs
    for spec, row in zip(found.specs, found.candidates, strict=True):
        named = resolve(spec, catalog)
        assert named.token.id == row.id
    assert not resolve("usdc.base", catalog).ambiguous


async def test_disabled_and_malicious_tokens_are_never_the_choice(catalog: Catalog) -> None:
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


async def test_ids_and_contracts(catalog: Catalog) -> None:
    usdc = next(t for t in WORLD if t.symbol == "USDC" and t.chain == "base")
    for spec in (usdc.id, usdc.id.upper(), f"{usdc.address}.base", f"{usdc.address.upper()}.Base"):
        found = resolve(spec, catalog)
        assert found.token is not None, spec
        assert found.token.id == usdc.id
    assert resolve(usdc.address, catalog).token is not None
    elsewhere = resolve(f"{usdc.address}.polygon", catalog)
    assert elsewhere.problem == "No listed token has this contract."


@pytest.mark.parametrize(
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
async def test_what_cannot_be_resolved_says_why(spec: str, problem: str, catalog: Catalog) -> None:
    found = resolve(spec, catalog)
    assert (found.token, found.candidates, found.problem) == (None, (), problem)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(200))
@given(text=st.text(max_size=60))
async def test_any_text_resolves_or_says_why(text: str, catalog: Catalog) -> None:
    found = resolve(text, catalog)
    assert (found.token is None) is (found.problem is not None)


def test_a_disabled_or_malicious_token_is_refused() -> None:
    refused = {t.id for t in WORLD if token_refusal(t) is not None}
    assert refused == {
        t.id
        for t in WORLD
        if not t.enabled
        or not t.chain_data.enabled
        or (t.security_scan and t.security_scan.result_type == "Malicious")
    }
    assert refused
    for token in WORLD:
        assert check_token(token, now=NOW).ok is (token.id not in refused)


def test_a_warning_asks_and_an_unscanned_token_does_not() -> None:
    bridged = next(t for t in WORLD if t.symbol == "USDC.e")
    check = check_token(bridged, now=NOW)
    assert (verdict_of(bridged, NOW), check.ok, check.needs_consent) == (
        Verdict.WARNING,
        True,
        True,
    )
    scan = bridged.security_scan.model_copy(update={"result_type": "HOVERING"})
    check = check_token(bridged.model_copy(update={"security_scan": scan}), now=NOW)
    assert (check.ok, check.needs_consent) == (True, True)
    assert check.lines[-1].text.startswith("A scan says HOVERING of USDC.e on ")
    native = next(t for t in WORLD if t.symbol == "BTC" and t.chain == "bitcoin")
    check = check_token(native, now=NOW)
    assert (check.ok, check.needs_consent) == (True, False)
    assert check.lines == ()


def _malicious(token: Token) -> bool:
    return token.security_scan is not None and token.security_scan.result_type == "Malicious"


async def test_an_imitation_is_refused_with_its_contract(catalog: Catalog) -> None:
    fake = next(t for t in WORLD if t.unverified and t.address and "\u200b" in t.symbol)
    usdc = catalog.rows_of_symbol("usdc")[0]
    check = check_token(fake, now=NOW, imitates=usdc)
    assert not check.ok
    known = f"looks like USDC on {usdc.chain_name} and is not"
    assert known in check.lines[0].text
    # Found malicious as well, it names the token it copies all the same.
    worse = fake.model_copy(
        update={"security_scan": next(t.security_scan for t in WORLD if _malicious(t))}
    )
    said = [line.text for line in check_token(worse, now=NOW, imitates=usdc).lines]
    assert "malicious" in said[0]
    assert known in said[1]
    assert fake.address is not None
    assert fake.address in check.lines[0].text
    assert any("hidden characters" in line.text for line in check.lines)
