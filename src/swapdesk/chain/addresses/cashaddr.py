"""Bitcoin Cash addresses in the CashAddr form (CashAddr specification of Bitcoin Cash).

The old form is Bitcoin's to the last character, and what was meant cannot be told from it:
it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from swapdesk.chain.addresses import base58, bech32, bitcoin
from swapdesk.chain.addresses.verdict import (
    AddressProblem,
    Reading,
    burned,
    wrong_checksum,
    wrong_length,
    wrong_start,
)
from swapdesk.chain.addresses.witness import require_bech32

PREFIX = "bitcoincash"
KEY, SCRIPT, TOKEN_KEY, TOKEN_SCRIPT = 0, 1, 2, 3
BODY = 42
"""Characters of an address of twenty bytes, checksum included."""

_GENERATOR = (0x98F2BC8E61, 0x79B76D99E2, 0xF33E5FB3C4, 0xAE2EABE2A8, 0x1E4F43E470)
_OLD_FORM = (
    "This form is Bitcoin's too, and Bitcoin cannot be paid here. "
    "Give the Bitcoin Cash form that starts with q or p."
)


def _polymod(values: Iterable[int]) -> int:
    check = 1
    for value in values:
        top = check >> 35
        check = (check & 0x07FFFFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            if top >> bit & 1:
                check ^= generator
    return check ^ 1


def _expanded(prefix: str) -> list[int]:
    return [*(ord(character) & 31 for character in prefix), 0]


def encode(kind: int, digest: bytes) -> str:
    """The address of a 20-byte hash, without the prefix its checksum covers."""
    values = bech32.regroup([kind << 3, *digest], 8, 5, pad=True)
    remainder = _polymod([*_expanded(PREFIX), *values, *[0] * 8])
    tail = [remainder >> 5 * (7 - place) & 31 for place in range(8)]
    return "".join(bech32.CHARSET[value] for value in [*values, *tail])


def read(text: str) -> Reading:
    """The address in lower case and without ``bitcoincash:``. Raises AddressProblem."""
    if text[:1] in ("1", "3"):
        _refuse_old_form(text)
    skipped = len(PREFIX) + 1 if text[: len(PREFIX) + 1].lower() == f"{PREFIX}:" else 0
    if text[skipped : skipped + 1].lower() not in ("q", "p", "z", "r"):
        raise wrong_start("q or p")
    lowered = require_bech32(text, skipped, "a Bitcoin Cash address")
    body = lowered[skipped:]
    if len(body) != BODY:
        raise wrong_length(len(body), str(BODY))
    values = [bech32.CHARSET.index(character) for character in body]
    if _polymod([*_expanded(PREFIX), *values]) != 0:
        raise wrong_checksum()
    try:
        payload = bytes(bech32.regroup(values[:-8], 5, 8, pad=False))
    except bech32.Bech32Error:
        raise AddressProblem("length", "its data has a length no wallet uses") from None
    kind, size = payload[0] >> 3, payload[0] & 7
    if kind > TOKEN_SCRIPT or size != 0 or len(payload) != 21:
        raise AddressProblem("prefix", "its version is not one of the main network", skipped + 1)
    if not any(payload[1:]):
        raise burned()
    return Reading(body, account=payload[1:].hex() + str(kind % 2))


def _refuse_old_form(text: str) -> None:
    try:
        payload = base58.decode_check(text)
    except base58.Base58Error:
        return
    if len(payload) == 21 and payload[0] in bitcoin.VERSIONS:
        raise AddressProblem("other_chain", _OLD_FORM, 1, whole=True)
