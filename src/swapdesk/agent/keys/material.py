"""Open keys, for the moments in which they are created, imported or used for a signature.

The chain libraries are imported on use, because their import takes longer than everything else
before the first pass phrase. Some keys are known to everybody: those of the phrases that tools and
examples print. Money sent to one of their addresses is taken within seconds, so a live profile
refuses them.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import string
import unicodedata
from itertools import pairwise

from msgspec import Struct

from swapdesk.agent.keys.key_file import read_foreign_keystore
from swapdesk.chain.addresses.base58 import Base58Error, decode
from swapdesk.chain.addresses.base58 import encode as base58
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.secret import SecretBytes
from swapdesk.wallet.accounts import KeyOrigin, Kind
from swapdesk.wallet.protocol import Refused
from swapdesk.wire.encoding.codec import refuse_deep

PUBLISHED_WORDS = "this key comes from a published test phrase: everybody has it"

PUBLISHED_ADDRESSES: frozenset[str] = frozenset(
    {
        "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
        "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
        "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
        "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
        "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
        "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
        "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
        "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
        "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96",
        "BtELVjZSaWhMat94P9HyasX3Gvpv6C7WHXJGqWdZbwSQ",
        "9tKf8Q98FsGKJiM4oqMnTxmYH3fU2qJzSwzc76vgzyBT",
        "G9r1RYmVnXptzCA2an46rNnHsCAQLvjyM6vR2mo3LpG1",
        "0x90F8bf6A479f320ead074411a4B0e7944Ea8c9C1",
        "0xFFcf8FDEE72ac11b5c542428B35EEF5769C409f0",
        "0x22d491Bde2303f2f43325b2108D26f1eAbA1e32b",
        "0xE11BA2b4D45Eaed5996Cd0823791E0C93114882d",
        "0xd03ea8624C8C5987235048901fB614fDcA89b117",
        "0x95cED938F7991cd0dFcb48F0a06a40FA1aF46EBC",
        "0x3E5e9111Ae8eB78Fe1CC3bb8915d5D461F3Ef9A9",
        "0x28a8746e75304c0780E011BEd21C72cD78cd535E",
        "0xACa94ef8bD5ffEE41947b4585a84BdA5a3d3DA6E",
        "0x1dF62f291b2E969fB0849d99D9Ce41e2F137006e",
        "E1SFdNqDk1NSdTi13pM8j8tLKwGH3dm6ym5DVJKTwaYA",
        "4bvALyNUGf4YNjzo1mjUPDhMEdrNthpBNyLFCQu3XQkz",
        "Gb78HnRRcW9zctKaqJqiRwLYWqQjTCgeH68TJHwEB5y3",
        "vCdWfJRYsxcqVs8t1iYwV11SKzAtYMDHWNduukxiHia",
        "0x627306090abaB3A6e1400e9345bC60c78a8BEf57",
        "0xf17f52151EbEF6C7334FAD080c5704D77216b732",
        "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef",
        "0x821aEa9a577a9b44299B9c15c88cf3087F3b5544",
        "0x0d1d4e623D10F9FBA5Db95830F7d3839406C6AF2",
        "0x2932b7A2355D6fecc4b5c0B6BD44cC31df247a2e",
        "0x2191eF87E392377ec08E7c08Eb105Ef5448eCED5",
        "0x0F4F2Ac550A1b4e2280d04c21cEa7EBD822934b5",
        "0x6330A553Fc93768F612722BB8c2eC78aC90B3bbc",
        "0x5AEDA56215b167893e80B4fE645BA6d5Bab767DE",
        "3fX14NDiH371ZyS4JTfVDS2HussNQHc814npeHnThwWp",
        "oyZKEKCWtTgxXdxJVXTsgJcSWZzx8JC4Tw7wdwJ1uDn",
        "8SGr5b2BMSSwusi4qiNgs32zKLosunWZk8UQThHcKRtf",
        "9pyjdGYKhP3pFikhrENq9FXZft38bG3durcnML1V9njw",
        "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        "0x6Fac4D18c912343BF86fa7049364Dd4E424Ab9C0",
        "0xb6716976A3ebe8D39aCEB04372f22Ff8e6802D7A",
        "0xF3f50213C1d2e255e4B2bAD430F8A38EEF8D718E",
        "0x51cA8ff9f1C0a99f88E86B8112eA3237F55374cA",
        "0xA40cFBFc8534FFC84E20a7d8bBC3729B26a35F6f",
        "0xB191a13bfE648B61002F2e2135867015B71816a6",
        "0x593814d3309e2dF31D112824F0bb5aa7Cb0D7d47",
        "0xB14c391e2bf19E5a26941617ab546FA620A4f163",
        "0x4C1C56443AbFe6dD33de31dAaF0a6E929DBc4971",
        "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk",
        "GjJyeC1r2RgkuoCWMyPYkCWSGSGLcz266EaAkLA27AhL",
        "D2PPQSYFe83nDzk96FqGumVU8JA7J8vj2Rhjc2oXzEi5",
        "EHqmfkN89RJ7Y33CXM6uCzhVeuywHoJXZZLszBHHZy7o",
        "0x58A57ed9d8d624cBD12e2C467D34787555bB1b25",
        "0x0D3eB21b6b21833A4939Cfff4810E9AE0758e12C",
        "0xe42f4612e154153B68e241e8FDe337e0c4dD6bBD",
        "0x2F07c220dC62CE9531bC44B695A6D93578806d8d",
        "0x1454168e82efA260f49a6F86612cc6414Ba633e9",
        "0x4fb070eF70961D204961c69B954B99808b9694BC",
        "0x603049dcd328D58c9053eBE34F1692c0fac683f8",
        "0x3eb84b6a7B4707C20B6bca41b537055B61E84764",
        "0xa642b057F48020e850581a05Fe2Dde506EabD50D",
        "0x61e3A11876506C169a25c90a6f64fEA5384d10f0",
        "BLeUXTx9thHGT7VJUtF9vHEmfMDgW1nnKZ9UVer2CoLX",
        "6UbR42ttwWY9QBrpkv1ff8bVu6DmFtrny9hej3EFjsuh",
        "5QjrUEf9fUZn4gomff3EXwpYTu6eC8MsrYBjTLfRvobA",
        "EPcM3RcpE9DnDxuJiFLHMf6jfxAW3QT5yCjwRDNeH8SV",
        "0xfc2077CA7F403cBECA41B1B0F62D91B5EA631B5E",
        "0xd1a7451beB6FE0326b4B78e3909310880B781d66",
        "0x578270B5E5B53336baC354756b763b309eCA90Ef",
        "0x909f59835A5a120EafE1c60742485b7ff0e305da",
        "0x5711cED5ce6d91Ec7af3e5b02dDB47f409d42818",
        "0x02db23843DB65077E19757Af077648F106ae9243",
        "0x543289B0965Eba079b277B344DD1C0C2ab47a4bA",
        "0x1de55545a139b3BEc88301C87BA241323B0E5ae1",
        "0xd59feDEbbA13B004677004b79Dec7b60E4913AAc",
        "0xc4c28C29561ff3d3eB34bcd68A41fce70F8D19B6",
        "E48cosDiQZK1iDSsyUzhvW4WxJeoKuDk5qgcdkmANV4N",
        "9krGZ6MVHufqrKiGvaCbevTGdBFLZWb6u75QPDXvVWmj",
        "2JtDzeF5RNj8cSU8ZatFjtdbxxMq7EXwXYjBS7XkTXqo",
        "EtJcedSL6vnFZNPiisiDRNFdisXtXFv7j9qi9wi8KmDd",
    }
)
"""Published addresses, whose keys everybody has: the first ten EVM addresses of the phrases of
Hardhat, Foundry and Anvil, of Ganache, of Truffle, and of the test vectors of BIP-39, and the
Solana addresses of these phrases at the usual paths."""


_PATH = re.compile(r"m(/[0-9]{1,10}'?){1,10}", re.ASCII)
_SOLANA_PATH = re.compile(r"m/44'/501'(/[0-9]{1,10}'){0,2}", re.ASCII)
_RAW = re.compile(r"(0x)?([0-9a-f]{64})", re.IGNORECASE | re.ASCII)
_MARKS = "\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb,;.:"
"""Characters that may surround a key that is copied from a sentence, a table or a program."""
_BASE58_KEY = 64
"""The number of bytes of a Solana key as wallets export it: the seed and the public key."""
_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_WORDS = (12, 15, 18, 21, 24)
_TOKEN = re.compile(r"[0-9]+|[\u3400-\u9fff]|[^\s0-9\u3400-\u9fff]+")
"""Matches one token of a phrase: a number, a Chinese word (one character), or any other word."""
_BLANK = ("Zs", "Zl", "Zp", "Cc", "Cf")
_BASE58_LONGEST = 90

SUGGESTED: dict[Kind, tuple[str | None, ...]] = {
    Kind.EVM: tuple(f"m/44'/60'/0'/0/{i}" for i in range(5)),
    Kind.SOLANA: ("m/44'/501'/0'/0'", "m/44'/501'/0'", "m/44'/501'", None),
}
"""The derivation paths that wallets use, by kind. Each gives another address for the same phrase.
None stands for the derivation of solana-keygen, which has no path."""


class KeyMaterial(Struct, frozen=True):
    """A private key that is not stored yet. ``secret`` has 32 bytes; on Solana they are the seed.
    ``path`` is None unless the key comes from a mnemonic."""

    kind: Kind
    address: str
    secret: SecretBytes
    origin: KeyOrigin
    path: str | None = None


def address_of(kind: Kind, secret: SecretBytes) -> str:
    """Returns the address of ``secret``, a private key (EVM) or seed (Solana). Raises Refused if
    ``secret`` is not valid."""
    if len(secret) != 32:
        raise Refused("bad_key", "a key has 32 bytes")
    raw = bytes(secret.reveal())
    if kind is Kind.SOLANA:
        from solders.keypair import Keypair

        return base58(bytes(Keypair.from_seed(raw).pubkey()))
    if not 0 < int.from_bytes(raw, "big") < _ORDER:
        raise Refused("bad_key", "these 32 bytes are no key of an EVM chain")
    from coincurve import PublicKey

    public = PublicKey.from_valid_secret(raw).format(compressed=False)
    return checksummed(f"0x{keccak(public[1:])[12:].hex()}")


def fresh(kind: Kind) -> KeyMaterial:
    while True:
        secret = SecretBytes(secrets.token_bytes(32))
        try:
            return KeyMaterial(kind, address_of(kind, secret), secret, KeyOrigin.CREATED)
        except Refused:
            continue


def from_mnemonic(words: SecretBytes, kind: Kind, path: str | None) -> KeyMaterial:
    """Returns the private key at ``path`` of a BIP-39 phrase that has no additional passphrase.
    Raises Refused if phrase or path is not valid."""
    if path is None and kind is Kind.EVM:
        raise Refused("bad_key", "an EVM key needs its path")
    if path is not None and not _is_path(kind, path):
        raise Refused("bad_key", "the path is not of the form m/44'/60'/0'/0/0")
    phrase = _phrase(words)
    secret = SecretBytes(_derived(phrase, kind, path))
    return KeyMaterial(kind, address_of(kind, secret), secret, KeyOrigin.MNEMONIC, path)


def _is_path(kind: Kind, path: str) -> bool:
    if (_PATH if kind is Kind.EVM else _SOLANA_PATH).fullmatch(path) is None:
        return False
    return all(int(part.rstrip("'")) < 1 << 31 for part in path.split("/")[1:])


def _phrase(pasted: SecretBytes) -> str:
    drawn = "".join(map(_of_phrase, unicodedata.normalize("NFKD", _text(pasted)).lower()))
    tokens = _TOKEN.findall(drawn)
    words = [token for token in tokens if not token.isdigit()]
    numbered = sorted(
        (int(number), word)
        for number, word in pairwise(tokens)
        if number.isdigit() and not word.isdigit()
    )
    # "Word 1: legal" has a label before each number, which is not part of the phrase.
    labels = {word for word, number in pairwise(tokens) if number.isdigit() and not word.isdigit()}
    labelled = len(words) == 2 * len(numbered) and len(labels) == 1
    whole = [number for number, _ in numbered] == list(range(1, len(numbered) + 1))
    if whole and (labelled or len(numbered) == len(words)):
        words = [word for _, word in numbered]
    if len(words) not in _WORDS:
        raise Refused(
            "bad_key", f"a phrase has 12, 15, 18, 21 or 24 words, and this has {len(words)}"
        )
    return " ".join(words)


def _of_phrase(character: str) -> str:
    category = unicodedata.category(character)
    if category[0] in "LM" or character in string.digits:
        return character
    return "" if category == "Cf" and character != "\u200b" else " "


def _text(secret: SecretBytes) -> str:
    with contextlib.suppress(UnicodeDecodeError):
        return secret.reveal().decode()
    raise Refused("bad_key", "it is no text in UTF-8")


def _require_listed(phrase: str) -> None:
    """Raises Refused unless the phrase is valid with a BIP-39 word list. The message states the
    positions of wrong words, never the words."""
    from eth_account.hdaccount.mnemonic import Mnemonic
    from eth_account.types import Language

    words = phrase.split(" ")
    lists = [Mnemonic(Language(language)) for language in Mnemonic.list_languages()]
    unknown = [
        [place for place, word in enumerate(words, 1) if word not in language.wordlist]
        for language in lists
    ]
    whole = [language for language, places in zip(lists, unknown, strict=True) if not places]
    if any(language.is_mnemonic_valid(phrase) for language in whole):
        return
    if whole:
        raise Refused("bad_key", "every word is known, but the last one does not fit the others")
    places = min(unknown, key=len)
    if len(places) > len(words) // 2:
        raise Refused("bad_key", "these are not the words of a phrase (BIP-39)")
    which = "word " if len(places) == 1 else "words "
    verb = "is" if len(places) == 1 else "are"
    raise Refused(
        "bad_key",
        f"{which}{', '.join(map(str, places))} {verb} not in the list that the others are from",
    )


def _derived(phrase: str, kind: Kind, path: str | None) -> bytes:
    from eth_account.hdaccount import key_from_seed
    from eth_account.hdaccount.mnemonic import Mnemonic
    from eth_utils.exceptions import ValidationError

    _require_listed(phrase)
    try:
        seed = Mnemonic.to_seed(phrase)
        if kind is Kind.EVM:
            return bytes(key_from_seed(seed, path or ""))
        from solders.keypair import Keypair

        if path is None:
            return bytes(Keypair.from_seed_phrase_and_passphrase(phrase, "").secret())
        return bytes(Keypair.from_seed_and_derivation_path(seed, path).secret())
    except (ValidationError, ValueError):
        # The library's message quotes the phrase, so its exception is not chained.
        pass
    raise Refused("bad_key", "no key follows from this phrase and path")


def from_raw(text: SecretBytes) -> KeyMaterial:
    """Returns the EVM private key written as 64 hexadecimal digits, which may be grouped and
    quoted. Raises Refused for any other text."""
    bare = _bare(text).strip(f"<>()[]{{}}{_MARKS}")
    match = _RAW.fullmatch(bare)
    if match is None:
        digits = re.sub("^0x", "", bare, flags=re.IGNORECASE)
        if digits and set(digits) <= set(string.hexdigits):
            raise Refused("bad_key", f"a key is 64 hexadecimal digits, and this has {len(digits)}")
        raise Refused(
            "bad_key",
            "a key is 64 hexadecimal digits, and this has other characters; a list of words is"
            " imported as a mnemonic, a key of Solana as base58",
        )
    secret = SecretBytes(bytes.fromhex(match.group(2)))
    return KeyMaterial(Kind.EVM, address_of(Kind.EVM, secret), secret, KeyOrigin.RAW)


def _bare(text: SecretBytes) -> str:
    plain = unicodedata.normalize("NFKC", _text(text))
    return "".join(
        character for character in plain if unicodedata.category(character) not in _BLANK
    ).strip(_MARKS)


def from_keystore(content: SecretBytes, passphrase: SecretBytes) -> KeyMaterial:
    """Returns the EVM private key in a keystore v3 file. Raises Refused if the file is unreadable
    or the pass phrase wrong."""
    file = read_foreign_keystore(bytes(content.reveal()))
    key = file.derivation.derive(passphrase)
    try:
        secret = file.open(key)
    finally:
        key.wipe()
    return KeyMaterial(Kind.EVM, address_of(Kind.EVM, secret), secret, KeyOrigin.KEYSTORE)


def from_keygen(content: SecretBytes) -> KeyMaterial:
    """Returns the Solana key in a text: the 64 numbers of solana-keygen, or base58 as wallets
    export it. Raises Refused for any other text."""
    bare, text = _bare(content), _text(content).strip("\ufeff")
    if not bare.startswith("["):
        return _solana(_base58_bytes(bare), "the key")
    try:
        refuse_deep(text.encode())
        numbers = json.loads(text)
    except ValueError:
        numbers = None
    if (
        not isinstance(numbers, list)
        or len(numbers) != 64
        or any(type(number) is not int or not 0 <= number < 256 for number in numbers)
    ):
        raise Refused("bad_key", "the file is no list of 64 numbers as solana-keygen writes it")
    return _solana(bytes(numbers), "the file")


def _base58_bytes(text: str) -> bytes:
    if len(text) <= _BASE58_LONGEST:
        with contextlib.suppress(Base58Error):
            held = decode(text)
            if len(held) == _BASE58_KEY:
                return held
    raise Refused(
        "bad_key",
        "it is neither a list of 64 numbers as solana-keygen writes it, nor the 64 bytes in base58"
        " that wallets export",
    )


def _solana(held: bytes, what: str) -> KeyMaterial:
    secret = SecretBytes(held[:32])
    address = address_of(Kind.SOLANA, secret)
    if base58(held[32:]) != address:
        raise Refused("bad_key", f"the two halves of {what} do not belong together")
    return KeyMaterial(Kind.SOLANA, address, secret, KeyOrigin.KEYGEN)
