from __future__ import annotations

from datetime import UTC, datetime

import pytest

from swapdesk.chain.addresses.checking import check_address, pattern_fits
from swapdesk.chain.addresses.kinds import KINDS
from swapdesk.sandbox.tables import ASSETS, EVM_CHAINS, HONEST_ROWS, HOSTILE_ROWS, VENUE_ROWS
from swapdesk.sandbox.world import (
    INTERMEDIARIES,
    find_token,
    provider_of,
    trades,
    world_tokens,
)
from swapdesk.wire.encoding.codec import decode, encode_json
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.tokens import ScanResult, Token, UnscannedReason
from world import sandbox_goods

NOW = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
CHAINS = sandbox_goods(NOW)["chains"]
TOKENS = sandbox_goods(NOW)["tokens"]
BY_ID = {token.id: token for token in TOKENS}


def test_chains_of_every_kind() -> None:
    enabled = [chain for chain in CHAINS if chain.enabled]
    assert len(enabled) >= 24
    assert any(not chain.enabled for chain in CHAINS)
    assert {chain.kind for chain in enabled} == set(KINDS)
    needing = {chain.kind for chain in CHAINS if chain.memo_needed}
    assert needing == {"xrp", "xlm", "ton", "cosmos"}
    assert len({chain.id for chain in CHAINS}) == len(CHAINS)


def test_every_chain_has_a_native_coin_that_is_traded() -> None:
    for chain in CHAINS:
        coins = [token for token in TOKENS if token.chain == chain.short_name and token.mainnet]
        assert len(coins) == 1
        assert coins[0].has_self_private


def test_enough_tokens_and_unique_ids() -> None:
    assert len(TOKENS) - len(HOSTILE_ROWS) >= 400
    assert len({token.chain for token in TOKENS}) >= 24
    assert len(BY_ID) == len(TOKENS)


@pytest.mark.parametrize(
    ("symbol", "chains"),
    [("BTC", 3), ("ETH", 8), ("SOL", 4), ("XRP", 2), ("USDC", 15), ("USDT", 15), ("DOGE", 2)],
)
def test_same_symbol_on_many_chains(symbol: str, chains: int) -> None:
    assert len({token.chain for token in TOKENS if token.symbol == symbol}) >= chains


def test_every_row_is_what_it_is_on_the_wire() -> None:
    for token in TOKENS:
        assert decode(Token, encode_json(token), side="client", max_bytes=1 << 16).id == token.id
    for row in VENUE_ROWS:
        provider = provider_of(row)
        read = decode(SwapProvider, encode_json(provider), side="client", max_bytes=1 << 16)
        assert read == provider


def test_wrappers_thin_ones_and_long_names() -> None:
    assert sum(token.symbol.endswith((".e", ".b")) for token in TOKENS) >= 8
    assert max(len(token.name) for token in TOKENS if token.has_cex) > 60
    assert sum(asset.liquidity < 1 for asset in ASSETS.values()) >= 20


@pytest.mark.parametrize("chain", sorted({row.chain for row in HONEST_ROWS}))
def test_rows_name_what_exists(chain: str) -> None:
    pattern = next(each for each in CHAINS if each.short_name == chain).token_address_validation
    for row in HONEST_ROWS:
        if row.chain == chain:
            assert row.asset is None or row.asset in ASSETS
            assert 0 <= row.decimals <= 24
            assert row.verdict in {"benign", "warning", "malicious", *UnscannedReason}
            assert (row.verdict == "NATIVE_TOKEN") == row.native
            assert row.native or pattern != "^$"


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
        assert token.chain == token.chain_data.short_name
        assert (token.address is None) == token.mainnet
        if token.address is None:
            continue
        assert pattern_fits(token.chain_data.token_address_validation, token.address)
        kind, address = token.chain_data.kind, token.address
        if kind == "algo":
            continue  # a token is a number there
        if kind == "sui":
            address = address.partition("::")[0]
        verdict = check_address(kind, address, chain_name=token.chain_data.name)
        # The decoder knows wrapped SOL by its address: nobody may be paid there.
        assert verdict.ok or token.symbol == "WSOL", (token.symbol, token.chain, verdict.reason)
        assert verdict.normalized == address or token.symbol == "WSOL"


def test_every_verdict_and_a_stale_one() -> None:
    scans = [token.security_scan for token in TOKENS]
    assert None in scans
    results = {scan.result_type for scan in scans if scan is not None}
    assert results == {member.value for member in ScanResult}
    stale = [
        token for token in TOKENS if token.security_scan and token.security_scan.expires_at < NOW
    ]
    assert ("USDC", "polygon") in [(token.symbol, token.chain) for token in stale]
    assert len(stale) >= 5


def test_most_tokens_were_never_selected() -> None:
    assert sum(token.security_scan is None for token in TOKENS) > len(TOKENS) / 2


def test_look_alikes_of_usdc() -> None:
    copies = [t for t in TOKENS if t.symbol == "USDC" and t.chain == "ethereum"]
    assert len(copies) == 2
    false = next(token for token in copies if token.id != find_token("ethereum", "USDC").token_id)
    assert false.security_scan.result_type == ScanResult.MALICIOUS
    assert not false.has_cex
    assert false.priority is None
    dangerous = [token for token in world_tokens().values() if token.row.verdict == "malicious"]
    assert len(dangerous) >= 15
    assert not any(token.tradable for token in dangerous)


def test_disabled_unverified_and_unpriced() -> None:
    assert any(not token.enabled and token.chain_data.enabled for token in TOKENS)
    assert all(not token.enabled for token in TOKENS if not token.chain_data.enabled)
    assert any(token.unverified for token in TOKENS)
    assert sum(token.has_cex and token.price is None for token in TOKENS) >= 10


def test_private_to_self_is_computed() -> None:
    enabled = [venue for venue in VENUE_ROWS if venue.enabled]
    assert len(enabled) >= 12
    assert any(token.has_cex and not token.has_self_private for token in TOKENS)
    for token in TOKENS:
        mappings = sum(trades(venue, world_tokens()[token.id]) for venue in enabled)
        assert token.has_cex == (mappings > 0)
        assert token.has_self_private == (mappings >= 2)


def test_a_bundle_is_promised_where_the_sandbox_makes_one() -> None:
    """Of a chain that is no more than a ledger the deposits are made one by one."""
    bundled = {token.chain for token in TOKENS if token.has_bundler}
    assert bundled == {"solana", *EVM_CHAINS}
    for token in TOKENS:
        if token.chain == "solana" or (token.mainnet and token.chain in EVM_CHAINS):
            assert token.has_bundler == token.has_cex, token.name
        assert token.has_cex or not token.has_bundler


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
        ("DOGE", "dogecoin"),
        ("ADA", "cardano"),
        ("TRX", "tron"),
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
