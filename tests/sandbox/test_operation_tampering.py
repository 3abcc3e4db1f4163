"""Operations that a dishonest service changed: one part each, and a hash that fits."""

from __future__ import annotations

from typing import Any

import pytest

from swapdesk.chain.calldata import erc20
from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.smart_account import InnerCall, decode_batch, encode_batch
from swapdesk.chain.user_operation import (
    UserOperation,
    operation_json,
    read_operation,
    user_operation_hash,
)
from swapdesk.sandbox.tampering import ATTACKER, TamperedPart, tampered_operations

CHAIN_ID = 1_337_000_001
ACCOUNT = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"
DEPOSIT = "0x97518736834b15523de22e1eb773F2eAc928f113"
TOKEN = "0x568ba20066d0503329631401d74238b25Fbe8E4a"
COINS = [InnerCall(DEPOSIT, 5), InnerCall(ACCOUNT, 7)]
TOKENS = [InnerCall(TOKEN, 0, erc20.TRANSFER.call(DEPOSIT, 5))]


def told(calls: list[InnerCall]) -> dict[str, Any]:
    operation = UserOperation(ACCOUNT, 9 << 64, encode_batch(calls), 1, 2, 3, 4, 5)
    hashed = user_operation_hash(operation, ENTRY_POINT, CHAIN_ID)
    data = {
        "userOpHash": "0x" + hashed.hex(),
        "to": ACCOUNT,
        "data": "0x",
        "value": "12",
        "chainId": CHAIN_ID,
        "entryPoint": ENTRY_POINT,
        "entryPointVersion": "0.7",
        "userOperation": operation_json(operation, with_signature=False),
    }
    return {"multiId": "a", "chain": "evm", "transactions": [{"serviceIds": [], "txData": data}]}


EXPECTED: dict[TamperedPart, tuple[list[InnerCall], list[InnerCall]]] = {
    TamperedPart.RECIPIENT: (
        [InnerCall(ATTACKER, 5), COINS[1]],
        [InnerCall(TOKEN, 0, erc20.TRANSFER.call(ATTACKER, 5))],
    ),
    TamperedPart.AMOUNT: (
        [InnerCall(DEPOSIT, 10), COINS[1]],
        [InnerCall(TOKEN, 0, erc20.TRANSFER.call(DEPOSIT, 10))],
    ),
    TamperedPart.CALL: (
        [*COINS, InnerCall(ATTACKER, 1)],
        [*TOKENS, InnerCall(TOKEN, 0, erc20.TRANSFER.call(ATTACKER, 1))],
    ),
}


@pytest.mark.parametrize("part", TamperedPart)
@pytest.mark.parametrize("place", [0, 1], ids=["coins", "tokens"])
def test_one_part_and_no_other_is_changed(part: TamperedPart, place: int) -> None:
    calls = (COINS, TOKENS)[place]
    honest = told(calls)
    changed = tampered_operations(part, honest)
    assert changed is not None
    assert honest == told(calls), "the answer itself stays what it was"
    (before,), (after,) = honest["transactions"], changed["transactions"]
    data = after["txData"]
    operation = read_operation(data["userOperation"], signed=False)
    hashed = user_operation_hash(operation, data["entryPoint"], data["chainId"])
    assert data["userOpHash"] == "0x" + hashed.hex() != before["txData"]["userOpHash"]
    wanted = dict(before["txData"], userOpHash=data["userOpHash"])
    if part is TamperedPart.ENTRY_POINT:
        wanted["entryPoint"] = ATTACKER
    elif part is TamperedPart.CHAIN:
        wanted["chainId"] = 1
    elif part is TamperedPart.NONCE:
        wanted["userOperation"] = {**wanted["userOperation"], "nonce": hex((9 << 64) + 1)}
    else:
        assert list(decode_batch(operation.call_data)) == EXPECTED[part][place]
        written = {"callData": data["userOperation"]["callData"]}
        wanted["userOperation"] = {**wanted["userOperation"], **written}
    assert data == wanted


def test_there_is_nothing_to_change_on_solana() -> None:
    answer = {"transactions": [{"serviceIds": [], "txData": {"data": "AQID"}}]}
    assert tampered_operations(TamperedPart.AMOUNT, answer) is None
