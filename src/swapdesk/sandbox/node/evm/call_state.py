"""A state that calls are executed in: bounded in time, and able to show transfers of money.

A loop needs jumps and calls, so that those look at the clock now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eth.vm.forks.prague.computation import PragueComputation
from eth_typing import Address

from swapdesk.sandbox.node.evm.machine import AdmittedExecutor, SandboxState

TRANSFERS = bytes.fromhex("ee" * 20)
"""Who seems to emit the transfers of the chain's own coin (geth's ``traceTransfers``)."""
TRANSFER_TOPIC = 0xDDF252AD1BE2C89B69C2B068FC378DAA952BA7F163C4A11628F55A4DF523B3EF
"""``Transfer(address,address,uint256)``."""

_LOOK_EVERY = 1_024
_JUMP, _JUMPI, _CALLS = 0x56, 0x57, (0xF0, 0xF1, 0xF2, 0xF4, 0xF5, 0xFA)


class TooLong(Exception):
    """An execution ran out of time."""


def _looking(run: Callable[..., Any], cost: int) -> Callable[..., Any]:
    def opcode(computation: Any) -> Any:
        computation.state.tick(cost)
        return run(computation=computation)

    return opcode


class CallComputation(PragueComputation):
    """Looks at the clock at jumps and calls, and logs transfers of the coin when asked to."""

    opcodes: Any = {  # noqa: RUF012 (py-evm's own table is one)
        code: _looking(run, 1 if code in (_JUMP, _JUMPI) else 64)
        if code in (_JUMP, _JUMPI, *_CALLS)
        else run
        for code, run in PragueComputation.opcodes.items()
    }

    def __init__(self, state: Any, message: Any, transaction_context: Any) -> None:
        super().__init__(state, message, transaction_context)
        if state.shows_transfers and message.should_transfer_value and message.value:
            number = transaction_context.get_next_log_counter()
            topics = (
                TRANSFER_TOPIC,
                int.from_bytes(message.sender, "big"),
                int.from_bytes(message.storage_address, "big"),
            )
            amount = int(message.value).to_bytes(32, "big")
            self._log_entries.append((number, Address(TRANSFERS), topics, amount))


class _CallExecutor(AdmittedExecutor):
    def validate_transaction(self, transaction: Any) -> None:
        """Nothing: who calls needs neither the nonce nor the money for gas."""


class CallState(SandboxState):
    """``limit`` sets when an execution ends, in the seconds of ``monotonic``."""

    computation_class = CallComputation
    transaction_executor_class = _CallExecutor
    shows_transfers = False
    _monotonic: Callable[[], float] | None = None
    _until = 0.0
    _ticks = 0

    def limit(self, monotonic: Callable[[], float], seconds: float) -> None:
        self._monotonic = monotonic
        self._until = monotonic() + seconds

    def tick(self, cost: int) -> None:
        """Raises TooLong."""
        self._ticks += cost
        if self._ticks >= _LOOK_EVERY:
            self._ticks = 0
            if self._monotonic is not None and self._monotonic() > self._until:
                raise TooLong
