"""Bitcoin main network addresses: P2PKH, P2SH, witness version 0 and taproot."""

from __future__ import annotations

from swapdesk.chain.addresses.key_hash import read_key_hash
from swapdesk.chain.addresses.verdict import Reading, burned, wrong_start
from swapdesk.chain.addresses.witness import read_witness

PREFIX = "bc"
VERSIONS = {0x00: "1", 0x05: "3"}

_BURNED = frozenset({"1BitcoinEaterAddressDontSendf59kuE", "1CounterpartyXXXXXXXXXXXXXXXUWLpVr"})


def read(text: str) -> Reading:
    """The address; a bech32 one in lower case. Raises AddressProblem."""
    if text[:3].lower() == "bc1":
        return Reading(read_witness(text, PREFIX))
    if text[:1] not in ("1", "3"):
        raise wrong_start("bc1, 1 or 3")
    address = read_key_hash(text, VERSIONS)
    if address in _BURNED:
        raise burned()
    return Reading(address)
