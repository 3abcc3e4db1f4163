"""Addresses in base32: Stellar's StrKey (SEP-23) and Algorand's.

A muxed address is refused, because the memo id in it could differ from the memo that the desk
sends.
"""

from __future__ import annotations

import base64
import binascii
from decimal import Decimal

from swapdesk.chain.addresses.ed25519 import generated_point
from swapdesk.chain.addresses.kind import (
    MAX_MEMO_ID,
    AddressKind,
    AddressProblem,
    LinkForm,
    MemoRule,
    ParsedAddress,
    PaymentLink,
    PaymentRequest,
    UnpaidForm,
    link_query,
    plain_amount,
    refuse_burned,
    require_alphabet,
    require_length,
    wrong_checksum,
    wrong_start,
)

ACCOUNT, MUXED, SEED, CONTRACT = 6 << 3, 12 << 3, 18 << 3, 2 << 3
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
LENGTH = 56
ALGORAND_LENGTH = 58

_SIZES = {ACCOUNT: 32, MUXED: 40, SEED: 32, CONTRACT: 32}
_FOREIGN = {
    CONTRACT: "it is a contract, not an account",
    11 << 3: "it is a liquidity pool, not an account",
    1 << 3: "it is a claimable balance, not an account",
    15 << 3: "it is a signed payload, not an account",
    19 << 3: "it is the hash of a transaction, not an account",
    23 << 3: "it is a hash that signs, not an account",
}


def _base32(payload: bytes) -> str:
    return base64.b32encode(payload).decode("ascii").rstrip("=")


# Stellar


def encode(version: int, payload: bytes) -> str:
    """Returns the StrKey text for a version byte and a payload."""
    body = bytes([version]) + payload
    whole = body + binascii.crc_hqx(body, 0).to_bytes(2, "little")
    return _base32(whole)


def decode(text: str) -> tuple[int, bytes] | None:
    """Returns the version byte and payload of a StrKey of any type. None for a wrong checksum or an
    unusual spelling of the same bytes."""
    try:
        whole = base64.b32decode(text + "=" * (-len(text) % 8))
    except (binascii.Error, ValueError):
        return None
    if len(whole) < 3 or _base32(whole) != text:
        return None
    body, tail = whole[:-2], whole[-2:]
    if binascii.crc_hqx(body, 0).to_bytes(2, "little") != tail:
        return None
    version, payload = body[0], body[1:]
    if len(payload) != _SIZES.get(version, len(payload)):
        return None
    return version, payload


def muxed_parts(text: str) -> tuple[str, str] | None:
    """Returns the account's address and memo id in a muxed address. None for any other text."""
    if text[:1] != "M":
        return None
    key = decode(text)
    if key is None or key[0] != MUXED:
        return None
    return encode(ACCOUNT, key[1][:32]), str(int.from_bytes(key[1][32:], "big"))


def is_seed(text: str) -> bool:
    """Returns True for a secret Stellar key with a correct checksum."""
    key = decode(text) if text[:1] == "S" and len(text) == LENGTH else None
    return key is not None and key[0] == SEED


def read_stellar(text: str) -> ParsedAddress:
    """Returns the checked address of a Stellar account. Raises AddressProblem for any other
    text."""
    parts = muxed_parts(text)
    if parts is not None:
        account, memo = parts
        sentence = (
            f"This is a muxed address: it holds memo id {memo} inside. "
            f"Give {account}, and the memo in its own field."
        )
        raise AddressProblem("prefix", sentence, 1, whole=True)
    if text[:1] != "G":
        key = decode(text) if text[:1] in tuple("CLBPTX") else None
        if key is not None and key[0] in _FOREIGN:
            raise AddressProblem("prefix", _FOREIGN[key[0]], 1)
        raise wrong_start("G")
    require_alphabet(text, ALPHABET, "a Stellar address")
    require_length(len(text), (LENGTH,))
    key = decode(text)
    if key is None:
        raise wrong_checksum()
    if key[0] != ACCOUNT:
        raise AddressProblem("prefix", "it holds no account", 2)
    refuse_burned(key[1])
    return ParsedAddress(text)


def _stellar_link(payment: PaymentRequest) -> PaymentLink:
    """Returns a SEP-7 link. A number without leading zeros becomes a memo id, any other memo a memo
    text."""
    memo, kind = payment.memo, None
    if memo is not None:
        is_id = memo.isascii() and memo.isdecimal() and str(int(memo)) == memo
        kind = "MEMO_ID" if is_id and int(memo) <= MAX_MEMO_ID else "MEMO_TEXT"
    asked = link_query(
        ("destination", payment.address),
        ("amount", plain_amount(payment.amount)),
        ("asset_code", payment.symbol if payment.contract is not None else None),
        ("asset_issuer", payment.contract),
        ("memo", memo),
        ("memo_type", kind),
    )
    return PaymentLink(f"web+stellar:pay?{asked}", memo is not None)


STELLAR = AddressKind(
    name="xlm",
    chain="Stellar",
    called="a Stellar address",
    needs="one that starts with G",
    shape=r"^G[A-D][A-Z2-7]{54}$",
    read=read_stellar,
    unpaid=(
        UnpaidForm(
            "a muxed Stellar address",
            lambda text: muxed_parts(text) is not None,
            when_asked=False,
        ),
    ),
    is_secret=is_seed,
    opens_with=Decimal(1),
    takes_token="An account takes this token only once its owner has added a trustline for it.",
    memo=MemoRule("memo", longest=28, largest_id=MAX_MEMO_ID, per_client=True),
    links={
        "web+stellar": LinkForm(
            memo=("memo",),
            contract="asset_issuer",
            symbol="asset_code",
            address="destination",
            path="pay",
        ),
        "stellar": LinkForm(memo=("memo",)),
    },
    write_link=_stellar_link,
    namespace="stellar",
    explorers=("stellar.expert",),
    contract_shape=r"^G[A-D][A-Z2-7]{54}$",
    generate=lambda seed, _: encode(ACCOUNT, generated_point(seed, "xlm address")),
)


# Algorand: 32 bytes of a key and four of SHA-512/256


def _algorand_checksum(key: bytes) -> bytes:
    from Crypto.Hash import SHA512

    return bytes(SHA512.new(key, truncate="256").digest()[-4:])


def encode_algorand(key: bytes) -> str:
    """Returns the Algorand address of a 32-byte public key."""
    return _base32(key + _algorand_checksum(key))


def read_algorand(text: str) -> ParsedAddress:
    """Returns the checked Algorand address. Raises AddressProblem for any other text."""
    require_alphabet(text, ALPHABET, "an Algorand address")
    require_length(len(text), (ALGORAND_LENGTH,))
    try:
        whole = base64.b32decode(text + "=" * 6)
    except binascii.Error:
        raise wrong_checksum() from None
    key = whole[:32]
    # The last character has three bits to spare: only one of its spellings is the address.
    if encode_algorand(key) != text:
        raise wrong_checksum()
    refuse_burned(key)
    return ParsedAddress(text)


def _read_algorand_hash(text: str) -> bytes | None:
    if len(text) != _HASH_LENGTH or not set(text) <= set(ALPHABET):
        return None
    return base64.b32decode(text + "====")


_HASH_LENGTH = 52
_FIRST_ASSET, _ASSETS = 3_000_000_000, 900_000_000
"""Numeric token ids on Algorand: the first generated one, and how many ids are used."""

ALGORAND = AddressKind(
    name="algo",
    chain="Algorand",
    called="an Algorand address",
    needs="one of 58 capital letters and digits",
    shape=r"^[A-Z2-7]{58}$",
    read=read_algorand,
    opens_with=Decimal("0.1"),
    takes_token="An account takes this token only once its owner has opted in to it.",
    memo=MemoRule("note"),
    # ARC-26: ``xnote`` is a note the payer may not change.
    links={
        "algorand": LinkForm(
            "algorand://", units="amount", memo=("xnote", "note"), contract="asset"
        )
    },
    namespace="algorand",
    explorers=("allo.info",),
    contract_shape=r"^[1-9][0-9]{0,19}$",
    generate=lambda seed, _: encode_algorand(generated_point(seed, "algo address")),
    generate_contract=lambda _, seed: str(_FIRST_ASSET + int.from_bytes(seed[:4], "big") % _ASSETS),
    read_hash=_read_algorand_hash,
    spell_hash=lambda octets: (_base32(octets),),
)
