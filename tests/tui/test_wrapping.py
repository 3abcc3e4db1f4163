"""Rows of words: a signature of a call breaks between its types, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from swapdesk.tui.spans import Span, plain_text, wrapped

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
