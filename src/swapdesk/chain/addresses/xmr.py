"""Monero main network addresses: standard, integrated and subaddresses, in Monero's own base58 with
a Keccak-256 checksum."""

from __future__ import annotations

from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.ed25519 import generated_point, is_point
from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.addresses.kind import (
    AddressKind,
    AddressProblem,
    LinkForm,
    ParsedAddress,
    UnpaidForm,
    require_alphabet,
    require_length,
    require_start,
    wrong_checksum,
)

STANDARD, INTEGRATED, SUBADDRESS = 18, 19, 42
TEST_NETWORKS = frozenset({53, 54, 63, 24, 25, 36})

_NOUNS = {STANDARD: "address", INTEGRATED: "integrated address", SUBADDRESS: "subaddress"}
_LENGTHS = {95: 69, 106: 77}
_BLOCK_CHARACTERS = (0, 2, 3, 5, 6, 7, 9, 10, 11)
"""Number of base58 characters that encode a block of 0 to 8 bytes; the index is the number of
bytes."""


def encode_blocks(payload: bytes) -> str:
    parts = []
    for start in range(0, len(payload), 8):
        block = payload[start : start + 8]
        width = _BLOCK_CHARACTERS[len(block)]
        # A zero byte in front is a digit of its own there, and none here.
        parts.append(base58.encode(block.lstrip(b"\0")).rjust(width, base58.BITCOIN_ALPHABET[0]))
    return "".join(parts)


def decode_blocks(text: str) -> bytes:
    """Returns the bytes of a text in Monero's base58. Raises Base58Error if a block has an
    impossible length or a value that is too large."""
    parts = []
    for start in range(0, len(text), 11):
        block = text[start : start + 11]
        if len(block) not in _BLOCK_CHARACTERS:
            raise base58.Base58Error("a block of impossible length")
        size = _BLOCK_CHARACTERS.index(len(block))
        number = base58.as_number(block)
        if number >> 8 * size:
            raise base58.Base58Error("a block that overflows")
        parts.append(number.to_bytes(size, "big"))
    return b"".join(parts)


def encode_address(network: int, body: bytes) -> str:
    """Returns the address of a network byte and a body: two public keys and, if integrated, a
    payment id."""
    payload = bytes([network]) + body
    return encode_blocks(payload + keccak(payload)[:4])


def decode_address(text: str) -> tuple[int, bytes]:
    """Returns the network byte and the body of an address of any Monero network. Raises Base58Error
    for other texts."""
    whole = decode_blocks(text)
    if len(whole) not in _LENGTHS.values() or keccak(whole[:-4])[:4] != whole[-4:]:
        raise base58.Base58Error("the checksum does not hold")
    return whole[0], whole[1:-4]


def read(text: str) -> ParsedAddress:
    """Returns the checked address. Its ``noun`` names the form of address, such as subaddress.
    Raises AddressProblem for any other text."""
    require_start(text, "4", "8")
    require_alphabet(text, base58.BITCOIN_ALPHABET, "base58")
    require_length(len(text), _LENGTHS)
    try:
        network, body = decode_address(text)
    except base58.Base58Error:
        raise wrong_checksum() from None
    if network not in _NOUNS or (network == INTEGRATED) != (len(body) == 72):
        raise AddressProblem("prefix", "its first characters are not of the main network", 1)
    if not (is_point(body[:32]) and is_point(body[32:64])):
        raise AddressProblem(
            "unsafe", "The keys in this address are not keys. Nobody can spend from it.", whole=True
        )
    return ParsedAddress(text, noun=_NOUNS[network])


def _is_of_test_network(text: str) -> bool:
    try:
        return decode_address(text)[0] in TEST_NETWORKS
    except base58.Base58Error:
        return False


def _generate(seed: bytes, _mark: str | int) -> str:
    keys = generated_point(seed, "xmr spend") + generated_point(seed, "xmr view")
    return encode_address(STANDARD, keys)


MONERO = AddressKind(
    name="xmr",
    chain="Monero",
    called="a Monero address",
    needs="one that starts with 4 or 8",
    shape=rf"^[48][{base58.CLASS}]{{94}}([{base58.CLASS}]{{11}})?$",
    read=read,
    unpaid=(UnpaidForm("a Monero test network address", _is_of_test_network),),
    links={"monero": LinkForm("monero:", "tx_amount")},
    explorers=("xmrchain.net",),
    generate=_generate,
)
