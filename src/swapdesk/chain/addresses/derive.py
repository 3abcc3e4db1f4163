"""Deposit addresses and transaction hashes out of a seed, for simulated venues and chains.

Everything here has the right form and checksum and belongs to nobody: no private key exists.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from swapdesk.chain.addresses import base58, bech32, bitcoin, evm, xmr, xrp
from swapdesk.chain.addresses.ed25519 import is_point

SEED_BYTES = 32


def derive_address(kind: str, seed: bytes) -> str:
    """The address of a 32-byte seed on a kind of chain: the same seed, the same address.

    Raises ValueError for an unknown kind or a seed of another length.
    """
    return _maker(_ADDRESSES, kind, seed)(seed)


def derive_transaction_hash(kind: str, seed: bytes) -> str:
    """A transaction hash in the shape of the chain. Raises ValueError as ``derive_address``."""
    return _maker(_HASHES, kind, seed)(seed)


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


_ADDRESSES: dict[str, Callable[[bytes], str]] = {
    "evm": _evm,
    "sol": _sol,
    "bitcoin": _bitcoin,
    "xmr": _xmr,
    "xrp": _xrp,
}

_HASHES: dict[str, Callable[[bytes], str]] = {
    "evm": lambda seed: "0x" + _expand(seed, "evm transaction", 32).hex(),
    "sol": lambda seed: base58.encode(_expand(seed, "sol transaction", 64)),
    "bitcoin": lambda seed: _expand(seed, "bitcoin transaction", 32).hex(),
    "xmr": lambda seed: _expand(seed, "xmr transaction", 32).hex(),
    "xrp": lambda seed: _expand(seed, "xrp transaction", 32).hex().upper(),
}


def _maker(
    table: dict[str, Callable[[bytes], str]], kind: str, seed: bytes
) -> Callable[[bytes], str]:
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    if kind not in table:
        raise ValueError(f"no addresses of kind {kind!r} are derived here")
    return table[kind]
