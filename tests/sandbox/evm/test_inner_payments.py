"""Coins that smart accounts pay out are read from the operations that were executed."""

from __future__ import annotations

from sandbox.evm.evm_world import faucet
from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_ACCOUNT
from swapdesk.chain.smart_account import HANDLE_OPS, USER_OPERATION_EVENT, InnerCall, encode_batch
from swapdesk.chain.user_operation import UserOperation, pack
from swapdesk.sandbox.node.evm.blocks import Block, Log, MinedTransaction
from swapdesk.sandbox.node.evm.wallets import CoinPayment, inner_payments, payments_of

OURS = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"
OTHER = "0x97518736834b15523de22e1eb773F2eAc928f113"
PAID = "0x568ba20066d0503329631401d74238b25Fbe8E4a"
PROXY = bytes.fromhex(f"363d3d373d3d3d363d73{SANDBOX_ACCOUNT[2:]}5af43d82803e903d91602b57fd5bf3")


def operation(sender: str, nonce: int, *calls: InnerCall) -> UserOperation:
    return UserOperation(sender, nonce, encode_batch(calls), 1, 2, 3, 4, 5)


def document(*operations: UserOperation, to: str = ENTRY_POINT) -> tuple[bytes, bytes]:
    data = HANDLE_OPS.call([tuple(pack(each)) for each in operations], PAID)
    return octets(to), data


def event(sender: str, nonce: int, *, success: bool = True, address: str = ENTRY_POINT) -> Log:
    words = (nonce, int(success), 1, 1)
    topics = (octets(USER_OPERATION_EVENT), b"\xab" * 32, bytes(12) + octets(sender), bytes(32))
    return Log(octets(address), topics, b"".join(word.to_bytes(32, "big") for word in words))


def octets(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def code_at(address: bytes) -> bytes:
    return PROXY if address == octets(OURS) else b"\xfe"


def read(told: tuple[bytes, bytes], *logs: Log) -> list[CoinPayment]:
    return list(inner_payments(*told, logs, code_at))


def test_what_was_executed_was_paid() -> None:
    first = operation(OURS, 1, InnerCall(PAID, 5), InnerCall(PAID, 0, b"\1"), InnerCall(OTHER, 7))
    second = operation(OURS, 2, InnerCall(PAID, 9))
    told = document(first, second)
    assert read(told, event(OURS, 1), event(OURS, 2)) == [
        (1_000_000, OURS, PAID, 5),
        (1_000_002, OURS, OTHER, 7),
        (1_000_050, OURS, PAID, 9),
    ]
    assert read(told, event(OURS, 1, success=False), event(OURS, 2)) == [(1_000_050, OURS, PAID, 9)]


def test_what_failed_moved_neither_coins_nor_tokens() -> None:
    fields = {"nonce": 0, "chainId": 1, "to": PAID, "value": 5, "gas": 21_000, "gasPrice": 1}
    raw = bytes(faucet().sign_transaction(fields).raw_transaction)
    word = bytes(12) + octets(PAID)
    moved = Log(
        octets(OTHER), (keccak(b"Transfer(address,address,uint256)"), word, word), bytes(32)
    )
    block = Block(7, 1_000, bytes(32), bytes(32), 30_000_000, 1)
    for succeeded, paid in ((True, [(None, 5), (OTHER, 0)]), (False, [])):
        one = MinedTransaction(raw, keccak(raw), bytes(20), succeeded, 1, 1, b"", (moved,))
        told = list(payments_of(block, one, code_at))
        assert [(each.token, each.units) for each in told] == paid


def test_what_was_not_executed_or_is_not_ours_paid_nothing() -> None:
    ours = operation(OURS, 1, InnerCall(PAID, 5))
    assert read(document(ours)) == []
    assert read(document(ours), event(OURS, 2)) == [], "another nonce"
    assert read(document(ours), event(OURS, 1, address=OTHER)) == [], "an event of somebody else"
    assert read(document(ours, to=OTHER), event(OURS, 1)) == []
    assert read(document(ours, to="0x"), event(OURS, 1)) == []
    foreign = operation(OTHER, 1, InnerCall(PAID, 5))
    assert read(document(foreign), event(OTHER, 1)) == [], "its code may do anything"
    assert read((octets(ENTRY_POINT), b"\x12\x34"), event(OURS, 1)) == []
