"""Ids: their forms, their randomness, their way into a URL."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from secrets import SystemRandom

import pytest
from pydantic import TypeAdapter, ValidationError

from corpus import Case, load
from swapdesk.wire.encoding.ids import (
    ObjectId,
    OrderId,
    QuoteId,
    new_object_id,
    new_order_id,
    new_quote_id,
    safe_segment,
)
from swapdesk.wire.encoding.text import UnsafeText


def test_new_ids_have_the_forms_they_are_read_by() -> None:
    rng = random.Random(1)
    for draw, kind, form in (
        (new_order_id, OrderId, r"[2-9A-HJ-NP-Za-km-z]{22}"),
        (new_object_id, ObjectId, r"[0-9a-f]{24}"),
        (new_quote_id, QuoteId, r"[0-9a-f]{24}"),
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


@pytest.mark.parametrize("case", load("path"), ids=lambda case: case.id)
def test_an_id_cannot_leave_its_place_in_a_url(case: Case) -> None:
    assert case.expect == {"segment": "refused"}
    with pytest.raises(UnsafeText):
        safe_segment(case.text)


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "a/b", "a%2fb", "a#f", "a b", "a\n", "é", "x" * 65, "a;b", "a@b"]
)
def test_what_is_no_order_id(bad: str) -> None:
    with pytest.raises(UnsafeText):
        safe_segment(bad)
    with pytest.raises(ValidationError):
        TypeAdapter(OrderId).validate_python(bad)


@pytest.mark.parametrize("good", ["m1Xc7D", "a_b-C", "6689b73ec90e45f3b3e51566", "x" * 64])
def test_an_id_is_a_segment_as_it_is(good: str) -> None:
    assert safe_segment(good) == TypeAdapter(OrderId).validate_python(good) == good


@pytest.mark.parametrize("bad", ["", "x" * 129, "a\u200b", " a", "a b", "é", "a\x1b", 5])
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
