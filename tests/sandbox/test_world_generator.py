"""Generated catalogues: valid on the wire, the same for the same seed, of every kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache

import pytest

from swapdesk.chain.addresses.checking import check_address, pattern_fits
from swapdesk.cli.sandbox_commands import FEWEST_TOKENS, MOST_TOKENS
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.sandbox.world_generator import FEWEST, MOST, build_catalog, generate_tokens
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.codec import decode, encode_json
from swapdesk.wire.tokens import ScanResult, Token, UnscannedReason

NOW = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)


@cache
def catalog() -> tuple[Sequence[Chain], Sequence[Token]]:
    """Made where it is used and not where tests are collected, which each worker does."""
    return build_catalog(7, 5_000, NOW)


def chains() -> Sequence[Chain]:
    return catalog()[0]


def tokens() -> Sequence[Token]:
    return catalog()[1]


@cache
def own() -> Sequence[Token]:
    return build_tokens(chains(), NOW)


@cache
def made() -> Sequence[Token]:
    return tokens()[len(own()) :]


def test_so_many_with_ids_and_contracts_of_their_own() -> None:
    assert len(tokens()) == 5_000
    assert tokens()[: len(own())] == own()
    assert len({token.id for token in tokens()}) == len(tokens())
    assert len({(token.chain, token.address) for token in made()}) == len(made())


def test_the_same_for_the_same_seed_and_the_first_of_a_larger_one() -> None:
    again = list(generate_tokens(7, 300, chains(), NOW))
    assert again == made()[:300]
    other = list(generate_tokens(8, 300, chains(), NOW))
    assert not {token.id for token in other} & {token.id for token in made()}
    assert [token.name for token in other] != [token.name for token in again]


def test_every_token_is_one_on_the_wire() -> None:
    data = encode_json(made()[:1_000])
    read = decode(list[Token], data, side="client", max_bytes=32 << 20)
    assert [token.id for token in read] == [token.id for token in made()[:1_000]]
    assert [token.price for token in read] == [token.price for token in made()[:1_000]]
    assert encode_json(decode(list[Token], data, side="service", max_bytes=32 << 20)) == data


def test_contracts_are_those_of_their_chain() -> None:
    seen = Counter[str]()
    for token in made()[:1500]:
        kind = token.chain_data.kind
        seen[kind] += 1
        assert pattern_fits(token.chain_data.token_address_validation, token.address)
        address = token.address.partition("::")[0]
        verdict = check_address(kind, address, chain_name=token.chain_data.name)
        assert verdict.normalized == address, (token.chain, token.address, verdict.reason)
    assert set(seen) == {"evm", "sol", "tron", "sui", "ton"}


def test_names_are_like_those_of_public_lists() -> None:
    symbols = Counter(token.symbol for token in made())
    assert len(symbols) > len(made()) / 3
    assert symbols["USDC"] > 5
    lengths = sorted(len(token.symbol) for token in made())
    assert 3 <= lengths[len(lengths) // 2] <= 6
    assert any(not token.name.isascii() for token in made())
    assert {0, 2, 6, 9, 18, 24} <= {token.decimals for token in made()}
    assert len({token.chain for token in made()}) >= 15


def test_every_verdict_and_every_reason() -> None:
    scans = [token.security_scan for token in made() if token.security_scan is not None]
    assert 0.3 < len(scans) / len(made()) < 0.5
    assert {scan.result_type for scan in scans} == {each.value for each in ScanResult}
    reasons = {scan.unscanned_reason for scan in scans} - {None}
    assert reasons == {each.value for each in UnscannedReason} - {"NATIVE_TOKEN"}
    assert 0 < sum(scan.expires_at < NOW for scan in scans) < len(scans) / 2


def test_some_are_disabled_unverified_and_without_a_price() -> None:
    assert 0.2 < sum(token.unverified for token in made()) / len(made()) < 0.4
    assert 0.2 < sum(token.price is None for token in made()) / len(made()) < 0.4
    assert any(not token.enabled and token.chain_data.enabled for token in made())
    for token in made():
        assert not token.has_cex  # nobody trades what was made up
        assert not token.has_self_private
        assert token.priority is None or not token.unverified


@pytest.mark.parametrize("count", [FEWEST, FEWEST - 1, 0, -1, MOST + 1])
def test_bounds_of_the_count(count: int) -> None:
    if count == FEWEST:
        assert len(build_catalog(1, count, NOW)[1]) == FEWEST
        return
    with pytest.raises(ValueError, match="1000 to 100000"):
        build_catalog(1, count, NOW)


def test_the_command_takes_the_same_counts() -> None:
    assert (FEWEST_TOKENS, MOST_TOKENS) == (FEWEST, MOST)


def test_generating_is_lazy_up_to_the_largest_count() -> None:
    tokens = generate_tokens(7, MOST, build_chains(), NOW)
    assert next(tokens) == made()[0]
