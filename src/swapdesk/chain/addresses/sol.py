"""Solana addresses: 32 bytes in base58, without any checksum."""

from __future__ import annotations

from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.ed25519 import generated_point, is_point
from swapdesk.chain.addresses.kind import (
    AddressKind,
    AddressProblem,
    LinkForm,
    MemoRule,
    ParsedAddress,
    Proof,
    require_alphabet,
    require_length,
)

SHORTEST, LONGEST = 32, 44
NO_CHECKSUM = (
    "A Solana address carries no checksum, so a typing error cannot be seen. Compare every group."
)
OFF_CURVE = (
    "This address belongs to a program, not to a key. Only that program can move what it gets."
)
"""The doubt about an address that belongs to a program. A payout to a token account is lost; the
vault of a multisig is fine."""

_PROGRAMS = {
    "11111111111111111111111111111111": "the system program",
    "1nc1nerator11111111111111111111111111111111": "the incinerator",
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA": "the token program",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb": "the token program",
    "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL": "the token account program",
    "ComputeBudget111111111111111111111111111111": "the compute budget program",
    "So11111111111111111111111111111111111111112": "the wrapped SOL token",
}


def read(text: str) -> ParsedAddress:
    """Returns the checked address. It always has the warning that there is no checksum; the address
    of a program also has a doubt. Raises AddressProblem."""
    require_alphabet(text, base58.BITCOIN_ALPHABET, "base58")
    require_length(len(text), range(SHORTEST, LONGEST + 1))
    if text in _PROGRAMS:
        raise AddressProblem(
            "unsafe", f"This is {_PROGRAMS[text]}. What is sent to it is lost.", whole=True
        )
    key = base58.decode(text)
    if len(key) != 32:
        raise AddressProblem("length", f"it holds {len(key)} bytes instead of 32")
    return ParsedAddress(
        text,
        proof="this chain has no checksum",
        warnings=(NO_CHECKSUM,),
        doubt="" if is_point(key) else OFF_CURVE,
    )


SOLANA = AddressKind(
    name="sol",
    chain="Solana",
    called="a Solana address",
    needs="one of 32 to 44 letters and digits without 0, O, I and l",
    proof=Proof.SHAPE,
    shape=rf"^[{base58.CLASS}]{{32,44}}$",
    read=read,
    memo=MemoRule("memo"),
    links={"solana": LinkForm("solana:", memo=("memo",), contract="spl-token")},
    namespace="solana",
    explorers=("solscan.io", "explorer.solana.com"),
    contract_shape=rf"^[{base58.CLASS}]{{32,44}}$",
    generate=lambda seed, _: base58.encode(generated_point(seed, "sol address")),
    hash_bytes=64,
    hash_called="a Solana signature",
    read_hash=base58.reader(64),
    spell_hash=base58.spelled,
)
