"""TON addresses: the user-friendly form with its flags, and the raw form (TEP-2)."""

from __future__ import annotations

import base64
import binascii

from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.kind import (
    HEXADECIMAL,
    NO_CHECKSUM,
    AddressKind,
    AddressProblem,
    LinkForm,
    MemoRule,
    ParsedAddress,
    UnpaidForm,
    bare_hash,
    expand,
    refuse_burned,
    require_alphabet,
    require_length,
    wrong_checksum,
    wrong_start,
)

BOUNCEABLE, NON_BOUNCEABLE, TEST_ONLY = 0x11, 0x51, 0x80
LENGTH = 48
BOUNCES = (
    "This is the bounceable form: a payment to a wallet that was never used comes back. "
    "A wallet shows its own address in the form that starts with UQ."
)

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/"
_RAW_DIGITS = 64
_MASTERCHAIN = 0xFF


def encode(account: bytes, *, workchain: int = 0, flag: int = NON_BOUNCEABLE) -> str:
    """Returns the user-friendly address of a 32-byte account, in URL-safe base64. ``flag`` is the
    first of the encoded bytes."""
    body = bytes([flag, workchain & 0xFF]) + account
    return base64.urlsafe_b64encode(body + binascii.crc_hqx(body, 0).to_bytes(2, "big")).decode(
        "ascii"
    )


def decode(text: str) -> tuple[int, int, bytes] | None:
    """Returns the flag, the workchain byte and the account in a user-friendly address. None for any
    other text."""
    if len(text) != LENGTH:
        return None
    try:
        whole = base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(whole) != 36 or binascii.crc_hqx(whole[:-2], 0).to_bytes(2, "big") != whole[-2:]:
        return None
    return whole[0], whole[1], whole[2:-2]


def is_test_only(text: str) -> bool:
    """Returns whether the text is an address that is flagged for test networks."""
    decoded = decode(text)
    return decoded is not None and decoded[0] in (
        BOUNCEABLE | TEST_ONLY,
        NON_BOUNCEABLE | TEST_ONLY,
    )


def read(text: str) -> ParsedAddress:
    """Returns the checked address in the user-friendly form; a raw address gets the non-bounceable
    form. Raises AddressProblem."""
    workchain_text, colon, digits = text.partition(":")
    if colon:
        return _read_raw(workchain_text, digits)
    if text[:1] not in ("U", "E", "k", "0"):
        raise wrong_start("UQ or EQ")
    require_alphabet(text, _ALPHABET, "a TON address")
    require_length(len(text), (LENGTH,))
    decoded = decode(text)
    if decoded is None or (set("+/") & set(text) and set("-_") & set(text)):
        raise wrong_checksum()
    flag, workchain, account = decoded
    if flag & TEST_ONLY:
        raise AddressProblem(
            "other_chain",
            "This address is for a test network and must not be paid on the main one.",
            1,
            whole=True,
        )
    if flag not in (BOUNCEABLE, NON_BOUNCEABLE) or workchain not in (0, _MASTERCHAIN):
        raise AddressProblem("prefix", "its first characters are not of the main network", 1)
    refuse_burned(account)
    signed = -1 if workchain == _MASTERCHAIN else 0
    bounceable = flag == BOUNCEABLE
    return ParsedAddress(
        text.replace("+", "-").replace("/", "_"),
        noun="address in the bounceable form" if bounceable else "address",
        warnings=(BOUNCES,) if bounceable else (),
        account=f"{signed}:{account.hex()}",
    )


def _read_raw(workchain: str, digits: str) -> ParsedAddress:
    if workchain not in ("0", "-1"):
        raise wrong_start("UQ or EQ")
    text = f"{workchain}:{digits}"
    require_alphabet(text, HEXADECIMAL, "hexadecimal", len(workchain) + 1)
    require_length(len(text), (len(workchain) + 1 + _RAW_DIGITS,))
    account = bytes.fromhex(digits)
    refuse_burned(account)
    return ParsedAddress(
        encode(account, workchain=int(workchain)),
        noun="address in the raw form",
        proof="no checksum in this spelling",
        warnings=(NO_CHECKSUM,),
        account=f"{workchain}:{account.hex()}",
    )


def _contract_account(text: str) -> str:
    decoded = decode(text)
    return decoded[2].hex() if decoded is not None else text


def _read_hash(text: str) -> bytes | None:
    """Returns the bytes of a transaction hash in hexadecimal or any base64; None for other
    texts."""
    digits = text.removesuffix("=")
    if len(digits) != _HASH_LENGTH or set(digits) <= _BASE58:
        # Without any sign of base64 it is as likely an address of another chain.
        return bare_hash(text)
    try:
        octets = base64.b64decode(digits.replace("-", "+").replace("_", "/") + "=", validate=True)
    except (binascii.Error, ValueError):
        return None
    return (
        octets
        if digits in (spelling.removesuffix("=") for spelling in _spell_hash(octets))
        else None
    )


def _spell_hash(octets: bytes) -> tuple[str, ...]:
    plain = base64.b64encode(octets).decode("ascii")
    return octets.hex(), plain, base64.urlsafe_b64encode(octets).decode("ascii")


_HASH_LENGTH = 43
_BASE58 = frozenset(base58.BITCOIN_ALPHABET)
_SHAPE = r"^([EU][Qf][A-Za-z0-9_-]{46}|(0|-1):[0-9a-fA-F]{64})$"

TON = AddressKind(
    name="ton",
    chain="TON",
    called="a TON address",
    needs="one that starts with UQ or EQ",
    shape=_SHAPE,
    read=read,
    colon_after=("0", "-1"),
    unpaid=(UnpaidForm("a TON test network address", is_test_only, when_asked=False),),
    memo=MemoRule("comment", per_client=True),
    links={
        "ton": LinkForm(
            "ton://transfer/",
            units="amount",
            memo=("text",),
            contract="jetton",
            path="transfer",
            coin_only=True,
        )
    },
    namespace="tvm",
    explorers=("tonscan.org", "tonviewer.com"),
    contract_shape=_SHAPE,
    contract_account=_contract_account,
    generate=lambda seed, _: encode(expand(seed, "ton address", 32)),
    read_hash=_read_hash,
    spell_hash=_spell_hash,
)
