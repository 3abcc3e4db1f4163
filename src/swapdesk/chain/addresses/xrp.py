"""XRP Ledger classic addresses. An X-address is refused, because the tag in it could differ from
the tag that the desk sends."""

from __future__ import annotations

from decimal import Decimal

from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.kind import (
    AddressKind,
    AddressProblem,
    LinkForm,
    MemoRule,
    ParsedAddress,
    UnpaidForm,
    expand,
    in_capitals,
    require_alphabet,
    require_length,
    require_start,
)

SHORTEST, LONGEST = 25, 35
ACCOUNT_VERSION = b"\x00"
X_ADDRESS_VERSIONS = {b"\x05\x44": "main", b"\x04\x93": "test"}

_SPECIAL = frozenset(
    {
        "rrrrrrrrrrrrrrrrrrrrrhoLvTp",
        "rrrrrrrrrrrrrrrrrrrrBZbvji",
        "rrrrrrrrrrrrrrrrrNAMEtxvNvQ",
        "rrrrrrrrrrrrrrrrrrrn5RM1rHd",
        "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh",
    }
)
"""Special accounts of the XRP Ledger whose signing keys nobody has."""


def is_x_address(text: str) -> bool:
    """Returns whether the text is an X-address, of the main or the test network, with a correct
    checksum."""
    return _x_payload(text) is not None


def x_address_parts(text: str) -> tuple[str, str] | None:
    """Returns the classic address and tag of an X-address on the main network; the tag is empty if
    there is none. None for any other text."""
    payload = _x_payload(text)
    if payload is None or X_ADDRESS_VERSIONS[payload[:2]] != "main":
        return None
    account, flag, tag = payload[2:22], payload[22], int.from_bytes(payload[23:27], "little")
    if any(payload[27:]) or flag not in (0, 1) or (flag == 0 and tag):
        return None
    classic = base58.encode_check(ACCOUNT_VERSION + account, base58.XRP_ALPHABET)
    return classic, str(tag) if flag else ""


def _x_payload(text: str) -> bytes | None:
    if text[:1] not in ("X", "T") or len(text) != 47:
        return None
    payload = base58.payload(text, base58.XRP_ALPHABET)
    if payload is None or payload[:2] not in X_ADDRESS_VERSIONS or len(payload) != 31:
        return None
    return payload


def _taken_apart(text: str) -> str:
    parts = x_address_parts(text)
    if parts is None:
        return (
            "This is an X-address: it holds a destination tag inside. "
            "Give the address that starts with r, and the tag in its own field."
        )
    account, tag = parts
    if not tag:
        return f"This is an X-address without a destination tag. Give {account}."
    return (
        f"This is an X-address: it holds destination tag {tag} inside. "
        f"Give {account}, and the tag in its own field."
    )


def read(text: str) -> ParsedAddress:
    """Returns the checked classic address. Raises AddressProblem; for an X-address, the message
    says what to enter instead."""
    if is_x_address(text):
        raise AddressProblem("prefix", _taken_apart(text), 1, whole=True)
    require_start(text, "r")
    require_alphabet(text, base58.XRP_ALPHABET, "an XRP address")
    require_length(len(text), range(SHORTEST, LONGEST + 1))
    payload = base58.require(text, base58.XRP_ALPHABET)
    if len(payload) != 21 or payload[:1] != ACCOUNT_VERSION:
        raise AddressProblem("prefix", "it holds no account", 1)
    if text in _SPECIAL:
        raise AddressProblem(
            "unsafe",
            "This account belongs to the ledger itself. What is sent to it is lost.",
            whole=True,
        )
    return ParsedAddress(text)


def is_seed(text: str) -> bool:
    """Returns True for a secret seed of either signature scheme. A seed for Ed25519 starts with
    sEd."""
    payload = base58.payload(text, base58.XRP_ALPHABET) if 25 <= len(text) <= 35 else None
    if payload is None:
        return False
    old = payload[:1] == b"\x21" and len(payload) == 17
    return old or (payload[:3] == b"\x01\xe1\x4b" and len(payload) == 19)


_TAGS = ("dt", "tag", "memo", "destinationtag", "destination_tag")
_SHAPE = rf"^r[{base58.CLASS}]{{24,34}}$"

XRP = AddressKind(
    name="xrp",
    chain="XRP Ledger",
    called="an XRP address",
    needs="one that starts with r",
    shape=_SHAPE,
    read=read,
    unpaid=(UnpaidForm("an XRP X-address", is_x_address, when_asked=False),),
    is_secret=is_seed,
    opens_with=Decimal(1),
    takes_token="An account takes this token only once its owner has set a trust line for it.",
    memo=MemoRule("destination tag", largest=2**32 - 1, per_client=True),
    links=dict.fromkeys(("xrpl", "xrp", "ripple"), LinkForm("xrpl://", memo=_TAGS)),
    namespace="xrpl",
    explorers=("livenet.xrpl.org", "xrpscan.com"),
    contract_shape=_SHAPE,
    generate=lambda seed, _: base58.encode_check(
        ACCOUNT_VERSION + expand(seed, "xrp address", 20), base58.XRP_ALPHABET
    ),
    spell_hash=in_capitals,
)
