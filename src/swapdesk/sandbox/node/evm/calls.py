"""Calls without a transaction, on the state of a block with changes that the caller names.

They say what they return and what gas they need. ``eth_simulateV1`` makes whole blocks of them,
with logs and transfers. It is a subset: no validation of nonces and fees, no moved precompiles.
With ``traceTransfers`` every transfer of the chain's own coin shows as a log, so that all balance
changes can be read off. Overrides are geth's objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eth.constants import CREATE_CONTRACT_ADDRESS
from eth.exceptions import InsufficientFunds, OutOfGas, Revert, VMError
from eth.vm.forks.london.constants import DYNAMIC_FEE_TRANSACTION_TYPE
from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_hash.auto import keccak
from eth_typing import Address
from msgspec import Struct

from swapdesk.clock import Clock
from swapdesk.sandbox.node.evm.json_rpc import (
    CallRequest,
    Code,
    Problem,
    bad,
    read_address,
    read_bytes,
    read_object,
    read_quantity,
    read_word,
)
from swapdesk.sandbox.node.evm.machine import BlockHeader, CallState, EvmMachine, TooLong
from swapdesk.sandbox.node.evm.mempool import floor_gas
from swapdesk.sandbox.node.evm.serialize import (
    Document,
    block_document,
    data,
    log_document,
    quantity,
)

_ACCOUNT = ("balance", "nonce", "code", "state", "stateDiff")
_OVERRIDE_BLOCK = ("number", "time", "gasLimit", "feeRecipient", "prevRandao", "baseFeePerGas")


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
        for slot, word in _read_words(account.get("state", account.get("stateDiff", {}))):
            state.set_storage(address, slot, word)
    # What was changed is the beginning of the transaction, not a part of it.
    state.lock_changes()


def override_block(header: BlockHeader, value: Any) -> BlockHeader:
    """The header with ``{number, time, gasLimit, feeRecipient, prevRandao, baseFeePerGas}``.
    Raises Problem."""
    if value is None:
        return header
    given = read_object(value, "the block override", _OVERRIDE_BLOCK)
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


def _read_words(value: Any) -> list[tuple[int, int]]:
    if not isinstance(value, dict):
        raise bad("the storage override is no object")
    return [(read_word(slot, "slot"), read_word(word, "word")) for slot, word in value.items()]


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


class ExecutionOutcome(Struct, frozen=True):
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


class CallExecutor:
    """Executes calls on one machine, in its thread."""

    def __init__(self, machine: EvmMachine, clock: Clock) -> None:
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

    def call(
        self, header: BlockHeader, request: CallRequest, overrides: Any = None
    ) -> ExecutionOutcome:
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

    def execute(self, state: CallState, request: CallRequest, gas: int) -> ExecutionOutcome:
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
        return ExecutionOutcome(used - refund, bytes(computation.output), failed, computation)

    def _attempt(
        self, header: BlockHeader, request: CallRequest, overrides: Any, gas: int
    ) -> ExecutionOutcome:
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


MOST_BLOCKS, MOST_CALLS = 16, 100
_OPTIONS = ("blockStateCalls", "traceTransfers", "validation", "returnFullTransactions")
_BLOCK = ("blockOverrides", "stateOverrides", "calls")
_VM_ERROR = -32015


class CallSimulation:
    """One request, executed on ``caller`` after the block of ``header``."""

    def __init__(
        self, caller: CallExecutor, machine: EvmMachine, header: BlockHeader, now: int
    ) -> None:
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


def _result(
    outcome: ExecutionOutcome, header: BlockHeader, position: int, first_log: int
) -> Document:
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
