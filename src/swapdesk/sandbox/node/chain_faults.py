"""Faults of the nodes of chains, beside those of orders, and what is asked of the chains."""

from __future__ import annotations

from typing import Protocol

from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.node.account_rows import AccountRows
from swapdesk.sandbox.node.ledger import Ledger, LedgerRefusal
from swapdesk.sandbox.node.params import (
    AccountOf,
    BalanceOf,
    CustomerSend,
    FaucetPay,
    FaultAdd,
    OpenLeg,
    TransferOf,
)
from swapdesk.sandbox.world import chains_by_name, world_tokens
from swapdesk.wire.faults import FAULTS
from swapdesk.wire.model import RequestModel


class EmbeddedChains(Protocol):
    """What the node asks of the EVM chains it carries. All raise LedgerRefusal."""

    async def fund(
        self, chain: str, address: str, units: int, token: str | None = None
    ) -> dict[str, object]:
        """Pay coins from the faucet, or the token with this contract; the hash."""

    async def confirmed(self, chain: str, transaction_hash: str) -> None:
        """Wait until a transaction is in a block."""

    async def send(
        self, chain: str, wallet: str, to: str, value: int, data: bytes
    ) -> dict[str, object]:
        """A transaction of one of the sandbox's wallets; the hash."""


NODE_DOWN, FORGED_RECEIPT, DROP_TRANSACTION = "node_down", "forged_receipt", "drop_transaction"


class NodeDown(Exception):
    """The node of a chain does not answer; nothing happened."""


class ActiveChainFaults:
    """What ``evm.faults.ChainFaults`` asks, and which call needs a node that is down."""

    def __init__(self, faults: ActiveFaults, ledger: Ledger, rows: AccountRows) -> None:
        self._faults = faults
        self._ledger = ledger
        self._rows = rows

    def add(self, fault: FaultAdd) -> None:
        """Raises LedgerRefusal for a chain to which this does not happen."""
        only = FAULTS[fault.fault].chains
        if only and fault.chain not in only:
            raise LedgerRefusal(f"only an embedded chain does that: {', '.join(only)}")
        if fault.chain not in chains_by_name():
            raise LedgerRefusal("there is no such chain")
        self._faults.set(fault.fault, "chain", fault.chain, times=fault.times)

    def is_down(self, chain: str) -> bool:
        return self._meets(chain, NODE_DOWN)

    def forges_receipt(self, chain: str) -> bool:
        return self._meets(chain, FORGED_RECEIPT)

    def takes_transaction(self, chain: str) -> bool:
        return self._meets(chain, DROP_TRANSACTION)

    def _meets(self, chain: str, name: str) -> bool:
        return self._faults.take((name,), {("chain", chain)}) is not None

    def down(self) -> frozenset[str]:
        """Chains whose nodes are down now."""
        return frozenset(one.value for one in self._faults.active if one.name == NODE_DOWN)

    def meet(self, params: RequestModel) -> None:
        """Raise NodeDown when a call needs a node that is down; a counted outage is used up."""
        if not self.down():
            return
        for chain in self._chains_of(params):
            if self.is_down(chain):
                raise NodeDown(f"the node of {chain} does not answer")

    def _chains_of(self, params: RequestModel) -> list[str]:
        """The chains a call reads or moves money on."""
        tokens: list[str] = []
        if isinstance(params, OpenLeg):
            tokens = [params.token_in, params.token_out]
        elif isinstance(params, AccountOf):
            row = self._rows.by_key(params.venue, params.key)
            tokens = [] if row is None else [row["token_in"], row["token_out"]]
        elif isinstance(params, FaucetPay | BalanceOf):
            tokens = [params.token]
        elif isinstance(params, CustomerSend):
            return [params.chain]
        elif isinstance(params, TransferOf):
            transfer = self._ledger.find(params.hash)
            return [] if transfer is None else [transfer.chain]
        world = world_tokens()
        return [world[token].chain.short_name for token in tokens if token in world]
