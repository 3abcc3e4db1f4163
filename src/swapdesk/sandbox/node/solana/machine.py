"""LiteSVM: executes and simulates over accounts in memory. Knows no blocks and no replays.

Blocks are a matter of time: ``Blocks`` says how high the chain is, and which blockhashes are good.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from solders.account import Account
from solders.clock import Clock
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

from swapdesk.chain.solana import SYSTEM
from swapdesk.sandbox.node.solana.terms import CHAIN, SKIPPED_SLOTS, SLOT_MS, WINDOW
from swapdesk.sandbox.world import chains_by_name

SLOTS_PER_EPOCH = 432_000


class Instant(Struct, frozen=True):
    """One look at the chain's time: block height, and seconds since 1970."""

    height: int
    seconds: int

    @property
    def slot(self) -> int:
        return self.height + SKIPPED_SLOTS

    def less(self, blocks: int) -> Instant:
        """So many blocks below."""
        return Instant(self.height - blocks, self.seconds)


class Blocks:
    """``now_ms`` is sandbox time; the chain began at ``began_ms``.

    Never runs backward, also not below ``reached``, the height of the newest transaction.
    """

    def __init__(
        self, key: bytes, now_ms: Callable[[], int], *, began_ms: int, reached: int
    ) -> None:
        self._key = key
        self._now_ms = now_ms
        self._began_ms = began_ms
        self._first = chains_by_name()[CHAIN].first_height
        self._reached = max(self._first, reached)

    def now(self) -> Instant:
        now = self._now_ms()
        self._reached = max(self._reached, self._first + (now - self._began_ms) // SLOT_MS)
        return Instant(self._reached, now // 1000)

    def latest(self, height: int) -> tuple[bytes, int]:
        """The hash of the block at a height, and the last height at which it is good."""
        return self._hash(height), height + WINDOW

    def is_good(self, blockhash: bytes) -> bool:
        """Whether a transaction with this hash may be executed now."""
        newest = self.now().height
        return any(self._hash(each) == blockhash for each in range(newest - WINDOW, newest + 1))

    def _hash(self, height: int) -> bytes:
        """The same after a restart."""
        purpose = b"solana blockhash\0" + height.to_bytes(8, "big")
        return hmac.digest(self._key, purpose, "sha256")


class TransactionOutcome(Struct, frozen=True):
    """What a transaction did, or would do. ``error`` is Solana's JSON of it, None for success;
    ``before`` and ``after`` are the accounts of the message in its order.

    One that is not even executed has no ``details``.
    """

    error: Any
    details: TransactionMetadata | None = None
    before: tuple[Account | None, ...] = ()
    after: tuple[Account | None, ...] = ()

    @property
    def charged(self) -> bool:
        """Whether the fee is gone: it was executed, however it ended."""
        return self.error is None or lamports_of(self.after[:1]) < lamports_of(self.before[:1])


class SolanaMachine:
    """Signatures are checked, blockhashes and repeats by the chain."""

    def __init__(self) -> None:
        self._vm = LiteSVM().with_blockhash_check(False).with_transaction_history(0)

    def get(self, address: Pubkey) -> Account | None:
        account = self._vm.get_account(address)
        return account if account is not None and account.lamports else None

    def put(self, address: Pubkey, account: Account | None) -> None:
        """None is an account that is gone."""
        self._vm.set_account(address, account or Account(0, b"", SYSTEM))

    def rent_exempt(self, size: int) -> int:
        """Lamports an account of so many bytes must hold."""
        return self._vm.minimum_balance_for_rent_exemption(size)

    def execute(self, transaction: VersionedTransaction, at: Instant) -> TransactionOutcome:
        keys = transaction.message.account_keys
        before = tuple(map(self.get, keys))
        result = self._run(self._vm.send_transaction, transaction, at)
        after = tuple(map(self.get, keys))
        if isinstance(result, FailedTransactionMetadata):
            return TransactionOutcome(_error(result), result.meta(), before, after)
        return TransactionOutcome(None, result, before, after)

    def simulate(self, transaction: VersionedTransaction, at: Instant) -> TransactionOutcome:
        """As ``execute``, but nothing changes and signatures may be missing."""
        keys = transaction.message.account_keys
        before = tuple(map(self.get, keys))
        self._vm.with_sigverify(False)
        try:
            result = self._run(self._vm.simulate_transaction, transaction, at)
        finally:
            self._vm.with_sigverify(True)
        if isinstance(result, FailedTransactionMetadata):
            return TransactionOutcome(_error(result), result.meta(), before, before)
        changed = dict(result.post_accounts())
        after = [changed.get(key, old) for key, old in zip(keys, before, strict=True)]
        there = tuple(each if each is not None and each.lamports else None for each in after)
        return TransactionOutcome(None, result.meta(), before, there)

    def _run(
        self,
        work: Callable[[VersionedTransaction], Any],
        transaction: VersionedTransaction,
        at: Instant,
    ) -> Any:
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
        try:
            return work(transaction)
        except Exception:
            raise
        except BaseException as panic:
            # A panic of the library is no Exception; it must not end more than the call.
            raise RuntimeError(f"the machine panicked: {panic}") from panic


def _error(result: FailedTransactionMetadata) -> Any:
    return json.loads(result.to_json())["err"]


def lamports_of(accounts: Sequence[Account | None]) -> list[int]:
    return [0 if each is None else each.lamports for each in accounts]
