"""Keys and phrases are seen in whatever they stand in, and nothing of them is left in the answer.

Every secret here is made for the test. A refused text is answered by one of three fixed sentences
and nothing else, so whatever reads the answer cannot show, keep or send what was in the text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling import examples
from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.base58 import BITCOIN_ALPHABET, XRP_ALPHABET
from swapdesk.flows.support import pasted_secret
from swapdesk.flows.support.pasted_secret import KEY, OWN, PHRASE
from swapdesk.flows.support.pasted_text import PastedText, read_pasted

WORDS = (files("swapdesk.flows.support") / "seed_words.txt").read_text(encoding="ascii").split()
OWN_SECRET = "sk-9f2c77aa-our-partner-secret"


def read(text: str) -> PastedText:
    return read_pasted(
        text, is_symbol=lambda word: word.upper() == "BTC", own_secrets=(OWN_SECRET,)
    )


def octets(seed: str, size: int = 32) -> bytes:
    return hashlib.shake_256(seed.encode()).digest(size)


def encoded(payload: bytes, alphabet: str = BITCOIN_ALPHABET) -> str:
    number, text = int.from_bytes(payload), ""
    while number:
        number, digit = divmod(number, 58)
        text = alphabet[digit] + text
    return alphabet[0] * (len(payload) - len(payload.lstrip(b"\0"))) + text


def checked(payload: bytes, alphabet: str = BITCOIN_ALPHABET) -> str:
    check = hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    return encoded(payload + check, alphabet)


def key_pair(seed: str) -> bytes:
    from Crypto.PublicKey import ECC

    private = octets(seed)
    pair = ECC.construct(curve="Ed25519", seed=private)  # type: ignore[arg-type]
    return private + pair.public_key().export_key(format="raw")


HEX = octets("hex").hex()
PAIR = key_pair("solana")
KEYS = {
    "hex that is named": f"private key: {HEX}",
    "hex with its mark": f"private_key = 0x{HEX}",
    "hex in capitals": f"PRIVATE KEY IS {HEX.upper()}",
    "hex named in a sentence": f"the private key of my wallet is {HEX}",
    "hex named behind it": f"{HEX} is my private key",
    "hex in a setting": f'export WALLET_KEY="0x{HEX}"',
    "hex of both halves": PAIR.hex(),
    "hex of both halves with its mark": "0x" + PAIR.hex(),
    "wif": checked(b"\x80" + octets("wif")),
    "wif of a compressed key": checked(b"\x80" + octets("wif") + b"\1"),
    "litecoin wif": checked(b"\xb0" + octets("ltc") + b"\1"),
    "dogecoin wif": checked(b"\x9e" + octets("doge") + b"\1"),
    "xrp seed": checked(b"\x21" + octets("xrp", 16), XRP_ALPHABET),
    "solana pair": encoded(PAIR),
    "solana file": json.dumps(list(PAIR)),
    "solana file without blanks": json.dumps(list(PAIR), separators=(",", ":")),
    "solana file in lines": json.dumps(list(PAIR), indent=1),
    "extended key": "xprv" + "9" * 107,
    "pem": "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEI\n-----END EC PRIVATE KEY-----",
    "keystore": json.dumps({"crypto": {"ciphertext": octets("c").hex(), "cipher": "aes"}}),
}
IN_LETTERS = [name for name in KEYS if " named" not in name and "setting" not in name]
"""Keys that are seen by their form, whatever stands around them."""

SURROUNDINGS: dict[str, Callable[[str], str]] = {
    "alone": lambda key: key,
    "with blanks": lambda key: f"  \t{key}\r\n",
    "in an e-mail": lambda key: f"Hello,\n\nmy order is stuck. My wallet: {key}\n\nThanks, Bob",
    "quoted": lambda key: f"> '{key}'",
    "behind a sign": lambda key: f"wif={key}",
    "in a link": lambda key: f"https://example.com/import/{key}?now=1",
    "in html": lambda key: f"<p onclick=x>{key}</p>",
    "in a shell": lambda key: f"echo {key} | import; rm -rf /",
    "behind a nul": lambda key: f"\0\0{key}\0",
    "turned around": lambda key: f"\u202e{key}\u202c",
    "behind other letters": lambda key: f"мой ключ: {key} 私の鍵",
    "behind a long text": lambda key: "so it goes " * 3_000 + key,
    "before a long text": lambda key: key + " so it goes" * 3_000,
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("around", SURROUNDINGS)
def test_a_key_is_seen_and_not_repeated(name: str, around: str) -> None:
    assert read(SURROUNDINGS[around](KEYS[name])) == PastedText(problem=KEY, secret=True)


@pytest.mark.parametrize("name", IN_LETTERS)
@pytest.mark.parametrize("hidden", ["\u200b", "\u2060", "\ufeff", "\u00ad", "\u202e", "\U000e0041"])
def test_a_key_is_seen_behind_characters_that_are_not_drawn(name: str, hidden: str) -> None:
    key = KEYS[name]
    assert read(key[:30] + hidden + key[30:]).problem == KEY


def phrase(seed: str, count: int = 12) -> list[str]:
    chosen = octets(seed, count * 2)
    return [WORDS[int.from_bytes(chosen[at : at + 2]) % 2048] for at in range(0, count * 2, 2)]


SPELLINGS: dict[str, Callable[[list[str]], str]] = {
    "in a row": " ".join,
    "in lines": "\n".join,
    "with commas": ", ".join,
    "with dashes": "-".join,
    "run by tabs": "\t".join,
    "in capitals": lambda words: " ".join(words).upper(),
    "capitalised": lambda words: " ".join(word.capitalize() for word in words),
    "numbered": lambda words: " ".join(f"{at}. {word}" for at, word in enumerate(words, 1)),
    "numbered in lines": lambda words: "\n".join(f"{at}) {w}" for at, w in enumerate(words, 1)),
    "numbered and glued": lambda words: " ".join(f"{at}{w}" for at, w in enumerate(words, 1)),
    "as json": json.dumps,
    "in html": lambda words: "".join(f"<li>{word}</li>" for word in words),
    "quoted": lambda words: "\n".join(f"> {word}" for word in words),
    "as a tag": lambda words: f"<{' '.join(words)}>",
    "hidden signs": lambda words: " ".join(f"{word[0]}\u200b{word[1:]}" for word in words),
    "between nuls": "\0".join,
}


@pytest.mark.parametrize("count", [12, 15, 18, 21, 24])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_phrase_is_seen_however_it_is_written(count: int, spelling: str) -> None:
    words = phrase(f"{spelling} {count}", count)
    for text in (
        SPELLINGS[spelling](words),
        f"Dear team, nothing came. My words are:\n{SPELLINGS[spelling](words)}\nRegards, Carol",
    ):
        assert read(text) == PastedText(problem=PHRASE, secret=True)


@settings(max_examples=examples(200))
@given(
    st.integers(0, 1 << 30),
    st.sampled_from([12, 24]),
    st.sampled_from(sorted(SPELLINGS)),
    st.integers(0, 23),
    st.text(max_size=40),
    st.text(max_size=40),
)
def test_one_word_of_a_phrase_may_be_mistyped(
    seed: int, count: int, spelling: str, at: int, before: str, after: str
) -> None:
    words = phrase(str(seed), count)
    words[at % count] = "zzzzx"
    found = read(f"{before}\n{SPELLINGS[spelling](words)}\n{after}")
    # A word of the text beside it may be one of the list; it is a phrase all the same.
    assert found == PastedText(problem=PHRASE, secret=True)


@pytest.mark.parametrize(
    "text",
    [
        OWN_SECRET,
        f"curl -H 'Authorization: key:{OWN_SECRET}' https://example.com",
        f"it is\u202e {OWN_SECRET} \0",
        "sk-9f2c77aa\u200b-our-partner-secret",
        "x" * 500_000 + OWN_SECRET,
    ],
)
def test_a_secret_of_this_desk_is_seen(text: str) -> None:
    assert read(text) == PastedText(problem=OWN, secret=True)


HONEST = (
    "Hello, I sent 0.5 BTC an hour ago and nothing arrived. The order is h8Kq2PdT5mXcVbN3wRtY7z."
    " Can you please look what happened? Nobody knows my private key. Thank you very much, Alice",
    "Transaction hash: 0x" + "ab" * 32 + " from my wallet to yours, please help me with this.",
    "I never share my seed phrase or my private key with anybody. Tx " + "cd" * 32,
    "My wallet key ring is lost, anyway: order h8Kq2PdT5mXcVbN3wRtY7z",
    "signature " + encoded(octets("signed", 64)),
    json.dumps(list(octets("signed", 64))),
    "Dear support, I have been waiting for two days now and my money is still not here. I did what"
    " your page says and sent the amount to the address. What should I do? Please answer soon.",
    "Hi! I would like to know where my coins are. I sent 1,200 USDT on Tron with the memo 774411",
    "private key of my car is not the order number; the order number is 12345678",
)


@pytest.mark.parametrize("text", HONEST)
def test_what_is_none_is_not_taken_for_a_secret(text: str) -> None:
    assert not read(text).secret


def test_words_of_the_list_that_are_no_phrase_are_no_secret() -> None:
    words = phrase("ten", 10)
    assert not read(" ".join(words)).secret
    assert not read(" ".join([*words, "zzzz", "yyyy", *words])).secret


def test_hex_that_nobody_names_is_warned_of() -> None:
    """It may be a hash, which is what is looked for; the reader decides."""
    for text in (HEX, f"0x{HEX}", f"my transaction {HEX.upper()}"):
        found = read(text)
        assert not found.secret
        assert "private key" in found.warning
    assert read("h8Kq2PdT5mXcVbN3wRtY7z").warning == ""


def test_of_very_many_pairs_only_some_are_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs a millisecond, and a text holds ten thousand."""
    looked: list[bytes] = []

    def is_key_pair(pair: bytes) -> bool:
        looked.append(pair)
        return False

    monkeypatch.setattr(pasted_secret, "_is_key_pair", is_key_pair)
    read("\n".join(encoded(octets(f"pair {at}", 64)) for at in range(500)))
    assert len(looked) == pasted_secret.MOST_PAIRS


def test_the_list_of_words_is_the_published_one() -> None:
    assert len(WORDS) == len(set(WORDS)) == 2048
    digest = hashlib.sha256(("\n".join(WORDS) + "\n").encode()).hexdigest()
    assert digest == "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"


def test_base58_here_is_that_of_the_desk() -> None:
    assert base58.decode(encoded(PAIR)) == PAIR
