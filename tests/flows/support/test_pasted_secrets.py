"""Keys and phrases are seen in whatever they stand in, and nothing of them is left in the answer.

Every secret here is made for the test. A refused text is answered by one of three fixed sentences
and nothing else, so whatever reads the answer cannot show, keep or send what was in the text.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rows import each_row
from sampling import examples
from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.base58 import XRP_ALPHABET
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
    "wif": base58.encode_check(b"\x80" + octets("wif")),
    "wif of a compressed key": base58.encode_check(b"\x80" + octets("wif") + b"\1"),
    "litecoin wif": base58.encode_check(b"\xb0" + octets("ltc") + b"\1"),
    "dogecoin wif": base58.encode_check(b"\x9e" + octets("doge") + b"\1"),
    "xrp seed": base58.encode_check(b"\x21" + octets("xrp", 16), XRP_ALPHABET),
    "solana pair": base58.encode(PAIR),
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
    "behind a long text": lambda key: "so it goes " * 300 + key,
    "before a long text": lambda key: key + " so it goes" * 300,
}


@each_row("name", KEYS)
@each_row("around", SURROUNDINGS)
def test_a_key_is_seen_and_not_repeated(name: str, around: str) -> None:
    assert read(SURROUNDINGS[around](KEYS[name])) == PastedText(problem=KEY, secret=True)


@each_row("name", IN_LETTERS)
@each_row("hidden", ["\u200b", "\u2060", "\ufeff", "\u00ad", "\u202e", "\U000e0041"])
def test_a_key_is_seen_behind_characters_that_are_not_drawn(name: str, hidden: str) -> None:
    key = KEYS[name]
    assert read(key[:30] + hidden + key[30:]).problem == KEY


def phrase(seed: str, count: int = 12) -> list[str]:
    chosen = octets(seed, count * 2)
    return [WORDS[int.from_bytes(chosen[at : at + 2]) % 2048] for at in range(0, count * 2, 2)]


_OTHERS = (files("swapdesk.flows.support") / "seed_words_of_languages.txt").read_text("utf-8")
LANGUAGES = {name: words for name, *words in map(str.split, _OTHERS.splitlines())}
PUBLISHED = {
    "english": "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda",
    "spanish": "46846a5a0139d1e3cb77293e521c2865f7bcdb82c44e8d0a06a2cd0ecba48c0b",
    "french": "ebc3959ab7801a1df6bac4fa7d970652f1df76b683cd2f4003c941c63d517e59",
    "italian": "d392c49fdb700a24cd1fceb237c1f65dcc128f6b34a8aacb58b59384b5c648c2",
    "czech": "7e80e161c3e93d9554c2efb78d4e3cebf8fc727e9c52e03b83b94406bdcc95fc",
    "portuguese": "2685e9c194c82ae67e10ba59d9ea5345a23dc093e92276fc5361f6667d79cd3f",
    "japanese": "2eed0aef492291e061633d7ad8117f1a2b03eb80a29d0e4e3117ac2528d05ffd",
    "korean": "9e95f86c167de88f450f0aaf89e87f6624a57f973c67b516e338e8e8b8897f60",
    "chinese_simplified": "5c5942792bd8340cb8b27cd592f1015edf56a8c5b26276ee18a482428e7c5726",
    "chinese_traditional": "417b26b3d8500a4ae3d59717d7011952db6fc2fb84b807f3f94ac734e89c1b5f",
}


@each_row("language", LANGUAGES)
@each_row("form", ["NFC", "NFKD", "without accents"])
def test_a_phrase_of_every_official_list_is_seen(language: str, form: str) -> None:
    listed = LANGUAGES[language]
    for count, between in ((12, " "), (15, "\n"), (24, "\u3000"), (12, ", ")):
        chosen = [
            listed[int.from_bytes(octets(f"{language} {at}", 2)) % 2048] for at in range(count)
        ]
        text = between.join(chosen)
        if form != "without accents":
            text = unicodedata.normalize(form, text)
        elif language in ("japanese", "korean"):
            continue
        else:
            text = "".join(one for one in text if not unicodedata.combining(one))
        numbered = between.join(f"{at}. {word}" for at, word in enumerate(text.split(between), 1))
        for whole in (text, f"Bonjour, 您好:\n{text}\nGrüße", numbered):
            assert read(whole) == PastedText(problem=PHRASE, secret=True), whole


def test_signs_of_chinese_in_a_row_are_a_phrase_where_their_checksum_holds() -> None:
    listed = LANGUAGES["chinese_simplified"]
    bits = "".join(f"{one:08b}" for one in octets("signs", 32))
    bits += f"{hashlib.sha256(octets('signs', 32)).digest()[0]:08b}"
    signs = "".join(listed[int(bits[at : at + 11], 2)] for at in range(0, 264, 11))
    assert read(signs).problem == PHRASE
    assert read(f"你好，我的助记词是：{signs}。").problem == PHRASE
    assert not read(f"{signs[1:]}{signs[0]}").secret
    assert not read("我的助记词是什么我不知道请告诉我怎么办才好，订单还没有到。").secret


def test_the_lists_of_all_languages_are_the_published_ones() -> None:
    told = {
        name: hashlib.sha256(("\n".join(words) + "\n").encode()).hexdigest()
        for name, words in {"english": WORDS, **LANGUAGES}.items()
    }
    assert told == PUBLISHED
    assert len(set(WORDS)) == 2048


KEY_SAID = (
    "mi clave privada es {}",
    "Clave privada: {}",
    "ma clé privée est : {}",
    "Mein privater Schlüssel lautet {}",
    "chave privada da minha carteira: {}",
    "la chiave privata è {}",
    "мой приватный ключ: {}",
    "Закрытый ключ от кошелька — {}",
    "我的私钥是{}",
    "私鑰：{}",
    "秘密鍵は{}です",
    "개인 키: {}",
    "المفتاح الخاص: {}",
    "निजी कुंजी: {}",
    "{} es mi clave privada",
    "{} ist mein privater Schlüssel",
)


@each_row("said", KEY_SAID)
@each_row("form", ["{}", "0x{}", "0X{}", "broken", "in groups"])
def test_digits_that_a_text_of_any_language_calls_a_key_are_one(said: str, form: str) -> None:
    key = {
        "broken": f"{HEX[:40]}\n{HEX[40:]}",
        "in groups": " ".join(HEX[at : at + 8] for at in range(0, 64, 8)),
    }.get(form) or form.format(HEX)
    assert read(f"Hola, 你好. {said.format(key)} ok").problem == KEY


@each_row("name", ["wif", "solana pair", "xrp seed", "hex of both halves"])
def test_a_key_is_seen_over_two_lines_in_an_answer_and_in_a_link(name: str) -> None:
    key = KEYS[name]
    for text in (
        f"it is {key[:17]}\n{key[17:]} ok",
        f"> it is {key[:17]}\n> {key[17:]} ok",
        "https://x.example/?k=" + "".join(f"%{ord(one):02X}" for one in key),
    ):
        assert read(text).problem == KEY, text


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


@each_row("count", [12, 15, 18, 21, 24])
@each_row("spelling", SPELLINGS)
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


@each_row(
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
    "signature " + base58.encode(octets("signed", 64)),
    json.dumps(list(octets("signed", 64))),
    "Dear support, I have been waiting for two days now and my money is still not here. I did what"
    " your page says and sent the amount to the address. What should I do? Please answer soon.",
    "Hi! I would like to know where my coins are. I sent 1,200 USDT on Tron with the memo 774411",
    "Je ne trouve pas ma commande, pouvez-vous me dire où est mon argent ? J’ai envoyé la somme"
    " hier soir vers l’adresse donnée et rien n’est arrivé. Merci pour votre aide, Camille",
    "Hola, envié el dinero ayer por la tarde a la dirección que me dieron y todavía no ha llegado."
    " ¿Pueden revisar qué pasó con mi pedido, por favor? Muchas gracias por su ayuda y saludos",
    "我的钱昨天已经转到你们的地址了，到现在还没有收到，请帮我查一下是什么问题，谢谢你们的帮助",
    "昨日送金しましたがまだ届いていません。どうなっているのか確認していただけますでしょうか。",
    "No comparto mi clave privada. El hash es 0x" + "ef" * 32,
    "private key of my car is not the order number; the order number is 12345678",
)


@each_row("text", HONEST)
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
    read("\n".join(base58.encode(octets(f"pair {at}", 64)) for at in range(500)))
    assert len(looked) == pasted_secret.MOST_PAIRS
