"""SS58 addresses of Polkadot and chains like it (SS58 address format, Polkadot documentation)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial

from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.kind import (
    UNLISTED,
    AddressKind,
    AddressProblem,
    LinkForm,
    Network,
    ParsedAddress,
    behind_0x,
    expand,
    marked_hash,
    refuse_burned,
    require_alphabet,
    require_length,
    wrong_checksum,
)

SHORTEST, LONGEST = 46, 49
_CONTEXT = b"SS58PRE"

NETWORKS: Mapping[str | int, Network] = {
    network.mark: network
    for network in (
        Network(
            0,
            "Polkadot",
            "one that starts with 1",
            frozenset({"polkadot asset hub"}),
            rf"^1[{base58.CLASS}]{{45,47}}$",
        ),
        Network(
            2,
            "Kusama",
            "one that starts with a capital letter C to J",
            pattern=rf"^[C-HJ][{base58.CLASS}]{{46}}$",
        ),
        Network(5, "Astar", "one of Astar's own form"),
        Network(10, "Acala", "one of Acala's own form"),
        Network(30, "Phala", "one of Phala's own form"),
        Network(36, "Centrifuge", "one that starts with 4"),
        Network(63, "Hydration", "one of Hydration's own form"),
        Network(42, "generic Substrate", "one that starts with 5", frozenset({"bittensor"})),
    )
}


def _checksum(payload: bytes) -> bytes:
    return hashlib.blake2b(_CONTEXT + payload).digest()[:2]


def _prefix(network: int) -> bytes:
    if network < 64:
        return bytes([network])
    first = (network & 0xFC) >> 2 | 0x40
    second = network >> 8 | (network & 0x03) << 6
    return bytes([first, second])


def encode(network: int, account: bytes) -> str:
    """Returns the address of a 32-byte account on a network."""
    payload = _prefix(network) + account
    return base58.encode(payload + _checksum(payload))


def decode(text: str) -> tuple[int, bytes] | None:
    """Returns the network number and the 32-byte account of an SS58 address with a correct
    checksum. None for any other text."""
    try:
        whole = base58.decode(text)
    except base58.Base58Error:
        return None
    width = 2 if whole[:1] >= b"\x40" else 1
    if len(whole) != width + 34 or whole[0] >= 0x80 or _checksum(whole[:-2]) != whole[-2:]:
        return None
    if width == 1:
        return whole[0], whole[1:-2]
    low = (whole[0] & 0x3F) << 2 | whole[1] >> 6
    network = low | (whole[1] & 0x3F) << 8
    # A number below 64 has a spelling of one byte, which is the only one.
    return (network, whole[2:-2]) if network >= 64 else None


def read(text: str, *, unlisted: bool = False) -> ParsedAddress:
    """Returns the checked address and the chain of its network number. ``unlisted`` allows an
    unknown number, which adds a warning. Raises AddressProblem."""
    number = _network(text)
    network = NETWORKS.get(number)
    if network is not None:
        return ParsedAddress(text, network=network.name)
    if not unlisted:
        raise AddressProblem("prefix", f"it is of network {number}, which is not known here", 1)
    return ParsedAddress(text, network=f"network {number}", warnings=(UNLISTED,))


def _network(text: str) -> int:
    require_alphabet(text, base58.BITCOIN_ALPHABET, "base58")
    require_length(len(text), range(SHORTEST, LONGEST + 1))
    decoded = decode(text)
    if decoded is None:
        raise wrong_checksum()
    number, account = decoded
    refuse_burned(account)
    return number


POLKADOT = AddressKind(
    name="dot",
    chain="Polkadot",
    called="a Polkadot address",
    needs="one that starts with 1",
    shape=NETWORKS[0].pattern,
    read=read,
    read_unlisted=partial(read, unlisted=True),
    networks=tuple(NETWORKS.values()),
    links={"polkadot": LinkForm()},
    namespace="polkadot",
    explorers=("polkadot.subscan.io", "kusama.subscan.io"),
    generate=lambda seed, mark: encode(int(mark), expand(seed, "dot address", 32)),
    read_hash=marked_hash,
    spell_hash=behind_0x,
)
