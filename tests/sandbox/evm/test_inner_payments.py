"""Coins that smart accounts pay out are read from the operations that were executed."""

from __future__ import annotations

from typing import Any

from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_ACCOUNT
from swapdesk.chain.smart_account import HANDLE_OPS, USER_OPERATION_EVENT, InnerCall, encode_batch
from swapdesk.chain.user_operation import UserOperation, pack
from swapdesk.sandbox.node.evm.wallets import InnerPayment, inner_payments

OURS = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"
OTHER = "0x97518736834b15523de22e1eb773F2eAc928f113"
PAID = "0x568ba20066d0503329631401d74238b25Fbe8E4a"
PROXY = bytes.fromhex(f"363d3d373d3d3d363d73{SANDBOX_ACCOUNT[2:]}5af43d82803e903d91602b57fd5bf3")


def operation(sender: str, nonce: int, *calls: InnerCall) -> UserOperation:
    return UserOperation(sender, nonce, encode_batch(calls), 1, 2, 3, 4, 5)


def document(*operations: UserOperation, to: str | None = ENTRY_POINT) -> Any:
    data = HANDLE_OPS.call([tuple(pack(each)) for each in operations], PAID)
    return {"to": to and to.lower(), "input": "0x" + data.hex()}


def event(sender: str, nonce: int, *, success: bool = True, address: str = ENTRY_POINT) -> Any:
    words = (nonce, int(success), 1, 1)
    return {
        "address": address.lower(),
        "topics": [
            USER_OPERATION_EVENT,
            "0x" + "ab" * 32,
            "0x" + sender[2:].lower().rjust(64, "0"),
            "0x" + "0" * 64,
        ],
        "data": "0x" + b"".join(word.to_bytes(32, "big") for word in words).hex(),
    }


def code_at(address: str) -> bytes:
    return PROXY if address == OURS else b"\xfe"


def read(told: Any, *logs: Any) -> list[InnerPayment]:
    return list(inner_payments(told, {"logs": list(logs)}, code_at))


def test_what_was_executed_was_paid() -> None:
    first = operation(OURS, 1, InnerCall(PAID, 5), InnerCall(PAID, 0, b"\1"), InnerCall(OTHER, 7))
    second = operation(OURS, 2, InnerCall(PAID, 9))
    told = document(first, second)
    assert read(told, event(OURS, 1), event(OURS, 2)) == [
        InnerPayment(1_000_000, OURS, PAID, 5),
        InnerPayment(1_000_002, OURS, OTHER, 7),
        InnerPayment(1_000_050, OURS, PAID, 9),
    ]
    assert read(told, event(OURS, 1, success=False), event(OURS, 2)) == [
        InnerPayment(1_000_050, OURS, PAID, 9)
    ]


def test_what_was_not_executed_or_is_not_ours_paid_nothing() -> None:
    ours = operation(OURS, 1, InnerCall(PAID, 5))
    assert read(document(ours)) == []
    assert read(document(ours), event(OURS, 2)) == [], "another nonce"
    assert read(document(ours), event(OURS, 1, address=OTHER)) == [], "an event of somebody else"
    assert read(document(ours, to=OTHER), event(OURS, 1)) == []
    assert read(document(ours, to=None), event(OURS, 1)) == []
    foreign = operation(OTHER, 1, InnerCall(PAID, 5))
    assert read(document(foreign), event(OTHER, 1)) == [], "its code may do anything"
    assert read({"to": ENTRY_POINT.lower(), "input": "0x1234"}, event(OURS, 1)) == []
