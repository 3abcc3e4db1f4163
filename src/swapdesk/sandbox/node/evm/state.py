"""What the accounts of a chain hold, at every block it ever had.

A value stands under a key of bytes: the address with a letter for balance, nonce or code, or with
the 32 bytes of a slot. Each key has all its values with the block that set them, so that any block
can be read, and a block adds what it changed. There are no tries: ``stateRoot`` is a digest of
every change since block 0, which nobody can ask a proof of.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache
from operator import itemgetter

from eth.constants import EMPTY_SHA3
from eth.db.journal import get_next_checkpoint
from eth_hash.auto import keccak

from swapdesk.sandbox.node.evm.genesis import Allocation

Changes = dict[bytes, bytes]
"""New values by key. Numbers are big-endian; no bytes stand for 0, no code and no account."""

_BALANCE, _NONCE, _CODE = b"b", b"n", b"c"
_ADDRESS, _SLOT = 20, 32
_NUMBER = itemgetter(0)


def slot_key(address: bytes, slot: int) -> bytes:
    return address + slot.to_bytes(_SLOT, "big")


def packed(value: int) -> bytes:
    """A number from 0 without leading zeros."""
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


code_hash = lru_cache(maxsize=512)(keccak)


def first_changes(accounts: Mapping[bytes, Allocation]) -> Changes:
    """Block 0."""
    changes: Changes = {}
    for address, account in accounts.items():
        changes[address + _BALANCE] = packed(account.balance)
        if account.code:
            changes[address + _NONCE] = packed(account.nonce)
            changes[address + _CODE] = account.code
        for slot, word in account.storage.items():
            changes[slot_key(address, slot)] = packed(word)
    return changes


def next_root(root: bytes, changes: Changes) -> bytes:
    """The digest after a block; the same without a change."""
    if not changes:
        return root
    parts = [root]
    for key in sorted(changes):
        parts += (key, len(changes[key]).to_bytes(4, "big"), changes[key])
    return keccak(b"".join(parts))


class StateHistory:
    """Grows on one thread, where a block is published; any thread reads blocks before that."""

    def __init__(self) -> None:
        self._values: dict[bytes, list[tuple[int, bytes]]] = {}

    def add(self, number: int, changes: Changes) -> None:
        for key, value in changes.items():
            self._values.setdefault(key, []).append((number, value))

    def at(self, number: int) -> AccountsAt:
        return AccountsAt(self, number)

    def value(self, key: bytes, number: int) -> bytes:
        """Of a key after a block."""
        values = self._values.get(key, ())
        place = bisect_right(values, number, key=_NUMBER)
        return values[place - 1][1] if place else b""

    def slots_of(self, address: bytes) -> list[bytes]:
        """Keys of every slot that ever held anything."""
        known = list(self._values)  # at once: another thread may add to it
        return [key for key in known if key[:_ADDRESS] == address and len(key) > _ADDRESS + 1]


class AccountsAt:
    """The accounts after one block, to read."""

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
    """Accounts that transactions change: what py-evm asks of its ``AccountDB``.

    ``state_root`` is what py-evm remembers with a snapshot; nothing here depends on it.
    """

    def __init__(self, before: AccountsAt, state_root: bytes) -> None:
        super().__init__(before._history, before._number)
        self.state_root = state_root
        self.changes: Changes = {}
        """Since the block began."""
        self._before: Changes = {}
        """What the transaction changed, as it was when the transaction began."""
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
        """Where there is no code there is no storage but that of this block."""
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
        """An empty account does not exist (EIP-161)."""
        return not self.account_is_empty(address)

    def touch_account(self, address: bytes) -> None:
        """Nothing: an empty account is not kept."""

    def is_address_warm(self, address: bytes) -> bool:
        return address in self._warm

    def mark_address_warm(self, address: bytes) -> None:
        self._set(self._warm, address, b"")

    def is_storage_warm(self, address: bytes, slot: int) -> bool:
        return slot_key(address, slot) in self._warm

    def mark_storage_warm(self, address: bytes, slot: int) -> None:
        self._set(self._warm, slot_key(address, slot), b"")

    def record(self) -> int:
        """A checkpoint to go back to; py-evm keeps what is transient under the same."""
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
        """Nothing: what is not gone back on stays."""

    def lock_changes(self) -> None:
        """A transaction begins; nothing before it is gone back on."""
        self._before, self._warm, self._undo, self._places = {}, {}, [], {}

    def net_changes(self) -> Changes:
        """Without what came back to what it was."""
        before = super().value
        return {key: value for key, value in self.changes.items() if before(key) != value}

    def _change(self, key: bytes, value: bytes) -> None:
        self._before.setdefault(key, self.value(key))
        self._set(self.changes, key, value)

    def _set(self, values: Changes, key: bytes, value: bytes) -> None:
        self._undo.append((values, key, values.get(key)))
        values[key] = value
