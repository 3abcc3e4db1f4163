"""Deposit addresses and transaction hashes out of a seed, for simulated venues and chains.

Everything here has the right form and checksum and belongs to nobody: no private key exists.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable

from swapdesk.chain.addresses import (
    ada,
    algo,
    base58,
    bech32,
    bitcoin,
    cashaddr,
    cosmos,
    dot,
    evm,
    ltc,
    ton,
    tron,
    xlm,
    xmr,
    xrp,
)
from swapdesk.chain.addresses.ed25519 import is_point
from swapdesk.chain.addresses.key_hash import encode_key_hash
from swapdesk.chain.addresses.networks import COSMOS, DOT, Network, network_of

SEED_BYTES = 32


def derive_address(kind: str, seed: bytes, chain_name: str | None = None) -> str:
    """The address of a 32-byte seed on a kind of chain: the same seed, the same address.

    ``chain_name`` chooses the prefix where the chains of a kind differ (Cosmos, Polkadot).
    Raises ValueError for an unknown kind or a seed of another length.
    """
    _require(_ADDRESSES, kind, seed)
    if kind in _NETWORKS:
        make, main = _NETWORKS[kind]
        return make(seed, network_of(kind, chain_name) or main)
    return _ADDRESSES[kind](seed)


def derive_transaction_hash(kind: str, seed: bytes) -> str:
    """A transaction hash in the shape of the chain. Raises ValueError as ``derive_address``."""
    _require(_HASHES, kind, seed)
    return _HASHES[kind](seed)


def _expand(seed: bytes, purpose: str, size: int) -> bytes:
    return hashlib.shake_256(purpose.encode("ascii") + b"\0" + seed).digest(size)


def _point(seed: bytes, purpose: str) -> bytes:
    """Thirty-two bytes that are a point of the curve; about every second try is one."""
    attempt = 0
    while True:
        key = _expand(seed, f"{purpose} {attempt}", 32)
        if is_point(key):
            return key
        attempt += 1


def _evm(seed: bytes) -> str:
    return evm.checksummed("0x" + _expand(seed, "evm address", 20).hex())


def _sol(seed: bytes) -> str:
    return base58.encode(_point(seed, "sol address"))


def _bitcoin(seed: bytes) -> str:
    return bech32.encode_witness(bitcoin.PREFIX, 0, _expand(seed, "bitcoin address", 20))


def _xmr(seed: bytes) -> str:
    return xmr.encode_address(xmr.STANDARD, _point(seed, "xmr spend") + _point(seed, "xmr view"))


def _xrp(seed: bytes) -> str:
    payload = xrp.ACCOUNT_VERSION + _expand(seed, "xrp address", 20)
    return base58.encode_check(payload, base58.XRP_ALPHABET)


def _ltc(seed: bytes) -> str:
    return bech32.encode_witness(ltc.PREFIX, 0, _expand(seed, "ltc address", 20))


def _key_hash(kind: str, version: int) -> Callable[[bytes], str]:
    return lambda seed: encode_key_hash(version, _expand(seed, f"{kind} address", 20))


def _bch(seed: bytes) -> str:
    return cashaddr.encode(cashaddr.KEY, _expand(seed, "bch address", 20))


def _xlm(seed: bytes) -> str:
    return xlm.encode(xlm.ACCOUNT, _point(seed, "xlm address"))


def _ton(seed: bytes) -> str:
    return ton.encode(_expand(seed, "ton address", 32))


def _sui(seed: bytes) -> str:
    return "0x" + _expand(seed, "sui address", 32).hex()


def _ada(seed: bytes) -> str:
    return ada.encode(ada.ENTERPRISE_KEY, _expand(seed, "ada address", 28))


def _algo(seed: bytes) -> str:
    return algo.encode(_point(seed, "algo address"))


def _cosmos(seed: bytes, network: Network) -> str:
    return cosmos.encode(str(network.mark), _expand(seed, "cosmos address", 20))


def _dot(seed: bytes, network: Network) -> str:
    return dot.encode(int(network.mark), _expand(seed, "dot address", 32))


_NETWORKS: dict[str, tuple[Callable[[bytes, Network], str], Network]] = {
    "cosmos": (_cosmos, COSMOS["cosmos"]),
    "dot": (_dot, DOT[0]),
}

_ADDRESSES: dict[str, Callable[[bytes], str]] = {
    "evm": _evm,
    "sol": _sol,
    "bitcoin": _bitcoin,
    "ltc": _ltc,
    "doge": _key_hash("doge", 0x1E),
    "dash": _key_hash("dash", 0x4C),
    "tron": _key_hash("tron", tron.VERSION),
    "bch": _bch,
    "xmr": _xmr,
    "xrp": _xrp,
    "xlm": _xlm,
    "ton": _ton,
    "sui": _sui,
    "ada": _ada,
    "algo": _algo,
}


def _base32(payload: bytes) -> str:
    return base64.b32encode(payload).decode("ascii").rstrip("=")


def _plain_hash(kind: str) -> Callable[[bytes], str]:
    return lambda seed: _expand(seed, f"{kind} transaction", 32).hex()


_HASHES: dict[str, Callable[[bytes], str]] = {
    "evm": lambda seed: "0x" + _expand(seed, "evm transaction", 32).hex(),
    "dot": lambda seed: "0x" + _expand(seed, "dot transaction", 32).hex(),
    "sol": lambda seed: base58.encode(_expand(seed, "sol transaction", 64)),
    "sui": lambda seed: base58.encode(_expand(seed, "sui transaction", 32)),
    "xrp": lambda seed: _expand(seed, "xrp transaction", 32).hex().upper(),
    "cosmos": lambda seed: _expand(seed, "cosmos transaction", 32).hex().upper(),
    "algo": lambda seed: _base32(_expand(seed, "algo transaction", 32)),
    **{
        kind: _plain_hash(kind)
        for kind in (
            "bitcoin",
            "ltc",
            "doge",
            "dash",
            "bch",
            "tron",
            "xmr",
            "xlm",
            "ton",
            "ada",
        )
    },
}


def _require(table: dict[str, Callable[[bytes], str]], kind: str, seed: bytes) -> None:
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    if kind not in table and kind not in _NETWORKS:
        raise ValueError(f"no addresses of kind {kind!r} are derived here")
