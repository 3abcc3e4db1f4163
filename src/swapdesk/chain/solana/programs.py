"""Programs that are known by their address."""

from __future__ import annotations

from solders.pubkey import Pubkey

SYSTEM = Pubkey.from_string("11111111111111111111111111111111")
TOKEN = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022 = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
TOKEN_ACCOUNTS = Pubkey.from_string("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
"""Creates the one token account of an owner and a mint whose address everybody can derive."""
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
COMPUTE_BUDGET = Pubkey.from_string("ComputeBudget111111111111111111111111111111")

LOADERS = frozenset(
    map(
        Pubkey.from_string,
        (
            "BPFLoader1111111111111111111111111111111111",
            "BPFLoader2111111111111111111111111111111111",
            "BPFLoaderUpgradeab1e11111111111111111111111",
            "LoaderV411111111111111111111111111111111111",
        ),
    )
)
"""They deploy programs."""

TOKEN_PROGRAMS = frozenset({TOKEN, TOKEN_2022})


def token_account(owner: Pubkey, mint: Pubkey, program: Pubkey = TOKEN) -> Pubkey:
    """Where an owner holds a token: the derived address of its associated token account."""
    address, _ = Pubkey.find_program_address(
        [bytes(owner), bytes(program), bytes(mint)], TOKEN_ACCOUNTS
    )
    return address
