"""The kinds of addresses, one row each, and what is looked up or made by the name of a kind.

Addresses and transaction hashes out of a seed have the right form and checksum and belong to
nobody: no private key exists.
"""

from __future__ import annotations

import re

from msgspec import Struct

from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.ada import CARDANO
from swapdesk.chain.addresses.base32 import ALGORAND, STELLAR
from swapdesk.chain.addresses.bitcoin import BITCOIN, BITCOIN_CASH, DASH, DOGECOIN, LITECOIN, TRON
from swapdesk.chain.addresses.cosmos import COSMOS
from swapdesk.chain.addresses.dot import POLKADOT
from swapdesk.chain.addresses.evm import EVM
from swapdesk.chain.addresses.kind import AddressKind, Network, Proof, expand, with_article
from swapdesk.chain.addresses.sol import SOLANA
from swapdesk.chain.addresses.sui import SUI
from swapdesk.chain.addresses.ton import TON
from swapdesk.chain.addresses.xmr import MONERO
from swapdesk.chain.addresses.xrp import XRP

_GENERATION = re.compile(r"-[0-9]+$")

ADDRESS_KINDS: dict[str, AddressKind] = {
    kind.name: kind
    for kind in (
        EVM,
        SOLANA,
        BITCOIN,
        LITECOIN,
        MONERO,
        XRP,
        STELLAR,
        TON,
        TRON,
        SUI,
        DOGECOIN,
        CARDANO,
        POLKADOT,
        COSMOS,
        BITCOIN_CASH,
        DASH,
        ALGORAND,
    )
}
"""By the name that a chain gives for its ``kind`` (contract 5.1)."""

KINDS: tuple[str, ...] = tuple(ADDRESS_KINDS)
"""Kinds of chains whose addresses are decoded here."""


def kinds_by_proof(above: Proof | None = None) -> list[AddressKind]:
    """The kinds whose addresses prove most first; with ``above`` those that prove more."""
    found = [kind for kind in ADDRESS_KINDS.values() if above is None or kind.proof > above]
    return sorted(found, key=lambda kind: -kind.proof)


class HashReading(Struct, frozen=True):
    """What the hash of a transaction can be: ``called`` is a noun phrase, ``kinds`` are names of
    kinds of chains, ``spellings`` how these write it."""

    called: str
    kinds: tuple[str, ...]
    spellings: tuple[str, ...] = ()


def read_hash(text: str) -> HashReading | None:
    """The hash of a transaction on all kinds of chains that write such ones; None for no hash."""
    found = [
        (kind, octets)
        for kind in ADDRESS_KINDS.values()
        if (octets := kind.read_hash(text)) is not None
    ]
    if not found:
        return HashReading("a Tezos operation hash", ()) if _is_of_tezos(text) else None
    spellings = dict.fromkeys(one for kind, octets in found for one in kind.spell_hash(octets))
    names = tuple(kind.name for kind, _ in found)
    first = found[0][0]
    called = first.hash_called or f"{with_article(first.chain)} transaction hash"
    return HashReading(
        called if len(found) <= _FEW else "a transaction hash", names, tuple(spellings)
    )


_FEW = 2
"""Kinds up to which a hash is called after the first."""


def _is_of_tezos(text: str) -> bool:
    """A chain of no kind here, whose hashes carry a checksum and would be taken for order ids."""
    payload = base58.payload(text) if len(text) == 51 and text[0] == "o" else None
    return payload is not None and len(payload) == 34 and payload[:2] == b"\x05\x74"


def network_of(kind: str, chain_name: str | None) -> Network | None:
    """The network a chain's name stands for, or None when its marks are not known here."""
    known = ADDRESS_KINDS.get(kind)
    if chain_name is None or known is None:
        return None
    # Chains of Cosmos are also called by their ids: ``cosmoshub-4``.
    folded = _GENERATION.sub("", chain_name.casefold())
    for network in known.networks:
        if network.name.casefold() == folded or folded in network.names:
            return network
    return None


def published_shape(kind: str, chain_name: str) -> str:
    """The pattern a service publishes for addresses of a chain (contract 5.1). KeyError."""
    network = network_of(kind, chain_name)
    return network.pattern if network is not None and network.pattern else ADDRESS_KINDS[kind].shape


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
    return known.spell_hash(expand(seed, f"{kind} transaction", known.hash_bytes))[0]


def _required(kind: str, seed: bytes) -> AddressKind:
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    known = ADDRESS_KINDS.get(kind)
    if known is None:
        raise ValueError(f"no addresses of kind {kind!r} are derived here")
    return known
