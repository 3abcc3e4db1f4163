"""py-evm's Prague machine as the sandbox drives it: blocks of ours, transactions checked once.

The machine is used below py-evm's chains and virtual machines: those keep state in tries, check
every signature again, fail a whole block for one transaction and let gas limit and base fee
drift. Execution is bounded in time: py-evm takes a minute for what fills a block elsewhere. A loop
needs jumps and calls, so these look at the clock now and then. In a ``CallState`` nobody signs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.forks.prague.state import PragueState, PragueTransactionExecutor
from eth_typing import Address

from swapdesk.sandbox.node.evm.state import ChangingAccounts

_LOOK_EVERY = 1_024
_JUMPS, _CALLS = (0x56, 0x57), (0xF0, 0xF1, 0xF2, 0xF4, 0xF5, 0xFA)
_COST_OF_CALL = 64


class TooLong(Exception):
    """An execution ran out of time."""


def _looking(run: Callable[..., Any], cost: int) -> Callable[..., Any]:
    def opcode(computation: Any) -> Any:
        computation.state.tick(cost)
        return run(computation=computation)

    return opcode


class BoundedComputation(PragueComputation):
    """Looks at the clock at jumps and calls."""

    opcodes: Any = {  # noqa: RUF012 (py-evm's own table is one)
        **PragueComputation.opcodes,
        **{code: _looking(PragueComputation.opcodes[code], 1) for code in _JUMPS},
        **{code: _looking(PragueComputation.opcodes[code], _COST_OF_CALL) for code in _CALLS},
    }


class AdmittedExecutor(PragueTransactionExecutor):
    """Runs what the pool admitted: form and signature were checked there, money and nonce are
    checked here, against the state the transaction meets."""

    def validate_transaction(self, transaction: Any) -> None:
        self.vm_state.validate_transaction(transaction)


class SandboxState(PragueState):
    """``limit`` sets when an execution ends, in the seconds of ``monotonic``."""

    computation_class = BoundedComputation
    transaction_executor_class = AdmittedExecutor
    account_db_class: Any = ChangingAccounts
    _monotonic: Callable[[], float]
    _until = float("inf")
    _ticks = 0

    def set_system_contracts(self) -> None:
        """None: block 0 says which contracts there are."""

    @property
    def accounts(self) -> ChangingAccounts:
        accounts: ChangingAccounts = self._account_db  # type: ignore[assignment]
        return accounts

    def limit(self, monotonic: Callable[[], float], seconds: float) -> None:
        self._monotonic = monotonic
        self._until = monotonic() + seconds

    def tick(self, cost: int) -> None:
        """Raises TooLong."""
        self._ticks += cost
        if self._ticks >= _LOOK_EVERY:
            self._ticks = 0
            if self._monotonic() > self._until:
                raise TooLong("it runs too long")


TRANSFERS = bytes.fromhex("ee" * 20)
"""Who seems to emit the transfers of the chain's own coin (geth's ``traceTransfers``)."""
TRANSFER_TOPIC = 0xDDF252AD1BE2C89B69C2B068FC378DAA952BA7F163C4A11628F55A4DF523B3EF
"""``Transfer(address,address,uint256)``."""


class CallComputation(BoundedComputation):
    """Logs transfers of the coin when asked to."""

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
    computation_class = CallComputation
    transaction_executor_class = _CallExecutor
    shows_transfers = False
