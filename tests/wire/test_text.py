"""Text from a server: nothing unsafe reaches a screen, nothing unsafe names anything. Ids: their
forms, their randomness, their way into a URL."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import unicodedata
from enum import StrEnum
from secrets import SystemRandom
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from corpus import Case, load
from rows import each_row
from swapdesk.wire.encoding.ids import (
    ObjectId,
    OrderId,
    QuoteId,
    new_object_id,
    new_order_id,
    safe_segment,
)
from swapdesk.wire.encoding.numbers import WireNumber
from swapdesk.wire.encoding.text import (
    Display,
    Identity,
    OpenEnum,
    UnsafeText,
    filter_line,
    identity_text,
    is_unsafe,
    safe_text,
)

CLIENT = {"side": "client"}
SERVICE = {"side": "service"}
EMPTY = {"Co", "Cn"}
"""Categories of code points without a character."""


class Light(StrEnum):
    RED = "RED"
    GREEN = "GREEN"


def of(case: Case) -> str:
    return case.id


def test_the_first_forty_hostile_cases_are_there() -> None:
    cases = load()
    assert len({case.id for case in cases}) == len(cases) == 40
    assert all(case.category and case.expect for case in cases)
    assert len(load("text")[11].text) == 200_000


@each_row("case", load("markup", "text"), ids=of)
def test_hostile_text_is_shown_spelled_out(case: Case) -> None:
    shown = safe_text(case.text, 200)
    if "display" in case.expect:
        assert shown == case.expect["display"]
    else:
        assert len(shown) <= case.expect["display_at_most"]
        assert shown.endswith("…")
    assert shown.isprintable()


@each_row("case", load("text"), ids=of)
def test_hostile_text_names_nothing(case: Case) -> None:
    if case.expect["identity"] == "kept":
        assert identity_text(case.text, 200) == case.text
    else:
        with pytest.raises(UnsafeText):
            identity_text(case.text, 1_000_000)


def test_no_code_point_escapes_either_layer() -> None:
    """Each that has a character, and in every block of 64 some of those that have none."""
    for start in range(0, sys.maxunicode + 1, 64):
        block = "".join(map(chr, range(start, start + 64)))
        given = [ch for ch in block if unicodedata.category(ch) not in EMPTY]
        for ch in given or block[::16]:
            point = ord(ch)
            shown = safe_text(ch, 20)
            if not shown.isprintable() or is_unsafe(shown[0]):
                raise AssertionError(f"U+{point:04X} shown as {shown!r}")
            if is_unsafe(ch) and shown != f"<U+{point:04X}>":
                raise AssertionError(f"U+{point:04X} hidden as {shown!r}")
        filtered = filter_line(block)
        assert len(filtered) == len(block)
        left = {unicodedata.category(ch) for ch in filtered}
        assert not left & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(st.text(st.characters(codec=None), max_size=60), st.integers(1, 30))
def test_shown_text_is_bounded_printable_and_stable(text: str, limit: int) -> None:
    shown = safe_text(text, limit)
    assert len(shown) <= limit
    assert not any(is_unsafe(ch) for ch in shown)
    assert safe_text(shown, limit) == shown


@given(st.text(max_size=60))
def test_identity_is_the_text_or_nothing(text: str) -> None:
    try:
        assert identity_text(text, 40) == text
    except UnsafeText:
        assert (
            len(text) > 40
            or text != text.strip()
            or any(is_unsafe(ch) or unicodedata.category(ch)[0] in "ZM" for ch in text)
        )


@each_row(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Ærø münzé", "Ærø münzé"),
        ("a\u00a0b\u3000c", "a b c"),
        ("e\u0301\u0302\u0303\u0304", "e\u0301\u0302"),
        ("\u0301x", "<U+0301>x"),
        ("a\ufe0fb", "a<U+FE0F>b"),
        ("x\u3164y\u2800z", "x<U+3164>y<U+2800>z"),
        ("日本語", "日本語"),
    ],
)
def test_what_is_kept_and_what_is_spelled_out(text: str, shown: str) -> None:
    assert safe_text(text, 40) == shown


def test_a_cut_never_splits_a_spelled_character() -> None:
    assert safe_text("ab\x1bcd", 8) == "ab…"
    assert safe_text("x" * 11, 10) == "x" * 9 + "…"
    assert safe_text("x" * 10, 10) == "x" * 10
    assert safe_text("é" * 10, 10) == "é" * 10
    assert safe_text("é" * 11, 10) == "é" * 9 + "…"


@each_row("text", [" a", "a ", "a\u00a0b", "a\u0301\u0302\u0303", "x" * 21, "a\tb"])
def test_identity_refuses_what_it_may_not_rewrite(text: str) -> None:
    with pytest.raises(UnsafeText):
        identity_text(text, 20)


def test_display_is_rewritten_on_the_client_only() -> None:
    name = TypeAdapter(Annotated[str, Display(20)])
    assert name.validate_python("US\u200bDC", context=CLIENT) == "US<U+200B>DC"
    assert name.validate_python("US\u200bDC", context=SERVICE) == "US\u200bDC"
    assert name.validate_python("x" * 500, context=SERVICE) == "x" * 500
    assert name.validate_python("x" * 500) == "x" * 500
    assert name.validate_python("\ud800", context=CLIENT) == "<U+D800>"
    with pytest.raises(ValidationError):
        name.validate_python("\ud800", context=SERVICE)


@each_row("value", [5, None, True, b"a", ["a"], WireNumber("5")])
def test_only_text_is_text(value: object) -> None:
    for marker in (Display(20), Identity(20), OpenEnum(Light)):
        with pytest.raises(ValidationError):
            TypeAdapter(Annotated[str, marker]).validate_python(value, context=CLIENT)


@each_row("context", [CLIENT, SERVICE, None])
def test_identity_is_checked_on_both_sides(context: dict[str, str] | None) -> None:
    token_id = TypeAdapter(Annotated[str, Identity(64, pattern=r"^[a-fA-F0-9]{24}$")])
    good = "6689b73ec90e45f3b3e51566"
    assert token_id.validate_python(good, context=context) == good
    for bad in ("", good + "\n", good[:-1], good + "0", good[:-1] + "١", "../../admin", "x" * 65):
        with pytest.raises(ValidationError) as caught:
            token_id.validate_python(bad, context=context)
        message = caught.value.errors()[0]["msg"]
        assert not bad or bad not in message


def test_an_unknown_enum_value_is_kept_as_text() -> None:
    light = TypeAdapter(Annotated[str, OpenEnum(Light)])
    assert light.validate_python("RED") == "RED"
    assert light.validate_python("BLUE") == "BLUE"
    for bad in ("R\x1bD", "x" * 65, " RED"):
        with pytest.raises(ValidationError):
            light.validate_python(bad)


def test_new_ids_have_the_forms_they_are_read_by() -> None:
    rng = random.Random(1)
    for draw, kind, form in (
        (new_order_id, OrderId, r"[2-9A-HJ-NP-Za-km-z]{22}"),
        (new_object_id, ObjectId, r"[0-9a-f]{24}"),
        (new_object_id, QuoteId, r"[0-9a-f]{24}"),
    ):
        drawn = {draw(rng) for _ in range(2000)}
        assert len(drawn) == 2000
        for text in drawn:
            assert re.fullmatch(form, text)
            assert TypeAdapter(kind).validate_python(text) == text


def test_a_seed_gives_the_same_ids_and_the_system_gives_others() -> None:
    assert new_order_id(random.Random(5)) == new_order_id(random.Random(5))
    assert new_order_id(random.Random(5)) != new_order_id(random.Random(6))
    system = SystemRandom()
    assert new_order_id(system) != new_order_id(system)


def test_every_letter_of_an_order_id_is_used_at_every_place() -> None:
    rng = random.Random(2)
    drawn = [new_order_id(rng) for _ in range(3000)]
    for place in range(22):
        assert len({text[place] for text in drawn}) == 57


@each_row("case", load("path"), ids=lambda case: case.id)
def test_an_id_cannot_leave_its_place_in_a_url(case: Case) -> None:
    assert case.expect == {"segment": "refused"}
    with pytest.raises(UnsafeText):
        safe_segment(case.text)


@each_row("bad", ["", ".", "..", "a/b", "a%2fb", "a#f", "a b", "a\n", "é", "x" * 65, "a;b", "a@b"])
def test_what_is_no_order_id(bad: str) -> None:
    with pytest.raises(UnsafeText):
        safe_segment(bad)
    with pytest.raises(ValidationError):
        TypeAdapter(OrderId).validate_python(bad)


@each_row("good", ["m1Xc7D", "a_b-C", "6689b73ec90e45f3b3e51566", "x" * 64])
def test_an_id_is_a_segment_as_it_is(good: str) -> None:
    assert safe_segment(good) == TypeAdapter(OrderId).validate_python(good) == good


@each_row("bad", ["", "x" * 129, "a\u200b", " a", "a b", "é", "a\x1b", 5])
def test_a_quote_id_is_opaque_and_harmless(bad: object) -> None:
    assert TypeAdapter(QuoteId).validate_python("any/thing?=1") == "any/thing?=1"
    with pytest.raises(ValidationError):
        TypeAdapter(QuoteId).validate_python(bad)


def test_the_encoding_brings_no_network_and_no_screen() -> None:
    program = (
        "import sys\n"
        "from swapdesk.wire.encoding import codec, dialect, ids, numbers, query, text\n"
        "heavy = {'httpx2', 'textual', 'rich', 'websockets', 'starlette', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == "[]\n"
