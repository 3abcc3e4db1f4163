"""The chain as a process carries it: begun when somebody first needs it, open from then on.

It is used by the thread of the event loop alone: a transaction takes about a millisecond. The
faucet gives SOL from an account of its own and makes tokens of the catalogue's mints.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from swapdesk.chain.solana import CreateTokenAccount, MintTo, Transfer, token_account
from swapdesk.sandbox.node.evm.faults import DROP_TRANSACTION, ChainFaults
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.ledger import LedgerRefusal
from swapdesk.sandbox.node.mined_log import ChainFileMismatch
from swapdesk.sandbox.node.solana.chain import SolanaChain, sandbox_keypair
from swapdesk.sandbox.node.solana.documents import read_mint
from swapdesk.sandbox.node.solana.genesis import FAUCET, MINTER
from swapdesk.sandbox.node.solana.methods import answer, prepare
from swapdesk.sandbox.node.solana.params import Params, read, words_of
from swapdesk.sandbox.node.solana.terms import CHAIN

SNAPSHOT, OLDER_FILE = f"{CHAIN}.snapshot", f"{CHAIN}.db"


class SolanaNode:
    """The chain of one data directory; ``now_ms`` is sandbox time.

    Raises OSError, LogDamaged, and ChainFileMismatch when the directory holds another one.
    """

    def __init__(
        self, data: Path, key: bytes, *, now_ms: Callable[[], int], faults: ChainFaults
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
        """Whether anybody can have paid on it."""
        return self._chain is not None

    def open(self) -> SolanaChain:
        """The chain, which begins when this is first called. Raises OSError."""
        if self._chain is None:
            self._chain = SolanaChain(self._directory, self._key, self._now_ms)
        return self._chain

    async def call(self, _: str, method: str, params: Any) -> Any:
        """The result of a JSON-RPC method. Raises Problem."""
        chain = self.open()
        if method != "sendTransaction":
            return answer(chain, method, params)
        transaction = prepare(chain, Params(params, 1))
        if not self._faults.meets(CHAIN, DROP_TRANSACTION):
            chain.execute(transaction)
        # It does not say that it was executed: that is asked for.
        return str(transaction.signatures[0])

    async def fund(self, address: str, units: int, mint: str | None = None) -> dict[str, object]:
        """Lamports from the faucet, or tokens of a catalogue mint; ``{"signature"}``.

        Every payment is a transaction of its own, even when the same is asked twice: who must not
        pay twice keeps a note. Raises LedgerRefusal, and then nothing happened.
        """
        try:
            if not 0 < units < 1 << 64:
                raise Problem("the amount must be above 0 and below 2^64")
            payee, of = read(Pubkey, address), None if mint is None else read(Pubkey, mint)
            return {"signature": self._paid(payee, units, of)}
        except Problem as problem:
            raise LedgerRefusal(str(problem)) from None

    def keypair(self, name: str) -> Keypair:
        """The sandbox's own account of this name."""
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
        found = read_mint(account)
        if account is None or found is None or found.mint_authority != minter.pubkey():
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
