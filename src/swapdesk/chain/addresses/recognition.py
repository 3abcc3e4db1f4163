"""What a text is, when it is not what was asked for: another chain's address, or a secret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from swapdesk.chain.addresses import (
    ada,
    algo,
    base58,
    bech32,
    bitcoin,
    cashaddr,
    cosmos,
    dash,
    doge,
    dot,
    evm,
    ltc,
    sol,
    sui,
    ton,
    tron,
    xlm,
    xmr,
    xrp,
)
from swapdesk.chain.addresses.verdict import AddressProblem, Reading, with_article


@dataclass(frozen=True)
class Family:
    """A kind of chain: how its addresses are read and how a sentence speaks of them.

    ``colon_after`` are beginnings, in lower case, after which the form itself has a colon.
    ``read_unlisted`` reads for a chain of the kind whose own prefix is not known here.
    Without a checksum, a text that has another chain's is that chain's address: some of
    Osmosis and of Litecoin are 32 bytes of base58 too.
    """

    kind: str
    chain: str
    called: str
    needs: str
    read: Callable[[str], Reading]
    colon_after: tuple[str, ...] = ()
    checksummed: bool = True
    read_unlisted: Callable[[str], Reading] | None = None


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
        Family(
            "ltc", "Litecoin", "a Litecoin address", "one that starts with ltc1, L or M", ltc.read
        ),
        Family(
            "doge", "Dogecoin", "a Dogecoin address", "one that starts with D, A or 9", doge.read
        ),
        Family(
            "bch",
            "Bitcoin Cash",
            "a Bitcoin Cash address",
            "one that starts with q or p",
            cashaddr.read,
            ("bitcoincash",),
        ),
        Family("dash", "Dash", "a Dash address", "one that starts with X or 7", dash.read),
        Family("tron", "Tron", "a Tron address", "one that starts with T", tron.read),
        Family("xmr", "Monero", "a Monero address", "one that starts with 4 or 8", xmr.read),
        Family("xrp", "XRP Ledger", "an XRP address", "one that starts with r", xrp.read),
        Family("xlm", "Stellar", "a Stellar address", "one that starts with G", xlm.read),
        Family(
            "ton", "TON", "a TON address", "one that starts with UQ or EQ", ton.read, ("0", "-1")
        ),
        Family("ada", "Cardano", "a Cardano address", "one that starts with addr1", ada.read),
        Family(
            "cosmos",
            "Cosmos Hub",
            "a Cosmos address",
            "one that starts with cosmos1",
            cosmos.read,
            read_unlisted=cosmos.read_unlisted,
        ),
        Family(
            "dot",
            "Polkadot",
            "a Polkadot address",
            "one that starts with 1",
            dot.read,
            read_unlisted=dot.read_unlisted,
        ),
        Family(
            "algo",
            "Algorand",
            "an Algorand address",
            "one of 58 capital letters and digits",
            algo.read,
        ),
        # Last: without a checksum they are the weakest evidence of what a text is.
        Family(
            "sui",
            "Sui",
            "a Sui address",
            "one that starts with 0x and has 66 characters",
            sui.read,
            checksummed=False,
        ),
        Family(
            "sol",
            "Solana",
            "a Solana address",
            "one of 32 to 44 letters and digits without 0, O, I and l",
            sol.read,
            checksummed=False,
        ),
    )
}

_BASE58_VERSIONS = {
    0x6F: "a Bitcoin test network address",
    0xC4: "a Bitcoin test network address",
    0x3A: "a Litecoin test network address",
    0x71: "a Dogecoin test network address",
    0x8C: "a Dash test network address",
}
_BECH32_PREFIXES = {
    "tb": "a Bitcoin test network address",
    "bcrt": "a Bitcoin test network address",
    "tltc": "a Litecoin test network address",
    "stake": "a Cardano stake address",
    **dict.fromkeys(sorted(ada.TEST_PREFIXES), "a Cardano test network address"),
}
_BECH32_LIMIT = 128
_SECRET = (
    "This looks like a private key or a transaction hash, not an address. "
    "Never paste a private key."
)
_SECRET_OR_SUI = (
    "This is a private key, a transaction hash or a Sui address. Never paste a private key."
)
_KEY_VERSIONS = frozenset({0x80, 0xB0, 0x9E, 0xCC})
"""Wallet keys of Bitcoin, Litecoin, Dogecoin and Dash."""
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


def recognise(text: str, asked: str, *, checksummed: bool = False) -> str | None:
    """A noun phrase (``a Bitcoin address``) for an address of anything but the asked kind.

    ``checksummed`` asks for the proof of a checksum.
    """
    for family in FAMILIES.values():
        if family.kind == asked or (checksummed and not family.checksummed):
            continue
        try:
            reading = family.read(text)
        except AddressProblem as problem:
            # Burn and system addresses are addresses all the same.
            if problem.code == "unsafe" and problem.whole:
                return family.called
            continue
        return called(family, reading)
    return _recognise_foreign(text, asked)


def called(family: Family, reading: Reading) -> str:
    """``a Bitcoin address``; by the network where the kind has several: ``an Osmosis address``."""
    if reading.network is None or reading.network == family.chain:
        return family.called
    return f"{with_article(reading.network)} address"


def _recognise_foreign(text: str, asked: str) -> str | None:
    payload = _payload(text, base58.BITCOIN_ALPHABET)
    if payload is not None and len(payload) == 21:
        return _BASE58_VERSIONS.get(payload[0])
    try:
        prefix = bech32.decode(text, _BECH32_LIMIT)[0]
    except bech32.Bech32Error:
        prefix = ""
    if prefix in _BECH32_PREFIXES and (asked, prefix) != ("ada", ada.STAKE_PREFIX):
        return _BECH32_PREFIXES[prefix]
    if asked != "xrp" and xrp.is_x_address(text):
        return "an XRP X-address"
    if asked != "xlm" and xlm.muxed_parts(text) is not None:
        return "a muxed Stellar address"
    if asked != "ton" and ton.is_test_only(text):
        return "a TON test network address"
    try:
        network = xmr.decode_address(text)[0]
    except base58.Base58Error:
        return None
    return "a Monero test network address" if network in xmr.TEST_NETWORKS else None


def secret_warning(text: str) -> str | None:
    """A sentence when the text has the form of a key: it must not travel any further."""
    digits = text.removeprefix("0x")
    if len(digits) == 64 and set(digits) <= _HEXADECIMAL:
        return _SECRET if digits == text else _SECRET_OR_SUI
    if xlm.is_seed(text):
        return _SECRET
    wallet_key = _payload(text, base58.BITCOIN_ALPHABET)
    if wallet_key is not None and len(wallet_key) in (33, 34) and wallet_key[0] in _KEY_VERSIONS:
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
