"""The wallets of exchanges and payer on the embedded Solana chain.

Addresses are known before the chain is open. What a payment is comes from the books
(``node.ledger``); here is only remembered what the chain has just said against one.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from swapdesk.sandbox.node.chain_wallets import (
    ChainClosed,
    Inclusion,
    IncomingPayment,
    SignedPayment,
)
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.ledger import LedgerRefusal
from swapdesk.sandbox.node.solana.terms import CHAIN
from swapdesk.sandbox.world import WorldToken, chains_by_name

if TYPE_CHECKING:
    from solders.instruction import Instruction
    from solders.keypair import Keypair
    from solders.pubkey import Pubkey
    from solders.signature import Signature

    from swapdesk.sandbox.node.solana.embedding import SolanaEmbedding
    from swapdesk.sandbox.node.solana.node import SolanaBook, SolanaNode

logger = logging.getLogger(__name__)

_KNOWN = 4_096


class SolanaWallets:
    """As ChainWallets says, over the chain of an embedding."""

    def __init__(self, key: bytes) -> None:
        self.name = CHAIN
        self.began = chains_by_name()[CHAIN].first_height - 1
        # Most blocks are empty, and one comes every 400 ms also while nobody looks.
        self.at_once = 10_000
        self.embedding: SolanaEmbedding | None = None
        """Set once the process carries the chain."""
        self._secret = key
        self._keypair = lru_cache(maxsize=_KNOWN)(self._derive)
        self._going: dict[str, asyncio.Task[None]] = {}
        self._refused: dict[str, str] = {}

    @property
    def touched(self) -> bool:
        return self.embedding is not None and self.embedding.touched

    @property
    def is_open(self) -> bool:
        return self.embedding is not None and self.embedding.live is not None

    def wake(self) -> None:
        if self.embedding is not None:
            self.embedding.wake()

    async def opened(self) -> None:
        if self.embedding is None:
            raise LedgerRefusal("no chain is embedded here")
        try:
            await self.embedding.node()
        except (OSError, sqlite3.Error) as error:
            raise LedgerRefusal(f"the chain could not be opened: {error}") from error

    def address(self, wallet: str) -> str:
        return str(self._keypair(wallet).pubkey())

    def sign(
        self, wallet: str, number: int, token: WorldToken, receiver: str, units: int
    ) -> SignedPayment:
        from solders.hash import Hash
        from solders.message import MessageV0
        from solders.transaction import VersionedTransaction

        from swapdesk.chain.solana import Memo

        book, payer = self._book, self._keypair(wallet)
        window = book.window()
        instructions = [
            *_payment(book, payer.pubkey(), token, receiver, units),
            # Two payments that are alike must not be one transaction.
            Memo(f"payment {number}").build(),
        ]
        message = MessageV0.try_compile(
            payer.pubkey(), instructions, [], Hash.from_bytes(window.blockhash)
        )
        signed = VersionedTransaction(message, [payer])
        return SignedPayment(bytes(signed), str(signed.signatures[0]), window.last)

    def submit(self, raw: bytes) -> None:
        from swapdesk.chain.solana import read_transaction

        node, signature = self._node, read_transaction(raw).signatures[0]
        name = str(signature)
        if name in self._going or name in self._refused or node.book.executed(signature):
            return
        self._going[name] = asyncio.create_task(self._executed(node, name, raw))

    async def _executed(self, node: SolanaNode, name: str, raw: bytes) -> None:
        from swapdesk.sandbox.node.solana.chain import EXPIRED, REPEATED, TransactionRefusal
        from swapdesk.sandbox.node.solana.params import words_of

        try:
            outcome = await node.execute(raw)
        except (Problem, OSError, sqlite3.Error) as problem:
            logger.info("%s takes a payment later: %s", self.name, problem)
            return
        finally:
            del self._going[name]
        if outcome in (EXPIRED, REPEATED):
            return
        if isinstance(outcome, TransactionRefusal) or not outcome.charged:
            # Nobody was charged, so it stands in no block and never will with this message.
            self._refused[name] = words_of(outcome.error)

    def mined(self, transaction_hash: str) -> Inclusion | None:
        return self._book.mined(_signature(transaction_hash))

    def refusal(self, transaction_hash: str) -> str | None:
        return self._refused.get(transaction_hash)

    @property
    def height(self) -> int:
        return self._book.height

    def arrivals(self, first: int, last: int) -> Iterable[IncomingPayment]:
        return self._book.arrivals(first, last)

    def balance(self, token: WorldToken, address: str) -> int:
        from solders.pubkey import Pubkey

        owner = Pubkey.from_string(address)
        if token.address is None:
            return self._book.lamports(owner)
        return self._book.units(owner, Pubkey.from_string(token.address))

    def _derive(self, wallet: str) -> Keypair:
        from solders.keypair import Keypair

        from swapdesk.sandbox.node.solana.genesis import key_seed

        return Keypair.from_seed(key_seed(self._secret, wallet))

    @property
    def _node(self) -> SolanaNode:
        node = None if self.embedding is None else self.embedding.live
        if node is None:
            self.wake()
            raise ChainClosed(f"the chain {self.name} is being opened")
        return node

    @property
    def _book(self) -> SolanaBook:
        return self._node.book


def _payment(
    book: SolanaBook, payer: Pubkey, token: WorldToken, receiver: str, units: int
) -> list[Instruction]:
    """A transfer; the receiver's token account is opened at the payer's cost where there is
    none. A receiver that is itself a token account is paid as it is, or not at all by the chain."""
    from solders.pubkey import Pubkey

    from swapdesk.chain.solana import (
        TOKEN,
        CreateTokenAccount,
        Transfer,
        TransferChecked,
        token_account,
    )

    payee = Pubkey.from_string(receiver)
    if token.address is None:
        return [Transfer(payer, payee, units).build()]
    mint = Pubkey.from_string(token.address)
    is_holder = book.token_account(payee) is not None
    destination = payee if is_holder else token_account(payee, mint)
    transfer = TransferChecked(
        token_account(payer, mint), mint, destination, payer, units, token.row.decimals
    ).build()
    if is_holder:
        return [transfer]
    return [CreateTokenAccount(payer, payee, mint, TOKEN).build(), transfer]


def _signature(text: str) -> Signature:
    from solders.signature import Signature

    return Signature.from_string(text)
