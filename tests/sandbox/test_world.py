from __future__ import annotations

from datetime import UTC, datetime

import pytest

from swapdesk.chain.addresses.decoding import KINDS, check_address
from swapdesk.chain.addresses.derive import derive_address
from swapdesk.chain.addresses.patterns import ServerPattern
from swapdesk.sandbox.hostile_rows import HOSTILE_ROWS
from swapdesk.sandbox.venue_rows import VENUE_ROWS
from swapdesk.sandbox.world import (
    INTERMEDIARIES,
    build_chains,
    build_tokens,
    find_token,
    provider_of,
    seed_bytes,
    trades,
    world_tokens,
)
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.codec import decode, encode_json
from swapdesk.wire.tokens import ScanResult, Token

NOW = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
CHAINS = build_chains()
TOKENS = build_tokens(CHAINS, NOW)
BY_ID = {token.id: token for token in TOKENS}


def test_chains_of_every_kind() -> None:
    enabled = [chain for chain in CHAINS if chain.enabled]
    assert len(enabled) >= 24
    assert any(not chain.enabled for chain in CHAINS)
    assert {chain.kind for chain in enabled} == set(KINDS)
    needing = {chain.kind for chain in CHAINS if chain.memo_needed}
    assert needing == {"xrp", "xlm", "ton", "cosmos"}
    assert len({chain.id for chain in CHAINS}) == len(CHAINS)


def test_no_signature_of_the_sandbox_is_valid_elsewhere() -> None:
    evm = {chain.short_name: chain.chain_id for chain in CHAINS if chain.kind == "evm"}
    assert evm["ethereum"] == 1_337_000_001
    assert evm["base"] == 1_337_008_453
    assert all(chain.chain_id is None for chain in CHAINS if chain.kind != "evm")


def test_explorer_templates() -> None:
    for chain in CHAINS:
        assert chain.explorer_url.startswith("https://")
        assert "{txHash}" in chain.explorer_url
        assert "{address}" in chain.address_url


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.short_name)
def test_patterns_take_what_the_decoder_takes(chain: Chain) -> None:
    pattern = ServerPattern(chain.address_validation)
    assert pattern.supported
    for number in range(50):
        address = derive_address(chain.kind, seed_bytes("test", number), chain.name)
        assert check_address(chain.kind, address, chain_name=chain.name).ok
        assert pattern.matches(address), address
        assert not pattern.matches(address + "\n")
        assert not pattern.matches(address[:20])


def test_enough_tokens_and_unique_ids() -> None:
    assert len(TOKENS) >= 80
    assert len(BY_ID) == len(TOKENS)


@pytest.mark.parametrize("symbol", ["BTC", "ETH", "SOL", "XRP", "USDC", "USDT"])
def test_same_symbol_on_many_chains(symbol: str) -> None:
    assert len({token.chain for token in TOKENS if token.symbol == symbol}) >= 2


def test_known_ids() -> None:
    known = {
        "6689b73ec90e45f3b3e51566": ("ETH", "ethereum"),
        "6689b73ec90e45f3b3e51554": ("USDC", "ethereum"),
        "6689b73ec90e45f3b3e51577": ("SOL", "solana"),
        "6689b73ec90e45f3b3e51590": ("ETH", "base"),
        "6689b757c90e45f3b3e51805": ("USDC", "base"),
    }
    assert {key: (BY_ID[key].symbol, BY_ID[key].chain) for key in known} == known


def test_contracts_decode_and_fit_their_chain() -> None:
    for token in TOKENS:
        assert (token.address is None) == token.mainnet
        if token.address is not None:
            verdict = check_address(token.chain_data.kind, token.address)
            assert verdict.ok, (token.symbol, token.chain, verdict.reason)
            assert verdict.normalized == token.address
            assert ServerPattern(token.chain_data.token_address_validation).matches(token.address)


def test_decimals() -> None:
    assert {0, 6, 8, 9, 12, 18, 24} <= {token.decimals for token in TOKENS}


def test_every_verdict_and_a_stale_one() -> None:
    scans = [token.security_scan for token in TOKENS]
    assert None in scans
    results = {scan.result_type for scan in scans if scan is not None}
    assert results == {member.value for member in ScanResult}
    stale = [
        token for token in TOKENS if token.security_scan and token.security_scan.expires_at < NOW
    ]
    assert [(token.symbol, token.chain) for token in stale] == [("USDC", "polygon")]


def test_look_alike_of_usdc() -> None:
    copies = [t for t in TOKENS if t.symbol == "USDC" and t.chain == "ethereum"]
    assert len(copies) == 2
    false = next(token for token in copies if token.id != find_token("ethereum", "USDC").token_id)
    assert false.security_scan is not None
    assert false.security_scan.result_type == ScanResult.MALICIOUS
    assert not false.has_cex
    assert false.priority is None


def test_disabled_unverified_and_unpriced() -> None:
    assert any(not token.enabled and token.chain_data.enabled for token in TOKENS)
    assert all(not token.enabled for token in TOKENS if not token.chain_data.enabled)
    assert any(token.unverified for token in TOKENS)
    assert any(token.has_cex and token.price is None for token in TOKENS)


def test_private_to_self_is_computed() -> None:
    enabled = [venue for venue in VENUE_ROWS if venue.enabled]
    assert len(enabled) >= 6
    for token in TOKENS:
        mappings = sum(trades(venue, world_tokens()[token.id]) for venue in enabled)
        assert token.has_cex == (mappings > 0)
        assert token.has_self_private == (mappings >= 2)


@pytest.mark.parametrize(
    ("symbol", "chain"),
    [
        ("BTC", "bitcoin"),
        ("ETH", "ethereum"),
        ("SOL", "solana"),
        ("XMR", "monero"),
        ("XRP", "xrp"),
        ("USDC", "ethereum"),
        ("USDT", "ethereum"),
        ("BNB", "bsc"),
    ],
)
def test_a_bare_symbol_means_the_main_token(symbol: str, chain: str) -> None:
    matches = [
        token
        for token in TOKENS
        if token.symbol == symbol
        and token.enabled
        and not token.unverified
        and token.priority is not None
    ]
    best = min(matches, key=lambda token: (token.priority, token.rank or 10**6))
    assert best.chain == chain


def test_hostile_names_reach_the_wire_and_are_safe_on_the_clients_side() -> None:
    names = {row.name for row in HOSTILE_ROWS}
    assert {
        "[red]x[/]",
        "A[/]B",
        "[@click=app.quit]x[/]",
        "\\[red]",
        "\x1b[6n",
        "\u202eCDSU",
    } <= names
    assert any(len(name) == 200 for name in names)
    assert any("\u200b" in name for name in names)
    assert any("\u0405" in name for name in names)
    data = encode_json(TOKENS)
    read = {
        token.id: token for token in decode(list[Token], data, side="client", max_bytes=8 << 20)
    }
    raw = {
        token.id: token for token in decode(list[Token], data, side="service", max_bytes=8 << 20)
    }
    assert {token.name for token in raw.values()} >= names
    for token in read.values():
        for text in (
            token.symbol,
            token.name,
            token.description or "",
            token.warning_message or "",
        ):
            assert text.isprintable(), repr(text)


def test_some_hostile_names_are_in_the_default_list() -> None:
    names = {row.name for row in HOSTILE_ROWS}
    shown = [token for token in TOKENS if token.name in names and not token.unverified]
    assert len(shown) >= 3
    assert all(not token.has_cex for token in shown)


def test_providers_and_intermediaries() -> None:
    names = {provider_of(row).name for row in VENUE_ROWS}
    assert {"Halyard", "Cobalt", "Alder", "Juniper", "Kestrel", "Gantry"} <= names
    for place in INTERMEDIARIES:
        assert sum(trades(row, find_token(*place)) for row in VENUE_ROWS if row.enabled) >= 2
