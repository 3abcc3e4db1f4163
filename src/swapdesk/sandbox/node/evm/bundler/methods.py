"""The bundler's JSON-RPC (ERC-7769), beside the chain's own methods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.user_operation.operation import OperationError, UserOperation
from swapdesk.chain.user_operation.rpc_form import (
    FEE_FIELDS,
    GAS_FIELDS,
    operation_json,
    read_operation,
)
from swapdesk.sandbox.node.evm.bundler.codes import fields
from swapdesk.sandbox.node.evm.bundler.estimation import estimate
from swapdesk.sandbox.node.evm.bundler.sightings import operation_of, sighted
from swapdesk.sandbox.node.evm.bundler.submission import Bundler
from swapdesk.sandbox.node.evm.call_request import read_bytes
from swapdesk.sandbox.node.evm.serialize import data, quantity

Run = Callable[..., Awaitable[Any]]
Table = dict[str, tuple[Run, int, int]]
"""By name: the method, and the least and the most arguments it takes."""

_MISSING_GAS = dict.fromkeys((*GAS_FIELDS, *FEE_FIELDS), "0x0")


class BundlerMethods:
    """What one chain's bundler answers."""

    def __init__(self, bundler: Bundler) -> None:
        self._bundler = bundler
        self.table: Table = {
            "eth_sendUserOperation": (self._send, 2, 2),
            "eth_estimateUserOperationGas": (self._estimate, 2, 3),
            "eth_getUserOperationByHash": (self._operation, 1, 1),
            "eth_getUserOperationReceipt": (self._receipt, 1, 1),
            "eth_supportedEntryPoints": (self._entry_points, 0, 0),
        }

    async def _entry_points(self) -> list[str]:
        return [ENTRY_POINT]

    async def _send(self, document: Any, entry_point: Any) -> str:
        _require_ours(entry_point)
        return data(await self._bundler.take(_read(document)))

    async def _estimate(
        self, document: Any, entry_point: Any, overrides: Any = None
    ) -> dict[str, str]:
        _require_ours(entry_point)
        operation = _read(document, estimated=True)
        pre, verification, call = await estimate(self._bundler.chain, operation, overrides)
        return {
            "preVerificationGas": quantity(pre),
            "verificationGasLimit": quantity(verification),
            "callGasLimit": quantity(call),
        }

    async def _operation(self, operation_hash: Any) -> dict[str, Any] | None:
        wanted = _hash(operation_hash)
        chain = self._bundler.chain
        found = await sighted(chain, wanted)
        if found is not None:
            transaction = found.receipt["transactionHash"]
            operation = operation_of(chain, transaction, wanted)
            if operation is None:
                return None
            return {
                "userOperation": operation_json(operation),
                "entryPoint": ENTRY_POINT,
                "transactionHash": transaction,
                "blockHash": found.receipt["blockHash"],
                "blockNumber": found.receipt["blockNumber"],
            }
        row = self._bundler.rows.find(chain.terms.short_name, wanted)
        if row is None or row.state == "dropped":
            return None
        return {
            "userOperation": operation_json(row.operation),
            "entryPoint": ENTRY_POINT,
            "transactionHash": None,
            "blockHash": None,
            "blockNumber": None,
        }

    async def _receipt(self, operation_hash: Any) -> dict[str, Any] | None:
        found = await sighted(self._bundler.chain, _hash(operation_hash))
        if found is None:
            return None
        outcome = found.outcome
        told: dict[str, Any] = {
            "userOpHash": data(outcome.hash),
            "entryPoint": ENTRY_POINT,
            "sender": outcome.sender,
            "nonce": quantity(outcome.nonce),
            "paymaster": outcome.paymaster,
            "actualGasCost": quantity(outcome.actual_gas_cost),
            "actualGasUsed": quantity(outcome.actual_gas_used),
            "success": outcome.success,
            "logs": found.logs,
            "receipt": found.receipt,
        }
        if not outcome.success:
            told["reason"] = data(found.reason)
        return told


def _read(document: Any, *, estimated: bool = False) -> UserOperation:
    try:
        if estimated:
            return read_operation(document, absent=_MISSING_GAS, signed=False)
        return read_operation(document)
    except OperationError as error:
        raise fields(str(error)) from None


def _require_ours(entry_point: Any) -> None:
    if not isinstance(entry_point, str) or entry_point.lower() != ENTRY_POINT.lower():
        raise fields("this EntryPoint is not supported")


def _hash(value: Any) -> bytes:
    return read_bytes(value, "the hash of the operation", 32)
