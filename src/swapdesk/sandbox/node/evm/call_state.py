"""A state that calls are executed in: nobody signs, and transfers of money can be shown."""

from __future__ import annotations

from typing import Any

from eth_typing import Address

from swapdesk.sandbox.node.evm.bounded import BoundedComputation
from swapdesk.sandbox.node.evm.machine import AdmittedExecutor, SandboxState

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
