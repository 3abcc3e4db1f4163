"""Transactions that wait for a block: one chain's pool, ordered by sender, nonce and tip.

A nonce gap is kept and filled later; a second transaction of the same nonce replaces the first
when it pays a tenth more; every sender and the pool as a whole are bounded. The pool is not
durable: who sent a transaction sends the same bytes again after the node was killed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from itertools import count

from swapdesk.sandbox.node.evm.candidate import Candidate
from swapdesk.sandbox.node.evm.problem import Problem

MOST = 4_096
MOST_BY_SENDER = 64
PRICE_BUMP_PERCENT = 10

NonceOf = Callable[[bytes], int]


class Mempool:
    """Belongs to the event loop; nonces and balances are those of the published head."""

    def __init__(self) -> None:
        self._by_sender: dict[bytes, dict[int, Candidate]] = {}
        self._by_hash: dict[bytes, Candidate] = {}
        self._arrivals: dict[bytes, int] = {}
        self._arrival = count()

    def __len__(self) -> int:
        return len(self._by_hash)

    def get(self, transaction_hash: bytes) -> Candidate | None:
        return self._by_hash.get(transaction_hash)

    def add(self, candidate: Candidate, nonce: int, balance: int) -> None:
        """Keep a transaction of a sender with this nonce and balance at the head.

        Raises Problem in geth's words, and then nothing has changed.
        """
        if candidate.hash in self._by_hash:
            raise Problem("already known")
        if candidate.nonce < nonce:
            raise Problem(f"nonce too low: next nonce {nonce}, tx nonce {candidate.nonce}")
        held = self._by_sender.get(candidate.sender, {})
        before = held.get(candidate.nonce)
        if before is not None:
            _require_bump(before, candidate)
        _require_money(candidate, before, held.values(), balance)
        if before is None:
            if len(held) >= MOST_BY_SENDER:
                raise Problem(f"account limit exceeded: {MOST_BY_SENDER} transactions wait already")
            if len(self) >= MOST:
                raise Problem("txpool is full")
        else:
            self._remove(before)
        self._put(candidate)

    def restore(self, candidate: Candidate) -> None:
        """Take back what a reorganisation took out of a block, unless its nonce was given to
        another one since."""
        if candidate.nonce not in self._by_sender.get(candidate.sender, {}):
            self._put(candidate)

    def remove(self, transaction_hashes: Iterable[bytes]) -> None:
        for each in transaction_hashes:
            candidate = self._by_hash.get(each)
            if candidate is not None:
                self._remove(candidate)

    def outdated(self, senders: Iterable[bytes], nonce_of: NonceOf) -> None:
        """Drop what these can never execute, because the nonce is used."""
        for sender in senders:
            nonce = nonce_of(sender)
            for candidate in list(self._by_sender.get(sender, {}).values()):
                if candidate.nonce < nonce:
                    self._remove(candidate)

    def next_nonce(self, sender: bytes, nonce: int) -> int:
        """The first nonce that neither the chain nor a gapless row of waiting ones has used."""
        held = self._by_sender.get(sender, {})
        while nonce in held:
            nonce += 1
        return nonce

    def ready(self, nonce_of: NonceOf, base_fee: int, gas_limit: int) -> list[Candidate]:
        """What the next block takes: the best tips first, every sender's nonces in order, as
        much as fits by gas limits."""
        row: list[tuple[int, int, Candidate]] = []
        for sender, held in self._by_sender.items():
            self._offer(row, held.get(nonce_of(sender)), base_fee)
        chosen: list[Candidate] = []
        gas = 0
        while row:
            _, _, best = heapq.heappop(row)
            if gas + best.gas > gas_limit:
                continue
            gas += best.gas
            chosen.append(best)
            self._offer(row, self._by_sender[best.sender].get(best.nonce + 1), base_fee)
        return chosen

    def waits_for_fee(self, nonce_of: NonceOf, lowest_base_fee: int) -> bool:
        """Whether something would be executed at the lowest base fee the chain knows."""
        firsts = (held.get(nonce_of(sender)) for sender, held in self._by_sender.items())
        return any(first is not None and first.tip_at(lowest_base_fee) >= 0 for first in firsts)

    def waiting(self) -> list[Candidate]:
        """Everything, in the order of arrival."""
        return sorted(self._by_hash.values(), key=lambda each: self._arrivals[each.hash])

    def _offer(
        self, row: list[tuple[int, int, Candidate]], candidate: Candidate | None, base_fee: int
    ) -> None:
        if candidate is not None and candidate.tip_at(base_fee) >= 0:
            place = (-candidate.tip_at(base_fee), self._arrivals[candidate.hash], candidate)
            heapq.heappush(row, place)

    def _put(self, candidate: Candidate) -> None:
        self._by_sender.setdefault(candidate.sender, {})[candidate.nonce] = candidate
        self._by_hash[candidate.hash] = candidate
        self._arrivals[candidate.hash] = next(self._arrival)

    def _remove(self, candidate: Candidate) -> None:
        del self._by_hash[candidate.hash]
        del self._arrivals[candidate.hash]
        held = self._by_sender[candidate.sender]
        del held[candidate.nonce]
        if not held:
            del self._by_sender[candidate.sender]


def _require_bump(before: Candidate, after: Candidate) -> None:
    for old, new in ((before.max_fee, after.max_fee), (before.max_tip, after.max_tip)):
        if new <= old or new * 100 < old * (100 + PRICE_BUMP_PERCENT):
            raise Problem("replacement transaction underpriced")


def _require_money(
    candidate: Candidate, before: Candidate | None, held: Iterable[Candidate], balance: int
) -> None:
    if balance < candidate.cost:
        raise Problem(
            "insufficient funds for gas * price + value:"
            f" address 0x{candidate.sender.hex()} have {balance} want {candidate.cost}"
        )
    queued = sum(each.cost for each in held) - (before.cost if before else 0)
    missing = queued + candidate.cost - balance
    if missing > 0:
        raise Problem(
            f"insufficient funds for gas * price + value: balance {balance},"
            f" queued cost {queued}, tx cost {candidate.cost}, overshot {missing}"
        )
