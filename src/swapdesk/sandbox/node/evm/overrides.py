"""State and block overrides of calls and simulations (geth's objects)."""

from __future__ import annotations

from typing import Any

from swapdesk.sandbox.node.evm.call_request import (
    bad,
    read_address,
    read_bytes,
    read_object,
    read_quantity,
    read_word,
)
from swapdesk.sandbox.node.evm.machine import BlockHeader
from swapdesk.sandbox.node.evm.problem import Code, Problem

_ACCOUNT = ("balance", "nonce", "code", "state", "stateDiff")
_BLOCK = ("number", "time", "gasLimit", "feeRecipient", "prevRandao", "baseFeePerGas")


def override_state(state: Any, value: Any) -> None:
    """Change accounts of a machine's state by ``{address: {balance, nonce, code, state,
    stateDiff}}``. Raises Problem."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise bad("the state override is no object")
    for key, each in value.items():
        if isinstance(each, dict) and "movePrecompileToAddress" in each:
            raise Problem("movePrecompileToAddress is not supported", Code.BAD_PARAMS)
        address = read_address(key, "the state override")
        account = read_object(each, key, _ACCOUNT)
        if "state" in account and "stateDiff" in account:
            raise Problem(f"account {key} has both 'state' and 'stateDiff'")
        if "balance" in account:
            state.set_balance(address, read_quantity(account["balance"], "balance"))
        if "nonce" in account:
            state.set_nonce(address, read_quantity(account["nonce"], "nonce"))
        if "code" in account:
            state.set_code(address, read_bytes(account["code"], "code"))
        if "state" in account:
            state.delete_storage(address)
        for slot, word in _words(account.get("state", account.get("stateDiff", {}))):
            state.set_storage(address, slot, word)
    # What was changed is the beginning of the transaction, not a part of it.
    state.lock_changes()


def override_block(header: BlockHeader, value: Any) -> BlockHeader:
    """The header with ``{number, time, gasLimit, feeRecipient, prevRandao, baseFeePerGas}``.
    Raises Problem."""
    if value is None:
        return header
    given = read_object(value, "the block override", _BLOCK)
    changed: dict[str, Any] = {}
    for name, place in (
        ("number", "block_number"),
        ("time", "timestamp"),
        ("gasLimit", "gas_limit"),
        ("baseFeePerGas", "base_fee_per_gas"),
    ):
        if name in given:
            changed[place] = read_quantity(given[name], name)
    if "feeRecipient" in given:
        changed["coinbase"] = read_address(given["feeRecipient"], "feeRecipient")
    if "prevRandao" in given:
        changed["mix_hash"] = read_bytes(given["prevRandao"], "prevRandao", 32)
    return header.copy(**changed)


def _words(value: Any) -> list[tuple[int, int]]:
    if not isinstance(value, dict):
        raise bad("the storage override is no object")
    return [(read_word(slot, "slot"), read_word(word, "word")) for slot, word in value.items()]
