"""Keys in the open, for the moments in which they are: made, read from elsewhere, signing.

The chain libraries are imported on use: they take longer than everything before the first
pass phrase together.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass

from swapdesk.agent.keys.key_file import read_foreign_keystore
from swapdesk.chain.addresses.base58 import encode as base58
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.secret import SecretBytes
from swapdesk.wallet.accounts import Kind, Origin
from swapdesk.wire.encoding.codec import refuse_deep

_PATH = re.compile(r"m(/[0-9]{1,10}'?){1,10}", re.ASCII)
_SOLANA_PATH = re.compile(r"m/44'/501'(/[0-9]{1,10}'){0,2}", re.ASCII)
_RAW = re.compile(rb"(0x)?([0-9a-fA-F]{64})")
_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_WORDS = (12, 15, 18, 21, 24)

SUGGESTED: dict[Kind, tuple[str | None, ...]] = {
    Kind.EVM: tuple(f"m/44'/60'/0'/0/{i}" for i in range(5)),
    Kind.SOLANA: ("m/44'/501'/0'/0'", "m/44'/501'/0'", "m/44'/501'", None),
}
"""Paths that wallets use, each to another address of one phrase. None is what solana-keygen
does without a path."""


class KeyRefused(ValueError):
    """No key can be made of this. The words never quote it."""


@dataclass(frozen=True)
class KeyMaterial:
    """A key that is not stored yet: 32 bytes of it (EVM) or of its seed (Solana)."""

    kind: Kind
    address: str
    secret: SecretBytes
    origin: Origin
    path: str | None = None


def address_of(kind: Kind, secret: SecretBytes) -> str:
    """The address a key signs for. Raises KeyRefused for 32 bytes that are no key."""
    if len(secret) != 32:
        raise KeyRefused("a key has 32 bytes")
    raw = bytes(secret.reveal())
    if kind is Kind.SOLANA:
        from solders.keypair import Keypair

        return base58(bytes(Keypair.from_seed(raw).pubkey()))
    if not 0 < int.from_bytes(raw, "big") < _ORDER:
        raise KeyRefused("these 32 bytes are no key of an EVM chain")
    from coincurve import PublicKey

    public = PublicKey.from_valid_secret(raw).format(compressed=False)
    return checksummed(f"0x{keccak(public[1:])[12:].hex()}")


def fresh(kind: Kind) -> KeyMaterial:
    """A new key from the system's randomness."""
    while True:
        secret = SecretBytes(secrets.token_bytes(32))
        try:
            return KeyMaterial(kind, address_of(kind, secret), secret, Origin.CREATED)
        except KeyRefused:
            continue


def from_mnemonic(words: SecretBytes, kind: Kind, path: str | None) -> KeyMaterial:
    """The key at ``path`` below a BIP-39 phrase without a pass phrase of its own."""
    if path is None and kind is Kind.EVM:
        raise KeyRefused("an EVM key needs its path")
    if path is not None and not _is_path(kind, path):
        raise KeyRefused("the path is not of the form m/44'/60'/0'/0/0")
    phrase = _phrase(words)
    secret = SecretBytes(_derived(phrase, kind, path))
    return KeyMaterial(kind, address_of(kind, secret), secret, Origin.MNEMONIC, path)


def _is_path(kind: Kind, path: str) -> bool:
    if (_PATH if kind is Kind.EVM else _SOLANA_PATH).fullmatch(path) is None:
        return False
    return all(int(part.rstrip("'")) < 1 << 31 for part in path.split("/")[1:])


def _phrase(words: SecretBytes) -> str:
    try:
        parts = words.reveal().decode().lower().split()
    except UnicodeDecodeError:
        parts = []
    if len(parts) not in _WORDS:
        raise KeyRefused("a phrase has 12, 15, 18, 21 or 24 words")
    return " ".join(parts)


def _derived(phrase: str, kind: Kind, path: str | None) -> bytes:
    from eth_account.hdaccount import key_from_seed, seed_from_mnemonic
    from eth_utils.exceptions import ValidationError

    try:
        seed = seed_from_mnemonic(phrase, "")
        if kind is Kind.EVM:
            return bytes(key_from_seed(seed, path or ""))
        from solders.keypair import Keypair

        if path is None:
            return bytes(Keypair.from_seed_phrase_and_passphrase(phrase, "").secret())
        return bytes(Keypair.from_seed_and_derivation_path(seed, path).secret())
    except (ValidationError, ValueError):
        # The library's own words quote the phrase, so not even its exception goes on.
        pass
    raise KeyRefused("a word is unknown, or the last one does not fit the others")


def from_raw(text: SecretBytes) -> KeyMaterial:
    """An EVM key in 64 hexadecimal digits."""
    match = _RAW.fullmatch(bytes(text.reveal()).strip())
    if match is None:
        raise KeyRefused("a key is 64 hexadecimal digits")
    secret = SecretBytes(bytes.fromhex(match.group(2).decode()))
    return KeyMaterial(Kind.EVM, address_of(Kind.EVM, secret), secret, Origin.RAW)


def from_keystore(content: SecretBytes, passphrase: SecretBytes) -> KeyMaterial:
    """An EVM key out of a keystore v3. Raises KeyFileRefused and WrongPassword too."""
    file = read_foreign_keystore(bytes(content.reveal()))
    key = file.derivation.derive(passphrase)
    try:
        secret = file.open(key)
    finally:
        key.wipe()
    return KeyMaterial(Kind.EVM, address_of(Kind.EVM, secret), secret, Origin.KEYSTORE)


def from_keygen(content: SecretBytes) -> KeyMaterial:
    """A Solana key out of a file of solana-keygen: 64 numbers, the seed and the public key."""
    try:
        refuse_deep(bytes(content.reveal()))
        numbers = json.loads(bytes(content.reveal()))
    except ValueError:
        numbers = None
    if (
        not isinstance(numbers, list)
        or len(numbers) != 64
        or any(type(one) is not int or not 0 <= one < 256 for one in numbers)
    ):
        raise KeyRefused("the file is no list of 64 numbers as solana-keygen writes it")
    secret = SecretBytes(bytes(numbers[:32]))
    address = address_of(Kind.SOLANA, secret)
    if base58(bytes(numbers[32:])) != address:
        raise KeyRefused("the two halves of the file do not belong together")
    return KeyMaterial(Kind.SOLANA, address, secret, Origin.KEYGEN)
