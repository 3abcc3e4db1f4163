"""Account addresses of Cosmos chains: bech32 with the chain's own prefix (Cosmos SDK)."""

from __future__ import annotations

from swapdesk.chain.addresses import bech32
from swapdesk.chain.addresses.networks import COSMOS, UNLISTED
from swapdesk.chain.addresses.verdict import (
    AddressProblem,
    Reading,
    burned,
    wrong_length,
    wrong_start,
)
from swapdesk.chain.addresses.witness import checksum_problem, require_bech32

_ROLES = {
    "valoper": "it names a validator, not an account",
    "valcons": "it names a validator's node, not an account",
    "pub": "it is a public key, not an address",
}


def encode(prefix: str, account: bytes) -> str:
    """The address of 20 bytes of a hash, or of 32."""
    return bech32.encode(prefix, bech32.regroup(account, 8, 5, pad=True), bech32.BECH32)


def read(text: str) -> Reading:
    """The address and the chain its prefix stands for. Raises AddressProblem."""
    network = COSMOS.get(_prefix(text))
    if network is None:
        raise wrong_start("the prefix of a chain known here, as cosmos1")
    return Reading(_account(text), network=network.name)


def read_unlisted(text: str) -> Reading:
    """An address on a chain whose prefix is not known here: any but that of a known chain.

    Raises AddressProblem.
    """
    prefix = _prefix(text)
    known = COSMOS.get(prefix)
    if known is not None:
        return Reading(_account(text), network=known.name)
    if not prefix.isalnum():
        raise wrong_start("the prefix of a chain, as cosmos1")
    return Reading(_account(text), network=f"{prefix}1", warnings=(UNLISTED,))


def _prefix(text: str) -> str:
    """What stands before the separator, in lower case; a role other than an account is refused."""
    prefix, separator, _ = text.lower().partition("1")
    for role, said in _ROLES.items():
        if separator and prefix.endswith(role) and len(prefix) > len(role):
            raise AddressProblem("prefix", said, 1)
    return prefix if separator else ""


def _account(text: str) -> str:
    prefix, _, data = text.lower().partition("1")
    lowered = require_bech32(text, len(prefix) + 1)
    if len(data) not in (38, 58):
        short, long = len(prefix) + 39, len(prefix) + 59
        raise wrong_length(len(text), f"{short} or {long}")
    try:
        found, values, constant = bech32.decode(lowered)
        account = bytes(bech32.regroup(values, 5, 8, pad=False))
    except bech32.Bech32Error as error:
        if error.fault == "checksum":
            raise checksum_problem(lowered, prefix, bech32.BECH32) from None
        raise AddressProblem("length", "its data has a length no wallet uses") from None
    if constant != bech32.BECH32 or found != prefix:
        raise AddressProblem("checksum", "its checksum is of another form than this chain's")
    if not any(account):
        raise burned()
    return lowered
