"""Operations as JSON-RPC writes them, calls inside, and where an account stands."""

from __future__ import annotations

import pytest
from eth_abi.abi import encode
from hypothesis import given
from hypothesis import strategies as st

from chain.user_operation.test_user_operation_hash import (
    BEEF,
    OPERATIONS,
    PLAIN,
    SOMEBODY,
    operations,
)
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.smart_account import (
    EXECUTE_BATCH,
    EXECUTE_CALLS,
    FAILED_OP,
    HANDLE_OPS,
    MAX_CALL_DATA,
    MOST_CALLS,
    USER_OPERATION_EVENT,
    EntryPointVersion,
    InnerCall,
    OperationError,
    account_address,
    decode_batch,
    encode_batch,
    operation_json,
    pack,
    read_failed_op,
    read_operation,
    read_outcome,
)

V07, V08 = EntryPointVersion
BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TOKEN = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


@given(operations)
def test_an_operation_is_read_as_it_was_written(operation):
    assert read_operation(operation_json(operation)) == operation


WRITTEN = operation_json(OPERATIONS["paymaster data"].signed(BEEF))


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"sender": None}, "sender"),
        ({"sender": "0x"}, "sender"),
        ({"sender": BOB.replace("C8", "c8")}, "sender"),
        ({"nonce": 5}, "nonce"),
        ({"nonce": "5"}, "nonce"),
        ({"nonce": "0x05"}, "nonce"),
        ({"nonce": "0x" + "f" * 65}, "nonce"),
        ({"callGasLimit": "0x" + "f" * 33}, "callGasLimit"),
        ({"maxFeePerGas": "0x"}, "maxFeePerGas"),
        ({"callData": "0xa"}, "callData"),
        ({"callData": "deadbeef"}, "callData"),
        ({"callData": "0x" + "00" * 65_537}, "callData"),
        ({"signature": None}, "signature"),
        ({"factory": "0x7702"}, "factory"),
        ({"factoryData": "0x00"}, "factoryData"),
        ({"paymaster": None}, "paymasterVerificationGasLimit"),
        ({"initCode": "0x"}, "initCode"),
        ({"eip7702Auth": {}}, "eip7702Auth"),
    ],
)
def test_a_field_that_is_written_otherwise_is_refused(changed, field):
    with pytest.raises(OperationError) as refused:
        read_operation({**WRITTEN, **changed})
    assert refused.value.field == field


@pytest.mark.parametrize("document", [None, [], "0x", 5])
def test_what_is_no_object_is_refused(document):
    with pytest.raises(OperationError):
        read_operation(document)


def test_gas_may_be_left_out_where_it_is_asked_for():
    given_ = {name: WRITTEN[name] for name in ("sender", "nonce", "callData")}
    gas = dict.fromkeys(("callGasLimit", "verificationGasLimit", "preVerificationGas"), "0x0")
    fees = dict.fromkeys(("maxFeePerGas", "maxPriorityFeePerGas"), "0x0")
    read = read_operation(given_, absent={**gas, **fees}, signed=False)
    assert (read.call_gas_limit, read.signature) == (0, b"")
    with pytest.raises(OperationError):
        read_operation(given_, signed=False)


# Calls inside


def transfer(units: int) -> InnerCall:
    return InnerCall(TOKEN, 0, TRANSFER.call(BOB, units))


@pytest.mark.parametrize("version", EntryPointVersion)
@pytest.mark.parametrize(
    "calls",
    [
        [transfer(1)],
        [transfer(one) for one in range(MOST_CALLS)],
        [InnerCall(BOB, 5), transfer(7), InnerCall(TOKEN, 2**256 - 1, b"")],
    ],
    ids=["one", "fifty", "coins and tokens"],
)
def test_calls_are_read_as_they_were_made(version, calls):
    assert decode_batch(encode_batch(calls, version), version) == tuple(calls)


def test_selectors_are_those_of_the_sample_accounts():
    # eth-infinitism SimpleAccount of v0.7 and v0.8.
    assert EXECUTE_BATCH.selector.hex() == "47e1da2a"
    assert EXECUTE_CALLS.selector.hex() == "34fcd5be"
    assert HANDLE_OPS.selector.hex() == "765e827f"


def test_fifty_transfers_are_as_long_as_measured_and_fit():
    assert len(encode_batch([transfer(1)] * 50)) == 9_796 < MAX_CALL_DATA


def test_values_may_be_left_away_or_written_out():
    targets, payloads = [TOKEN, TOKEN], [transfer(1).data, transfer(2).data]
    short = EXECUTE_BATCH.call(targets, [], payloads)
    long = EXECUTE_BATCH.call(targets, [0, 0], payloads)
    assert decode_batch(short) == decode_batch(long) == (transfer(1), transfer(2))
    assert short != long


@pytest.mark.parametrize(
    "data",
    [
        b"",
        encode_batch([transfer(1)])[:-1],
        encode_batch([transfer(1)]) + b"\0" * 32,
        encode_batch([transfer(1)], V08),
        EXECUTE_BATCH.call([], [], []),
        EXECUTE_BATCH.call([TOKEN], [], []),
        EXECUTE_BATCH.call([TOKEN], [1, 2], [b""]),
        EXECUTE_BATCH.call([TOKEN] * 51, [], [b""] * 51),
        EXECUTE_BATCH.call([TOKEN], [], [b"\1" * MAX_CALL_DATA]),
        EXECUTE_BATCH.selector + encode(["address[]", "uint256[]", "bytes[]"], ([], [], [])) * 2,
    ],
)
def test_what_is_no_exact_batch_is_refused(data):
    with pytest.raises(CalldataError):
        decode_batch(data)


@pytest.mark.parametrize(
    "calls",
    [[], [transfer(1)] * 51, [InnerCall(TOKEN, 0, b"\1" * 1_025)], [InnerCall("0x", 1)]],
)
def test_calls_that_do_not_fit_are_not_made(calls):
    with pytest.raises(CalldataError):
        encode_batch(calls)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_batch_or_refused(data):
    with pytest.raises(CalldataError):
        decode_batch(EXECUTE_BATCH.selector + data)


# Accounts, events, errors


def test_every_owner_and_salt_has_an_account_of_its_own():
    places = {account_address(owner, salt) for owner in (BOB, TOKEN) for salt in (0, 1)}
    assert len(places) == 4
    assert account_address(BOB.lower()) == account_address(BOB)


def test_the_outcome_is_what_the_event_says():
    topics = (
        USER_OPERATION_EVENT,
        "0x" + "11" * 32,
        "0x" + "00" * 12 + BOB[2:].lower(),
        "0x" + "00" * 32,
    )
    data = encode(["uint256", "bool", "uint256", "uint256"], [7, False, 30, 3])
    outcome = read_outcome(topics, data)
    assert (outcome.hash, outcome.sender, outcome.nonce) == (b"\x11" * 32, BOB, 7)
    assert (outcome.success, outcome.actual_gas_cost, outcome.actual_gas_used) == (False, 30, 3)
    assert read_outcome(topics[1:], data) is None
    assert read_outcome(topics, data[:-1]) is None


def test_a_failed_operation_says_which_and_why():
    data = FAILED_OP + encode(["uint256", "string"], [1, "AA24 signature error"])
    failed = read_failed_op(data)
    assert (failed.index, failed.code) == (1, "AA24")
    for other in (b"", data[:4], data[:-1] and data[:60], b"\x08\xc3\x79\xa0" + data[4:]):
        assert read_failed_op(other) is None


def test_the_prefund_is_all_gas_at_the_highest_fee():
    assert PLAIN.required_prefund == 3 * 6942069 * 69420
    assert pack(PLAIN).sender == SOMEBODY
