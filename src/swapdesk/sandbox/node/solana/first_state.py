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
    wallet_lamports,
)
from swapdesk.sandbox.node.solana.machine import Machine


def sandbox_keypair(key: bytes, name: str) -> Keypair:
    """The sandbox's own account of this name."""
    return Keypair.from_seed(key_seed(key, name))


def first_accounts(machine: Machine, key: bytes) -> dict[Pubkey, Account]:
    """Coins of the faucet, the maker and the exchanges, and the catalogue's mints with what maker
    and exchanges hold of them."""
    minter, maker = (sandbox_keypair(key, name).pubkey() for name in (MINTER, MAKER))
    lamports = wallet_lamports()
    wallets = {name: sandbox_keypair(key, name).pubkey() for name in lamports}
    rent, holding = (machine.rent_exempt(size) for size in (MINT_BYTES, TOKEN_ACCOUNT_BYTES))
    accounts = {
        sandbox_keypair(key, FAUCET).pubkey(): Account(FAUCET_LAMPORTS, b"", SYSTEM),
        maker: Account(MAKER_LAMPORTS, b"", SYSTEM),
        **{wallets[name]: Account(held, b"", SYSTEM) for name, held in lamports.items()},
    }
    for each in catalogue_mints():
        address = Pubkey.from_string(each.address)
        mint = Mint(minter, each.supply, each.decimals, True)
        accounts[address] = Account(rent, bytes(mint), TOKEN)
        holders = [(maker, each.held), *((wallets[name], units) for name, units in each.reserves)]
        for holder, units in holders:
            if units:
                accounts[token_account(holder, address)] = Account(
                    holding, bytes(_held(address, holder, units)), TOKEN
                )
    return accounts


def _held(mint: Pubkey, holder: Pubkey, units: int) -> TokenAccount:
    return TokenAccount(mint, holder, units, None, TokenAccountState.Initialized, None, 0)
