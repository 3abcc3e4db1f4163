"""The faucet: SOL from its own account, tokens from the catalogue's mints."""

from __future__ import annotations

import secrets

from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from swapdesk.chain.solana.instructions import CreateTokenAccount, Memo, MintTo, Transfer
from swapdesk.chain.solana.programs import token_account
from swapdesk.sandbox.node.solana.chain import Chain, Refusal
from swapdesk.sandbox.node.solana.documents import read_mint
from swapdesk.sandbox.node.solana.first_state import sandbox_keypair
from swapdesk.sandbox.node.solana.genesis import FAUCET, MINTER
from swapdesk.sandbox.node.solana.problem import Problem
from swapdesk.sandbox.node.solana.words import words_of


class Faucet:
    """Used by the chain's thread. Every payment is a transaction of its own, even when the same
    is asked twice: who must not pay twice keeps a note."""

    def __init__(self, chain: Chain, key: bytes) -> None:
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
        if isinstance(outcome, Refusal) or outcome.error is not None:
            raise Problem(f"the faucet could not pay: {words_of(outcome.error)}")
        return str(transaction.signatures[0])
