"""Hashes against published ones: viem's tests of ``getUserOperationHash`` (wevm/viem, MIT);
operations as JSON-RPC writes them, calls inside, and where an account stands.

The EntryPoint's own ``getUserOpHash`` is asked in ``tests/sandbox/contracts``.
"""

from __future__ import annotations

import pytest
from eth_abi.abi import encode
from eth_account.messages import encode_defunct, encode_typed_data
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rows import each_row
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.deployments import ENTRY_POINT, ENTRY_POINT_08
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
    UserOperation,
    account_address,
    decode_batch,
    encode_batch,
    operation_json,
    pack,
    read_failed_op,
    read_operation,
    read_outcome,
    signed_digest,
    unpack,
    user_operation_hash,
)

V07, V08 = EntryPointVersion
SOMEBODY = "0x1234567890123456789012345678901234567890"
PLAIN = UserOperation(
    sender=SOMEBODY,
    nonce=0,
    call_data=b"",
    call_gas_limit=6942069,
    verification_gas_limit=6942069,
    pre_verification_gas=6942069,
    max_fee_per_gas=69420,
    max_priority_fee_per_gas=69,
)
BEEF = bytes.fromhex("deadbeef")
PAYMASTER = bytes.fromhex(SOMEBODY[2:])
LIMIT = (6942069).to_bytes(16, "big")
OPERATIONS = {
    "plain": PLAIN,
    "factory": replace(PLAIN, factory=SOMEBODY, factory_data=BEEF),
    "paymaster": replace(PLAIN, paymaster_and_data=PAYMASTER + bytes(32)),
    "paymaster verification gas": replace(PLAIN, paymaster_and_data=PAYMASTER + LIMIT + bytes(16)),
    "paymaster post-op gas": replace(PLAIN, paymaster_and_data=PAYMASTER + LIMIT * 2),
    "paymaster data": replace(PLAIN, paymaster_and_data=PAYMASTER + LIMIT * 2 + BEEF),
}
PUBLISHED = {
    (V07, "plain"): "1903d62bb5dc75af6fed866aa46d8e80063d9e288aa7f2caad0ff1fcae22e40d",
    (V07, "factory"): "46c1d51e831d50c1a93135f026a7d3f1921ed66e9c81da723dd3817a49f01bc1",
    (V07, "paymaster"): "1f2cf8638ead0fc621c6fb1562b8222c06539efcec09be156191f72418ebb109",
    (
        V07,
        "paymaster verification gas",
    ): "950763d3ef84eb05b6cd1d95f3b736bb02988d643c6e11a76bf8beddc611cc95",
    (
        V07,
        "paymaster post-op gas",
    ): "d6efc63c28df53b49dd6fa10cec0a92ac61f8c70e9a45265e39c955f9bf821ed",
    (V07, "paymaster data"): "265fc1350b3fc016d493f9533354cf1a758c0fb9ddbbfd8b19c987d4e8935eed",
    (V08, "plain"): "a2224e732a1d4e2f923c7c05d586a0aa6cbc42172ec02f31d35fa9a2b8ba9208",
    (V08, "factory"): "3146c70a9ef7538e9b9aca8b00ad4b127ca7eef7817a557f1801acbf8d68c206",
    (V08, "paymaster"): "364bff8f9104a3854dce4f61f8479ce3019a3bd23e1c8db4da0d7c22850835b9",
    (
        V08,
        "paymaster verification gas",
    ): "9cb735eb4278caf0a9f53ad81e5f592e965c9d034f6e2780befa4cd09a990b04",
    (
        V08,
        "paymaster post-op gas",
    ): "745602113988c3a6f18215d96eecc85775998dcb190e374a0955e637d40fe018",
    (V08, "paymaster data"): "f10ef9afcf27a4fd17e477cd19f37e588e3ff7d48eade07ab5b7eb8caf75667f",
}
AT = {V07: SOMEBODY, V08: ENTRY_POINT_08}


@each_row(("version", "name"), PUBLISHED)
def test_the_hash_is_the_published_one(version, name):
    found = user_operation_hash(OPERATIONS[name], AT[version], 1, version)
    assert found.hex() == PUBLISHED[version, name]


addresses = st.binary(min_size=20, max_size=20).map(lambda one: checksummed("0x" + one.hex()))
halves = st.integers(0, 2**128 - 1)
operations = st.builds(
    UserOperation,
    sender=addresses,
    nonce=st.integers(0, 2**256 - 1),
    call_data=st.binary(max_size=64),
    call_gas_limit=halves,
    verification_gas_limit=halves,
    pre_verification_gas=st.integers(0, 2**256 - 1),
    max_fee_per_gas=halves,
    max_priority_fee_per_gas=halves,
    factory=addresses,
    factory_data=st.binary(max_size=64),
    paymaster_and_data=st.binary(max_size=92),
    signature=st.binary(max_size=70),
)


@given(operations)
def test_what_is_packed_is_unpacked(operation):
    assert unpack(pack(operation)) == operation


@given(operations, st.integers(1, 2**64))
def test_v08_is_the_digest_of_typed_data_by_other_hands(operation, chain_id):
    packed = pack(operation)
    names = ("sender", "nonce", "initCode", "callData", "accountGasLimits")
    names += ("preVerificationGas", "gasFees", "paymasterAndData")
    kinds = ("address", "uint256", "bytes", "bytes", "bytes32", "uint256", "bytes32", "bytes")
    document = {
        "types": {
            "EIP712Domain": [
                {"name": name, "type": kind}
                for name, kind in (
                    ("name", "string"),
                    ("version", "string"),
                    ("chainId", "uint256"),
                    ("verifyingContract", "address"),
                )
            ],
            "PackedUserOperation": [
                {"name": name, "type": kind} for name, kind in zip(names, kinds, strict=True)
            ],
        },
        "primaryType": "PackedUserOperation",
        "domain": {
            "name": "ERC4337",
            "version": "1",
            "chainId": chain_id,
            "verifyingContract": ENTRY_POINT_08,
        },
        "message": dict(zip(names, packed, strict=False)),
    }
    digest = user_operation_hash(operation, ENTRY_POINT_08, chain_id, V08)
    theirs = encode_typed_data(full_message=document)
    assert keccak(b"\x19" + theirs.version + theirs.header + theirs.body) == digest
    assert signed_digest(digest, V08) == digest


def test_v07_is_signed_as_a_message():
    operation_hash = user_operation_hash(PLAIN, ENTRY_POINT, 8453)
    theirs = encode_defunct(operation_hash)
    message = keccak(b"\x19" + theirs.version + theirs.header + theirs.body)
    assert message == signed_digest(operation_hash, V07)


@each_row("version", EntryPointVersion)
def test_every_field_but_the_signature_is_in_the_hash(version):
    base = OPERATIONS["paymaster data"]
    base = replace(base, factory=SOMEBODY, factory_data=BEEF, call_data=BEEF)
    other = checksummed("0x" + "ab" * 20)
    changed = [
        replace(base, sender=other),
        replace(base, nonce=1),
        replace(base, call_data=BEEF + b"\0"),
        replace(base, call_gas_limit=1),
        replace(base, verification_gas_limit=1),
        replace(base, pre_verification_gas=1),
        replace(base, max_fee_per_gas=1),
        replace(base, max_priority_fee_per_gas=1),
        replace(base, factory=other),
        replace(base, factory_data=b""),
        replace(base, paymaster_and_data=base.paymaster_and_data[::-1]),
        replace(base, paymaster_and_data=b""),
    ]
    hashes = {user_operation_hash(one, ENTRY_POINT, 1, version) for one in [base, *changed]}
    hashes |= {
        user_operation_hash(base, other, 1, version),
        user_operation_hash(base, ENTRY_POINT, 2, version),
    }
    assert len(hashes) == len(changed) + 3
    assert user_operation_hash(base.signed(b"x"), ENTRY_POINT, 1, version) in hashes


@each_row(
    ("field", "value"),
    [
        ("sender", SOMEBODY[:-1]),
        ("sender", ENTRY_POINT.swapcase()),
        ("factory", "0x7702"),
        ("factory_data", BEEF),
        ("nonce", 2**256),
        ("nonce", -1),
        ("nonce", True),
        ("call_gas_limit", 2**128),
        ("verification_gas_limit", 2**128),
        ("pre_verification_gas", 2**256),
        ("max_fee_per_gas", 2**128),
        ("max_priority_fee_per_gas", -1),
    ],
)
def test_values_that_cannot_be_packed_are_refused(field, value):
    with pytest.raises(OperationError):
        replace(PLAIN, **{field: value})


@each_row(
    "changed",
    [
        {"init_code": b"\x01"},
        {"account_gas_limits": b"\0" * 31},
        {"gas_fees": b"\0" * 33},
    ],
)
def test_words_that_are_too_short_are_not_unpacked(changed):
    with pytest.raises(OperationError):
        unpack(pack(PLAIN)._replace(**changed))


BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TOKEN = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


@given(operations)
def test_an_operation_is_read_as_it_was_written(operation):
    own = replace(operation, paymaster_and_data=b"")
    assert read_operation(operation_json(own)) == own


WRITTEN = operation_json(PLAIN.signed(BEEF))


@each_row(
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
        ({"paymaster": BOB}, "paymaster"),
        ({"paymasterVerificationGasLimit": "0x1"}, "paymaster"),
        ({"initCode": "0x"}, "initCode"),
        ({"eip7702Auth": {}}, "eip7702Auth"),
    ],
)
def test_a_field_that_is_written_otherwise_is_refused(changed, field):
    with pytest.raises(OperationError) as refused:
        read_operation({**WRITTEN, **changed})
    assert refused.value.field == field


@each_row("document", [None, [], "0x", 5])
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


@each_row("version", EntryPointVersion)
@each_row(
    "calls",
    [
        [transfer(1)],
        [transfer(one) for one in range(MOST_CALLS)],
        [InnerCall(BOB, 5), transfer(7), InnerCall(TOKEN, 2**256 - 1, b"")],
    ],
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


@each_row(
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


@each_row(
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
