"""Keystore v3 (Web3 Secret Storage): the ``crypto`` part of an EVM key file.

Read and written here and not by a library, because the derivation has to begin before the
library is imported: both take half a second, and side by side they take it once.
"""

from __future__ import annotations

import hmac
import os
import re
from typing import Any

from Crypto.Cipher import AES

from swapdesk.agent.keys.derivation import (
    Derivation,
    KeyFileRefused,
    Scrypt,
    read_derivation,
)
from swapdesk.chain.addresses.evm import keccak
from swapdesk.secret import SecretBytes

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
