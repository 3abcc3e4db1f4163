"""The world of the sandbox: its catalogue on the wire, its chains against the decoders, the
verdicts of its scanner, and generated catalogues, which are the same for the same seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache

import pytest

from rows import each_row
from swapdesk.chain.addresses.checking import check_address, pattern_fits
from swapdesk.chain.addresses.display import transaction_link
from swapdesk.chain.addresses.kinds import KINDS, derive_address, derive_transaction_hash
from swapdesk.cli.sandbox_commands import FEWEST_TOKENS, MOST_TOKENS
from swapdesk.clock import ManualClock
from swapdesk.sandbox.partner_keys import partner_keys
from swapdesk.sandbox.service_process import build_partners
from swapdesk.sandbox.tables import (
    CHAIN_ROWS,
    EVM_CHAINS,
    HOSTILE_ROWS,
    VENUE_ROWS,
    ChainIds,
    ChainRow,
    chain_terms,
)
from swapdesk.sandbox.world import (
    RETRY_LIFE,
    SCAN_LIFE,
    Scanner,
    build_chains,
    build_tokens,
    find_token,
    provider_of,
    rows_by_id,
    trades,
    world_tokens,
)
from swapdesk.sandbox.world_generator import FEWEST, MOST, build_catalog, generate_tokens
from swapdesk.service.access import Tier
from swapdesk.wire.chains import Chain, SwapProvider
from swapdesk.wire.encoding.codec import decode, encode_json
from swapdesk.wire.tokens import ScanResult, Token, TokenSecurityScan, UnscannedReason
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


def test_every_row_is_what_it_is_on_the_wire() -> None:
    for token in TOKENS:
        assert decode(Token, encode_json(token), side="client", max_bytes=1 << 16).id == token.id
    for row in VENUE_ROWS:
        provider = provider_of(row)
        read = decode(SwapProvider, encode_json(provider), side="client", max_bytes=1 << 16)
        assert read == provider


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


@each_row(
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
    hostile = [token for token in TOKENS if token.name in names]
    shown = [token for token in hostile if not token.unverified]
    assert len(hostile) > 2 * len(shown)
    assert len(shown) >= 3
    assert all(not token.has_cex for token in shown)


SCANNER = Scanner(7, ManualClock(), rows_by_id())


def named(symbol: str, chain: str) -> Token:
    return next(each for each in TOKENS if each.symbol == symbol and each.chain == chain)


def verdicts(at: datetime = NOW) -> list[TokenSecurityScan]:
    return [SCANNER.verdict(token, at) for token in TOKENS]


def test_a_scan_is_the_same_for_the_same_seed_token_and_time() -> None:
    again = Scanner(7, ManualClock(), rows_by_id())
    assert [again.verdict(token, NOW) for token in TOKENS] == verdicts()


def test_every_verdict_and_most_reasons_are_found_in_the_world() -> None:
    found = Counter(str(scan.result_type) for scan in verdicts())
    assert set(found) == {each.value for each in ScanResult}
    assert found["Benign"] > len(TOKENS) / 2
    reasons = {scan.unscanned_reason for scan in verdicts()} - {None}
    later = {scan.unscanned_reason for scan in verdicts(NOW + timedelta(hours=1))} - {None}
    assert len(reasons | later) >= 8


def test_every_kind_of_finding_is_found_and_no_other() -> None:
    found = {finding.type for scan in verdicts() for finding in scan.features}
    assert found == {"Malicious", "Warning", "Benign", "Info"}


def test_what_was_selected_before_stays_what_it_is() -> None:
    for token in TOKENS:
        before = token.security_scan
        if before is None or before.result_type == ScanResult.UNSCANNED:
            continue
        now = SCANNER.verdict(token, NOW)
        assert now.result_type == before.result_type, token.symbol
        assert now.expires_at > NOW


def test_how_long_a_scan_stands() -> None:
    passing = {"RATE_LIMITED", "TIMEOUT", "PROVIDER_ERROR", "SCAN_PENDING"}
    for scan in verdicts():
        short = scan.unscanned_reason in passing
        assert scan.expires_at - scan.scanned_at == (RETRY_LIFE if short else SCAN_LIFE)
        assert (scan.unscanned_reason is None) == (scan.result_type != ScanResult.UNSCANNED)
        assert (scan.malicious_score is None) == (scan.result_type == ScanResult.UNSCANNED)


def test_a_reason_that_passes_has_passed_at_some_later_look() -> None:
    token = named("DAI", "arbitrum")
    results = {
        str(SCANNER.verdict(token, NOW + timedelta(minutes=15 * look)).result_type)
        for look in range(40)
    }
    assert results == {"Benign", "Unscanned"}


def test_natives_copies_and_bridged_tokens() -> None:
    native = SCANNER.verdict(named("ETH", "base"), NOW)
    assert native.unscanned_reason == UnscannedReason.NATIVE_TOKEN
    copy = next(each for each in TOKENS if each.name == "USDCoin")
    assert {f.type for f in SCANNER.verdict(copy, NOW).features} == {"Malicious"}
    bridged = SCANNER.verdict(named("USDC.e", "arbitrum"), NOW)
    assert bridged.result_type == ScanResult.WARNING
    assert "BRIDGED" in {feature.feature_id for feature in bridged.features}


def test_tokens_without_a_row_are_scanned_too() -> None:
    made = list(generate_tokens(3, 600, CHAINS, NOW))
    found = Counter(str(SCANNER.verdict(token, NOW).result_type) for token in made)
    assert set(found) == {each.value for each in ScanResult}


def test_accounts_differ_in_markup_and_fixed_rates() -> None:
    stored = build_partners(partner_keys(b"k" * 32), NOW)
    first, second, free, suspended, narrow = (each.terms for each in stored)
    assert (first.tier, second.tier, free.tier) == (Tier.PRO, Tier.PRO, Tier.FREE)
    assert first.default_markup == Decimal("0.5")
    assert second.default_markup == free.default_markup == 0
    assert first.fixed_rates
    assert second.fixed_rates
    assert not free.fixed_rates
    assert [(len(each.keys), each.suspended) for each in (first, suspended, narrow)] == [
        (3, False),
        (1, True),
        (1, False),
    ]
    assert narrow.read_limits.per_minute == 5


COUNT = 2_000


@cache
def catalog() -> tuple[Sequence[Chain], Sequence[Token]]:
    """Made where it is used and not where tests are collected, which each worker does."""
    return build_catalog(7, COUNT, NOW)


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
    assert len(tokens()) == COUNT
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
    assert not any(token.has_cex or token.has_self_private for token in made()), "nobody trades it"
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


def test_every_verdict_and_every_reason() -> None:
    scans = [token.security_scan for token in made() if token.security_scan is not None]
    assert 0.3 < len(scans) / len(made()) < 0.5
    assert {scan.result_type for scan in scans} == {each.value for each in ScanResult}
    reasons = {scan.unscanned_reason for scan in scans} - {None}
    assert reasons == {each.value for each in UnscannedReason} - {"NATIVE_TOKEN"}
    assert 0 < sum(scan.expires_at < NOW for scan in scans) < len(scans) / 2


@each_row("count", [FEWEST, FEWEST - 1, 0, -1, MOST + 1])
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


BY_NAME = {row.short_name: row for row in CHAIN_ROWS}
SEEDS = [number.to_bytes(32, "big") for number in range(6)]
HONEST = [
    ("bitcoin", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
    ("bitcoin", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"),
    ("litecoin", "LT2KVaAy1ppRuxRgrS5RNU3vBsy7RibPeA"),
    ("litecoin", "MHrYRxAiMNBTku3eoDHwhA1LQGDjUStZW2"),
    ("dogecoin", "DEQU7G2Chw4r1gSKZt2GfKBpGbkbQSwp3S"),
    ("dogecoin", "9tg8sLnB9okjuNSdgtAWrNPcgijs1yMwBE"),
    ("bitcoincash", "ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq"),
    ("tron", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"),
    ("stellar", "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"),
    ("cardano", "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzers66hrl8"),
    (
        "cardano",
        "addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2wywfgse35a3x",
    ),
    ("cardano", "addr1gx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer5pnz75xxcrzqf96k"),
    ("cardano", "Ae2tdPwUPEZDMm8GdfnY8ibhFPd5GBjyRARL7A5DbatemFheedMwB4WTj7z"),
    ("polkadot", "1qnJN7FViy3HZaxZK9tGAA71zxHSBeUweirKqCaox4t8GT7"),
    ("kusama", "DR6pMC4GJiVbgPtNNuw1xgxJyEsYYuXKXq7ZCVBjfFrh3V5"),
    ("cosmos", "cosmos1qckcmp3uw7qa5407qy3dlw8fzzc9c67yvrf7c6"),
    ("algorand", "VQD6TBRL6BH6NAGIPEUG6JZUCPJVXB3GPTHEU5WTKX5DDGSR3AXNKBN5FQ"),
]
"""Published addresses; where each comes from stands with the vectors of its decoder."""


@each_row("row", CHAIN_ROWS, ids=lambda row: row.short_name)
def test_addresses_of_a_chain_are_good_there_and_nowhere_by_accident(row: ChainRow) -> None:
    pattern = row.address_pattern
    for seed in SEEDS:
        address = row.address(seed)
        verdict = check_address(row.kind, address, chain_name=row.name)
        assert (verdict.ok, verdict.normalized) == (True, address)
        assert pattern_fits(pattern, address)
        assert pattern_fits(pattern, address + "\n") is False
        assert pattern_fits(pattern, address[:20]) is False
        for other in CHAIN_ROWS:
            if other.kind != row.kind:
                assert not check_address(other.kind, address, chain_name=other.name).ok


@each_row(("chain", "address"), HONEST)
def test_patterns_take_what_wallets_of_the_chain_give(chain: str, address: str) -> None:
    row = BY_NAME[chain]
    assert check_address(row.kind, address, chain_name=row.name).ok
    assert pattern_fits(row.address_pattern, address)


@each_row("row", CHAIN_ROWS, ids=lambda row: row.short_name)
def test_contract_patterns_take_contracts_alone(row: ChainRow) -> None:
    pattern = row.contract_pattern
    has_tokens = row.kind in ("evm", "sol", "xrp", "xlm", "ton", "tron", "sui")
    assert pattern_fits(pattern, derive_address(row.kind, SEEDS[1])) is has_tokens
    if row.kind == "sui":
        assert pattern_fits(pattern, "0x" + "ab" * 32 + "::usdc::USDC")
    if row.kind == "algo":
        assert pattern_fits(pattern, "31566704")


@each_row("row", CHAIN_ROWS, ids=lambda row: row.short_name)
def test_explorers_are_linked_over_https_with_what_the_chain_calls_its_hashes(
    row: ChainRow,
) -> None:
    for template, link in (
        (
            f"{row.explorer}/{row.transaction_page}/{{txHash}}",
            transaction_link(
                f"{row.explorer}/{row.transaction_page}/{{txHash}}",
                derive_transaction_hash(row.kind, SEEDS[0]),
            ),
        ),
        (
            f"{row.explorer}/{row.address_page}/{{address}}",
            transaction_link(
                f"{row.explorer}/{row.address_page}/{{txHash}}", row.address(SEEDS[0])
            ),
        ),
    ):
        assert template.count("//") == 1
        assert link.startswith("https://")


def test_a_deposit_confirms_within_minutes_of_the_world() -> None:
    for row in CHAIN_ROWS:
        assert 0 < row.block_ms * row.confirmations <= 200_000, row.short_name
        assert row.confirmations >= 2
        assert row.first_height > 1_000_000 or row.kind in ("bitcoin", "bch")


@each_row("ids", ["sandbox", "real"])
def test_the_catalogue_has_the_ids_of_the_chains_that_run(ids: ChainIds) -> None:
    """What is signed for a chain is signed for the id that the service names."""
    named = {chain.short_name: chain.chain_id for chain in build_chains(ids)}
    assert {name: named[name] for name in chain_terms(ids)} == {
        name: terms.chain_id for name, terms in chain_terms(ids).items()
    }
