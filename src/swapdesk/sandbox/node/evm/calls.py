"""Calls without a transaction: what they return, what gas they need, and whole blocks of them
(``eth_simulateV1``), on the state of a block with changes that the caller names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from eth.constants import CREATE_CONTRACT_ADDRESS
from eth.exceptions import InsufficientFunds, OutOfGas, Revert, VMError
from eth.vm.forks.london.constants import DYNAMIC_FEE_TRANSACTION_TYPE
from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_typing import Address

from swapdesk.clock import Clock
from swapdesk.sandbox.node.evm.call_request import CallRequest
from swapdesk.sandbox.node.evm.machine import BlockHeader, CallState, Machine, TooLong
from swapdesk.sandbox.node.evm.mempool import floor_gas
from swapdesk.sandbox.node.evm.overrides import override_state
from swapdesk.sandbox.node.evm.problem import Code, Problem

CALL_SECONDS = 5.0
"""Of one call; the reader's thread serves everybody."""
_ERROR, _PANIC = bytes.fromhex("08c379a0"), bytes.fromhex("4e487b71")
_PANICS = {
    0x00: "generic panic",
    0x01: "assert(false)",
    0x11: "arithmetic underflow or overflow",
    0x12: "division or modulo by zero",
    0x21: "enum overflow",
    0x22: "invalid encoded storage byte array accessed",
    0x31: "out-of-bounds array access; popping on an empty array",
    0x32: "out-of-bounds access of an array or bytesN",
    0x41: "out of memory",
    0x51: "uninitialized function",
}


class CallTransaction:
    """What the executor asks of a transaction; nobody signed it."""

    type_id = DYNAMIC_FEE_TRANSACTION_TYPE

    def __init__(self, request: CallRequest, gas: int, nonce: int) -> None:
        self.sender = request.sender
        self.to = request.to or CREATE_CONTRACT_ADDRESS
        self.value = request.value
        self.data = request.data
        self.gas = gas
        self.nonce = nonce
        self.max_fee_per_gas = request.max_fee
        self.max_priority_fee_per_gas = request.max_tip
        self.access_list = request.access_list
        self.intrinsic_gas = _intrinsic(request)


@dataclass(frozen=True)
class Outcome:
    """What a call came to. ``error`` is None for success."""

    gas_used: int
    output: bytes
    error: VMError | None
    computation: Any

    def require(self) -> bytes:
        """The output, or Problem as geth tells a failure."""
        if self.error is None:
            return self.output
        raise failure(self.error, self.output)


class Caller:
    """Executes calls on one machine, in its thread."""

    def __init__(self, machine: Machine, clock: Clock) -> None:
        self._machine = machine
        self._clock = clock

    def state_at(self, header: BlockHeader, request: CallRequest, overrides: Any) -> CallState:
        """A fresh state of ``header`` with overrides, in which the request is executed."""
        free = header.copy(base_fee_per_gas=0) if not request.max_fee else header
        state: CallState = self._machine.vm(free, CallState).state  # type: ignore[assignment]
        state.limit(self._clock.monotonic, CALL_SECONDS)
        override_state(state, overrides)
        return state

    def continued(self, header: BlockHeader, before: CallState | None) -> CallState:
        """The state of a simulated block: a fresh one, or what the one before left."""
        vm = self._machine.vm(header, CallState)
        if before is None:
            state: CallState = vm.state  # type: ignore[assignment]
            state.limit(self._clock.monotonic, CALL_SECONDS)
            return state
        before.execution_context = vm.state.execution_context
        return before

    def call(self, header: BlockHeader, request: CallRequest, overrides: Any = None) -> Outcome:
        """Raises Problem where nothing could be executed at all."""
        state = self.state_at(header, request, overrides)
        limit = min(request.gas or header.gas_limit, header.gas_limit)
        return self.execute(state, request, limit)

    def estimate(self, header: BlockHeader, request: CallRequest, overrides: Any = None) -> int:
        """The least gas, or a little more, with which the request succeeds. Raises Problem."""
        most = min(request.gas or header.gas_limit, header.gas_limit)
        if request.max_fee:
            most = min(most, self._affordable(header, request, overrides))
        outcome = self._attempt(header, request, overrides, most)
        outcome.require()
        refund = int(outcome.computation.get_gas_refund())
        least = max(outcome.gas_used, _intrinsic(request), floor_gas(request.data))
        guess: int = min(most, least + refund)
        while guess < most and self._attempt(header, request, overrides, guess).error is not None:
            guess = min(most, guess + guess // 8)
        return guess

    def execute(self, state: CallState, request: CallRequest, gas: int) -> Outcome:
        """Run a request in a state and leave what it changed there. Raises Problem."""
        needed = _intrinsic(request)
        if gas < needed:
            raise Problem(
                f"err: intrinsic gas too low: have {gas}, want {needed} (supplied gas {gas})"
            )
        balance = state.get_balance(Address(request.sender))
        if balance < request.value + gas * request.max_fee:
            raise Problem(
                "insufficient funds for gas * price + value: address"
                f" 0x{request.sender.hex()} have {balance}"
                f" want {request.value + gas * request.max_fee}"
            )
        nonce = state.get_nonce(Address(request.sender)) if request.nonce is None else request.nonce
        transaction = CallTransaction(request, gas, nonce)
        state.lock_changes()
        executor: Any = state.get_transaction_executor()
        try:
            computation = executor(transaction)
        except TooLong:
            raise Problem(f"execution aborted (timeout = {CALL_SECONDS:g}s)") from None
        except InsufficientFunds as error:
            raise Problem(f"insufficient funds for transfer: {error}") from None
        remaining = computation.get_gas_remaining()
        used = gas - remaining
        used += computation.data_floor_gas
        refund = min(computation.get_gas_refund(), used // 5)
        failed = None if computation.is_success else computation.error
        return Outcome(used - refund, bytes(computation.output), failed, computation)

    def _attempt(
        self, header: BlockHeader, request: CallRequest, overrides: Any, gas: int
    ) -> Outcome:
        return self.execute(self.state_at(header, request, overrides), request, gas)

    def _affordable(self, header: BlockHeader, request: CallRequest, overrides: Any) -> int:
        balance = self.state_at(header, request, overrides).get_balance(Address(request.sender))
        if balance < request.value:
            raise Problem("insufficient funds for transfer")
        return int((balance - request.value) // request.max_fee)


def failure(error: VMError, output: bytes) -> Problem:
    """As geth tells why an execution failed."""
    if isinstance(error, Revert):
        reason = revert_reason(output)
        message = "execution reverted" + (f": {reason}" if reason is not None else "")
        return Problem(message, Code.REVERTED, "0x" + output.hex())
    if isinstance(error, OutOfGas):
        return Problem("out of gas")
    return Problem(f"execution failed: {_words(error)}")


def revert_reason(output: bytes) -> str | None:
    """The text of ``Error(string)`` or of a panic; None for anything else."""
    try:
        if output[:4] == _ERROR:
            return str(decode(["string"], output[4:])[0])
        if output[:4] == _PANIC:
            (code,) = decode(["uint256"], output[4:])
            return _PANICS.get(code, f"unknown panic code: {code:#x}")
    except (DecodingError, UnicodeDecodeError, OverflowError):
        return None
    return None


def _words(error: VMError) -> str:
    said = str(error)
    return said[:200] if said.isprintable() and said else type(error).__name__


def _intrinsic(request: CallRequest) -> int:
    creates = not request.to
    zeros = request.data.count(0)
    gas = 21_000 + 4 * zeros + 16 * (len(request.data) - zeros)
    gas += sum(2_400 + 1_900 * len(slots) for _, slots in request.access_list)
    return gas + (32_000 if creates else 0)
