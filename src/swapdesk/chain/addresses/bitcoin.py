"""Addresses of Bitcoin, Litecoin, Dogecoin, Dash, Bitcoin Cash and Tron (BIP 173, BIP 350).

Old Litecoin script addresses and old Bitcoin Cash addresses are refused, because they are also
Bitcoin addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from swapdesk.chain.addresses import base58, bech32
from swapdesk.chain.addresses.kind import (
    HEXADECIMAL,
    AddressKind,
    AddressProblem,
    LinkForm,
    ParsedAddress,
    UnpaidForm,
    burned,
    expand,
    refuse_burned,
    require_alphabet,
    require_length,
    require_start,
    wrong_checksum,
    wrong_start,
)

LENGTHS = range(26, 36)
"""Numbers of characters that a Base58Check address can have."""
_ONE_LENGTH = (34,)
"""The only length of a Base58Check address on chains with a large version byte."""
BITCOIN_VERSIONS = {0x00: "1", 0x05: "3"}
LITECOIN_VERSIONS = {0x30: "L", 0x32: "M"}
DOGECOIN_VERSIONS = {0x1E: "D", 0x16: "A or 9"}
DASH_VERSIONS = {0x4C: "X", 0x10: "7"}
TRON_VERSION = 0x41

_BURNED = frozenset({"1BitcoinEaterAddressDontSendf59kuE", "1CounterpartyXXXXXXXXXXXXXXXUWLpVr"})
_BURNED_DOGE = frozenset({"DDogepartyxxxxxxxxxxxxxxxxxxw1dfzr"})
_MWEB = "ltcmweb1"
_OLD_SCRIPT = (
    "An address that starts with 3 may be a Bitcoin or an old Litecoin one. "
    "Give the Litecoin form that starts with M or ltc1."
)


# Base58Check


def encode_key_hash(version: int, digest: bytes) -> str:
    """Returns the Base58Check address of a 20-byte hash."""
    return base58.encode_check(bytes([version]) + digest)


def _read_key_hash(text: str, versions: Collection[int], lengths: Collection[int] = LENGTHS) -> str:
    require_alphabet(text, base58.BITCOIN_ALPHABET, "base58")
    require_length(len(text), lengths)
    payload = base58.require(text)
    if len(payload) != 21 or payload[0] not in versions:
        raise AddressProblem("prefix", "its version is not one of the main network")
    refuse_burned(payload[1:])
    return text


def _has_version(*versions: int) -> Callable[[str], bool]:
    """Returns a function that recognizes Base58Check addresses with one of these version bytes. Do
    not use it for versions below 0x3A, whose addresses can be shorter."""

    def matches(text: str) -> bool:
        if len(text) not in (34, 35):
            return False
        payload = base58.payload(text)
        return payload is not None and len(payload) == 21 and payload[0] in versions

    return matches


def _wallet_key(version: int) -> Callable[[str], bool]:
    def is_secret(text: str) -> bool:
        payload = base58.payload(text) if len(text) in (51, 52) else None
        return payload is not None and len(payload) in (33, 34) and payload[0] == version

    return is_secret


# Witness programs


def _read_witness(text: str, prefix: str) -> str:
    lowered = bech32.require(text, len(prefix) + 1)
    require_length(len(text), (len(prefix) + 40, len(prefix) + 60))
    try:
        version, program = bech32.decode_witness(prefix, lowered)
    except bech32.Bech32Error as error:
        if error.fault == "checksum":
            first = lowered[len(prefix) + 1]
            constant = bech32.BECH32 if first == bech32.CHARSET[0] else bech32.BECH32M
            raise bech32.checksum_problem(lowered, prefix, constant) from None
        if error.fault == "variant":
            raise wrong_checksum() from None
        raise AddressProblem("length", "its data has a length no wallet uses") from None
    if version > 1 or (version == 1 and len(program) != 32):
        place = len(prefix) + 2
        raise AddressProblem(
            "prefix", f"nothing spends witness version {version} in this form", place
        )
    refuse_burned(program)
    return lowered


# Readers


def _reader(
    *starts: str,
    versions: Collection[int],
    lengths: Collection[int] = LENGTHS,
    witness: str = "",
    lost: Collection[str] = (),
) -> Callable[[str], ParsedAddress]:
    """Returns a reader of witness addresses with the prefix ``witness`` and of Base58Check
    addresses with one of ``starts``, ``versions`` and ``lengths``. Addresses in ``lost`` are
    refused, because nobody can spend from them."""

    def read(text: str) -> ParsedAddress:
        if witness and text.lower().startswith(f"{witness}1"):
            return ParsedAddress(_read_witness(text, witness))
        require_start(text, *starts)
        address = _read_key_hash(text, versions, lengths)
        if address in lost:
            raise burned()
        return ParsedAddress(address)

    return read


_read_public_litecoin = _reader("ltc1", "L", "M", versions=LITECOIN_VERSIONS, witness="ltc")


def _read_litecoin(text: str) -> ParsedAddress:
    if text[: len(_MWEB)].lower() == _MWEB:
        raise AddressProblem(
            "prefix",
            "This is a private MWEB address, which no exchange pays to. "
            "Give one that starts with ltc1, L or M.",
            1,
            whole=True,
        )
    if text[:1] == "3":
        _read_key_hash(text, BITCOIN_VERSIONS)
        raise AddressProblem("other_chain", _OLD_SCRIPT, 1, whole=True)
    return _read_public_litecoin(text)


_read_base58_tron = _reader("T", versions=(TRON_VERSION,), lengths=_ONE_LENGTH)


def _read_tron(text: str) -> ParsedAddress:
    """Returns the checked Tron address. Raises AddressProblem, also for the hexadecimal form that
    nodes use."""
    if len(text) == 42 and text[:2] == "41" and set(text) <= set(HEXADECIMAL):
        raise AddressProblem(
            "prefix", "it is the hexadecimal form of a node. Give the one that starts with T", 1
        )
    return _read_base58_tron(text)


# CashAddr (specification of Bitcoin Cash)

CASH_PREFIX = "bitcoincash"
CASH_KEY, CASH_SCRIPT, CASH_TOKEN_KEY, CASH_TOKEN_SCRIPT = 0, 1, 2, 3

_CASH_SIZES = {0: 20, 3: 32}
"""Bytes in the hash of a CashAddr, by the size code in its version byte."""
_CASH_LENGTHS = (42, 61)
"""The lengths of a CashAddr with a hash of 20 bytes, and of 32 bytes."""
_CASH_GENERATOR = (0x98F2BC8E61, 0x79B76D99E2, 0xF33E5FB3C4, 0xAE2EABE2A8, 0x1E4F43E470)
_OLD_FORM = (
    "This form is Bitcoin's too, and Bitcoin cannot be paid here. "
    "Give the Bitcoin Cash form that starts with q or p."
)


def encode_cash(kind: int, digest: bytes) -> str:
    """Returns the CashAddr of a hash, without the prefix ``bitcoincash:``. The checksum covers the
    prefix although it is not written."""
    size = next(size for size, count in _CASH_SIZES.items() if count == len(digest))
    values = bech32.regroup([kind << 3 | size, *digest], 8, 5, pad=True)
    remainder = _cash_polymod([*_cash_prefix(), *values, *[0] * 8])
    tail = [remainder >> 5 * (7 - place) & 31 for place in range(8)]
    return "".join(bech32.CHARSET[value] for value in [*values, *tail])


def read_cash(text: str) -> ParsedAddress:
    """Returns the checked Bitcoin Cash address in lower case and without ``bitcoincash:``. Raises
    AddressProblem, also for the old form, which Bitcoin uses too."""
    if text[:1] in ("1", "3"):
        _refuse_old_cash(text)
    skipped = len(CASH_PREFIX) + 1 if text[: len(CASH_PREFIX) + 1].lower() == "bitcoincash:" else 0
    if text[skipped : skipped + 1].lower() not in ("q", "p", "z", "r"):
        raise wrong_start("q or p")
    lowered = bech32.require(text, skipped, "a Bitcoin Cash address")
    body = lowered[skipped:]
    require_length(len(body), _CASH_LENGTHS)
    values = [bech32.CHARSET.index(character) for character in body]
    if _cash_polymod([*_cash_prefix(), *values]) != 0:
        raise wrong_checksum()
    try:
        payload = bytes(bech32.regroup(values[:-8], 5, 8, pad=False))
    except bech32.Bech32Error:
        raise AddressProblem("length", "its data has a length no wallet uses") from None
    kind, size = payload[0] >> 3, payload[0] & 7
    of_key = kind in (CASH_KEY, CASH_TOKEN_KEY)
    if (
        kind > CASH_TOKEN_SCRIPT
        or len(payload) - 1 != _CASH_SIZES.get(size)
        or (of_key and size != 0)
    ):
        raise AddressProblem("prefix", "its version is not one of the main network", skipped + 1)
    refuse_burned(payload[1:])
    return ParsedAddress(body, account=payload[1:].hex() + str(kind % 2))


def _cash_polymod(values: Iterable[int]) -> int:
    check = 1
    for value in values:
        top = check >> 35
        check = (check & 0x07FFFFFFFF) << 5 ^ value
        for bit, generator in enumerate(_CASH_GENERATOR):
            if top >> bit & 1:
                check ^= generator
    return check ^ 1


def _cash_prefix() -> list[int]:
    return [*(ord(character) & 31 for character in CASH_PREFIX), 0]


def _refuse_old_cash(text: str) -> None:
    payload = base58.payload(text)
    if payload is not None and len(payload) == 21 and payload[0] in BITCOIN_VERSIONS:
        raise AddressProblem("other_chain", _OLD_FORM, 1, whole=True)


# The kinds

_58, _32 = base58.CLASS, bech32.CLASS


def _key_hash_of(name: str, version: int) -> Callable[[bytes, str | int], str]:
    return lambda seed, _: encode_key_hash(version, expand(seed, f"{name} address", 20))


BITCOIN = AddressKind(
    name="bitcoin",
    chain="Bitcoin",
    called="a Bitcoin address",
    needs="one that starts with bc1, 1 or 3",
    shape=rf"^(bc1q[{_32}]{{38}}|bc1[pq][{_32}]{{58}}|[13][{_58}]{{25,34}})$",
    read=_reader("bc1", "1", "3", versions=BITCOIN_VERSIONS, witness="bc", lost=_BURNED),
    unpaid=(
        UnpaidForm("a Bitcoin test network address", _has_version(0x6F, 0xC4)),
        UnpaidForm("a Bitcoin test network address", bech32.has_prefix("tb", "bcrt")),
    ),
    is_secret=_wallet_key(0x80),
    marks=("bc1q", "bc1p", "bc1"),
    links={"bitcoin": LinkForm("bitcoin:")},
    namespace="bip122",
    explorers=("mempool.space", "blockstream.info", "blockchair.com"),
    generate=lambda seed, _: bech32.encode_witness("bc", 0, expand(seed, "bitcoin address", 20)),
)
LITECOIN = AddressKind(
    name="ltc",
    chain="Litecoin",
    called="a Litecoin address",
    needs="one that starts with ltc1, L or M",
    shape=rf"^(ltc1q[{_32}]{{38}}|ltc1[pq][{_32}]{{58}}|[LM][{_58}]{{33}})$",
    read=_read_litecoin,
    unpaid=(
        UnpaidForm("a Litecoin test network address", _has_version(0x3A)),
        UnpaidForm("a Litecoin test network address", bech32.has_prefix("tltc")),
    ),
    is_secret=_wallet_key(0xB0),
    marks=("ltc1q", "ltc1p", "ltc1"),
    links={"litecoin": LinkForm("litecoin:")},
    explorers=("litecoinspace.org",),
    generate=lambda seed, _: bech32.encode_witness("ltc", 0, expand(seed, "ltc address", 20)),
)
DOGECOIN = AddressKind(
    name="doge",
    chain="Dogecoin",
    called="a Dogecoin address",
    needs="one that starts with D, A or 9",
    shape=rf"^[DA9][{_58}]{{33}}$",
    read=_reader("D", "A", "9", versions=DOGECOIN_VERSIONS, lengths=_ONE_LENGTH, lost=_BURNED_DOGE),
    unpaid=(UnpaidForm("a Dogecoin test network address", _has_version(0x71)),),
    is_secret=_wallet_key(0x9E),
    links={"dogecoin": LinkForm("dogecoin:"), "doge": LinkForm()},
    explorers=("dogechain.info",),
    generate=_key_hash_of("doge", 0x1E),
)
DASH = AddressKind(
    name="dash",
    chain="Dash",
    called="a Dash address",
    needs="one that starts with X or 7",
    shape=rf"^[X7][{_58}]{{33}}$",
    read=_reader("X", "7", versions=DASH_VERSIONS, lengths=_ONE_LENGTH),
    unpaid=(UnpaidForm("a Dash test network address", _has_version(0x8C)),),
    is_secret=_wallet_key(0xCC),
    links={"dash": LinkForm("dash:")},
    explorers=("insight.dash.org",),
    generate=_key_hash_of("dash", 0x4C),
)
BITCOIN_CASH = AddressKind(
    name="bch",
    chain="Bitcoin Cash",
    called="a Bitcoin Cash address",
    needs="one that starts with q or p",
    shape=rf"^(bitcoincash:)?([qpzr][{_32}]{{41}}|[pr][{_32}]{{60}})$",
    read=read_cash,
    colon_after=("bitcoincash",),
    links={"bitcoincash": LinkForm("bitcoincash:")},
    generate=lambda seed, _: encode_cash(CASH_KEY, expand(seed, "bch address", 20)),
)
TRON = AddressKind(
    name="tron",
    chain="Tron",
    called="a Tron address",
    needs="one that starts with T",
    shape=rf"^T[{_58}]{{33}}$",
    read=_read_tron,
    links={"tron": LinkForm("tron:", contract="token", coin_only=True)},
    namespace="tron",
    explorers=("tronscan.org",),
    contract_shape=rf"^T[{_58}]{{33}}$",
    generate=_key_hash_of("tron", TRON_VERSION),
)
