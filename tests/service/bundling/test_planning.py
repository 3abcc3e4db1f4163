"""How payments become operations: every payment in exactly one, as few operations as fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.smart_account import MOST_CALLS, encode_batch
from swapdesk.chain.user_operation import nonce_key
from swapdesk.service.bundling import OperationPayment, parts_of

BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TOKENS = (
    None,
    "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "0x4200000000000000000000000000000000000006",
)

payments = st.lists(
    st.builds(
        OperationPayment,
        token=st.sampled_from(TOKENS),
        to=st.just(BOB),
        units=st.integers(1, 2**100),
    ),
    min_size=1,
    max_size=160,
)


@given(payments)
def test_every_payment_is_made_once_and_in_order(asked):
    parts = parts_of(asked)
    assert sorted(place for part in parts for place in part.places) == list(range(len(asked)))
    for part in parts:
        assert list(part.places) == sorted(part.places)
        assert 1 <= len(part.calls) <= MOST_CALLS
        assert part.units == sum(asked[place].units for place in part.places)
        for place, call in zip(part.places, part.calls, strict=True):
            payment = asked[place]
            assert payment.token == part.token
            if payment.token is None:
                assert (call.to, call.value, call.data) == (BOB, payment.units, b"")
            else:
                assert (call.to, call.value) == (payment.token, 0)
                assert TRANSFER.read(call.data) == {"to": BOB, "amount": payment.units}
        encode_batch(part.calls)


@given(payments)
def test_there_are_as_few_operations_as_fit(asked):
    counts = {token: sum(one.token == token for one in asked) for token in TOKENS}
    least = sum(-(-count // MOST_CALLS) for count in counts.values())
    assert len(parts_of(asked)) == least


@given(payments)
def test_no_two_operations_of_a_group_have_one_nonce(asked):
    keys = [nonce_key("group", part.token, part.number) for part in parts_of(asked)]
    assert len(set(keys)) == len(keys)
    assert all(0 <= key < 1 << 192 for key in keys)


def test_a_token_is_one_token_however_it_is_written():
    token = TOKENS[1]
    parts = parts_of([OperationPayment(token, BOB, 1), OperationPayment(token.lower(), BOB, 2)])
    assert [part.places for part in parts] == [(0, 1)]
    assert nonce_key("group", token, 0) == nonce_key("group", token.lower(), 0)
    assert nonce_key("group", token, 0) != nonce_key("grouq", token, 0)


@pytest.mark.parametrize(
    "asked",
    [
        [],
        [OperationPayment(None, BOB, 0)],
        [OperationPayment(None, BOB, 1), OperationPayment(None, BOB, -1)],
    ],
)
def test_nothing_is_not_paid(asked):
    with pytest.raises(ValueError, match=r"pay"):
        parts_of(asked)
