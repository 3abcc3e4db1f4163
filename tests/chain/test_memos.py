"""Memo and destination tag rules, and the typed waiver."""

from __future__ import annotations

from corpus import Case, load
from rows import each_row
from swapdesk.chain.addresses.kinds import KINDS
from swapdesk.chain.addresses.payments import (
    WAIVER,
    check_memo,
    memo_label,
    uses_memo,
)


def test_labels() -> None:
    assert memo_label("xrp") == "destination tag"
    assert memo_label("sol") == memo_label("xlm") == memo_label("cosmos") == "memo"
    assert (memo_label("ton"), memo_label("algo")) == ("comment", "note")
    assert memo_label("moon") == "memo"


@each_row(
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


@each_row(
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
    assert check_memo("moon", "", True).reason.startswith("This chain needs a memo")


@each_row("needed", [False, None])
def test_no_memo_where_none_is_needed(needed: bool | None) -> None:
    verdict = check_memo("evm", "", needed)
    assert (verdict.ok, verdict.code, verdict.normalized) == (True, "none", "")


@each_row("kind", ["xrp", "sol"])
def test_the_waiver_is_exact_and_never_sent(kind: str) -> None:
    verdict = check_memo(kind, WAIVER, True)
    assert (verdict.ok, verdict.code, verdict.normalized) == (True, "waived", "")
    for near in ("no memo", "No Memo", " NO MEMO", "NO MEMO "):
        assert check_memo(kind, near, True).code == "waiver"
        assert not check_memo(kind, near, True).ok


@each_row(
    ("text", "reason", "code"),
    [
        ("0", "Memo id.", "valid"),
        ("18446744073709551615", "Memo id.", "valid"),
        ("18446744073709551616", "Memo text.", "valid"),
        ("007", "Memo text.", "valid"),
        ("a" * 28, "Memo text.", "valid"),
        ("a" * 29, "A memo has at most 28 characters. This one has 29.", "length"),
        (
            "caf\u00e9",
            "A memo is plain text: character 4 is U+00E9 (latin small letter e with acute).",
            "character",
        ),
    ],
)
def test_memos_of_stellar_are_ids_or_short_texts(text: str, reason: str, code: str) -> None:
    verdict = check_memo("xlm", text, True)
    assert (verdict.code, verdict.reason) == (code, reason)
    assert verdict.normalized == (text if verdict.ok else "")


@each_row(("kind", "word"), [("ton", "comment"), ("cosmos", "memo"), ("algo", "note")])
def test_texts_speak_the_word_of_their_chain(kind: str, word: str) -> None:
    assert check_memo(kind, "a" * 64, True).reason == f"{word.capitalize()}."
    assert check_memo(kind, "a" * 65, True).reason.startswith(f"A {word} has at most 64")
    assert f"needs a {word} for exchanges" in check_memo(kind, "", True).reason
    assert check_memo(kind, "", False).reason == f"No {word}."


@each_row("case", load(name="memos"), ids=lambda case: case.id)
def test_a_memo_that_a_program_has_changed_is_doubted_and_others_are_not(case: Case) -> None:
    """A chain carries both: what a spreadsheet made of a memo credits nobody, or somebody else."""
    verdict = check_memo("cosmos", case.text, True)
    assert (verdict.ok, verdict.normalized) == (True, case.text)
    assert bool(verdict.doubt) is case.expect["doubted"], verdict.doubt


def test_which_chains_have_memos() -> None:
    with_memos = {kind for kind in KINDS if uses_memo(kind)}
    assert with_memos == {"xrp", "xlm", "ton", "cosmos", "algo", "sol"}
    assert uses_memo("moon")


@each_row("kind", ["evm", "bitcoin", "ltc", "tron", "sui", "ada", "dot", "xmr"])
def test_a_memo_where_the_chain_has_none_is_refused(kind: str) -> None:
    verdict = check_memo(kind, "123", False, chain_name="This one")
    assert (verdict.ok, verdict.code) == (False, "unused")
    assert verdict.reason == "This one has no memos. Leave it empty."
    # A service that asks for one all the same is believed.
    assert check_memo(kind, "123", True).ok
