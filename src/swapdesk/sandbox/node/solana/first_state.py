"""The accounts the chain begins with."""

from __future__ import annotations

from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.token.state import Mint

from swapdesk.chain.solana.programs import SYSTEM, TOKEN
from swapdesk.sandbox.node.solana.documents import MINT_BYTES
from swapdesk.sandbox.node.solana.genesis import (
    FAUCET,
    FAUCET_LAMPORTS,
    MINTER,
    catalogue_mints,
    key_seed,
)
from swapdesk.sandbox.node.solana.machine import Machine


def sandbox_keypair(key: bytes, name: str) -> Keypair:
    """The sandbox's own account of this name."""
    return Keypair.from_seed(key_seed(key, name))


def first_accounts(machine: Machine, key: bytes) -> dict[Pubkey, Account]:
    """Coins of the faucet, and the catalogue's mints without supply."""
    minter = sandbox_keypair(key, MINTER).pubkey()
    rent = machine.rent_exempt(MINT_BYTES)
    accounts = {
        sandbox_keypair(key, FAUCET).pubkey(): Account(FAUCET_LAMPORTS, b"", SYSTEM),
    }
    for each in catalogue_mints():
        mint = Mint(minter, 0, each.decimals, True)
        accounts[Pubkey.from_string(each.address)] = Account(rent, bytes(mint), TOKEN)
    return accounts
