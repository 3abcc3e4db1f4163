"""The accounts of a chain after every block, and the state in which transactions change them.

A value's key is the address and a letter (balance, nonce, code) or a slot; all its earlier values
are kept. ``stateRoot`` is a digest of all changes, so there are no proofs. Only py-evm's Prague
machine is used, with a time limit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Any

from eth.constants import EMPTY_SHA3
from eth.db.journal import get_next_checkpoint
from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.forks.prague.state import PragueState, PragueTransactionExecutor
from eth_hash.auto import keccak
from eth_typing import Address

from swapdesk.sandbox.node.evm.genesis import Allocation

Changes = dict[bytes, bytes]
"""New values by key. Numbers are big-endian; an empty value means 0, no code or no account."""

_BALANCE, _NONCE, _CODE = b"b", b"n", b"c"
_ADDRESS, _SLOT = 20, 32
_NUMBER = itemgetter(0)


def slot_key(address: bytes, slot: int) -> bytes:
    return address + slot.to_bytes(_SLOT, "big")


def packed(value: int) -> bytes:
    """Returns the bytes of an unsigned number without leading zeros."""
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


code_hash = lru_cache(maxsize=512)(keccak)


def first_changes(accounts: Mapping[bytes, Allocation]) -> Changes:
    """Returns the values that block 0 sets for these accounts. A contract has nonce 1 (EIP-161)."""
    changes: Changes = {}
    for address, account in accounts.items():
        changes[address + _BALANCE] = packed(account.balance)
        if account.code:
            changes[address + _NONCE] = packed(1)
            changes[address + _CODE] = account.code
        for slot, word in account.storage.items():
            changes[slot_key(address, slot)] = packed(word)
    return changes


def next_root(root: bytes, changes: Changes) -> bytes:
    """Returns the digest of the state after a block. It is computed from the digest before the
    block and from the block's changes; without changes it stays the same."""
    if not changes:
        return root
    parts = [root]
    for key in sorted(changes):
        parts += (key, len(changes[key]).to_bytes(4, "big"), changes[key])
    return keccak(b"".join(parts))


class StateHistory:
    """The values of all keys after every block. One thread adds values; any thread may read those
    of published blocks."""

    def __init__(self) -> None:
        self._values: dict[bytes, list[tuple[int, bytes]]] = {}

    def add(self, number: int, changes: Changes) -> None:
        for key, value in changes.items():
            self._values.setdefault(key, []).append((number, value))

    def at(self, number: int) -> AccountsAt:
        return AccountsAt(self, number)

    def value(self, key: bytes, number: int) -> bytes:
        """Returns the value of a key after the block with this number; empty if the key was never
        set."""
        values = self._values.get(key, ())
        place = bisect_right(values, number, key=_NUMBER)
        return values[place - 1][1] if place else b""

    def slots_of(self, address: bytes) -> list[bytes]:
        """Returns the keys of an account's storage slots that ever held a value."""
        keys = list(self._values)  # at once: another thread may add to it
        return [key for key in keys if key[:_ADDRESS] == address and len(key) > _ADDRESS + 1]


class AccountsAt:
    def __init__(self, history: StateHistory, number: int) -> None:
        self._history = history
        self._number = number

    def value(self, key: bytes) -> bytes:
        return self._history.value(key, self._number)

    def get_balance(self, address: bytes) -> int:
        return int.from_bytes(self.value(address + _BALANCE), "big")

    def get_nonce(self, address: bytes) -> int:
        return int.from_bytes(self.value(address + _NONCE), "big")

    def get_code(self, address: bytes) -> bytes:
        return self.value(address + _CODE)

    def get_storage(self, address: bytes, slot: int, from_journal: bool = True) -> int:
        return int.from_bytes(self.value(slot_key(address, slot)), "big")


class ChangingAccounts(AccountsAt):
    """Accounts that transactions change, with the methods of py-evm's ``AccountDB``. The value of
    ``state_root`` is never used."""

    def __init__(self, before: AccountsAt, state_root: bytes) -> None:
        super().__init__(before._history, before._number)
        self.state_root = state_root
        self.changes: Changes = {}
        """The values that changed since the block began, by key."""
        self._before: Changes = {}
        """The values of changed keys at the beginning of the transaction."""
        self._warm: Changes = {}
        self._undo: list[tuple[Changes, bytes, bytes | None]] = []
        self._places: dict[int, int] = {}

    def value(self, key: bytes) -> bytes:
        changed = self.changes.get(key)
        return super().value(key) if changed is None else changed

    def get_storage(self, address: bytes, slot: int, from_journal: bool = True) -> int:
        key = slot_key(address, slot)
        if not from_journal and key in self._before:
            return int.from_bytes(self._before[key], "big")
        return int.from_bytes(self.value(key), "big")

    def set_storage(self, address: bytes, slot: int, value: int) -> None:
        self._change(slot_key(address, slot), packed(value))

    def delete_storage(self, address: bytes) -> None:
        """Sets all storage of an account to 0."""
        stored = self._history.slots_of(address) if self.get_code(address) else []
        for key in {*stored, *self.changes}:
            if key[:_ADDRESS] == address and len(key) > _ADDRESS + 1:
                self._change(key, b"")

    def set_balance(self, address: bytes, balance: int) -> None:
        self._change(address + _BALANCE, packed(balance))

    def set_nonce(self, address: bytes, nonce: int) -> None:
        self._change(address + _NONCE, packed(nonce))

    def increment_nonce(self, address: bytes) -> None:
        self.set_nonce(address, self.get_nonce(address) + 1)

    def set_code(self, address: bytes, code: bytes) -> None:
        self._change(address + _CODE, code)

    def delete_code(self, address: bytes) -> None:
        self.set_code(address, b"")

    def get_code_hash(self, address: bytes) -> bytes:
        code = self.get_code(address)
        return code_hash(code) if code else EMPTY_SHA3

    def delete_account(self, address: bytes) -> None:
        self.delete_storage(address)
        for field in (_BALANCE, _NONCE, _CODE):
            self._change(address + field, b"")

    def account_has_code_or_nonce(self, address: bytes) -> bool:
        return bool(self.get_nonce(address) or self.get_code(address))

    def account_is_empty(self, address: bytes) -> bool:
        return not (self.account_has_code_or_nonce(address) or self.get_balance(address))

    def account_exists(self, address: bytes) -> bool:
        """Returns True unless the account is empty (EIP-161)."""
        return not self.account_is_empty(address)

    def touch_account(self, address: bytes) -> None:
        """Does nothing: an empty account is not stored."""

    def is_address_warm(self, address: bytes) -> bool:
        return address in self._warm

    def mark_address_warm(self, address: bytes) -> None:
        self._set(self._warm, address, b"")

    def is_storage_warm(self, address: bytes, slot: int) -> bool:
        return slot_key(address, slot) in self._warm

    def mark_storage_warm(self, address: bytes, slot: int) -> None:
        self._set(self._warm, slot_key(address, slot), b"")

    def record(self) -> int:
        """Returns a new checkpoint, to which changes can be reverted. py-evm also uses it for
        transient storage."""
        checkpoint = get_next_checkpoint()
        self._places[checkpoint] = len(self._undo)
        return checkpoint

    def discard(self, checkpoint: int) -> None:
        while len(self._undo) > self._places[checkpoint]:
            values, key, old = self._undo.pop()
            if old is None:
                del values[key]
            else:
                values[key] = old

    def commit(self, checkpoint: int) -> None:
        """Does nothing, because changes that are not reverted remain anyway."""

    def lock_changes(self) -> None:
        """Begins a transaction. Changes that were made before this call can no longer be
        reverted."""
        self._before, self._warm, self._undo, self._places = {}, {}, [], {}

    def net_changes(self) -> Changes:
        """Returns the new values by key. A value that the block changed back is left out."""
        before = super().value
        return {key: value for key, value in self.changes.items() if before(key) != value}

    def _change(self, key: bytes, value: bytes) -> None:
        self._before.setdefault(key, self.value(key))
        self._set(self.changes, key, value)

    def _set(self, values: Changes, key: bytes, value: bytes) -> None:
        self._undo.append((values, key, values.get(key)))
        values[key] = value


_LOOK_EVERY = 1_024
_JUMPS, _CALLS = (0x56, 0x57), (0xF0, 0xF1, 0xF2, 0xF4, 0xF5, 0xFA)
_COST_OF_CALL = 64


class TooLong(Exception):
    """Raised if an execution runs out of time."""


def _looking(run: Callable[..., Any], cost: int) -> Callable[..., Any]:
    def opcode(computation: Any) -> Any:
        computation.state.tick(cost)
        return run(computation=computation)

    return opcode


class BoundedComputation(PragueComputation):
    opcodes: Any = {  # noqa: RUF012 (py-evm's own table is one)
        **PragueComputation.opcodes,
        **{code: _looking(PragueComputation.opcodes[code], 1) for code in _JUMPS},
        **{code: _looking(PragueComputation.opcodes[code], _COST_OF_CALL) for code in _CALLS},
    }


class AdmittedExecutor(PragueTransactionExecutor):
    """Executes transactions from the pool. Their form and signature are already checked; the nonce
    and the sender's balance are checked here."""

    def validate_transaction(self, transaction: Any) -> None:
        self.vm_state.validate_transaction(transaction)


class SandboxState(PragueState):
    """py-evm's Prague state over ``ChangingAccounts``. ``limit`` sets a time limit for the next
    execution, in seconds."""

    computation_class = BoundedComputation
    transaction_executor_class = AdmittedExecutor
    account_db_class: Any = ChangingAccounts
    _monotonic: Callable[[], float]
    _until = float("inf")
    _ticks = 0

    def set_system_contracts(self) -> None:
        """Does nothing, because block 0 already contains the system contracts."""

    @property
    def accounts(self) -> ChangingAccounts:
        accounts: ChangingAccounts = self._account_db  # type: ignore[assignment]
        return accounts

    def limit(self, monotonic: Callable[[], float], seconds: float) -> None:
        self._monotonic = monotonic
        self._until = monotonic() + seconds

    def tick(self, cost: int) -> None:
        """Adds up the cost of executed opcodes and checks the time limit now and then. Raises
        TooLong."""
        self._ticks += cost
        if self._ticks >= _LOOK_EVERY:
            self._ticks = 0
            if self._monotonic() > self._until:
                raise TooLong("it runs too long")


TRANSFERS = bytes.fromhex("ee" * 20)
"""Address shown as the emitter of logs of coin transfers (geth's ``traceTransfers``)."""
TRANSFER_TOPIC = 0xDDF252AD1BE2C89B69C2B068FC378DAA952BA7F163C4A11628F55A4DF523B3EF
"""Topic of ``Transfer(address,address,uint256)``."""


class CallComputation(BoundedComputation):
    """A computation that also logs the coin transfers of a call, if the state's ``shows_transfers``
    is True."""

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
        """Does nothing, because a call needs neither a nonce nor money for gas."""


class CallState(SandboxState):
    computation_class = CallComputation
    transaction_executor_class = _CallExecutor
    shows_transfers = False
