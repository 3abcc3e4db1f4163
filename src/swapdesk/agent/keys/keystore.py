"""From a pass phrase to the key of a key file, and Keystore v3, the ``crypto`` part of an EVM one.

A hostile file may ask for a gigabyte or for minutes; it gets neither: what the derivation costs is
reckoned before it, whatever its parameters are. Keystore v3 (Web3 Secret Storage) is read and
written here and not by a library, because the derivation has to begin before the library is
imported: both take half a second, and side by side they take it once.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from typing import Any

from Crypto.Cipher import AES
from msgspec import Struct

from swapdesk.chain.addresses.evm import keccak
from swapdesk.secret import SecretBytes

MAX_N = 1 << 18
"""The cost of files that are written here."""
MAX_MEMORY = 256 << 20
"""Bytes that a derivation may use: ``128 * n * r`` of scrypt, what the file with the most of them
written by the wallets in use needs."""
MAX_WORK = 1 << 23
"""``n * r * p`` of scrypt, about two seconds: four times that of such a file."""
MAX_ITERATIONS = 2_000_000
"""Of pbkdf2, about two seconds."""
KEY_BYTES = 32
_SALT = re.compile(r"(0x)?([0-9a-fA-F]{2}){8,64}", re.ASCII)


class KeyFileRefused(ValueError):
    """A key file that is not used. The words never quote its content."""


class Scrypt(Struct, frozen=True):
    """``n`` is the cost: 2^18 takes half a second and 256 MiB."""

    salt: bytes
    n: int = MAX_N
    r: int = 8
    p: int = 1

    @classmethod
    def fresh(cls, n: int) -> Scrypt:
        return cls(os.urandom(32), n)

    def derive(self, passphrase: SecretBytes) -> SecretBytes:
        if self.n >= 1 << 16 * self.r:
            return self._derive_narrow(passphrase)
        # OpenSSL wants the whole of its memory allowed: 128 * r * (n + p + 2), and some more.
        memory = 128 * self.r * (self.n + self.p + 2) + (1 << 20)
        return SecretBytes(
            hashlib.scrypt(
                passphrase.reveal(),
                salt=self.salt,
                n=self.n,
                r=self.r,
                p=self.p,
                maxmem=memory,
                dklen=KEY_BYTES,
            )
        )

    def _derive_narrow(self, passphrase: SecretBytes) -> SecretBytes:
        """With r below what RFC 7914 lets go with n, as in the example of Keystore v3 itself:
        OpenSSL refuses it."""
        from Crypto.Protocol.KDF import scrypt

        held = bytes(passphrase.reveal())
        # The stub of the library knows texts alone.
        key: Any = scrypt(held, self.salt, KEY_BYTES, self.n, self.r, self.p)  # type: ignore[arg-type]
        return SecretBytes(key)

    def parameters(self) -> dict[str, Any]:
        return {
            "dklen": KEY_BYTES,
            "n": self.n,
            "p": self.p,
            "r": self.r,
            "salt": self.salt.hex(),
        }


class Pbkdf2(Struct, frozen=True):
    """HMAC-SHA256, ``iterations`` times; only read, never written."""

    salt: bytes
    iterations: int

    def derive(self, passphrase: SecretBytes) -> SecretBytes:
        return SecretBytes(
            hashlib.pbkdf2_hmac(
                "sha256", passphrase.reveal(), self.salt, self.iterations, KEY_BYTES
            )
        )


Derivation = Scrypt | Pbkdf2


def read_derivation(name: object, parameters: object) -> Derivation:
    """The derivation a file asks for. Raises KeyFileRefused outside the bounds."""
    if not isinstance(parameters, dict):
        raise KeyFileRefused("the key file says nothing of its key derivation")
    salt = parameters.get("salt")
    if type(salt) is not str or _SALT.fullmatch(salt) is None:
        raise KeyFileRefused("the salt of the key file cannot be read")
    # Further bytes are used for nothing, and the first ones are the same without them.
    if _number(parameters, "dklen") < KEY_BYTES:
        raise KeyFileRefused(f"the key file derives fewer than {KEY_BYTES} bytes")
    raw = bytes.fromhex(salt.removeprefix("0x"))
    if name == "scrypt":
        n, r, p = (_number(parameters, one) for one in ("n", "r", "p"))
        if n < 2 or n & (n - 1):
            raise KeyFileRefused("scrypt n of the key file is no power of two")
        if r < 1 or p < 1:
            raise KeyFileRefused("scrypt r and p of the key file are not both 1 or more")
        if 128 * n * r > MAX_MEMORY or 128 * r * p > MAX_MEMORY:
            most = f"{MAX_MEMORY >> 20} MiB"
            raise KeyFileRefused(f"opening the key file takes more memory than {most} (scrypt)")
        if n * r * p > MAX_WORK:
            raise KeyFileRefused("opening the key file takes longer than a few seconds (scrypt)")
        return Scrypt(raw, n, r, p)
    if name == "pbkdf2":
        count = _number(parameters, "c")
        if parameters.get("prf") != "hmac-sha256" or count < 1:
            raise KeyFileRefused("pbkdf2 of the key file is not hmac-sha256")
        if count > MAX_ITERATIONS:
            raise KeyFileRefused("opening the key file takes longer than a few seconds (pbkdf2)")
        return Pbkdf2(raw, count)
    raise KeyFileRefused("the key file uses an unknown key derivation")


def _number(parameters: dict[str, Any], name: str) -> int:
    number = parameters.get(name)
    if type(number) is not int:
        raise KeyFileRefused(f"{name} of the key file is no whole number")
    return number


_HEX = re.compile(r"(0x)?[0-9a-fA-F]+", re.ASCII)


class WrongPassword(Exception):
    """The file does not open with this pass phrase."""


def encrypt(secret: SecretBytes, key: SecretBytes, scrypt: Scrypt) -> dict[str, Any]:
    """``crypto`` of a file that holds ``secret`` under the derived ``key``."""
    held = key.reveal()
    start = os.urandom(16)
    ciphertext = _cipher(held[:16], start).encrypt(secret.reveal())
    return {
        "cipher": "aes-128-ctr",
        "cipherparams": {"iv": start.hex()},
        "ciphertext": ciphertext.hex(),
        "kdf": "scrypt",
        "kdfparams": scrypt.parameters(),
        "mac": keccak(bytes(held[16:32]) + ciphertext).hex(),
    }


class Keystore:
    """A file's ``crypto``, checked and not yet opened. Raises KeyFileRefused."""

    def __init__(self, crypto: object) -> None:
        if not isinstance(crypto, dict):
            raise KeyFileRefused("the key file has no encrypted part")
        parameters = crypto.get("cipherparams")
        if crypto.get("cipher") != "aes-128-ctr" or not isinstance(parameters, dict):
            raise KeyFileRefused("the key file is not encrypted with aes-128-ctr")
        self.derivation: Derivation = read_derivation(crypto.get("kdf"), crypto.get("kdfparams"))
        self._start = fixed_bytes(parameters.get("iv"), 16)
        self._ciphertext = fixed_bytes(crypto.get("ciphertext"), 32)
        self._mac = fixed_bytes(crypto.get("mac"), 32)

    def open(self, key: SecretBytes) -> SecretBytes:
        """The 32 bytes inside. Raises WrongPassword."""
        held = key.reveal()
        mac = keccak(bytes(held[16:32]) + self._ciphertext)
        if not hmac.compare_digest(mac, self._mac):
            raise WrongPassword
        return SecretBytes(_cipher(held[:16], self._start).decrypt(self._ciphertext))


def _cipher(key: bytearray, start: bytes) -> Any:
    return AES.new(bytes(key), AES.MODE_CTR, nonce=b"", initial_value=start)


def fixed_bytes(text: object, length: int) -> bytes:
    """Exactly ``length`` bytes of hexadecimal digits, with or without 0x."""
    if type(text) is not str or _HEX.fullmatch(text) is None:
        raise KeyFileRefused("the encrypted part of the key file cannot be read")
    digits = text.removeprefix("0x")
    if len(digits) != 2 * length:
        raise KeyFileRefused("the encrypted part of the key file has another length")
    return bytes.fromhex(digits)
