"""The desk's own digest: published vectors, the agent's on the same payloads, and that whatever
the agent tells otherwise is not signed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent import honest_solana
from agent.honest import HONEST
from agent.test_gate_bundle import bundle
from rows import each_row
from swapdesk.agent.shapes.reading import read_payload
from swapdesk.agent.signers import signing_hash
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.smart_account import (
    EntryPointVersion,
    UserOperation,
    operation_json,
    user_operation_hash,
)
from swapdesk.wallet.answers import EvmTerms, Review, RuleFinding, Severity
from swapdesk.wallet.own_digest import DIFFERS, held_against, own_digest
from swapdesk.wallet.promise import (
    OperationPayload,
    Payload,
    Purpose,
    TransactionPayload,
    TypedDataPayload,
)

VECTORS = json.loads((Path(__file__).parents[1] / "agent" / "vectors" / "eip712.json").read_text())
STEP = next(
    one.payload.step for one in HONEST.values() if isinstance(one.payload, TypedDataPayload)
)
TERMS = EvmTerms(8453, 200, 21_000, 3 * 10**9, 0)
REVIEW = Review("r", "", "0x", "base", "", (), (), None, datetime(2026, 11, 22, tzinfo=UTC))
BUNDLE = bundle().payload
SIGNED = {
    **{name: one for name, one in HONEST.items() if isinstance(one.payload, TypedDataPayload)},
    **{f"solana {name}": one for name, one in honest_solana.HONEST.items()},
}


def typed(document: dict[str, Any]) -> TypedDataPayload:
    return TypedDataPayload(Purpose.APPROVE, document, STEP)


@each_row("case", VECTORS, ids=lambda case: case["name"])
def test_a_digest_of_ethers(case: dict[str, Any]) -> None:
    document = {key: case[key] for key in ("types", "primaryType", "domain", "message")}
    assert own_digest(typed(document), None) == case["digest"]


@each_row("name", SIGNED)
def test_desk_and_agent_agree_on_what_is_honest(name: str) -> None:
    honest = SIGNED[name]
    content = read_payload(honest.payload, honest.promise).content
    assert own_digest(honest.payload, None) == f"0x{content.hex()}"


@given(
    st.integers(0, 2**64),
    st.integers(0, 2**32),
    st.integers(0, 2**256 - 1),
    st.binary(max_size=300),
    st.integers(0, 2**70),
)
def test_desk_and_agent_agree_on_transactions(
    chain_id: int, nonce: int, value: int, data: bytes, fee: int
) -> None:
    to = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
    terms = EvmTerms(chain_id, nonce, 21_000, fee, fee // 3)
    payload = TransactionPayload(Purpose.SWAP, to, "0x" + data.hex(), value)
    assert own_digest(payload, terms) == f"0x{signing_hash(payload, terms).hex()}"


GAS = st.integers(0, 2**128 - 1)
ADDRESSES = st.binary(min_size=20, max_size=20).map(lambda one: checksummed("0x" + one.hex()))


@given(
    st.builds(
        UserOperation,
        sender=ADDRESSES,
        nonce=st.integers(0, 2**256 - 1),
        call_data=st.binary(max_size=300),
        call_gas_limit=GAS,
        verification_gas_limit=GAS,
        pre_verification_gas=GAS,
        max_fee_per_gas=GAS,
        max_priority_fee_per_gas=GAS,
        factory=ADDRESSES,
        factory_data=st.binary(max_size=80),
    ),
    st.booleans(),
    ADDRESSES,
    st.integers(0, 2**64),
    st.sampled_from(EntryPointVersion),
)
def test_desk_and_agent_agree_on_operations(
    operation: UserOperation,
    stands: bool,
    entry_point: str,
    chain_id: int,
    version: EntryPointVersion,
) -> None:
    if stands:
        operation = replace(operation, factory=None, factory_data=b"")
    agents = user_operation_hash(operation, entry_point, chain_id, version)
    told = operation_json(operation, with_signature=False)
    payload = OperationPayload(Purpose.BUNDLE, told, entry_point, version.value, chain_id)
    assert own_digest(payload, None) == f"0x{agents.hex()}"


@each_row(
    "changed",
    [
        {"version": "0.6"},
        {"chain_id": -1},
        {"entry_point": "nowhere"},
        {"operation": {}},
        {"operation": {**BUNDLE.operation, "nonce": "much"}},
        {"operation": {**BUNDLE.operation, "callData": "0x123"}},
        {"operation": {**BUNDLE.operation, "callGasLimit": hex(2**128)}},
        {"operation": {**BUNDLE.operation, "paymaster": "0x" + "12" * 20}},
    ],
)
def test_an_operation_that_cannot_be_hashed_is_not_signed(changed: dict[str, Any]) -> None:
    payload = replace(BUNDLE, **changed)
    assert own_digest(payload, None) is None
    assert held_against(replace(REVIEW, digest="0x" + "ab" * 32), payload).refused


def changes() -> list[tuple[Payload, Payload]]:
    """A payload that was read, and the one that the agent was to sign instead."""
    call = TransactionPayload(Purpose.DEPOSIT, "0x" + "11" * 20, "0x", 10**15)
    permit = next(one.payload for name, one in SIGNED.items() if name.startswith("Permit"))
    message = {**permit.document["message"]}
    changed = next(name for name, value in message.items() if str(value).isdigit())
    message[changed] = str(int(str(message[changed])) + 1)
    return [
        (call, replace(call, value=10**15 + 1)),
        (call, replace(call, to="0x" + "12" * 20)),
        (permit, replace(permit, document={**permit.document, "message": message})),
        *(
            (BUNDLE, replace(BUNDLE, operation={**BUNDLE.operation, name: value}))
            for name, value in {
                "sender": "0x" + "12" * 20,
                "nonce": "0x1",
                "callData": "0x01",
                "callGasLimit": "0x1",
                "maxFeePerGas": "0x1",
                "factory": "0x" + "13" * 20,
            }.items()
        ),
        (BUNDLE, replace(BUNDLE, chain_id=BUNDLE.chain_id + 1)),
        (BUNDLE, replace(BUNDLE, entry_point="0x" + "14" * 20)),
        (BUNDLE, replace(BUNDLE, version="0.8")),
    ]


@each_row(("read", "meant"), changes())
def test_another_payload_than_was_read_is_refused(read: Payload, meant: Payload) -> None:
    told = own_digest(meant, TERMS)
    assert told is not None
    held = held_against(replace(REVIEW, digest=told, terms=TERMS, agreed=True), read)
    assert held.agreed is False
    assert held.refused
    assert [one.code for one in held.findings] == [DIFFERS]
    same = held_against(replace(REVIEW, digest=told, terms=TERMS), meant)
    assert same.agreed is True
    assert not same.refused


@each_row(
    "document",
    [
        {},
        {"types": {}, "primaryType": "Box", "domain": {}, "message": {}},
        {"types": {"Box": [{"name": "it"}]}, "primaryType": "Box", "domain": {}, "message": {}},
        {
            "types": {"Box": [{"name": "it", "type": "uint8"}]},
            "primaryType": "Box",
            "domain": {},
            "message": {"it": "much"},
        },
        {
            "types": {"Box": [{"name": "it", "type": "Box"}]},
            "primaryType": "Box",
            "domain": {},
            "message": {"it": {"it": {}}},
        },
    ],
)
def test_what_cannot_be_hashed_is_not_signed(document: dict[str, Any]) -> None:
    assert own_digest(typed(document), None) is None
    held = held_against(replace(REVIEW, digest="0x" + "ab" * 32), typed(document))
    assert held.refused


def test_a_call_without_its_terms_is_not_signed() -> None:
    call = TransactionPayload(Purpose.DEPOSIT, "0x" + "11" * 20, "0x", 1)
    held = held_against(replace(REVIEW, digest="0x" + "ab" * 32, agreed=True), call)
    assert held.refused
    # What the agent refuses anyway is not said twice.
    refusal = RuleFinding("GAS_ABOVE", Severity.REFUSE, "Too much.")
    refused = held_against(replace(REVIEW, findings=(refusal,), agreed=True), call)
    assert (refused.agreed, refused.findings) == (None, (refusal,))
