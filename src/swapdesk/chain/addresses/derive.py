"""Deposit addresses and transaction hashes out of a seed, for simulated venues and chains.

Everything here has the right form and checksum and belongs to nobody: no private key exists.
"""

from __future__ import annotations

from swapdesk.chain.addresses.kind import AddressKind, expand
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, network_of

SEED_BYTES = 32


def derive_address(kind: str, seed: bytes, chain_name: str | None = None) -> str:
    """The address of a 32-byte seed on a kind of chain: the same seed, the same address.

    ``chain_name`` chooses the network where the kind has several, else the main one is meant.
    Raises ValueError for an unknown kind or a seed of another length.
    """
    known = _required(kind, seed)
    if not known.networks:
        return known.generate(seed, "")
    return known.generate(seed, (network_of(kind, chain_name) or known.networks[0]).mark)


def derive_transaction_hash(kind: str, seed: bytes) -> str:
    """A transaction hash in the shape of the chain. Raises ValueError as ``derive_address``."""
    known = _required(kind, seed)
    return known.write_hash(expand(seed, f"{kind} transaction", known.hash_bytes))


def _required(kind: str, seed: bytes) -> AddressKind:
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    known = ADDRESS_KINDS.get(kind)
    if known is None:
        raise ValueError(f"no addresses of kind {kind!r} are derived here")
    return known
