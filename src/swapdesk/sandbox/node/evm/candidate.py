"""A signed transaction as it was read: checked in form and signature, and for this chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import rlp
from eth.constants import CREATE_CONTRACT_ADDRESS, SECPK1_N
from eth.exceptions import UnrecognizedTransactionType
from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_hash.auto import keccak
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError

from swapdesk.sandbox.node.evm.problem import Problem
from swapdesk.sandbox.node.evm.terms import ChainTerms

MOST_BYTES = 128 * 1024
"""Of one transaction, as geth's pool has it."""
MOST_INITCODE = 2 * 24_576
"""EIP-3860."""
_KINDS = (0, 1, 2, 4)
_FIRST_OLD = 0xC0
"""A transaction from before types is an RLP list."""
_FLOOR_BASE, _FLOOR_TOKEN, _TOKENS = 21_000, 10, 4


@dataclass(frozen=True)
class Candidate:
    """``max_fee`` and ``max_tip`` are wei per gas (both the gas price before EIP-1559);
    ``cost`` is the most it can take from its sender. ``awaited``: somebody waits for its
    confirmations."""

    transaction: Any
    raw: bytes
    hash: bytes
    kind: int
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
        """What the block's maker gets per gas; negative when the fee is too low."""
        return min(self.max_tip, self.max_fee - base_fee)

    def price_at(self, base_fee: int) -> int:
        return min(self.max_fee, base_fee + self.max_tip)


def read_candidate(raw: bytes, terms: ChainTerms, *, awaited: bool = True) -> Candidate:
    """Decode and check what needs no state. Raises Problem in geth's words.

    py-evm takes transactions of every chain, so that the chain id is checked here.
    """
    if len(raw) > MOST_BYTES:
        raise Problem(
            f"oversized data: transaction size {len(raw)}, limit {MOST_BYTES}",
        )
    if raw and raw[0] < _FIRST_OLD and raw[0] not in _KINDS[1:]:
        raise Problem("transaction type not supported")
    transaction = _decode(raw)
    kind = transaction.type_id or 0
    _require_chain(transaction, kind, terms)
    if kind < 2:
        max_fee = max_tip = transaction.gas_price
    else:
        max_fee, max_tip = transaction.max_fee_per_gas, transaction.max_priority_fee_per_gas
    if max_tip > max_fee:
        raise Problem(
            "max priority fee per gas higher than max fee per gas:"
            f" maxPriorityFeePerGas: {max_tip}, maxFeePerGas: {max_fee}"
        )
    if transaction.gas > terms.gas_limit:
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
    if transaction.nonce >= 2**64 - 1:
        raise Problem("nonce has max value")
    return Candidate(
        transaction,
        raw,
        keccak(raw),
        kind,
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


def _require_chain(transaction: Any, kind: int, terms: ChainTerms) -> None:
    chain_id = transaction.chain_id
    if kind == 0 and chain_id is None:
        raise Problem("only replay-protected (EIP-155) transactions allowed over RPC")
    if chain_id != terms.chain_id:
        raise Problem(f"invalid chain id for signer: have {chain_id} want {terms.chain_id}")


def _require_gas(transaction: Any) -> None:
    payload = transaction.data
    creates = transaction.to == CREATE_CONTRACT_ADDRESS
    if creates and len(payload) > MOST_INITCODE:
        raise Problem(
            f"max initcode size exceeded: code size {len(payload)}, limit {MOST_INITCODE}"
        )
    needed = intrinsic_gas(transaction)
    if transaction.gas < needed:
        raise Problem(f"intrinsic gas too low: gas {transaction.gas}, minimum needed {needed}")
    floor = floor_gas(payload)
    if transaction.gas < floor:
        raise Problem(
            f"insufficient gas for floor data gas cost: gas {transaction.gas},"
            f" minimum needed {floor}"
        )


def intrinsic_gas(transaction: Any) -> int:
    """What a transaction costs before its first opcode, the words of initcode included."""
    creates = transaction.to == CREATE_CONTRACT_ADDRESS
    words = 2 * ((len(transaction.data) + 31) // 32) if creates else 0
    return int(transaction.intrinsic_gas) + words


def floor_gas(payload: bytes) -> int:
    """The least a transaction with this data costs (EIP-7623)."""
    zeros = payload.count(0)
    return _FLOOR_BASE + _FLOOR_TOKEN * (zeros + _TOKENS * (len(payload) - zeros))
