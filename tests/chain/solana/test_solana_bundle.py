"""Packing payments: never more than a packet, never fewer payments than fit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.instruction import Instruction
from solders.pubkey import Pubkey

from sampling import examples
from swapdesk.chain.solana import (
    MOST_ROWS,
    PACKET_BYTES,
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Memo,
    RowTooLarge,
    Transfer,
    TransferChecked,
    measure,
    pack,
    token_account,
)

PAYER, MINT = Pubkey.from_bytes(b"p" * 32), Pubkey.from_bytes(b"m" * 32)
BUDGET = [ComputeLimit(200_000).build(), ComputePrice(10_000).build()]


def receiver(number: int) -> Pubkey:
    return Pubkey.from_bytes(number.to_bytes(32, "big"))


def tokens(number: int) -> list[Instruction]:
    """A token payment which makes the receiver's account."""
    owner = receiver(number)
    source, target = token_account(PAYER, MINT), token_account(owner, MINT)
    return [
        CreateTokenAccount(PAYER, owner, MINT).build(),
        TransferChecked(source, MINT, target, PAYER, number, 6).build(),
    ]


def coins(number: int) -> list[Instruction]:
    return [Transfer(PAYER, receiver(number), number).build()]


def test_sizes_are_those_that_were_measured() -> None:
    assert measure(PAYER, [], [tokens(each) for each in range(1, 11)]) == 1206
    assert measure(PAYER, BUDGET, [tokens(each) for each in range(1, 11)]) == 1258
    assert measure(PAYER, BUDGET, [tokens(each) for each in range(1, 10)]) == 1167
    assert measure(PAYER, [], [coins(each) for each in range(1, 11)]) == 658
    rows = [tokens(each) for each in range(1, 26)]
    assert [len(each) for each in pack(PAYER, BUDGET, rows)] == [9, 9, 7]
    assert [len(each) for each in pack(PAYER, [], rows)] == [10, 10, 5]
    many = [coins(each) for each in range(1, 24)]
    assert [len(each) for each in pack(PAYER, [], many, most=50)] == [21, 2]


row = st.one_of(
    st.integers(1, 40).map(tokens),
    st.integers(1, 40).map(coins),
    st.tuples(st.integers(1, 40), st.text("abcdefgh", max_size=700)).map(
        lambda each: [*coins(each[0]), Memo(each[1]).build()]
    ),
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(row, max_size=30), st.sampled_from([[], BUDGET]), st.integers(1, 25))
def test_packed_payments_fit_and_none_is_lost(
    rows: list[list[Instruction]], head: list[Instruction], most: int
) -> None:
    packed = pack(PAYER, head, rows, most=most)
    assert [place for each in packed for place in each] == list(range(len(rows)))
    for number, each in enumerate(packed):
        assert 0 < len(each) <= most
        assert measure(PAYER, head, rows[each.start : each.stop]) <= PACKET_BYTES
        if number + 1 < len(packed) and len(each) < most:
            assert measure(PAYER, head, rows[each.start : each.stop + 1]) > PACKET_BYTES


def test_a_payment_that_fits_nowhere_is_named() -> None:
    rows = [coins(1), [*coins(2), Memo("x" * 1_100).build()], coins(3)]
    with pytest.raises(RowTooLarge, match="payment 2 alone takes") as refused:
        pack(PAYER, [], rows)
    assert refused.value.row == 1
    assert MOST_ROWS == 10
