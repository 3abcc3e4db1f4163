"""Executes calls that are not sent as transactions, on the state after a block, optionally changed
by geth's overrides.

``eth_simulateV1`` executes whole blocks of calls; nonces and fees cannot be validated and
precompiles cannot be moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eth.exceptions import InsufficientFunds, OutOfGas, Revert, VMError
from eth_hash.auto import keccak
from eth_typing import Address
from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.rpc.evm import revert_words
from swapdesk.chain.rpc.ledger import RpcCode
from swapdesk.clock import Clock
from swapdesk.sandbox.node.evm.blocks import (
    Block,
    Document,
    Log,
    block_document,
    data,
    log_document,
    next_block,
    quantity,
)
from swapdesk.sandbox.node.evm.chain import EvmChain
from swapdesk.sandbox.node.evm.json_rpc import (
    CallRequest,
    Problem,
    bad,
    read_address,
    read_bytes,
    read_object,
    read_quantity,
    read_word,
)
from swapdesk.sandbox.node.evm.mempool import floor_gas
from swapdesk.sandbox.node.evm.state import CallState, TooLong

_ACCOUNT = ("balance", "nonce", "code", "state", "stateDiff")


def override_state(state: Any, value: Any) -> None:
    """Changes a state in the form of geth's state overrides: ``{address: {balance, nonce, code,
    state, stateDiff}}``. None changes nothing. Raises Problem."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise bad("the state override is no object")
    for key, override in value.items():
        address = read_address(key, "the state override")
        account = read_object(override, key, _ACCOUNT)
        if "state" in account and "stateDiff" in account:
            raise Problem(f"account {key} has both 'state' and 'stateDiff'")
        for name, read, change in (
            ("balance", read_quantity, state.set_balance),
            ("nonce", read_quantity, state.set_nonce),
            ("code", read_bytes, state.set_code),
        ):
            if name in account:
                change(address, read(account[name], name))
        if "state" in account:
            state.delete_storage(address)
        for slot, word in _read_words(account.get("state", account.get("stateDiff", {}))):
            state.set_storage(address, slot, word)
    # What was changed is the beginning of the transaction, not a part of it.
    state.lock_changes()


def _read_words(value: Any) -> list[tuple[int, int]]:
    if not isinstance(value, dict):
        raise bad("the storage override is no object")
    return [(read_word(slot, "slot"), read_word(word, "word")) for slot, word in value.items()]


MOST_BLOCKS, MOST_CALLS = 16, 100
_OPTIONS = ("blockStateCalls", "traceTransfers", "validation", "returnFullTransactions")
_BLOCK = ("stateOverrides", "calls")
_VM_ERROR = -32015

_REASONS = (bytes.fromhex("08c379a0"), bytes.fromhex("4e487b71"))

CALL_SECONDS = 5.0
"""Longest time in seconds of one call. It is limited because a single reader thread serves all
clients."""


class ExecutionOutcome(Struct, frozen=True):
    """The result of an executed call; ``error`` is None if it succeeded."""

    gas_used: int
    refund: int
    output: bytes
    error: VMError | None
    logs: tuple[Log, ...]

    def require(self) -> bytes:
        """Returns the output of the call. If the call failed, raises Problem with the error that
        geth would report."""
        if self.error is None:
            return self.output
        raise failure(self.error, self.output)


class CallExecutor:
    """Executes calls on the state of one chain's blocks, in the reader thread."""

    def __init__(self, chain: EvmChain, clock: Clock) -> None:
        self._chain = chain
        self._clock = clock

    def call(self, block: Block, request: CallRequest, overrides: Any = None) -> ExecutionOutcome:
        """Returns the outcome of a call on the state after ``block``.

        Raises Problem if the call cannot be executed at all.
        """
        limit = min(request.gas or block.gas_limit, block.gas_limit)
        return self._attempt(block, request, overrides, limit)

    def estimate(self, block: Block, request: CallRequest, overrides: Any = None) -> int:
        """Returns a gas limit, nearly the least, with which the call succeeds on the state after
        ``block``. Raises Problem."""
        most = min(request.gas or block.gas_limit, block.gas_limit)
        if request.max_fee_per_gas:
            state = self.state(block, block, overrides)
            balance = state.get_balance(Address(request.sender))
            if balance < request.value:
                raise Problem("insufficient funds for transfer")
            most = min(most, (balance - request.value) // request.max_fee_per_gas)
        outcome = self._attempt(block, request, overrides, most)
        outcome.require()
        least = max(outcome.gas_used, request.intrinsic_gas, floor_gas(request.data))
        guess = min(most, least + outcome.refund)
        while guess < most and self._attempt(block, request, overrides, guess).error is not None:
            guess = min(most, guess + guess // 8)
        return guess

    def simulate(self, block: Block, now: int, value: Any) -> list[Document]:
        """Returns the result of ``eth_simulateV1``: simulated blocks after ``block``, beginning at
        the time ``now``. ``value`` is the request's first parameter. Raises Problem."""
        options = read_object(value, "the simulation", _OPTIONS)
        asked = options.get("blockStateCalls")
        if not isinstance(asked, list) or not asked:
            raise Problem("empty input", RpcCode.BAD_PARAMS)
        if options.get("validation"):
            raise Problem("validation is not supported", RpcCode.BAD_PARAMS)
        read = [read_object(block_asked, "a block", _BLOCK) for block_asked in asked]
        if (
            len(read) > MOST_BLOCKS
            or sum(len(_calls(block_asked)) for block_asked in read) > MOST_CALLS
        ):
            raise Problem(f"at most {MOST_BLOCKS} blocks with {MOST_CALLS} calls", RpcCode.LIMIT)
        state = self.state(block, block, None)
        state.shows_transfers = bool(options.get("traceTransfers"))
        shown = []
        for block_asked in read:
            block, document = self._simulated(state, block, now, block_asked)
            shown.append(document)
        return shown

    def state(self, block: Block, context: Block, overrides: Any) -> CallState:
        """Returns a new state: the state after ``block``, changed by ``overrides``. Contracts
        called in it see ``context`` as the current block."""
        state = self._chain.state(CallState, context, block)
        state.limit(self._clock.monotonic, CALL_SECONDS)
        override_state(state, overrides)
        return state

    def execute(self, state: CallState, request: CallRequest, gas: int) -> ExecutionOutcome:
        """Executes a call. The call's changes stay in ``state``. Raises Problem if the call cannot
        be executed."""
        needed = request.intrinsic_gas
        if gas < needed:
            raise Problem(
                f"err: intrinsic gas too low: have {gas}, want {needed} (supplied gas {gas})"
            )
        balance = state.get_balance(Address(request.sender))
        wanted = request.value + gas * request.max_fee_per_gas
        if balance < wanted:
            raise Problem(
                "insufficient funds for gas * price + value: address"
                f" 0x{request.sender.hex()} have {balance} want {wanted}"
            )
        nonce = state.get_nonce(Address(request.sender)) if request.nonce is None else request.nonce
        state.lock_changes()
        executor: Any = state.get_transaction_executor()
        try:
            computation = executor(replace(request, gas=gas, nonce=nonce))
        except TooLong:
            raise Problem(f"execution aborted (timeout = {CALL_SECONDS:g}s)") from None
        except InsufficientFunds as error:
            raise Problem(f"insufficient funds for transfer: {error}") from None
        used = gas - computation.get_gas_remaining() + computation.data_floor_gas
        refund = int(computation.get_gas_refund())
        logs = (
            Log(address, tuple(topic.to_bytes(32, "big") for topic in topics), payload)
            for address, topics, payload in computation.get_log_entries()
        )
        return ExecutionOutcome(
            used - min(refund, used // 5),
            refund,
            bytes(computation.output),
            None if computation.is_success else computation.error,
            tuple(logs),
        )

    def _attempt(
        self, block: Block, request: CallRequest, overrides: Any, gas: int
    ) -> ExecutionOutcome:
        context = block if request.max_fee_per_gas else replace(block, base_fee_per_gas=0)
        return self.execute(self.state(block, context, overrides), request, gas)

    def _simulated(
        self, state: CallState, parent: Block, now: int, asked: Mapping[str, Any]
    ) -> tuple[Block, Document]:
        terms = self._chain.terms
        block = next_block(terms, parent, max(parent.timestamp + 1, now))
        block = replace(block, base_fee_per_gas=0).sealed()
        state.execution_context = self._chain.context(block)
        override_state(state, asked.get("stateOverrides"))
        shown: list[Document] = []
        used = logs = 0
        for position, value in enumerate(_calls(asked)):
            request = CallRequest.read(value, terms.chain_id)
            left = block.gas_limit - used
            outcome = self.execute(state, request, min(request.gas or left, left))
            shown.append(_result(outcome, block, position, logs))
            used += outcome.gas_used
            logs += len(shown[-1]["logs"])
        document = block_document(block, terms.chain_id)
        return block, {**document, "gasUsed": quantity(used), "calls": shown}


def failure(error: VMError, output: bytes) -> Problem:
    """Returns the error for a failed execution, with the message that geth would give."""
    if isinstance(error, Revert):
        # Libraries show the reason out of the message, and read own errors of a contract.
        reason = f": {revert_words(output)}" if output[:4] in _REASONS else ""
        return Problem(f"execution reverted{reason}", RpcCode.REVERTED, "0x" + output.hex())
    if isinstance(error, OutOfGas):
        return Problem("out of gas")
    return Problem(f"execution failed: {_words(error)}")


def _words(error: VMError) -> str:
    words = str(error)
    return words[:200] if words.isprintable() and words else type(error).__name__


def _calls(block: Mapping[str, Any]) -> list[Any]:
    calls = block.get("calls", [])
    if not isinstance(calls, list):
        raise bad("calls is no list")
    return calls


def _result(outcome: ExecutionOutcome, block: Block, position: int, first_log: int) -> Document:
    document: Document = {
        "status": quantity(int(outcome.error is None)),
        "returnData": data(outcome.output),
        "gasUsed": quantity(outcome.gas_used),
        "logs": [],
    }
    if outcome.error is not None:
        problem = failure(outcome.error, outcome.output)
        code = problem.code if problem.code == RpcCode.REVERTED else _VM_ERROR
        document["error"] = {**problem.as_json(), "code": int(code)}
        return document
    pretended = keccak(b"simulated" + block.parent_hash + position.to_bytes(4, "big"))
    document["logs"] = [
        log_document(log, block, pretended, position, first_log + place)
        for place, log in enumerate(outcome.logs)
    ]
    return document
