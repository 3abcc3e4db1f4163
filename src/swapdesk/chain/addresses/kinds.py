"""The kinds of addresses, and functions that take a kind's name. Generated addresses and hashes
have the right form, but no private key exists for them."""

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
"""The kinds of addresses, by the name that a chain states as its ``kind`` (contract 5.1)."""

KINDS: tuple[str, ...] = tuple(ADDRESS_KINDS)


def kinds_by_proof(above: Proof | None = None) -> list[AddressKind]:
    """Returns the kinds of addresses, the strongest proof first. With ``above``, returns only kinds
    whose proof is stronger than ``above``."""
    kinds = [kind for kind in ADDRESS_KINDS.values() if above is None or kind.proof > above]
    return sorted(kinds, key=lambda kind: -kind.proof)


class HashReading(Struct, frozen=True):
    """What a text that looks like a transaction hash can be: a noun phrase, the possible kinds of
    chains, and the spellings of the hash."""

    called: str
    kinds: tuple[str, ...]
    spellings: tuple[str, ...] = ()


def read_hash(text: str) -> HashReading | None:
    """Returns what a transaction hash can be; None if the text does not look like one."""
    readings = [
        (kind, octets)
        for kind in ADDRESS_KINDS.values()
        if (octets := kind.read_hash(text)) is not None
    ]
    if not readings:
        return HashReading("a Tezos operation hash", ()) if _is_of_tezos(text) else None
    spellings = dict.fromkeys(
        spelling for kind, octets in readings for spelling in kind.spell_hash(octets)
    )
    names = tuple(kind.name for kind, _ in readings)
    first = readings[0][0]
    called = first.hash_called or f"{with_article(first.chain)} transaction hash"
    return HashReading(
        called if len(readings) <= _FEW else "a transaction hash", names, tuple(spellings)
    )


_FEW = 2
"""A hash that fits more kinds of chains than this is only called "a transaction hash"."""


def _is_of_tezos(text: str) -> bool:
    """Returns whether the text is an operation hash of Tezos, which would otherwise be mistaken for
    an order id."""
    payload = base58.payload(text) if len(text) == 51 and text[0] == "o" else None
    return payload is not None and len(payload) == 34 and payload[:2] == b"\x05\x74"


def network_of(kind: str, chain_name: str | None) -> Network | None:
    """Returns the network that a chain's name means. None if the kind has no such network or no
    name is given."""
    address_kind = ADDRESS_KINDS.get(kind)
    if chain_name is None or address_kind is None:
        return None
    # Chains of Cosmos are also called by their ids: ``cosmoshub-4``.
    folded = _GENERATION.sub("", chain_name.casefold())
    for network in address_kind.networks:
        if network.name.casefold() == folded or folded in network.names:
            return network
    return None


def published_shape(kind: str, chain_name: str) -> str:
    """Returns the regular expression that a service publishes for addresses of a chain (contract
    5.1). Raises KeyError for an unknown kind."""
    network = network_of(kind, chain_name)
    return network.pattern if network is not None and network.pattern else ADDRESS_KINDS[kind].shape


SEED_BYTES = 32


def derive_address(kind: str, seed: bytes, chain_name: str | None = None) -> str:
    """Returns the address that a 32-byte seed determines; it has no private key. ``chain_name``
    chooses the network, None the main one. Raises ValueError."""
    address_kind = _required(kind, seed)
    if not address_kind.networks:
        return address_kind.generate(seed, "")
    return address_kind.generate(
        seed, (network_of(kind, chain_name) or address_kind.networks[0]).mark
    )


def derive_transaction_hash(kind: str, seed: bytes) -> str:
    """Returns the made-up transaction hash that a 32-byte seed determines. Raises ValueError for an
    unknown kind or another length."""
    address_kind = _required(kind, seed)
    return address_kind.spell_hash(expand(seed, f"{kind} transaction", address_kind.hash_bytes))[0]


def _required(kind: str, seed: bytes) -> AddressKind:
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    address_kind = ADDRESS_KINDS.get(kind)
    if address_kind is None:
        raise ValueError(f"no addresses of kind {kind!r} are derived here")
    return address_kind
