"""The accounts the chain begins with."""

from __future__ import annotations

from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.token.state import Mint, TokenAccount, TokenAccountState

from swapdesk.chain.solana.programs import SYSTEM, TOKEN, token_account
from swapdesk.sandbox.node.solana.documents import MINT_BYTES, TOKEN_ACCOUNT_BYTES
from swapdesk.sandbox.node.solana.genesis import (
    FAUCET,
    FAUCET_LAMPORTS,
    MAKER,
    MAKER_LAMPORTS,
    MINTER,
    catalogue_mints,
    key_seed,
)
from swapdesk.sandbox.node.solana.machine import Machine


def sandbox_keypair(key: bytes, name: str) -> Keypair:
    """The sandbox's own account of this name."""
    return Keypair.from_seed(key_seed(key, name))


def first_accounts(machine: Machine, key: bytes) -> dict[Pubkey, Account]:
    """Coins of the faucet and the maker, and the catalogue's mints; the maker alone holds some
    of them."""
    minter, maker = (sandbox_keypair(key, name).pubkey() for name in (MINTER, MAKER))
    rent, holding = (machine.rent_exempt(size) for size in (MINT_BYTES, TOKEN_ACCOUNT_BYTES))
    accounts = {
        sandbox_keypair(key, FAUCET).pubkey(): Account(FAUCET_LAMPORTS, b"", SYSTEM),
        maker: Account(MAKER_LAMPORTS, b"", SYSTEM),
    }
    for each in catalogue_mints():
        address = Pubkey.from_string(each.address)
        mint = Mint(minter, each.held, each.decimals, True)
        accounts[address] = Account(rent, bytes(mint), TOKEN)
        if each.held:
            held = TokenAccount(
                address, maker, each.held, None, TokenAccountState.Initialized, None, 0
            )
            accounts[token_account(maker, address)] = Account(holding, bytes(held), TOKEN)
    return accounts
