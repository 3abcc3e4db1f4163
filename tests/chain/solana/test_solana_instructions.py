"""Instructions are read back exactly, and in no other form. Packed, payments never take more than a
packet, and never fewer payments than fit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.system_program import AdvanceNonceAccountParams, TransferParams
from solders.system_program import advance_nonce_account as other_advance
from solders.system_program import transfer as other_transfer
from solders.token.associated import get_associated_token_address

from rows import each_row
from sampling import examples
from swapdesk.chain.solana import (
    MOST_ROWS,
    PACKET_BYTES,
    TOKEN,
    TOKEN_2022,
    AdvanceNonce,
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Known,
    Memo,
    MintTo,
    Revoke,
    RowTooLarge,
    TransactionRefused,
    Transfer,
    TransferChecked,
    Unknown,
    measure,
    pack,
    packet_size,
    read_instruction,
    read_message,
    read_transaction,
    token_account,
    unsigned,
)

KEYS = [Pubkey.from_bytes(bytes([number]) * 32) for number in range(1, 9)]
HASHES = Pubkey.from_string("SysvarRecentB1ockHashes11111111111111111111")

keys = st.binary(min_size=32, max_size=32).map(Pubkey.from_bytes)
u64 = st.integers(0, (1 << 64) - 1)
programs = st.sampled_from([TOKEN, TOKEN_2022])
known: st.SearchStrategy[Known] = st.one_of(
    st.builds(Transfer, keys, keys, u64),
    st.builds(AdvanceNonce, keys, keys, keys),
    st.builds(TransferChecked, keys, keys, keys, keys, u64, st.integers(0, 255), programs),
    st.builds(MintTo, keys, keys, keys, u64, programs),
    st.builds(CreateTokenAccount, keys, keys, keys, programs),
    st.builds(Revoke, keys, keys, programs),
    st.builds(Memo, st.text(max_size=80), st.lists(keys, max_size=3).map(tuple)),
    st.builds(ComputeLimit, st.integers(0, (1 << 32) - 1)),
    st.builds(ComputePrice, u64),
)


def read(instruction: Instruction) -> Any:
    return read_instruction(
        instruction.program_id,
        bytes(instruction.data),
        [each.pubkey for each in instruction.accounts],
    )


@settings(max_examples=examples(150), deadline=None)
@given(known)
def test_what_is_built_is_read_back(instruction: Known) -> None:
    assert read(instruction.build()) == instruction


@settings(max_examples=examples(150), deadline=None)
@given(known, st.data())
def test_no_other_form_is_read_as_the_same(instruction: Known, data: st.DataObject) -> None:
    built = instruction.build()
    raw, accounts = bytes(built.data), [each.pubkey for each in built.accounts]
    for other in {raw + b"\0", raw[:-1]} - {raw}:
        assert read_instruction(built.program_id, other, accounts) != instruction
    for others in ([*accounts, KEYS[0]], accounts[:-1]):
        if others != accounts:
            assert read_instruction(built.program_id, raw, others) != instruction
    if accounts:
        place = data.draw(st.integers(0, len(accounts) - 1))
        swapped = [*accounts]
        swapped[place] = KEYS[0]
        if swapped != accounts:
            assert read_instruction(built.program_id, raw, swapped) != instruction


def test_encodings_are_those_of_the_library() -> None:
    source, destination = KEYS[:2]
    params = TransferParams(from_pubkey=source, to_pubkey=destination, lamports=12_345_678_901)
    assert Transfer(source, destination, 12_345_678_901).build() == other_transfer(params)
    nonce = AdvanceNonceAccountParams(nonce_pubkey=source, authorized_pubkey=destination)
    assert AdvanceNonce(source, HASHES, destination).build() == other_advance(nonce)
    assert ComputeLimit(123_456).build() == set_compute_unit_limit(123_456)
    assert ComputePrice(9_876_543_210).build() == set_compute_unit_price(9_876_543_210)
    for program in (TOKEN, TOKEN_2022):
        theirs = get_associated_token_address(source, destination, program)
        assert token_account(source, destination, program) == theirs


@each_row("units", [-1, 1 << 64])
def test_amounts_that_do_not_fit_are_refused(units: int) -> None:
    with pytest.raises(OverflowError):
        Transfer(KEYS[0], KEYS[1], units).build()
    with pytest.raises(OverflowError):
        TransferChecked(KEYS[0], KEYS[1], KEYS[2], KEYS[3], units, 6).build()


def test_an_account_in_the_place_of_the_derived_one_is_unknown() -> None:
    built = CreateTokenAccount(*KEYS[:3]).build()
    accounts = [each.pubkey for each in built.accounts]
    accounts[1] = KEYS[5]
    found = read_instruction(built.program_id, bytes(built.data), accounts)
    assert isinstance(found, Unknown)
    # The plain create fails where the account exists, so that it is another instruction.
    assert isinstance(read_instruction(built.program_id, b"", accounts), Unknown)


def message(*instructions: Known) -> MessageV0:
    return MessageV0.try_compile(
        KEYS[0], [each.build() for each in instructions], [], Hash.default()
    )


def test_a_message_says_who_signs_and_what_may_change() -> None:
    rows = (
        Transfer(KEYS[1], KEYS[2], 5),
        TransferChecked(KEYS[3], KEYS[4], KEYS[5], KEYS[0], 7, 6),
        Memo("order", (KEYS[6],)),
    )
    for made in (
        message(*rows),
        Message.new_with_blockhash([each.build() for each in rows], KEYS[0], Hash.default()),
    ):
        found = read_message(made)
        assert found.payer == KEYS[0]
        assert set(found.signers) == {KEYS[0], KEYS[1], KEYS[6]}
        assert set(found.written) == {KEYS[0], KEYS[1], KEYS[2], KEYS[3], KEYS[5]}
        assert found.instructions == rows


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(known, max_size=4), st.binary(max_size=40))
def test_serialized_transactions_have_one_form(rows: list[Known], noise: bytes) -> None:
    made = message(*rows)
    raw = bytes(unsigned(made))
    assert packet_size(made) == len(raw)
    if len(raw) <= PACKET_BYTES:
        assert bytes(read_transaction(raw)) == raw
        for other in (raw[:-1], raw + b"\0", noise):
            with pytest.raises(TransactionRefused):
                read_transaction(other)


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_damaged_transactions_are_refused_or_read_whole(data: st.DataObject) -> None:
    raw = bytearray(bytes(unsigned(message(Transfer(KEYS[0], KEYS[1], 5), Memo("order")))))
    for _ in range(data.draw(st.integers(1, 4))):
        # What follows the empty signature is the message.
        raw[data.draw(st.integers(65, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = read_transaction(bytes(raw))
        read_message(found.message)  # type: ignore[arg-type]
    except TransactionRefused:
        return
    assert bytes(found) == bytes(raw)


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
