"""The service's pattern narrows the local check, in linear time, and never widens it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling import examples
from swapdesk.chain.addresses.checking import (
    UNSUPPORTED,
    check_address,
    check_recipient,
    pattern_fits,
)
from swapdesk.chain.addresses.kinds import KINDS, derive_address

EVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
EVM_PATTERN = "^0x[0-9a-fA-F]{40}$"


@pytest.mark.parametrize(
    "pattern",
    [
        r"^([a-zA-Z0-9]+)*$",
        r"^(([a-z])+.)+[A-Z]([a-z])+$",
        r"(a+)+$",
        r"(a|aa)+$",
        r"(.*)*x",
        r"(a?){200}a{200}",
        r"([a-zA-Z]+)*\d",
        r"((a|b|ab){0,100}){50}",
    ],
)
def test_bombs_are_answered_at_once(pattern: str) -> None:
    for text in ("a" * 28 + "!", "a" * 255 + "!", "ab" * 127 + "!"):
        started = time.thread_time()
        assert pattern_fits(pattern, text) is False
        assert time.thread_time() - started < 2


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?!0x0)0x[0-9a-f]{40}",
        r"(?<=a)b",
        r"(a)\1",
        r"(",
        r"[",
        r"*",
        "(" * 250 + ")" * 250,
        r"((((a{100}){100}){100}){10})",
        # Closes the wrap and opens another alternative.
        r"a)|(?:.*",
        "a" * 513,
        "[\u0430-\u044f]+",
        "a\n",
    ],
)
def test_unsupported_patterns_do_not_decide(pattern: str) -> None:
    assert pattern_fits(pattern, EVM) is None
    verdict = check_recipient("evm", EVM, pattern)
    assert verdict.ok
    assert verdict.warnings == (UNSUPPORTED,)
    assert not check_recipient("evm", "javascript:alert(1)", pattern).ok


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (EVM_PATTERN, EVM, True),
        (EVM_PATTERN, EVM + "\n", False),
        (EVM_PATTERN, "\n" + EVM, False),
        (r"^a|b$", "xxb", False),
        (r"^a|b$", "axx", False),
        (r"^a|b$", "b", True),
        (r"\d{3}", "123", True),
        (r"\d{3}", "\u0661\u0662\u0663", False),
        (r"\w+", "\u0441\u0442", False),
        (r"(?m)a$", "a\nb", False),
        (r".*", "a" * 256, True),
        (r".*", "a" * 257, False),
        (r"(?i)abc", "ABC", True),
        (r"a{40}", "a" * 40, True),
        (r"", "", True),
        (r"", "a", False),
    ],
)
def test_matching_is_of_the_whole_text(pattern: str, text: str, expected: bool) -> None:
    assert pattern_fits(pattern, text) is expected


@pytest.mark.parametrize("pattern", [".*", "", "^", "|", "[\\s\\S]*", ".{0,256}", None])
def test_a_wide_pattern_never_widens(pattern: str | None) -> None:
    bitcoin = derive_address("bitcoin", bytes(32))
    for text in ("javascript:alert(1)", bitcoin, "", EVM + "\n", EVM.replace("aA", "AA")):
        assert not check_recipient("evm", text, pattern).ok


@given(pattern=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30))
@settings(max_examples=examples(200), deadline=None)
def test_no_pattern_makes_a_refused_address_good(pattern: str) -> None:
    for kind in KINDS:
        address = derive_address(kind, bytes(32))
        assert not check_recipient(kind, address + "!", pattern).ok
        narrowed = check_recipient(kind, address, pattern)
        assert narrowed.code in ("valid", "pattern")
        assert narrowed.ok == (narrowed.code == "valid")


def test_a_pattern_narrows() -> None:
    legacy = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"
    assert check_address("bitcoin", legacy).ok
    verdict = check_recipient("bitcoin", legacy, "^bc1[02-9ac-hj-np-z]{11,71}$")
    assert (verdict.ok, verdict.code, verdict.normalized) == (False, "pattern", "")
    assert verdict.reason == "This is a Bitcoin address, but the service does not take this form."


def test_the_spelling_that_is_sent_is_the_one_matched() -> None:
    upper = "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4"
    verdict = check_recipient("bitcoin", upper, "^bc1[02-9ac-hj-np-z]{11,71}$")
    assert verdict.ok
    assert verdict.normalized == upper.lower()


def test_decoder_warnings_are_kept_beside_the_patterns() -> None:
    verdict = check_recipient("evm", EVM.lower(), r"(?=0x).*", chain_name="Base")
    assert len(verdict.warnings) == 2
    assert verdict.warnings[1] == UNSUPPORTED


@pytest.mark.parametrize("pattern", [EVM_PATTERN, ".*", "(?!a)b"])
@pytest.mark.parametrize("kind", ["evm", "moon"])
def test_a_refused_address_keeps_the_decoder_s_reason(kind: str, pattern: str) -> None:
    mistyped = EVM.replace("aA", "AA")
    assert check_recipient(kind, mistyped, pattern) == check_address(kind, mistyped)


def test_an_unknown_kind_stays_refused() -> None:
    assert check_recipient("moon", "D7Y55Lh6", ".*").code == "unknown_kind"
