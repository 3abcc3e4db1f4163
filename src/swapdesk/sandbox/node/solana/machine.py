"""LiteSVM: executes and simulates over accounts in memory. Knows no blocks and no replays."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

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

from swapdesk.sandbox.node.solana.slots import Instant

SLOTS_PER_EPOCH = 432_000


@dataclass(frozen=True)
class Outcome:
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


class Machine:
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

    def execute(self, transaction: VersionedTransaction, at: Instant) -> Outcome:
        self._set_time(at)
        keys = transaction.message.account_keys
        before = tuple(map(self.get, keys))
        result = self._vm.send_transaction(transaction)
        after = tuple(map(self.get, keys))
        if isinstance(result, FailedTransactionMetadata):
            return _failed(result, before, after)
        return Outcome(None, result, before, after)

    def simulate(self, transaction: VersionedTransaction, at: Instant, *, verify: bool) -> Outcome:
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
        return Outcome(None, result.meta(), before, _overlaid(keys, before, result))

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
) -> Outcome:
    error = json.loads(result.to_json())["err"]
    return Outcome(error, result.meta(), before, after)


def _overlaid(
    keys: list[Pubkey], before: tuple[Account | None, ...], result: SimulatedTransactionInfo
) -> tuple[Account | None, ...]:
    changed = dict(result.post_accounts())
    after = [changed.get(key, old) for key, old in zip(keys, before, strict=True)]
    return tuple(each if each is not None and each.lamports else None for each in after)


def _lamports(account: Account | None) -> int:
    return 0 if account is None else account.lamports
