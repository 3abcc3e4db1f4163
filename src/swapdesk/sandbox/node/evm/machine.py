"""py-evm's Prague machine as the sandbox drives it: headers of ours, transactions checked once.

The machine is used below py-evm's ``MiningChain``: that one keeps headers, transactions and
receipts in the trie's own key-value store (where they can neither be pruned nor unwound), checks
every signature again, fails a whole block for one transaction and lets gas limit and base fee
drift. Here the store holds state alone, and blocks live in ``storage``.

Execution is bounded in time: py-evm takes a minute for what fills a block elsewhere. A loop needs
jumps and calls, so these look at the clock now and then. In a ``CallState`` nobody signs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeAlias

from eth.consensus.context import ConsensusContext
from eth.constants import MAX_PREV_HEADER_DEPTH, POST_MERGE_DIFFICULTY, POST_MERGE_NONCE
from eth.db.atomic import AtomicDB
from eth.db.chain import ChainDB
from eth.exceptions import HeaderNotFound
from eth.vm.chain_context import ChainContext
from eth.vm.forks.london.headers import calculate_expected_base_fee_per_gas
from eth.vm.forks.prague import PragueVM
from eth.vm.forks.prague.blocks import PragueBlockHeader
from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.forks.prague.state import PragueState, PragueTransactionExecutor
from eth_hash.auto import keccak
from eth_typing import Address, Hash32

from swapdesk.sandbox.chain_rows import ChainTerms

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


def _opcode(code: int, run: Any) -> Any:
    if code in _JUMPS:
        return _looking(run, 1)
    return _looking(run, _COST_OF_CALL) if code in _CALLS else run


class BoundedComputation(PragueComputation):
    """Looks at the clock at jumps and calls."""

    opcodes: Any = {  # noqa: RUF012 (py-evm's own table is one)
        code: _opcode(code, run) for code, run in PragueComputation.opcodes.items()
    }


class BoundedState(PragueState):
    """``limit`` sets when an execution ends, in the seconds of ``monotonic``."""

    computation_class = BoundedComputation
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


__all__ = ["BlockHeader", "EvmMachine", "next_base_fee"]

BlockHeader: TypeAlias = Any
"""A ``PragueBlockHeader``: py-evm's own annotations say less than it holds."""
FindHeader = Callable[[bytes], BlockHeader | None]


class AdmittedExecutor(PragueTransactionExecutor):
    """Runs what the pool admitted: form and signature were checked there, money and nonce are
    checked here, against the state the transaction meets."""

    def validate_transaction(self, transaction: Any) -> None:
        self.vm_state.validate_transaction(transaction)


class SandboxState(BoundedState):
    transaction_executor_class = AdmittedExecutor

    def set_system_contracts(self) -> None:
        """None: block 0 says which contracts there are, and a state that is only read must not
        differ from the one on disk."""


class SandboxVM(PragueVM):
    _state_class = SandboxState

    @property
    def previous_hashes(self) -> Iterable[bytes]:  # type: ignore[override]
        wanted = self.get_header().parent_hash
        for _ in range(MAX_PREV_HEADER_DEPTH):
            yield wanted
            try:
                header = self.chaindb.get_block_header_by_hash(wanted)
            except HeaderNotFound:
                return
            if header.block_number == 0:
                return
            wanted = header.parent_hash


@lru_cache
def _vm_over(state_class: type[SandboxState]) -> type[SandboxVM]:
    return type("CallVM", (SandboxVM,), {"_state_class": state_class})


class _Headers(ChainDB):
    """What a machine asks of a chain database: state, and headers of ours."""

    def __init__(self, db: AtomicDB, find_header: FindHeader) -> None:
        super().__init__(db)
        self._find_header = find_header

    def get_block_header_by_hash(self, block_hash: Any) -> Any:
        found = self._find_header(block_hash)
        if found is None:
            raise HeaderNotFound(f"no header {block_hash.hex()}")
        return found


class EvmMachine:
    """Builds virtual machines over one key-value store of state.

    A machine belongs to one thread; ``find_header`` is called in it.
    """

    def __init__(self, terms: ChainTerms, db: AtomicDB, find_header: FindHeader) -> None:
        self.terms = terms
        self.db = db
        self.era = 0
        """Counts reorganisations: a block made again is another block."""
        self._context = ChainContext(terms.chain_id)
        self._consensus = ConsensusContext(db)
        self._headers = _Headers(db, find_header)

    def vm(self, header: BlockHeader, state_class: type[SandboxState] = SandboxState) -> SandboxVM:
        """A machine that stands before the first transaction of a block with this header;
        ``header.state_root`` is the state it begins with."""
        kind = SandboxVM if state_class is SandboxState else _vm_over(state_class)
        return kind(header, self._headers, self._context, self._consensus)

    def next_header(self, parent: BlockHeader, timestamp: int) -> BlockHeader:
        """The header of the block after ``parent``, still empty."""
        return PragueBlockHeader(
            parent_hash=parent.hash,
            block_number=parent.block_number + 1,
            timestamp=timestamp,
            state_root=parent.state_root,
            gas_limit=self.terms.gas_limit,
            base_fee_per_gas=next_base_fee(self.terms, parent),
            coinbase=coinbase(self.terms),
            difficulty=POST_MERGE_DIFFICULTY,
            nonce=POST_MERGE_NONCE,
            mix_hash=Hash32(keccak(b"randao%d" % self.era + parent.hash)),
        )


def next_base_fee(terms: ChainTerms, parent: BlockHeader) -> int:
    """EIP-1559, but never below the chain's floor."""
    return max(terms.lowest_base_fee, calculate_expected_base_fee_per_gas(parent))


def coinbase(terms: ChainTerms) -> Any:
    """Who gets the tips: an address without a key."""
    return keccak(b"coinbase:" + terms.short_name.encode())[12:]


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
