"""The Solana chain in a process, begun on first use and used only on the event loop.
``SolanaWallets`` are the wallets of the exchanges and of the payer of deposits."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from swapdesk.chain.solana import (
    TOKEN,
    CreateTokenAccount,
    MintTo,
    Transfer,
    TransferChecked,
    token_account,
)
from swapdesk.sandbox.faults import DROP_TRANSACTION, ActiveFaults
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.ledger import Inclusion, IncomingPayment, SignedPayment
from swapdesk.sandbox.node.mined_log import ChainFileMismatch
from swapdesk.sandbox.node.solana.chain import (
    EXPIRED,
    REPEATED,
    Mined,
    SolanaChain,
    sandbox_keypair,
)
from swapdesk.sandbox.node.solana.genesis import FAUCET, MINTER
from swapdesk.sandbox.node.solana.machine import read_mint, read_token_account
from swapdesk.sandbox.node.solana.methods import Params, answer, prepare, read, words_of
from swapdesk.sandbox.node.solana.terms import CHAIN
from swapdesk.sandbox.world import WorldToken, chains_by_name

logger = logging.getLogger(__name__)


SNAPSHOT, OLDER_FILE = f"{CHAIN}.snapshot", f"{CHAIN}.db"


class SolanaNode:
    """The Solana chain of one data directory. ``now_ms`` returns sandbox time in milliseconds.
    Raises OSError, LogDamaged, and ChainFileMismatch if the directory holds another chain."""

    def __init__(
        self, data: Path, key: bytes, *, now_ms: Callable[[], int], faults: ActiveFaults
    ) -> None:
        self._directory = data / "chains"
        self._key = key
        self._now_ms = now_ms
        self._faults = faults
        self._chain: SolanaChain | None = None
        older = self._directory / OLDER_FILE
        if older.exists():
            raise ChainFileMismatch(
                f"{older} was made by another release; choose another data directory, or remove it"
                " to begin a new world"
            )
        if (self._directory / SNAPSHOT).exists():
            self.open()

    @property
    def is_open(self) -> bool:
        return self._chain is not None

    def open(self) -> SolanaChain:
        """Returns the chain, which the first call opens or begins. Raises OSError."""
        if self._chain is None:
            self._chain = SolanaChain(self._directory, self._key, self._now_ms)
        return self._chain

    async def call(self, _: str, method: str, params: Any) -> Any:
        """Calls a JSON-RPC method; returns its result. Raises Problem."""
        chain = self.open()
        if method != "sendTransaction":
            return answer(chain, method, params)
        transaction = prepare(chain, Params(params, 1))
        if not self._faults.meets(CHAIN, DROP_TRANSACTION):
            chain.execute(transaction)
        # It does not say that it was executed: that is asked for.
        return str(transaction.signatures[0])

    async def fund(self, address: str, units: int, mint: str | None = None) -> dict[str, object]:
        """Pays lamports from the faucet, or tokens of ``mint``; returns ``{"signature"}``. Every
        call pays anew. Raises Problem, and then nothing was paid."""
        if not 0 < units < 1 << 64:
            raise Problem("the amount must be above 0 and below 2^64")
        payee, of = read(Pubkey, address), None if mint is None else read(Pubkey, mint)
        return {"signature": self._paid(payee, units, of)}

    def keypair(self, name: str) -> Keypair:
        return sandbox_keypair(self._key, name)

    def close(self) -> None:
        if self._chain is not None:
            self._chain.close()
            self._chain = None

    def _paid(self, payee: Pubkey, units: int, mint: Pubkey | None) -> str:
        payer, minter = self.keypair(FAUCET), self.keypair(MINTER)
        if mint is None:
            return self._send([Transfer(payer.pubkey(), payee, units).build()], payer)
        account = self.open().machine.get(mint)
        mint_account = read_mint(account)
        if (
            account is None
            or mint_account is None
            or mint_account.mint_authority != minter.pubkey()
        ):
            raise Problem("the faucet makes no tokens of this mint")
        destination = token_account(payee, mint, account.owner)
        instructions = [
            CreateTokenAccount(payer.pubkey(), payee, mint, account.owner).build(),
            MintTo(mint, destination, minter.pubkey(), units, account.owner).build(),
        ]
        return self._send(instructions, payer, minter)

    def _send(self, instructions: list[Instruction], *signers: Keypair) -> str:
        chain = self.open()
        transaction, _ = chain.signed(instructions, f"faucet {secrets.token_hex(8)}", *signers)
        error = chain.execute(transaction).error
        if error is not None:
            raise Problem(f"the faucet could not pay: {words_of(error)}")
        return str(transaction.signatures[0])


class SolanaWallets:
    """The implementation of ChainWallets on Solana. All blocks are final."""

    def __init__(self, key: bytes) -> None:
        self.name = CHAIN
        self.began = chains_by_name()[CHAIN].first_height - 1
        # Most blocks are empty, and one comes every 400 ms also while nobody looks.
        self.at_once = 10_000
        self.node: SolanaNode
        """The Solana node. It is set once the process has created it."""
        self._key = key
        self._refused: dict[str, str] = {}

    @property
    def is_open(self) -> bool:
        return self.node.is_open

    def address(self, wallet: str) -> str:
        return str(sandbox_keypair(self._key, wallet).pubkey())

    def sign(
        self, wallet: str, number: int, token: WorldToken, receiver: str, units: int
    ) -> SignedPayment:
        chain, payer = self._chain, sandbox_keypair(self._key, wallet)
        instructions = _payment(chain, payer.pubkey(), token, receiver, units)
        signed, last = chain.signed(instructions, f"payment {number}", payer)
        return SignedPayment(bytes(signed), str(signed.signatures[0]), last)

    def submit(self, raw: bytes) -> None:
        # The books may be in the transaction in which they write a payment down.
        asyncio.get_running_loop().call_soon(self._execute, raw)

    def _execute(self, raw: bytes) -> None:
        transaction = VersionedTransaction.from_bytes(raw)
        name = str(transaction.signatures[0])
        if not self.is_open or name in self._refused:
            return
        try:
            outcome = self._chain.execute(transaction)
        except (OSError, RuntimeError) as problem:
            logger.info("%s takes a payment later: %s", self.name, problem)
            return
        if not outcome.charged and outcome.error not in (EXPIRED, REPEATED):
            # Nobody was charged, so it stands in no block and never will with this message.
            self._refused[name] = words_of(outcome.error)

    def mined(self, transaction_hash: str) -> Inclusion | None:
        mined = self._chain.find(bytes(Signature.from_string(transaction_hash)))
        if mined is None or mined.height > self.height:
            return None
        return mined.height, mined.error is None

    def refusal(self, transaction_hash: str) -> str | None:
        return self._refused.get(transaction_hash)

    @property
    def height(self) -> int:
        return self._chain.blocks.now().height - 1

    def arrivals(self, first: int, last: int) -> Iterable[IncomingPayment]:
        """Yields a payment for each account that received coins or tokens in a successful
        transaction."""
        for mined in self._chain.between(first, last):
            if mined.error is None:
                meta = json.loads(mined.meta)
                yield from _coins(mined, meta)
                yield from _tokens(mined, meta)

    def balance(self, token: WorldToken, address: str) -> int:
        owner = Pubkey.from_string(address)
        if token.address is None:
            account = self._chain.machine.get(owner)
            return 0 if account is None else account.lamports
        return self._chain.units(owner, Pubkey.from_string(token.address))

    @property
    def _chain(self) -> SolanaChain:
        return self.node.open()


def _payment(
    chain: SolanaChain, payer: Pubkey, token: WorldToken, receiver: str, units: int
) -> list[Instruction]:
    """Returns the instructions of a payment. A receiver without an account for the token gets one
    at the payer's cost."""
    payee = Pubkey.from_string(receiver)
    if token.address is None:
        return [Transfer(payer, payee, units).build()]
    mint = Pubkey.from_string(token.address)
    is_holder = read_token_account(chain.machine.get(payee)) is not None
    destination = payee if is_holder else token_account(payee, mint)
    transfer = TransferChecked(
        token_account(payer, mint), mint, destination, payer, units, token.row.decimals
    ).build()
    if is_holder:
        return [transfer]
    return [CreateTokenAccount(payer, payee, mint, TOKEN).build(), transfer]


_TOKENS = 256
"""The ``position`` of a transaction's first token payment; coin payments have lower ones."""


def _coins(mined: Mined, meta: dict[str, Any]) -> Iterator[IncomingPayment]:
    keys = list(map(str, mined.transaction.message.account_keys))
    both = zip(keys, meta["preBalances"], meta["postBalances"], strict=True)
    for position, (key, before, after) in enumerate(both):
        if after > before:
            yield _arrival(mined, position, None, keys[0], key, after - before)


def _tokens(mined: Mined, meta: dict[str, Any]) -> Iterator[IncomingPayment]:
    held = {"preTokenBalances": -1, "postTokenBalances": 1}
    moved: dict[int, int] = {}
    balances = {}
    for name, sign in held.items():
        for balance in meta[name]:
            index = balance["accountIndex"]
            balances[index] = balance
            moved[index] = moved.get(index, 0) + sign * int(balance["uiTokenAmount"]["amount"])
    for index, units in sorted(moved.items()):
        if units > 0:
            mint, receiver = balances[index]["mint"], balances[index]["owner"]
            senders = [
                balance["owner"]
                for at, balance in balances.items()
                if moved[at] < 0 and balance["mint"] == mint
            ]
            sender = senders[0] if senders else ""
            yield _arrival(mined, _TOKENS + index, mint, sender, receiver, units)


def _arrival(
    mined: Mined, position: int, token: str | None, sender: str, receiver: str, units: int
) -> IncomingPayment:
    return IncomingPayment(
        str(Signature.from_bytes(mined.signature)),
        position,
        mined.height,
        mined.seconds,
        token,
        sender,
        receiver,
        units,
    )
