"""Hashes against published ones: viem's tests of ``getUserOperationHash`` (wevm/viem, MIT).

The EntryPoint's own ``getUserOpHash`` is asked in ``tests/sandbox/contracts``.
"""

from __future__ import annotations

import pytest
from eth_account.messages import encode_defunct, encode_typed_data
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.deployments import ENTRY_POINT, ENTRY_POINT_08
from swapdesk.chain.smart_account import (
    EntryPointVersion,
    OperationError,
    Paymaster,
    UserOperation,
    pack,
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
OPERATIONS = {
    "plain": PLAIN,
    "factory": replace(PLAIN, factory=SOMEBODY, factory_data=BEEF),
    "paymaster": replace(PLAIN, paymaster=Paymaster(SOMEBODY)),
    "paymaster verification gas": replace(PLAIN, paymaster=Paymaster(SOMEBODY, 6942069)),
    "paymaster post-op gas": replace(PLAIN, paymaster=Paymaster(SOMEBODY, 6942069, 6942069)),
    "paymaster data": replace(PLAIN, paymaster=Paymaster(SOMEBODY, 6942069, 6942069, BEEF)),
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


@pytest.mark.parametrize(("version", "name"), PUBLISHED)
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
    paymaster=st.none() | st.builds(Paymaster, addresses, halves, halves, st.binary(max_size=40)),
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


@pytest.mark.parametrize("version", EntryPointVersion)
def test_every_field_but_the_signature_is_in_the_hash(version):
    base = OPERATIONS["paymaster data"]
    base = replace(base, factory=SOMEBODY, factory_data=BEEF, call_data=BEEF)
    other = checksummed("0x" + "ab" * 20)
    paymaster = base.paymaster
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
        replace(base, paymaster=replace(paymaster, address=other)),
        replace(base, paymaster=None),
    ]
    hashes = {user_operation_hash(one, ENTRY_POINT, 1, version) for one in [base, *changed]}
    hashes |= {
        user_operation_hash(base, other, 1, version),
        user_operation_hash(base, ENTRY_POINT, 2, version),
    }
    assert len(hashes) == len(changed) + 3
    assert user_operation_hash(base.signed(b"x"), ENTRY_POINT, 1, version) in hashes


@pytest.mark.parametrize(
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
        ("paymaster", Paymaster("0x")),
        ("paymaster", Paymaster(SOMEBODY, 2**128)),
    ],
)
def test_values_that_cannot_be_packed_are_refused(field, value):
    with pytest.raises(OperationError):
        replace(PLAIN, **{field: value})


@pytest.mark.parametrize(
    "changed",
    [
        {"init_code": b"\x01"},
        {"account_gas_limits": b"\0" * 31},
        {"gas_fees": b"\0" * 33},
        {"paymaster_and_data": b"\0" * 51},
    ],
)
def test_words_that_are_too_short_are_not_unpacked(changed):
    with pytest.raises(OperationError):
        unpack(pack(PLAIN)._replace(**changed))
