"""Addresses of Ethereum and the chains that share its form, with the checksum of EIP-55."""

from __future__ import annotations

from functools import cache, lru_cache
from types import ModuleType

from swapdesk.chain.addresses.kind import (
    HEXADECIMAL,
    NO_CHECKSUM,
    AddressKind,
    AddressProblem,
    ParsedAddress,
    PaymentLink,
    PaymentRequest,
    behind_0x,
    expand,
    link_query,
    marked_hash,
    require_alphabet,
    require_length,
    require_start,
    system_account,
    wrong_checksum,
)

LENGTH = 42

SHAPE = r"^(0x)[0-9A-Fa-f]{40}$"
_LAST_RESERVED = 0x1FF
"""The highest number that is refused as a reserved address. Precompiled contracts use numbers up to
0x100."""
_LOST = {
    "0x000000000000000000000000000000000000dead": "a burn address. What is sent to it is lost",
    "0xdead000000000000000042069420694206942069": "a burn address. What is sent to it is lost",
    "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee": (
        "the placeholder for a chain's own coin. What is sent to it is lost"
    ),
}


@cache
def _algorithm() -> ModuleType:
    # Not at the start: the desk draws its first frame without it.
    from Crypto.Hash import keccak as algorithm

    return algorithm


def keccak(payload: bytes) -> bytes:
    """Returns the Keccak-256 hash with the padding that Ethereum and Monero use, which differs from
    SHA3-256."""
    return bytes(_algorithm().new(digest_bits=256, data=payload).digest())


@lru_cache(maxsize=4_096)
def checksummed(address: str) -> str:
    """Returns an address, ``0x`` and 40 hexadecimal digits of any case, in its EIP-55 spelling."""
    digits = address[2:].lower()
    nibbles = keccak(digits.encode("ascii")).hex()
    spelled = (
        digit.upper() if int(nibble, 16) >= 8 else digit
        for digit, nibble in zip(digits, nibbles, strict=False)
    )
    return "0x" + "".join(spelled)


def read(text: str) -> ParsedAddress:
    """Returns the checked address in its EIP-55 spelling. Raises AddressProblem, also for reserved
    and burn addresses."""
    require_start(text, "0x")
    require_alphabet(text, HEXADECIMAL, "hexadecimal", 2)
    require_length(len(text), (LENGTH,))
    _refuse_lost(text.lower())
    digits = text[2:]
    normalized = checksummed(text)
    if digits in (digits.lower(), digits.upper()) and text != normalized:
        return ParsedAddress(
            normalized, proof="no checksum in this spelling", warnings=(NO_CHECKSUM,)
        )
    if digits.isdigit():
        return ParsedAddress(
            normalized, proof="no checksum in digits alone", warnings=(NO_CHECKSUM,)
        )
    if text != normalized:
        raise wrong_checksum()
    return ParsedAddress(normalized)


def _refuse_lost(address: str) -> None:
    number = int(address, 16)
    if number == 0:
        raise AddressProblem(
            "unsafe", "This is the zero address. What is sent to it is lost.", whole=True
        )
    if number <= _LAST_RESERVED:
        raise system_account()
    if address in _LOST:
        raise AddressProblem("unsafe", f"This is {_LOST[address]}.", whole=True)


def contract_account(text: str) -> str:
    """Returns one text for all spellings of a contract's address. For a Sui coin type
    (``package::module::name``) this is the package."""
    return text.lower().partition("::")[0] if text.startswith("0x") else text


def _link(payment: PaymentRequest) -> PaymentLink | None:
    """Returns an ERC-681 link; None without a chain id, because a wallet would then pay on whatever
    chain it is set to."""
    chain_id = payment.chain_id
    if chain_id is None:
        return None
    if payment.contract is None:
        return PaymentLink(f"ethereum:{payment.address}@{chain_id}?value={payment.units}")
    call = link_query(("address", payment.address), ("uint256", str(payment.units)))
    return PaymentLink(f"ethereum:{payment.contract}@{chain_id}/transfer?{call}")


EVM = AddressKind(
    name="evm",
    chain="Ethereum",
    called="an Ethereum address",
    needs="one that starts with 0x",
    shape=SHAPE,
    read=read,
    marks=("0x",),
    write_link=_link,
    explorers=(
        *("etherscan.io", "optimistic.etherscan.io", "basescan.org", "arbiscan.io"),
        *("polygonscan.com", "bscscan.com", "snowtrace.io", "lineascan.build", "gnosisscan.io"),
        *("scrollscan.com", "blastscan.io", "era.zksync.network", "mantlescan.xyz"),
        *("sonicscan.org", "celoscan.io"),
    ),
    contract_shape=SHAPE,
    contract_account=contract_account,
    generate=lambda seed, _: checksummed("0x" + expand(seed, "evm address", 20).hex()),
    hash_called="a transaction hash of an EVM chain",
    read_hash=marked_hash,
    spell_hash=behind_0x,
)
