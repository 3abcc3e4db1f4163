"""What a text is, when it is not what was asked for: another chain's address, or a secret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from swapdesk.chain.addresses import base58, bech32, bitcoin, evm, sol, xmr, xrp
from swapdesk.chain.addresses.verdict import AddressProblem, Reading


@dataclass(frozen=True)
class Family:
    """A kind of chain: how its addresses are read and how a sentence speaks of them."""

    kind: str
    chain: str
    called: str
    needs: str
    read: Callable[[str], Reading]


FAMILIES: dict[str, Family] = {
    family.kind: family
    for family in (
        Family("evm", "Ethereum", "an Ethereum address", "one that starts with 0x", evm.read),
        Family(
            "bitcoin",
            "Bitcoin",
            "a Bitcoin address",
            "one that starts with bc1, 1 or 3",
            bitcoin.read,
        ),
        Family("xmr", "Monero", "a Monero address", "one that starts with 4 or 8", xmr.read),
        Family("xrp", "XRP Ledger", "an XRP address", "one that starts with r", xrp.read),
        # Last: without a checksum it is the weakest evidence of what a text is.
        Family(
            "sol",
            "Solana",
            "a Solana address",
            "one of 32 to 44 letters and digits without 0, O, I and l",
            sol.read,
        ),
    )
}

_BASE58_VERSIONS = {
    0x6F: "a Bitcoin test network address",
    0xC4: "a Bitcoin test network address",
    0x30: "a Litecoin address",
    0x32: "a Litecoin address",
    0x1E: "a Dogecoin address",
    0x41: "a Tron address",
    0x4C: "a Dash address",
}
_BECH32_PREFIXES = {
    "tb": "a Bitcoin test network address",
    "bcrt": "a Bitcoin test network address",
    "ltc": "a Litecoin address",
    "cosmos": "a Cosmos address",
    "addr": "a Cardano address",
    "thor": "a THORChain address",
}
_SECRET = (
    "This looks like a private key or a transaction hash, not an address. "
    "Never paste a private key."
)
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


def recognise(text: str, asked: str) -> str | None:
    """A noun phrase (``a Bitcoin address``) for an address of anything but the asked kind."""
    for family in FAMILIES.values():
        if family.kind == asked:
            continue
        try:
            family.read(text)
        except AddressProblem as problem:
            # Burn and system addresses are addresses all the same.
            if problem.code == "unsafe":
                return family.called
            continue
        return family.called
    return _recognise_foreign(text, asked)


def _recognise_foreign(text: str, asked: str) -> str | None:
    payload = _payload(text, base58.BITCOIN_ALPHABET)
    if payload is not None and len(payload) == 21:
        return _BASE58_VERSIONS.get(payload[0])
    try:
        prefix = bech32.decode(text)[0]
    except bech32.Bech32Error:
        prefix = ""
    if prefix in _BECH32_PREFIXES:
        return _BECH32_PREFIXES[prefix]
    if asked != "xrp" and xrp.is_x_address(text):
        return "an XRP X-address"
    try:
        network = xmr.decode_address(text)[0]
    except base58.Base58Error:
        return None
    return "a Monero test network address" if network in xmr.TEST_NETWORKS else None


def secret_warning(text: str) -> str | None:
    """A sentence when the text has the form of a key: it must not travel any further."""
    digits = text.removeprefix("0x")
    if len(digits) == 64 and set(digits) <= _HEXADECIMAL:
        return _SECRET
    wallet_key = _payload(text, base58.BITCOIN_ALPHABET)
    if wallet_key is not None and len(wallet_key) in (33, 34) and wallet_key[0] == 0x80:
        return _SECRET
    seed = _payload(text, base58.XRP_ALPHABET)
    if seed is not None and ((seed[:1] == b"\x21" and len(seed) == 17) or _is_edwards_seed(seed)):
        return _SECRET
    return None


def _is_edwards_seed(payload: bytes) -> bool:
    return payload[:3] == b"\x01\xe1\x4b" and len(payload) == 19


def _payload(text: str, alphabet: str) -> bytes | None:
    try:
        return base58.decode_check(text, alphabet)
    except base58.Base58Error:
        return None
