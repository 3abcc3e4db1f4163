"""Keys and seed phrases in what was pasted: recognised first, so that nothing else reads them.

A phrase counts when eleven of twelve words in a row are of the BIP-39 list (``seed_words.txt``, in
English), however they are numbered or separated: one may be mistyped. Sixty-four hexadecimal
digits are a key only where the text says so, because every transaction hash looks the same.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from itertools import chain, islice

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

SHORTEST_OWN = 8
PHRASE_WORDS = 12
_MISTYPED = 1
_WORD = re.compile(r"[a-z]+")
_TAG = re.compile(r"<[^<>]{0,200}>")
MOST_PAIRS = 100
"""Pairs of keys that are looked into: each costs a millisecond, and of so many nobody asks for
one."""
# No pattern has a repetition without an end, so that every character costs the same.
_TOKEN = re.compile(r"[A-Za-z0-9]{16,130}")
_BYTES = re.compile(r"\[\s{0,8}\d{1,3}(?:\s{0,8},\s{0,8}\d{1,3}){63}")
_MARKED = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----|\b[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100}"
    r'|"ciphertext"\s{0,8}:\s{0,8}"[0-9a-f]{32}'
)
_FILLED = r"(?:\W{1,3}(?:of|for|to|is|was|the|my|this|our|his|her|wallet|account|here)){0,6}"
_NAMED_KEY = re.compile(
    rf"(?:private|secret|wallet|priv)[\s_-]{{0,4}}key{_FILLED}\W{{0,20}}(?:0x)?[0-9a-f]{{64}}\b"
    r"|\b(?:0x)?[0-9a-f]{64}\b\W{0,5}(?:is\W{1,5})?(?:my|the|his|her)\W{1,5}(?:private|secret)"
)


def secret_in(text: str, own: tuple[str, ...] = ()) -> str | None:
    """A sentence where ``text`` holds a key or a phrase, which it does not repeat. ``own`` are
    secrets of this desk."""
    if any(secret in text for secret in own if len(secret) >= SHORTEST_OWN):
        return OWN
    lowered = text.lower()
    if _has_phrase(lowered):
        return PHRASE
    if _MARKED.search(text) or _NAMED_KEY.search(lowered) or _has_key(text):
        return KEY
    return None


def _has_phrase(lowered: str) -> bool:
    """Also one between tags, of which each is a word more; or in what looks like a tag."""
    texts = (lowered, _TAG.sub(" ", lowered)) if "<" in lowered else (lowered,)
    return any(_in_a_row(_WORD.findall(text)) for text in texts)


def _in_a_row(words: list[str]) -> bool:
    listed = _words()
    known = [word in listed for word in words]
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
    tokens = _TOKEN.findall(text)
    if any(kind.is_secret(token) for token in tokens for kind in ADDRESS_KINDS.values()):
        return True
    pairs = chain(
        (_spelled_octets(token) for token in tokens),
        (_octets(found) for found in _BYTES.findall(text)),
    )
    return any(_is_key_pair(pair) for pair in islice(filter(None, pairs), MOST_PAIRS))


def _spelled_octets(token: str) -> bytes:
    """The sixty-four octets that a word spells; empty for any other word."""
    bare = token.removeprefix("0x")
    if len(bare) == 128 and _HEX.issuperset(bare):
        return bytes.fromhex(bare)
    if len(token) not in (86, 87, 88) or not _BASE58.issuperset(token):
        return b""
    octets = base58.decode(token)
    return octets if len(octets) == 64 else b""


_HEX = frozenset("0123456789abcdefABCDEF")
_BASE58 = frozenset(BITCOIN_ALPHABET)


def _octets(array: str) -> bytes:
    numbers = [int(number) for number in _NUMBER.findall(array)]
    return bytes(numbers) if all(number < 256 for number in numbers) else b""


_NUMBER = re.compile(r"\d{1,3}")


def _is_key_pair(octets: bytes) -> bool:
    """Whether the second half is the public key of the first. A signature of Solana has the same
    form and is none."""
    # Imported on use: nothing else in the desk needs it.
    from Crypto.PublicKey import ECC

    pair = ECC.construct(curve="Ed25519", seed=octets[:32])  # type: ignore[arg-type]
    public = pair.public_key()
    return bool(public.export_key(format="raw") == octets[32:])
