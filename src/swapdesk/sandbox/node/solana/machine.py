"""LiteSVM: executes and simulates over accounts in memory. Knows no blocks and no replays.

Blocks are a matter of time: ``Slots`` says how high the chain is, ``Blockhashes`` which are good.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct
from solders.account import Account
from solders.clock import Clock
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import (
    FailedTransactionMetadata,
    SimulatedTransactionInfo,
    TransactionMetadata,
)

from swapdesk.sandbox.node.solana.terms import SKIPPED_SLOTS, SLOT_MS, WINDOW


class Instant(Struct, frozen=True):
    """One look at the chain's time: block height, slot, and seconds since 1970."""

    height: int
    slot: int
    seconds: int


class Slots:
    """``now_ms`` is sandbox time; the chain began at ``began_ms`` with block ``first``.

    Never runs backward, also not below ``reached``, the height that was stored last. May be
    asked by any thread.
    """

    def __init__(
        self, now_ms: Callable[[], int], *, began_ms: int, first: int, reached: int
    ) -> None:
        self._now_ms = now_ms
        self._began_ms = began_ms
        self._first = first
        self._reached = max(first, reached)
        self._executing: int | None = None
        self._lock = threading.Lock()

    def now(self) -> Instant:
        with self._lock:
            return self._now()

    @contextmanager
    def executing(self) -> Iterator[Instant]:
        """The block of a transaction, to which something is added until this ends. By one thread
        alone."""
        with self._lock:
            at = self._now()
            self._executing = at.height
        try:
            yield at
        finally:
            with self._lock:
                self._executing = None

    @property
    def sealed(self) -> int:
        """The newest block to which nothing is added any more."""
        with self._lock:
            height = self._now().height
            return (height if self._executing is None else self._executing) - 1

    def _now(self) -> Instant:
        now = self._now_ms()
        self._reached = max(self._reached, self._first + (now - self._began_ms) // SLOT_MS)
        return Instant(self._reached, self._reached + SKIPPED_SLOTS, now // 1000)


class Blockhashes:
    """One hash for each block, the same after a restart; known while it is good."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._heights: dict[bytes, int] = {}
        self._newest = -1

    def latest(self, height: int) -> tuple[bytes, int]:
        """The newest hash and the last height at which it is good."""
        return self._hash(height), height + WINDOW

    def is_good(self, blockhash: bytes, height: int) -> bool:
        """Whether a transaction with this hash may be executed at this height."""
        self._follow(height)
        return blockhash in self._heights

    def _follow(self, height: int) -> None:
        oldest = max(0, height - WINDOW)
        if oldest > self._newest:
            self._heights.clear()
        for each in range(max(oldest, self._newest + 1), height + 1):
            self._heights[self._hash(each)] = each
        # In the order of heights, so that the oldest come first.
        for known, at in list(self._heights.items()):
            if at >= oldest:
                break
            del self._heights[known]
        self._newest = max(self._newest, height)

    def _hash(self, height: int) -> bytes:
        purpose = b"solana blockhash\0" + height.to_bytes(8, "big")
        return hmac.new(self._key, purpose, hashlib.sha256).digest()


SLOTS_PER_EPOCH = 432_000


class TransactionOutcome(Struct, frozen=True):
    """What a transaction did, or would do. ``error`` is Solana's JSON of it, None for success;
    ``before`` and ``after`` are the accounts of the message in its order."""

    error: Any
    details: TransactionMetadata
    before: tuple[Account | None, ...]
    after: tuple[Account | None, ...]

    @property
    def charged(self) -> bool:
        """Whether the fee is gone: it was executed, however it ended."""
        return self.error is None or _lamports(self.after[0]) < _lamports(self.before[0])


class SolanaMachine:
    """Used by one thread. Signatures are checked, blockhashes and repeats by the chain."""

    def __init__(self) -> None:
        self._vm = LiteSVM().with_blockhash_check(False).with_transaction_history(0)

    def get(self, address: Pubkey) -> Account | None:
        account = self._vm.get_account(address)
        return account if account is not None and account.lamports else None

    def put(self, address: Pubkey, account: Account) -> None:
        self._vm.set_account(address, account)

    def rent_exempt(self, size: int) -> int:
        """Lamports an account of so many bytes must hold."""
        return self._vm.minimum_balance_for_rent_exemption(size)

    def execute(self, transaction: VersionedTransaction, at: Instant) -> TransactionOutcome:
        self._set_time(at)
        keys = transaction.message.account_keys
        before = tuple(map(self.get, keys))
        result = self._vm.send_transaction(transaction)
        after = tuple(map(self.get, keys))
        if isinstance(result, FailedTransactionMetadata):
            return _failed(result, before, after)
        return TransactionOutcome(None, result, before, after)

    def simulate(
        self, transaction: VersionedTransaction, at: Instant, *, verify: bool
    ) -> TransactionOutcome:
        """As ``execute``, but nothing changes; ``verify`` False takes missing signatures."""
        self._set_time(at)
        keys = transaction.message.account_keys
        before = tuple(map(self.get, keys))
        self._vm.with_sigverify(verify)
        try:
            result = self._vm.simulate_transaction(transaction)
        finally:
            self._vm.with_sigverify(True)
        if isinstance(result, FailedTransactionMetadata):
            return _failed(result, before, before)
        return TransactionOutcome(None, result.meta(), before, _overlaid(keys, before, result))

    def _set_time(self, at: Instant) -> None:
        epoch = at.slot // SLOTS_PER_EPOCH
        self._vm.set_clock(
            Clock(
                slot=at.slot,
                epoch_start_timestamp=at.seconds,
                epoch=epoch,
                leader_schedule_epoch=epoch + 1,
                unix_timestamp=at.seconds,
            )
        )


def _failed(
    result: FailedTransactionMetadata,
    before: tuple[Account | None, ...],
    after: tuple[Account | None, ...],
) -> TransactionOutcome:
    error = json.loads(result.to_json())["err"]
    return TransactionOutcome(error, result.meta(), before, after)


def _overlaid(
    keys: list[Pubkey], before: tuple[Account | None, ...], result: SimulatedTransactionInfo
) -> tuple[Account | None, ...]:
    changed = dict(result.post_accounts())
    after = [changed.get(key, old) for key, old in zip(keys, before, strict=True)]
    return tuple(each if each is not None and each.lamports else None for each in after)


def _lamports(account: Account | None) -> int:
    return 0 if account is None else account.lamports
