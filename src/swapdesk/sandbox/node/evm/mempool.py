"""The pool of transactions that wait for a block of one chain. It is limited and not durable: after
a crash, senders must send the same bytes again.

Transactions after a gap of nonces are kept. A replacement must pay a tenth more.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any

import rlp
from eth.constants import CREATE_CONTRACT_ADDRESS, SECPK1_N
from eth.exceptions import UnrecognizedTransactionType
from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_hash.auto import keccak
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError
from msgspec import Struct

from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.tables import GAS_LIMIT, ChainTerms

MOST_BYTES = 128 * 1024
"""Most bytes of a transaction, as in geth's pool."""
_KINDS = (0, 1, 2, 4)
_FIRST_OLD = 0xC0
"""Lowest first byte of a transaction in the format from before typed transactions, which is an RLP
list."""
_FLOOR_BASE, _FLOOR_TOKEN, _TOKENS = 21_000, 10, 4


class Candidate(Struct, frozen=True):
    """A transaction whose form and signature are valid. Fees are wei per gas; ``cost`` is the most
    wei that its sender can lose. ``awaited`` is True if somebody waits for its confirmations."""

    transaction: Any
    raw: bytes
    hash: bytes
    sender: bytes
    nonce: int
    gas: int
    max_fee: int
    max_tip: int
    awaited: bool = True

    @property
    def cost(self) -> int:
        return self.gas * self.max_fee + int(self.transaction.value)

    def tip_at(self, base_fee: int) -> int:
        """Returns the tip per gas that the transaction pays at this base fee; negative if its fee
        does not cover the base fee."""
        return min(self.max_tip, self.max_fee - base_fee)


def read_candidate(raw: bytes, terms: ChainTerms, *, awaited: bool = True) -> Candidate:
    """Decodes a transaction and checks all that does not depend on the chain's state. ``awaited``
    says whether somebody waits for its confirmations. Raises Problem with geth's message."""
    if len(raw) > MOST_BYTES:
        raise Problem(
            f"oversized data: transaction size {len(raw)}, limit {MOST_BYTES}",
        )
    if raw and raw[0] < _FIRST_OLD and raw[0] not in _KINDS[1:]:
        raise Problem("transaction type not supported")
    transaction = _decode(raw)
    _require_chain(transaction, terms)
    max_fee, max_tip = transaction.max_fee_per_gas, transaction.max_priority_fee_per_gas
    if max_tip > max_fee:
        raise Problem(
            "max priority fee per gas higher than max fee per gas:"
            f" maxPriorityFeePerGas: {max_tip}, maxFeePerGas: {max_fee}"
        )
    if transaction.gas > GAS_LIMIT:
        raise Problem("exceeds block gas limit")
    _require_gas(transaction)
    # Of the two signatures of everything signed only one counts (EIP-2).
    if not (0 < transaction.r < SECPK1_N and 0 < transaction.s <= SECPK1_N // 2):
        raise Problem("invalid sender")
    try:
        transaction.validate()
        sender = transaction.sender
    except (ValidationError, BadSignature):
        raise Problem("invalid sender") from None
    return Candidate(
        transaction,
        raw,
        keccak(raw),
        bytes(sender),
        transaction.nonce,
        transaction.gas,
        max_fee,
        max_tip,
        awaited,
    )


def _decode(raw: bytes) -> Any:
    try:
        return PragueTransactionBuilder.decode(raw)
    except UnrecognizedTransactionType:
        raise Problem("transaction type not supported") from None
    except (rlp.exceptions.RLPException, ValidationError, ValueError, TypeError, IndexError):
        raise Problem("rlp: the bytes are no transaction") from None


def _require_chain(transaction: Any, terms: ChainTerms) -> None:
    chain_id = transaction.chain_id
    if chain_id is None:
        raise Problem("only replay-protected (EIP-155) transactions allowed over RPC")
    if chain_id != terms.chain_id:
        raise Problem(f"invalid chain id for signer: have {chain_id} want {terms.chain_id}")


def _require_gas(transaction: Any) -> None:
    needed = max(intrinsic_gas(transaction), floor_gas(transaction.data))
    if transaction.gas < needed:
        raise Problem(f"intrinsic gas too low: gas {transaction.gas}, minimum needed {needed}")


def intrinsic_gas(transaction: Any) -> int:
    """Returns the gas that the transaction uses before its first opcode."""
    creates = transaction.to == CREATE_CONTRACT_ADDRESS
    words = 2 * ((len(transaction.data) + 31) // 32) if creates else 0
    return int(transaction.intrinsic_gas) + words


def floor_gas(payload: bytes) -> int:
    """Returns the least gas limit that a transaction with this data must have (EIP-7623)."""
    zeros = payload.count(0)
    return _FLOOR_BASE + _FLOOR_TOKEN * (zeros + _TOKENS * (len(payload) - zeros))


MOST = 4_096
MOST_BY_SENDER = 64
PRICE_BUMP_PERCENT = 10

NonceOf = Callable[[bytes], int]


class Mempool:
    """The waiting transactions of one chain. Use it only on the event loop. Nonces and balances
    that its methods take are those after the newest published block."""

    def __init__(self) -> None:
        self._by_sender: dict[bytes, dict[int, Candidate]] = {}
        self._by_hash: dict[bytes, Candidate] = {}

    def __len__(self) -> int:
        return len(self._by_hash)

    def get(self, transaction_hash: bytes) -> Candidate | None:
        return self._by_hash.get(transaction_hash)

    def add(self, candidate: Candidate, nonce: int, balance: int) -> None:
        """Adds a transaction, given its sender's nonce and balance after the newest block. A
        Problem, with geth's message, means that nothing was added."""
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

    def remove(self, transaction_hashes: Iterable[bytes]) -> None:
        for transaction_hash in transaction_hashes:
            candidate = self._by_hash.get(transaction_hash)
            if candidate is not None:
                self._remove(candidate)

    def outdated(self, senders: Iterable[bytes], nonce_of: NonceOf) -> None:
        """Removes the waiting transactions of ``senders`` with a nonce that a block has already
        used. ``nonce_of`` returns an account's next nonce."""
        for sender in senders:
            nonce = nonce_of(sender)
            for candidate in list(self._by_sender.get(sender, {}).values()):
                if candidate.nonce < nonce:
                    self._remove(candidate)

    def next_nonce(self, sender: bytes, nonce: int) -> int:
        """Returns the lowest nonce, starting at ``nonce``, that no waiting transaction of the
        sender uses."""
        held = self._by_sender.get(sender, {})
        while nonce in held:
            nonce += 1
        return nonce

    def ready(self, nonce_of: NonceOf, base_fee: int, gas_limit: int) -> list[Candidate]:
        """Returns the transactions for the next block, highest tip first, with each sender's nonces
        in sequence."""
        row: list[tuple[int, int, Candidate]] = []
        arrivals = {transaction_hash: place for place, transaction_hash in enumerate(self._by_hash)}

        def offer(candidate: Candidate | None) -> None:
            if candidate is not None and candidate.tip_at(base_fee) >= 0:
                place = (-candidate.tip_at(base_fee), arrivals[candidate.hash], candidate)
                heapq.heappush(row, place)

        for sender, held in self._by_sender.items():
            offer(held.get(nonce_of(sender)))
        chosen: list[Candidate] = []
        gas = 0
        while row:
            _, _, best = heapq.heappop(row)
            if gas + best.gas > gas_limit:
                continue
            gas += best.gas
            chosen.append(best)
            offer(self._by_sender[best.sender].get(best.nonce + 1))
        return chosen

    def waits_for_fee(self, nonce_of: NonceOf, lowest_base_fee: int) -> bool:
        """Returns True if a waiting transaction offers enough to be executed at the chain's lowest
        base fee."""
        firsts = (held.get(nonce_of(sender)) for sender, held in self._by_sender.items())
        return any(first is not None and first.tip_at(lowest_base_fee) >= 0 for first in firsts)

    def _put(self, candidate: Candidate) -> None:
        self._by_sender.setdefault(candidate.sender, {})[candidate.nonce] = candidate
        self._by_hash[candidate.hash] = candidate

    def _remove(self, candidate: Candidate) -> None:
        del self._by_hash[candidate.hash]
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
    queued = sum(candidate.cost for candidate in held) - (before.cost if before else 0)
    missing = queued + candidate.cost - balance
    if missing > 0:
        raise Problem(
            f"insufficient funds for gas * price + value: balance {balance},"
            f" queued cost {queued}, tx cost {candidate.cost}, overshot {missing}"
        )
