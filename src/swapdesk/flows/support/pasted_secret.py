"""Keys and seed phrases in what was pasted: recognised first, so that nothing else reads them.

A phrase counts when eleven of twelve words in a row are of the BIP-39 list (``seed_words.txt``, in
English), however they are numbered or separated: one may be mistyped. Sixty-four hexadecimal
digits are a key only where the text says so, because every transaction hash looks the same.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.base58 import BITCOIN_ALPHABET
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS

ADVICE = (
    "It was not searched, kept or shown. Whoever has read it can take the money: its owner moves"
    " the money to a new wallet now."
)
PHRASE = f"This text holds a seed phrase. {ADVICE}"
KEY = f"This text holds a private key. {ADVICE}"
OWN = (
    "This text holds a secret of this desk. It was not searched, kept or shown. Have the service"
    " replace it."
)

PHRASE_WORDS = 12
_MISTYPED = 1
_WORD = re.compile(r"[a-z]+")
_TOKEN = re.compile(r"[A-Za-z0-9+/=]{16,128}")
_BYTES = re.compile(r"\[\s*\d{1,3}(?:\s*,\s*\d{1,3}){63}\s*\]")
_MARKED = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\b[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,}"
    r'|"ciphertext"\s*:\s*"[0-9a-f]{32,}"'
)
_NAMED_KEY = re.compile(
    r"(?:private|secret|wallet)[\s_-]*key\W{0,20}(?:is\W{0,5})?(?:0x)?[0-9a-f]{64}\b"
    r"|\b(?:0x)?[0-9a-f]{64}\b\W{0,5}(?:is\W+)?(?:my|the|his|her)\W+(?:private|secret)"
)


def secret_in(text: str, own: tuple[str, ...] = ()) -> str | None:
    """A sentence where ``text`` holds a key or a phrase, which it does not repeat. ``own`` are
    secrets of this desk."""
    if any(secret in text for secret in own if len(secret) >= 8):
        return OWN
    lowered = text.lower()
    if _has_phrase(lowered):
        return PHRASE
    if _MARKED.search(text) or _NAMED_KEY.search(lowered) or _has_key(text):
        return KEY
    return None


def _has_phrase(lowered: str) -> bool:
    known = [word in _words() for word in _WORD.findall(lowered)]
    within = sum(known[:PHRASE_WORDS])
    if len(known) < PHRASE_WORDS:
        return False
    for at in range(PHRASE_WORDS, len(known) + 1):
        if within >= PHRASE_WORDS - _MISTYPED:
            return True
        if at < len(known):
            within += known[at] - known[at - PHRASE_WORDS]
    return False


@cache
def _words() -> frozenset[str]:
    text = (files(__package__) / "seed_words.txt").read_text(encoding="ascii")
    return frozenset(text.split())


def _has_key(text: str) -> bool:
    for token in _TOKEN.findall(text):
        if any(kind.is_secret(token) for kind in ADDRESS_KINDS.values()):
            return True
        encoded = len(token) in (87, 88) and set(token) <= set(BITCOIN_ALPHABET)
        if encoded and _is_key_pair(base58.decode(token)):
            return True
    return any(_is_key_pair(_octets(found)) for found in _BYTES.findall(text))


def _octets(array: str) -> bytes:
    numbers = json.loads(array)
    return bytes(numbers) if all(number < 256 for number in numbers) else b""


def _is_key_pair(octets: bytes) -> bool:
    """Whether the second half is the public key of the first. A signature of Solana has the same
    form and is none."""
    if len(octets) != 64:
        return False
    # Imported on use: nothing else in the desk needs it.
    from Crypto.PublicKey import ECC

    pair = ECC.construct(curve="Ed25519", seed=octets[:32])  # type: ignore[arg-type]
    public = pair.public_key()
    return bool(public.export_key(format="raw") == octets[32:])
