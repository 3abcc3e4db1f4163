"""Sui addresses: 32 bytes in hexadecimal, without any checksum."""

from __future__ import annotations

from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.evm import contract_account
from swapdesk.chain.addresses.kind import (
    HEXADECIMAL,
    AddressKind,
    AddressProblem,
    LinkForm,
    ParsedAddress,
    Proof,
    burned,
    expand,
    require_alphabet,
    require_length,
    require_start,
    system_account,
)

LENGTH = 66
NO_CHECKSUM = (
    "A Sui address carries no checksum, so a typing error cannot be seen. Compare every group."
)

_LAST_RESERVED = 0xFFFF
"""The highest number that is refused as a reserved address; the system uses short numbers such as
0x5 and 0x403."""


def read(text: str) -> ParsedAddress:
    """Returns the checked address in lower case. Raises AddressProblem, also for fewer than 64
    digits."""
    require_start(text, "0x")
    if "::" in text:
        raise AddressProblem("unsafe", "it is the type of a coin, not an account")
    require_alphabet(text, HEXADECIMAL, "hexadecimal", 2)
    require_length(len(text), (LENGTH,))
    number = int(text, 16)
    if number == 0:
        raise burned()
    if number <= _LAST_RESERVED:
        raise system_account()
    return ParsedAddress(text.lower(), proof="this chain has no checksum", warnings=(NO_CHECKSUM,))


SUI = AddressKind(
    name="sui",
    chain="Sui",
    called="a Sui address",
    needs="one that starts with 0x and has 66 characters",
    proof=Proof.SHAPE,
    shape=r"^0x[0-9a-fA-F]{64}$",
    read=read,
    marks=("0x",),
    links={"sui": LinkForm()},
    namespace="sui",
    explorers=("suiscan.xyz", "suivision.xyz"),
    contract_shape=r"^0x[0-9a-fA-F]{64}(::[A-Za-z0-9_]+::[A-Za-z0-9_]+)?$",
    contract_account=contract_account,
    generate=lambda seed, _: "0x" + expand(seed, "sui address", 32).hex(),
    generate_contract=lambda address, _: f"{address}::coin::COIN",
    read_hash=base58.reader(32),
    spell_hash=base58.spelled,
)
