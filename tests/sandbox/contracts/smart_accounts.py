"""Operations of smart accounts on a bench: made, signed and handed to its EntryPoint."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from eth_tester.exceptions import TransactionFailed

from sandbox.contracts.contract_world import ALICE, Bench, place
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_ACCOUNT_FACTORY
from swapdesk.chain.smart_account import (
    CREATE_ACCOUNT,
    InnerCall,
    account_address,
    encode_batch,
)
from swapdesk.chain.user_operation import UserOperation, pack, user_operation_hash
from swapdesk.sandbox.evm_world.genesis import TokenContract, TokenContractKind, account_contracts

DOLLAR = place(0)
HELD = 10**9
FEE = 3 * 10**9
"""Above the base fee of a bench, and the same for the tip: the price is then known."""


def bench_with(*owners: LocalAccount) -> Bench:
    """EntryPoint, factory and a token that the accounts of the owners hold."""
    bench = Bench()
    for address, (name, storage) in account_contracts().items():
        bench.put(address, name, storage)
    units = {account_address(one.address): HELD for one in owners}
    bench.put_token(DOLLAR, TokenContract(TokenContractKind.TOKEN, "Dollar"), "USD", 6, units)
    return bench.open()


OFFICIAL = Path(os.environ.get("SWAPDESK_NPM", "node_modules")) / "@account-abstraction/contracts"
VERSION = "0.7.0"


def official() -> dict[str, tuple[bytes, dict[int, int]]]:
    """The official EntryPoint (npm's ``@account-abstraction/contracts``) and the helper that its
    constructor makes, as that leaves them: code and storage by address."""
    package = OFFICIAL / "package.json"
    if not package.is_file() or json.loads(package.read_text())["version"] != VERSION:
        pytest.skip(f"npm @account-abstraction/contracts {VERSION} is not here")
    document = json.loads((OFFICIAL / "artifacts" / "EntryPoint.json").read_text())
    eth = Bench().open().web3.eth
    sent = eth.contract(abi=document["abi"], bytecode=document["bytecode"]).constructor()
    made_at = eth.wait_for_transaction_receipt(
        sent.transact({"from": eth.accounts[0], "gas": 6_000_000})
    )["contractAddress"]
    # The helper is the first contract that the EntryPoint makes: CREATE with nonce 1.
    helper = checksummed("0x" + keccak(b"\xd6\x94" + bytes.fromhex(made_at[2:]) + b"\1")[12:].hex())
    words = {slot: int.from_bytes(eth.get_storage_at(made_at, slot), "big") for slot in range(4)}
    storage = {slot: word for slot, word in words.items() if word}
    return {
        ENTRY_POINT: (bytes(eth.get_code(made_at)), storage),
        helper: (bytes(eth.get_code(helper)), {}),
    }


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
        return bytes(ast.literal_eval(told))
    return words(told)


def words(reason: str) -> bytes:
    """``Error(string)``."""
    return bytes.fromhex("08c379a0") + encode(["string"], [reason])
