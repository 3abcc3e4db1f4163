"""The chain in its own thread, as the event loop uses it.

``SolanaBook`` reads what the chain has executed while the thread executes. The faucet gives SOL
from an account of its own and makes tokens of the catalogue's mints.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from solders.account import Account
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.token.state import TokenAccount
from solders.transaction import VersionedTransaction

from swapdesk.chain.solana import (
    CreateTokenAccount,
    Memo,
    MintTo,
    Transfer,
    read_transaction,
    token_account,
)
from swapdesk.sandbox.node.chain_wallets import Inclusion, IncomingPayment
from swapdesk.sandbox.node.evm.chain_threads import Lane
from swapdesk.sandbox.node.evm.faults import ChainFaults
from swapdesk.sandbox.node.solana.chain import SolanaChain, TransactionRefusal, sandbox_keypair
from swapdesk.sandbox.node.solana.documents import read_mint, read_token_account
from swapdesk.sandbox.node.solana.genesis import FAUCET, MINTER
from swapdesk.sandbox.node.solana.machine import TransactionOutcome
from swapdesk.sandbox.node.solana.methods import answer, execute, prepare
from swapdesk.sandbox.node.solana.params import Problem, as_pubkey, words_of
from swapdesk.sandbox.node.solana.store import Record, StoreReader
from swapdesk.sandbox.node.solana.terms import CHAIN

_TOKENS = 256
"""Positions of payments of tokens begin here; a transaction names fewer accounts."""


class BlockhashWindow(Struct, frozen=True):
    """A blockhash, and the last height at which it is good."""

    blockhash: bytes
    last: int


class SolanaBook:
    """Blocks, payments and balances of one chain. Used by the event loop's thread."""

    def __init__(self, chain: SolanaChain) -> None:
        self._slots, self._blockhashes = chain.slots, chain.blockhashes
        self._reader = StoreReader(chain.store.path)

    @property
    def height(self) -> int:
        """Of the newest block to which nothing more is added."""
        return self._slots.sealed

    def window(self) -> BlockhashWindow:
        """The newest blockhash."""
        return BlockhashWindow(*self._blockhashes.latest(self._slots.now().height))

    def mined(self, signature: Signature) -> Inclusion | None:
        """None while it is in no block that is complete."""
        record = self._reader.find(bytes(signature))
        if record is None or record.height > self.height:
            return None
        return Inclusion(record.height, json.loads(record.meta)["err"] is None)

    def executed(self, signature: Signature) -> bool:
        return self._reader.find(bytes(signature)) is not None

    def arrivals(self, first: int, last: int) -> Iterator[IncomingPayment]:
        """Every account that has more after a transaction than before it."""
        for record in self._reader.between(first, last):
            meta = json.loads(record.meta)
            if meta["err"] is None:
                yield from _coins(record, meta)
                yield from _tokens(record, meta)

    def lamports(self, address: Pubkey) -> int:
        account = self._account(address)
        return 0 if account is None else account.lamports

    def units(self, owner: Pubkey, mint: Pubkey) -> int:
        """In the owner's derived token account."""
        held = self.token_account(token_account(owner, mint))
        return 0 if held is None else int(held.amount)

    def token_account(self, address: Pubkey) -> TokenAccount | None:
        return read_token_account(self._account(address))

    def close(self) -> None:
        self._reader.close()

    def _account(self, address: Pubkey) -> Account | None:
        found = self._reader.account(bytes(address))
        return None if found is None else Account.from_bytes(found)


def _coins(record: Record, meta: dict[str, Any]) -> Iterator[IncomingPayment]:
    keys = list(map(str, read_transaction(record.raw).message.account_keys))
    both = zip(keys, meta["preBalances"], meta["postBalances"], strict=True)
    for position, (key, before, after) in enumerate(both):
        if after > before:
            yield _arrival(record, position, None, keys[0], key, after - before)


def _tokens(record: Record, meta: dict[str, Any]) -> Iterator[IncomingPayment]:
    before, after = (
        {one["accountIndex"]: one for one in meta[name]}
        for name in ("preTokenBalances", "postTokenBalances")
    )
    moved = {
        index: _units(after.get(index)) - _units(before.get(index)) for index in {**before, **after}
    }
    for index, units in sorted(moved.items()):
        if units <= 0:
            continue
        mint = after[index]["mint"]
        senders = [
            one["owner"] for at, one in before.items() if moved[at] < 0 and one["mint"] == mint
        ]
        yield _arrival(
            record,
            _TOKENS + int(index),
            mint,
            senders[0] if senders else "",
            after[index]["owner"],
            units,
        )


def _units(balance: Any) -> int:
    return 0 if balance is None else int(balance["uiTokenAmount"]["amount"])


def _arrival(
    record: Record, position: int, token: str | None, sender: str, receiver: str, units: int
) -> IncomingPayment:
    return IncomingPayment(
        str(Signature.from_bytes(record.signature)),
        position,
        record.height,
        record.seconds,
        token,
        sender,
        receiver,
        units,
    )


class SolanaFaucet:
    """Used by the chain's thread. Every payment is a transaction of its own, even when the same
    is asked twice: who must not pay twice keeps a note."""

    def __init__(self, chain: SolanaChain, key: bytes) -> None:
        self._chain = chain
        self._payer = sandbox_keypair(key, FAUCET)
        self._minter = sandbox_keypair(key, MINTER)

    def pay(self, address: Pubkey, lamports: int) -> str:
        """SOL; the signature. Raises Problem, and then nothing happened."""
        return self._send([Transfer(self._payer.pubkey(), address, lamports).build()])

    def mint(self, owner: Pubkey, mint: Pubkey, units: int) -> str:
        """New tokens in the owner's token account, which is made when it is missing; the
        signature. Raises Problem, and then nothing happened."""
        account = self._chain.machine.get(mint)
        found = read_mint(account)
        if account is None or found is None or found.mint_authority != self._minter.pubkey():
            raise Problem("the faucet makes no tokens of this mint")
        destination = token_account(owner, mint, account.owner)
        return self._send(
            [
                CreateTokenAccount(self._payer.pubkey(), owner, mint, account.owner).build(),
                MintTo(mint, destination, self._minter.pubkey(), units, account.owner).build(),
            ],
            self._minter,
        )

    def _send(self, instructions: list[Instruction], *signers: Keypair) -> str:
        blockhash, _ = self._chain.blockhashes.latest(self._chain.slots.now().height)
        # Two payments that are alike must not be one transaction.
        memo = Memo(f"faucet {secrets.token_hex(8)}").build()
        message = MessageV0.try_compile(
            self._payer.pubkey(), [*instructions, memo], [], Hash.from_bytes(blockhash)
        )
        transaction = VersionedTransaction(message, [self._payer, *signers])
        outcome = self._chain.execute(transaction)
        if isinstance(outcome, TransactionRefusal) or outcome.error is not None:
            raise Problem(f"the faucet could not pay: {words_of(outcome.error)}")
        return str(transaction.signatures[0])


T = TypeVar("T")


class SolanaNode:
    """``open`` runs in the thread of ``lane``; everything else on the event loop."""

    def __init__(self, lane: Lane, chain: SolanaChain, key: bytes, faults: ChainFaults) -> None:
        self._lane = lane
        self._chain = chain
        self._key = key
        self._faults = faults
        self._faucet = SolanaFaucet(chain, key)
        self.book = SolanaBook(chain)

    @classmethod
    async def open(
        cls, lane: Lane, path: Path, key: bytes, now_ms: Callable[[], int], faults: ChainFaults
    ) -> SolanaNode:
        """Open or begin the chain. Raises OSError, sqlite3.Error."""
        return cls(lane, await lane.run(SolanaChain, path, key, now_ms), key, faults)

    async def call(self, method: str, params: Any) -> Any:
        """The result of a JSON-RPC method. Raises Problem."""
        if method != "sendTransaction":
            return await self._run(answer, self._chain, method, params)
        prepared = await self._run(prepare, self._chain, params)
        if self._faults.takes_transaction(CHAIN):
            return prepared.signature
        return await self._run(execute, self._chain, prepared)

    async def fund(self, address: str, lamports: int) -> str:
        """SOL from the faucet; the signature. Raises Problem."""
        _require_above_0(lamports)
        return await self._run(self._faucet.pay, as_pubkey(address), lamports)

    async def mint(self, address: str, mint: str, units: int) -> str:
        """Tokens of a catalogue mint for an owner; the signature. Raises Problem."""
        _require_above_0(units)
        return await self._run(self._faucet.mint, as_pubkey(address), as_pubkey(mint), units)

    def keypair(self, name: str) -> Keypair:
        """The sandbox's own account of this name."""
        return sandbox_keypair(self._key, name)

    async def execute(self, raw: bytes) -> TransactionOutcome | TransactionRefusal:
        """Execute a transaction of the sandbox's own, which no fault meets. Raises Problem when
        too much waits."""
        return await self._run(self._chain.execute, read_transaction(raw))

    async def close(self) -> None:
        self.book.close()
        await self._run(self._chain.close)

    async def _run(self, work: Callable[..., T], *values: Any) -> T:
        return await self._lane.run(_contained, work, values)


def _contained(work: Callable[..., T], values: tuple[Any, ...]) -> T:
    """A panic of the library is no ``Exception``; it must not end more than the call."""
    try:
        return work(*values)
    except Exception:
        raise
    except BaseException as panic:
        raise RuntimeError(f"the machine panicked: {panic}") from panic


def _require_above_0(units: int) -> None:
    if not 0 < units < 1 << 64:
        raise Problem("the amount must be above 0 and below 2^64")
