"""The wallets of the exchanges and of the payer of deposits on one embedded EVM chain; the books
(``node.ledger``) store their payments.

Coins that a contract paid are not visible in a block, except those of the sandbox's smart accounts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_ACCOUNT
from swapdesk.chain.smart_account import MOST_CALLS, decode_batch, handled_operations, read_outcome
from swapdesk.sandbox.node.evm.genesis import sandbox_key
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.ledger import Inclusion, IncomingPayment, SignedPayment
from swapdesk.sandbox.world import WorldToken

if TYPE_CHECKING:
    from swapdesk.sandbox.node.evm.blocks import Block, Log, MinedTransaction
    from swapdesk.sandbox.node.evm.embedding import Embedding
    from swapdesk.sandbox.node.evm.node import LiveChain

logger = logging.getLogger(__name__)


_FIRST = 1_000_000

_ENTRY_POINT = bytes.fromhex(ENTRY_POINT[2:])
_PROXY = bytes.fromhex(f"363d3d373d3d3d363d73{SANDBOX_ACCOUNT[2:]}5af43d82803e903d91602b57fd5bf3")
"""Code of the sandbox's own smart accounts (EIP-1167 proxies), the only ones whose calls can be
read."""

CodeAt = Callable[[bytes], bytes]

CoinPayment = tuple[int, str, str, int]
"""Position of the payment in the transaction, payer, payee, and wei."""


def inner_payments(
    to: bytes, data: bytes, logs: Sequence[Log], code_at: CodeAt
) -> Iterator[CoinPayment]:
    """Yields the coin payments that successful UserOperations made in a transaction to the
    EntryPoint; ``to``, ``data`` and ``logs`` are the transaction's. ``code_at`` returns the code at
    an address."""
    if to != _ENTRY_POINT:
        return
    done = _executed(logs)
    for number, operation in enumerate(handled_operations(data)):
        sender = operation.sender
        if (sender, operation.nonce) not in done or code_at(bytes.fromhex(sender[2:])) != _PROXY:
            continue
        try:
            calls = decode_batch(operation.call_data)
        except CalldataError:
            continue
        for place, call in enumerate(calls):
            if call.value:
                yield _FIRST + number * MOST_CALLS + place, sender, call.to, call.value


def _executed(logs: Sequence[Log]) -> set[tuple[str, int]]:
    operations = set()
    for log in logs:
        if log.address == _ENTRY_POINT:
            outcome = read_outcome(tuple("0x" + topic.hex() for topic in log.topics), log.data)
            if outcome is not None and outcome.success:
                operations.add((outcome.sender, outcome.nonce))
    return operations


COIN_GAS, TOKEN_GAS = 100_000, 200_000
"""Gas limits of a payment in coins and in tokens; a payee may be a contract. Unused gas is not
paid."""
_TIP = 10**9
_FEE_ROOM = 20
"""Factor from the current base fee to the highest base fee at which a payment is still executed;
above that it waits."""
_KNOWN = 4_096
AT_ONCE = 500
"""Number of blocks that the books read in one step."""

_TRANSFER = keccak(b"Transfer(address,address,uint256)")


class EvmWallets:
    """The implementation of ChainWallets on one embedded EVM chain."""

    def __init__(self, name: str, key: bytes) -> None:
        self.name = name
        self.began = 0
        self.at_once = AT_ONCE
        self.embedding: Embedding
        """The embedding of the EVM chains. It is set once the process has opened it."""
        self._key = lru_cache(maxsize=_KNOWN)(partial(sandbox_key, key))

    @property
    def is_open(self) -> bool:
        return self.embedding.is_open

    def address(self, wallet: str) -> str:
        return checksummed("0x" + self._key(wallet).address.hex())

    def sign(
        self, wallet: str, number: int, token: WorldToken, receiver: str, units: int
    ) -> SignedPayment:
        from swapdesk.sandbox.node.evm.node import signed_transaction

        chain = self._live()
        coin = token.address is None
        payee = receiver if token.address is None else token.address
        raw = signed_transaction(
            chain,
            self._key(wallet),
            number,
            bytes.fromhex(payee[2:]),
            max_priority_fee_per_gas=_TIP,
            max_fee_per_gas=_FEE_ROOM * chain.next_base_fee + _TIP,
            gas=COIN_GAS if coin else TOKEN_GAS,
            value=units if coin else 0,
            data=b"" if coin else TRANSFER.call(receiver, units),
        )
        return SignedPayment(raw, "0x" + keccak(raw).hex())

    def submit(self, raw: bytes) -> None:
        chain = self._live()
        if chain.pool.get(keccak(raw)) is not None or chain.chain.find(keccak(raw)) is not None:
            return
        try:
            # Faults that are asked for meet the transactions of others.
            chain.submit(raw, faulty=False)
        except Problem as problem:
            logger.info("%s takes a payment later: %s", self.name, problem)

    def mined(self, transaction_hash: str) -> Inclusion | None:
        position = self._live().chain.find(bytes.fromhex(transaction_hash[2:]))
        if position is None:
            return None
        block, place = position
        return block.number, block.transactions[place].succeeded

    def refusal(self, transaction_hash: str) -> str | None:
        """Returns None: a waiting payment stays in the mempool until it is in a block, and can only
        fail there."""
        return None

    @property
    def height(self) -> int:
        return self._live().head.number

    def arrivals(self, first: int, last: int) -> Iterable[IncomingPayment]:
        """Yields coin payments and token transfers in the blocks ``first`` to ``last``. Coin
        payments by contracts are missing, except those of the sandbox's smart accounts."""
        chain = self._live()
        for block in chain.chain.blocks[first : last + 1]:
            for transaction in block.transactions:
                yield from payments_of(block, transaction, chain.accounts.get_code)

    def balance(self, token: WorldToken, address: str) -> int:
        from swapdesk.sandbox.evm_world.genesis import balance_slot

        accounts = self._live().accounts
        if token.address is None:
            return accounts.get_balance(bytes.fromhex(address[2:]))
        return accounts.get_storage(bytes.fromhex(token.address[2:]), balance_slot(token, address))

    def _live(self) -> LiveChain:
        return self.embedding.open().chains[self.name]


def payments_of(
    block: Block, transaction: MinedTransaction, code_at: CodeAt
) -> Iterable[IncomingPayment]:
    """Yields the coin and token payments of one transaction; none if it failed. ``code_at`` returns
    the code at an address."""
    if not transaction.succeeded:
        return
    signed, hash_ = transaction.signed, "0x" + transaction.hash.hex()
    at = block.number, block.timestamp
    if signed.value and signed.to:
        parties = _address(transaction.sender), _address(signed.to)
        yield IncomingPayment(hash_, -1, *at, None, *parties, signed.value)
    for position, payer, payee, wei in inner_payments(
        signed.to, signed.data, transaction.logs, code_at
    ):
        yield IncomingPayment(hash_, position, *at, None, payer, payee, wei)
    for position, log in enumerate(transaction.logs):
        if len(log.topics) == 3 and log.topics[0] == _TRANSFER and len(log.data) == 32:
            parties = _address(log.topics[1][12:]), _address(log.topics[2][12:])
            units = int.from_bytes(log.data, "big")
            yield IncomingPayment(hash_, position, *at, _address(log.address), *parties, units)


def _address(octets: bytes) -> str:
    return checksummed("0x" + octets.hex())
