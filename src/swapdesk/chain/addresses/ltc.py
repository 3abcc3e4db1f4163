"""Litecoin main network addresses: P2PKH, P2SH, witness version 0 and taproot.

The old P2SH form that starts with 3 is Bitcoin's to the last character, and what was meant
cannot be told: it is refused. The same script also has an address that starts with M.
"""

from __future__ import annotations

from swapdesk.chain.addresses import bitcoin
from swapdesk.chain.addresses.key_hash import read_key_hash
from swapdesk.chain.addresses.verdict import AddressProblem, Reading, wrong_start
from swapdesk.chain.addresses.witness import read_witness

PREFIX = "ltc"
VERSIONS = {0x30: "L", 0x32: "M"}

_MWEB = "ltcmweb1"
_OLD_SCRIPT = (
    "An address that starts with 3 may be a Bitcoin or an old Litecoin one. "
    "Give the Litecoin form that starts with M or ltc1."
)


def read(text: str) -> Reading:
    """The address; a bech32 one in lower case. Raises AddressProblem."""
    if text[: len(_MWEB)].lower() == _MWEB:
        raise AddressProblem(
            "prefix",
            "This is a private MWEB address, which no exchange pays to. "
            "Give one that starts with ltc1, L or M.",
            1,
            whole=True,
        )
    if text[:4].lower() == "ltc1":
        return Reading(read_witness(text, PREFIX))
    if text[:1] == "3":
        _refuse_old_script(text)
    if text[:1] not in ("L", "M"):
        raise wrong_start("ltc1, L or M")
    return Reading(read_key_hash(text, VERSIONS))


def _refuse_old_script(text: str) -> None:
    read_key_hash(text, bitcoin.VERSIONS)
    raise AddressProblem("other_chain", _OLD_SCRIPT, 1, whole=True)
