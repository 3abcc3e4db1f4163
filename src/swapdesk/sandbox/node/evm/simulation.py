"""``eth_simulateV1``: blocks of calls that follow each other, with their logs and transfers.

A subset: no validation of nonces and fees, no moved precompiles. With ``traceTransfers`` every
transfer of the chain's own coin shows as a log, so that all balance changes can be read off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eth_hash.auto import keccak

from swapdesk.sandbox.node.evm.call_request import CallRequest, bad, read_object
from swapdesk.sandbox.node.evm.calls import Caller, Outcome, failure
from swapdesk.sandbox.node.evm.machine import BlockHeader, CallState, Machine
from swapdesk.sandbox.node.evm.overrides import override_block, override_state
from swapdesk.sandbox.node.evm.problem import Code, Problem
from swapdesk.sandbox.node.evm.serialize import (
    Document,
    block_document,
    data,
    log_document,
    quantity,
)

MOST_BLOCKS, MOST_CALLS = 16, 100
_OPTIONS = ("blockStateCalls", "traceTransfers", "validation", "returnFullTransactions")
_BLOCK = ("blockOverrides", "stateOverrides", "calls")
_VM_ERROR = -32015


class Simulation:
    """One request, executed on ``caller`` after the block of ``header``."""

    def __init__(self, caller: Caller, machine: Machine, header: BlockHeader, now: int) -> None:
        self._caller = caller
        self._machine = machine
        self._header = header
        self._now = now
        self._state: CallState | None = None

    def run(self, value: Any) -> list[Document]:
        """The simulated blocks. Raises Problem."""
        options = read_object(value, "the simulation", _OPTIONS)
        blocks = options.get("blockStateCalls")
        if not isinstance(blocks, list) or not blocks:
            raise Problem("empty input", Code.BAD_PARAMS)
        if options.get("validation"):
            raise Problem("validation is not supported", Code.BAD_PARAMS)
        read = [read_object(each, "a block", _BLOCK) for each in blocks]
        calls = sum(len(_calls(each)) for each in read)
        if len(read) > MOST_BLOCKS or calls > MOST_CALLS:
            raise Problem(f"at most {MOST_BLOCKS} blocks with {MOST_CALLS} calls", Code.LIMIT)
        shows = bool(options.get("traceTransfers"))
        return [self._block(each, shows) for each in read]

    def _block(self, block: Mapping[str, Any], shows_transfers: bool) -> Document:
        now = max(self._header.timestamp + 1, self._now)
        header = self._machine.next_header(self._header, now).copy(base_fee_per_gas=0)
        header = override_block(header, block.get("blockOverrides"))
        if header.block_number <= self._header.block_number:
            raise Problem("block numbers must be in order")
        if header.timestamp <= self._header.timestamp:
            raise Problem("block timestamps must be in order")
        state = self._caller.continued(header, self._state)
        state.shows_transfers = shows_transfers
        override_state(state, block.get("stateOverrides"))
        shown: list[Document] = []
        logs = 0
        for position, value in enumerate(_calls(block)):
            request = CallRequest.read(value, self._machine.terms.chain_id)
            left = header.gas_limit - header.gas_used
            outcome = self._caller.execute(state, request, min(request.gas or left, left))
            header = header.copy(gas_used=header.gas_used + outcome.gas_used)
            document = _result(outcome, header, position, logs)
            logs += len(document["logs"])
            shown.append(document)
        state.lock_changes()
        header = header.copy(state_root=state.make_state_root())
        self._header, self._state = header, state
        return {
            **block_document(header, 0),
            "baseFeePerGas": "0x0",
            "transactions": [],
            "calls": shown,
        }


def _calls(block: Mapping[str, Any]) -> list[Any]:
    calls = block.get("calls", [])
    if not isinstance(calls, list):
        raise bad("calls is no list")
    return calls


def _result(outcome: Outcome, header: BlockHeader, position: int, first_log: int) -> Document:
    succeeded = outcome.error is None
    document: Document = {
        "status": quantity(int(succeeded)),
        "returnData": data(outcome.output),
        "gasUsed": quantity(outcome.gas_used),
        "logs": [],
    }
    if outcome.error is not None:
        problem = failure(outcome.error, outcome.output)
        code = problem.code if problem.code == Code.REVERTED else _VM_ERROR
        document["error"] = {**problem.as_json(), "code": int(code)}
        return document
    pretended = keccak(b"simulated" + header.parent_hash + position.to_bytes(4, "big"))
    document["logs"] = [
        log_document(
            address,
            topics,
            payload,
            first_log + place,
            header=header,
            transaction_hash=pretended,
            transaction_position=position,
        )
        for place, (address, topics, payload) in enumerate(outcome.computation.get_log_entries())
    ]
    return document
