"""Memo and destination tag rules, and the typed waiver."""

from __future__ import annotations

import pytest

from swapdesk.chain.addresses.memos import WAIVER, check_memo, memo_label


def test_labels() -> None:
    assert memo_label("xrp") == "destination tag"
    assert memo_label("sol") == memo_label("ton") == "memo"


@pytest.mark.parametrize(
    ("text", "code", "normalized"),
    [
        ("104882716", "valid", "104882716"),
        ("0", "valid", "0"),
        ("007", "valid", "7"),
        ("4294967295", "valid", "4294967295"),
        ("4294967296", "range", ""),
        ("9" * 64, "range", ""),
        ("9" * 100_000, "range", ""),
        ("-1", "character", ""),
        ("1.0", "character", ""),
        ("1e3", "character", ""),
        (" 1", "character", ""),
        ("1\n", "character", ""),
        ("\uff11\uff12", "character", ""),
        ("\u0661", "character", ""),
    ],
)
def test_destination_tags(text: str, code: str, normalized: str) -> None:
    verdict = check_memo("xrp", text, True)
    assert (verdict.ok, verdict.code, verdict.normalized) == (code == "valid", code, normalized)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("abc-123 x", "valid"),
        ("a" * 64, "valid"),
        ("a" * 65, "length"),
        ("a" * 100_000, "length"),
        ("a\u200bb", "character"),
        ("a\x1b[2J", "character"),
        ("\u202eab", "character"),
        ("ab\n", "character"),
        (" ab", "character"),
        ("ab ", "character"),
    ],
)
def test_text_memos(text: str, code: str) -> None:
    verdict = check_memo("sol", text, True)
    assert (verdict.ok, verdict.code) == (code == "valid", code)
    assert verdict.normalized == (text if verdict.ok else "")
    assert all(" " <= c <= "~" for c in verdict.reason)


def test_a_needed_memo_is_asked_for_by_name() -> None:
    verdict = check_memo("xrp", "", True, symbol="XRP")
    assert (verdict.ok, verdict.code) == (False, "missing")
    assert verdict.reason == (
        'XRP needs a destination tag for exchanges. Type "NO MEMO" if this wallet has none.'
    )
    assert check_memo("ton", "", True).reason.startswith("This chain needs a memo")


@pytest.mark.parametrize("needed", [False, None])
def test_no_memo_where_none_is_needed(needed: bool | None) -> None:
    verdict = check_memo("evm", "", needed)
    assert (verdict.ok, verdict.code, verdict.normalized) == (True, "none", "")


@pytest.mark.parametrize("kind", ["xrp", "sol"])
def test_the_waiver_is_exact_and_never_sent(kind: str) -> None:
    verdict = check_memo(kind, WAIVER, True)
    assert (verdict.ok, verdict.code, verdict.normalized) == (True, "waived", "")
    for near in ("no memo", "No Memo", " NO MEMO", "NO MEMO "):
        assert check_memo(kind, near, True).code == "waiver"
        assert not check_memo(kind, near, True).ok
