"""Recognises keys and seed phrases in a pasted text before any other code reads it.

A phrase is recognised by eleven of twelve words in a row from one list of BIP-39
(``seed_words.txt`` in English, ``seed_words_of_languages.txt`` in all other languages), so that one
word may be mistyped. An unseparated row of Chinese characters counts as a sentence, unless its
checksum is right and the text calls it a phrase, or is long and holds nothing else. Sixty-four
hexadecimal digits count as a key only if the text says so, because transaction hashes look the
same.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
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
_WORDS = {
    "latin": re.compile(r"[a-z]+"),
    "kana": re.compile(r"[\u3041-\u30ff]+"),
    "hangul": re.compile(r"[\u1100-\u11ff]+"),
    "han": re.compile(r"[\u4e00-\u9fff]+"),
}
"""By script, a pattern that matches one word of a text without accents."""
_LISTS = {
    "latin": ("english", "spanish", "french", "italian", "czech", "portuguese"),
    "kana": ("japanese",),
    "hangul": ("korean",),
    "han": ("chinese_simplified", "chinese_traditional"),
}
_NAMED_SIGNS = re.compile(
    r"(?:助记词|助記詞|助记符|种子|種子|恢复短语|恢復短語)[^\u4e00-\u9fff]{0,5}[是为為]?"
    r"[^\u4e00-\u9fff]{0,5}([\u4e00-\u9fff]{12,24})(?![\u4e00-\u9fff])"
)
_SIGNS_ALONE = re.compile(r"[^\u4e00-\u9fff]{0,20}([\u4e00-\u9fff]{18,24})[^\u4e00-\u9fff]{0,20}")
"""A row of 18 to 24 Chinese characters. A shorter one may be a sentence."""
_TAG = re.compile(r"<[^<>]{0,200}>")
MOST_PAIRS = 100
"""Largest number of key pairs that are checked, because each check takes a millisecond."""
# No pattern repeats without a bound, so that hostile texts take linear time.
_TOKEN = re.compile(r"[A-Za-z0-9]{16,130}")
_BYTES = re.compile(r"\[\s{0,8}\d{1,3}(?:\s{0,8},\s{0,8}\d{1,3}){63}")
_MARKED = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----|\b[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100}"
    r'|"ciphertext"\s{0,8}:\s{0,8}"[0-9a-f]{32}'
)
_FILLED = (
    r"(?:\W{1,3}(?:of|for|to|is|was|the|my|this|our|his|her|wallet|account|here"
    r"|de|del|di|da|do|la|le|el|mi|mia|ma|mon|minha|mein|meine|meiner|meines|es|est|ist|lautet|é|è"
    r"|cartera|billetera|carteira|portefeuille|portafoglio|это|моего|моя|от|кошелька|είναι|هو|هي|है"
    r"|jest|je|là|adalah)){0,6}(?:\W{0,3}[是为為はがの는은이]){0,2}"
)
_KEY_WORDS = (
    r"(?:private|secret|wallet|priv)[\s_-]{0,4}key"
    r"|(?:clave|llave)s?\W{1,3}(?:privada|secreta)|chave\W{1,3}(?:privada|secreta)"
    r"|cl[eé]f?\W{1,3}(?:priv[eé]e|secr[eè]te)|chiave\W{1,3}(?:privata|segreta)"
    r"|(?:privat|geheim)\w{0,3}\W{0,3}schl(?:ü|ue)ssel|priv[eé]sleutel|klucz\W{1,3}prywatny"
    r"|soukrom[yý]\W{1,3}kl[ií]č|özel\W{1,3}anahtar|kunci\W{1,3}(?:pribadi|privat)"
    r"|kh[oó][aá]\W{1,3}(?:riêng|bí\W{1,3}mật)|(?:приватн|закрыт|секретн|особист)\w{1,3}\W{1,3}ключ"
    r"|ιδιωτικ[οό]\W{1,3}κλειδ[ιί]|المفتاح\W{1,3}الخاص|مفتاح\W{1,3}خاص|מפתח\W{1,3}פרטי"
    r"|निजी\W{1,3}कुंजी|प्राइवेट\W{1,3}की|私钥|私鑰|密钥|密鑰|秘密鍵|プライベートキー|개인\W{0,2}키|비밀\W{0,2}키"
)
_NAMED_KEY = re.compile(
    rf"(?:{_KEY_WORDS}){_FILLED}\W{{0,20}}(?:0x)?[0-9a-f]{{64}}(?![0-9a-z_])"
    r"|\b(?:0x)?[0-9a-f]{64}\b\W{0,5}(?:is\W{1,5})?(?:my|the|his|her)\W{1,5}(?:private|secret)"
    r"|(?<![0-9a-z_])(?:0x)?[0-9a-f]{64}(?![0-9a-z_])\W{0,5}"
    rf"(?:es|ist|est|é|è|это|είναι|هو|है|是|は)\W{{0,5}}(?:\w{{1,8}}\W{{0,5}}){{0,2}}(?:{_KEY_WORDS})"
)


def secret_in(text: str, own: tuple[str, ...] = ()) -> str | None:
    """Returns a warning if ``text`` holds a private key, a seed phrase, or one of this desk's
    secrets (``own``); otherwise None. The warning does not contain the secret."""
    if any(secret in text for secret in own if len(secret) >= SHORTEST_OWN):
        return OWN
    lowered = text.lower()
    if _has_phrase(lowered):
        return PHRASE
    if _MARKED.search(text) or _NAMED_KEY.search(lowered) or _has_key(text):
        return KEY
    return None


def _has_phrase(lowered: str) -> bool:
    texts = (lowered, _TAG.sub(" ", lowered)) if "<" in lowered else (lowered,)
    return any(map(_holds_phrase, texts))


def _holds_phrase(lowered: str) -> bool:
    text = _without_accents(lowered)
    for script, pattern in _WORDS.items():
        words = pattern.findall(text) if script == "latin" or not text.isascii() else []
        if len(words) >= PHRASE_WORDS and any(
            _in_a_row(words, _words(language)) for language in _LISTS[script]
        ):
            return True
    signs = [match[1] for match in _NAMED_SIGNS.finditer(text)]
    if (alone := _SIGNS_ALONE.fullmatch(text)) is not None:
        signs.append(alone[1])
    return any(map(_is_phrase, signs))


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    return "".join(char for char in parts if not unicodedata.combining(char))


def _in_a_row(words: Sequence[str], listed: frozenset[str]) -> bool:
    hits = [word in listed for word in words]
    within = sum(hits[:PHRASE_WORDS])
    for at in range(PHRASE_WORDS, len(hits) + 1):
        if within >= PHRASE_WORDS - _MISTYPED:
            return True
        if at < len(hits):
            within += hits[at] - hits[at - PHRASE_WORDS]
    return False


def _is_phrase(signs: str) -> bool:
    """Returns whether a row of Chinese characters is a seed phrase with a valid checksum. One in
    sixteen rows is valid by chance."""
    if len(signs) % 3:
        return False
    for language in _LISTS["han"]:
        places = {sign: at for at, sign in enumerate(_list(language))}
        if not places.keys() >= set(signs):
            continue
        bits = "".join(f"{places[sign]:011b}" for sign in signs)
        size = len(bits) * 32 // 33
        entropy = int(bits[:size], 2).to_bytes(size // 8)
        if f"{hashlib.sha256(entropy).digest()[0]:08b}".startswith(bits[size:]):
            return True
    return False


@cache
def _words(language: str) -> frozenset[str]:
    return frozenset(map(_without_accents, _list(language)))


@cache
def _list(language: str) -> tuple[str, ...]:
    folder = files(__package__)
    if language == "english":
        return tuple((folder / "seed_words.txt").read_text(encoding="ascii").split())
    text = (folder / "seed_words_of_languages.txt").read_text(encoding="utf-8")
    lists = (line.split() for line in text.splitlines())
    return next(tuple(words) for name, *words in lists if name == language)


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
    """Returns whether 64 bytes are an Ed25519 key with its public key, and not a Solana signature
    of the same length."""
    # Imported on use: nothing else in the desk needs it.
    from Crypto.PublicKey import ECC

    pair = ECC.construct(curve="Ed25519", seed=octets[:32])  # type: ignore[arg-type]
    public = pair.public_key()
    return bool(public.export_key(format="raw") == octets[32:])
