"""Operations of smart accounts on a bench: made, signed and handed to its EntryPoint."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from eth_tester.exceptions import TransactionFailed

from sandbox.contracts.contract_world import ALICE, Bench, place
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_ACCOUNT_FACTORY
from swapdesk.chain.smart_account import (
    CREATE_ACCOUNT,
    InnerCall,
    account_address,
    encode_batch,
)
from swapdesk.chain.user_operation import UserOperation, pack, user_operation_hash
from swapdesk.sandbox.evm_world.genesis import TokenAccounts, account_places
from swapdesk.sandbox.evm_world.pools import TokenContract, TokenContractKind

DOLLAR = place(0)
HELD = 10**9
FEE = 3 * 10**9
"""Above the base fee of a bench, and the same for the tip: the price is then known."""


def bench_with(*owners: LocalAccount) -> Bench:
    """EntryPoint, factory and a token that the accounts of the owners hold."""
    bench = Bench()
    for each in account_places():
        bench.put(each.address, each.artefact, each.storage)
    accounts = TokenAccounts({account_address(one.address): HELD for one in owners})
    bench.put_token(DOLLAR, TokenContract(TokenContractKind.TOKEN, "Dollar"), "USD", 6, accounts)
    return bench.open()


def receivers(count: int, first: int = 1) -> list[str]:
    return [place(10_000 + first + number) for number in range(count)]


def transfers(count: int, units: int = 5) -> list[InnerCall]:
    return [InnerCall(DOLLAR, 0, TRANSFER.call(to, units)) for to in receivers(count)]


def made(
    calls: Sequence[InnerCall] | bytes,
    owner: LocalAccount = ALICE,
    *,
    nonce: int = 0,
    creates: bool = False,
    **changed: Any,
) -> UserOperation:
    fields: dict[str, Any] = {
        "sender": account_address(owner.address),
        "nonce": nonce,
        "call_data": calls if isinstance(calls, bytes) else encode_batch(calls),
        "call_gas_limit": 2_500_000,
        "verification_gas_limit": 400_000,
        "pre_verification_gas": 100_000,
        "max_fee_per_gas": FEE,
        "max_priority_fee_per_gas": FEE,
    }
    if creates:
        fields["factory"] = SANDBOX_ACCOUNT_FACTORY
        fields["factory_data"] = CREATE_ACCOUNT.call(owner.address, 0)
    return UserOperation(**{**fields, **changed})


def hash_of(operation: UserOperation, chain_id: int) -> bytes:
    return user_operation_hash(operation, ENTRY_POINT, chain_id)


def signed(operation: UserOperation, chain_id: int, owner: LocalAccount = ALICE) -> UserOperation:
    """Signed by another hand than ours: eth_account's personal message."""
    message = encode_defunct(hash_of(operation, chain_id))
    return operation.signed(bytes(owner.sign_message(message).signature))


def handle(bench: Bench, *operations: UserOperation, beneficiary: str) -> Any:
    return bench.at(ENTRY_POINT).functions.handleOps(
        [tuple(pack(one)) for one in operations], beneficiary
    )


def said(failed: TransactionFailed) -> bytes:
    """What a call reverted with, byte for byte, out of eth-tester's words for it."""
    (text,) = failed.args
    told = str(text).removeprefix("execution reverted: ")
    if told.startswith(("b'", 'b"')):
        data = ast.literal_eval(told)
        assert isinstance(data, bytes)
        return data
    return words(told)


def words(reason: str) -> bytes:
    """``Error(string)``."""
    return bytes.fromhex("08c379a0") + encode(["string"], [reason])


def somebody(number: int) -> LocalAccount:
    account: LocalAccount = Account.from_key((77_000 + number).to_bytes(32, "big"))
    return account
