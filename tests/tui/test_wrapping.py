"""Rows of words: a signature of a call breaks between its types, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from swapdesk.tui.spans import Span, cut, plain_text, wrapped

SWAP = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"
PERMIT = "permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)"


@pytest.mark.parametrize("signature", [SWAP, PERMIT])
@pytest.mark.parametrize("width", [26, 40, 52])
def test_the_types_of_a_call_stay_whole(signature: str, width: int) -> None:
    rows = [plain_text(row) for row in wrapped(Span(signature), width)]
    assert "".join(rows) == signature
    assert len(rows) > 1
    assert all(cell_len(row) <= width for row in rows)
    assert all(row.endswith((",", "(")) for row in rows[:-1])


def test_what_has_no_comma_fills_its_rows() -> None:
    rows = [plain_text(row) for row in wrapped("x" * 25, 10)]
    assert rows == ["x" * 10, "x" * 10, "x" * 5]


@given(st.text(st.sampled_from("ab,( 💰"), max_size=60), st.integers(2, 12))
def test_no_row_is_too_wide_and_no_character_is_lost(text: str, width: int) -> None:
    rows = [plain_text(row) for row in wrapped(text, width)]
    assert all(cell_len(row) <= width for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("It breaks in the middle of the answer.", 34, "It breaks in the middle of the…"),
        ("a friend with an Ethereum wallet", 22, "a friend with an…"),
        ("is it here, or there", 12, "is it here…"),
        ("Other (TELEPORTING)", 18, "Other (TELEPORTIN…"),
        ("pays 0 signatures", 11, "pays 0 sig…"),
        ("x" * 30, 12, "x" * 11 + "…"),
        ("it fits", 7, "it fits"),
    ],
)  # fmt: skip
def test_a_sentence_ends_behind_a_word_and_a_name_where_its_room_does(
    text: str, width: int, shown: str
) -> None:
    assert plain_text(cut(text, width)) == shown


@given(st.lists(st.text("abcdefgh", min_size=2, max_size=7), min_size=4), st.integers(24, 60))
def test_no_sentence_of_short_words_is_cut_within_one(words: list[str], width: int) -> None:
    shown = plain_text(cut(" ".join(words), width))
    assert cell_len(shown) <= width
    assert shown == " ".join(words) or shown[:-1].split() == words[: len(shown[:-1].split())]
