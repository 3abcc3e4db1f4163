"""The scanner of the sandbox and the accounts it is served to."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from swapdesk.clock import ManualClock
from swapdesk.sandbox.partner_keys import partner_keys
from swapdesk.sandbox.scans import RETRY_LIFE, SCAN_LIFE, Scanner
from swapdesk.sandbox.service_process import build_partners
from swapdesk.sandbox.world import rows_by_id
from swapdesk.sandbox.world_generator import generate_tokens
from swapdesk.service.access import Tier
from swapdesk.wire.tokens import ScanResult, Token, TokenSecurityScan, UnscannedReason
from world import sandbox_goods

NOW = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
CHAINS = sandbox_goods(NOW)["chains"]
TOKENS = sandbox_goods(NOW)["tokens"]
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


async def test_scanning_takes_a_moment_of_the_clock() -> None:
    class _Asleep(ManualClock):
        slept = 0.0

        async def sleep(self, seconds: float) -> None:
            self.slept += seconds
            self.advance(seconds)

    clock = _Asleep(NOW)
    token = named("UNI", "ethereum")
    scan = await Scanner(7, clock, rows_by_id()).scan(token)
    assert clock.slept > 0
    assert scan.scanned_at == clock.now() > NOW


def test_accounts_differ_in_markup_and_fixed_rates() -> None:
    stored = build_partners(partner_keys(b"k" * 32), NOW)
    first, second, free, suspended, narrow = (each.as_partner() for each in stored)
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
