"""A case as a web page shows what the desk shows of its file, as the words of whoever wrote it, and
nothing in it runs."""

from __future__ import annotations

import json
from itertools import cycle
from typing import get_args

from corpus.texts import control_texts, invisible_texts, web_texts
from flows.support.case_documents import (
    document_of,
    read_document,
    texts_of,
    whole_case,
    with_texts,
)
from flows.support.cases import CASES
from flows.support.test_case_file import facts, named, told, written
from rows import each_row
from swapdesk import __version__
from swapdesk.flows.support.case_file import (
    NOT_OUR_REPLY,
    NOT_OURS,
    WHOSE,
    CaseFile,
    Shown,
    case_page,
)
from swapdesk.flows.support.support_case import CaseMoment, timeline
from swapdesk.wire.encoding.text import is_unsafe, safe_text
from web_documents import WebDocument, hold_sealed

TEXTS = web_texts() + control_texts()[::8] + invisible_texts()[::6]


def page_of(file: CaseFile) -> WebDocument:
    return hold_sealed(case_page(file))


def plain(text: str) -> str:
    return " ".join(text.split())


def test_it_says_all_that_the_desk_says_of_a_case() -> None:
    for case in CASES[::3]:
        file = written(named(facts(case)), tuple(get_args(Shown)))
        sheet, page = file.record.sheet, page_of(file)
        said = [
            NOT_OURS,
            file.made,
            f"Order {sheet.order_id} {sheet.route}",
            "".join(text for text, _ in sheet.pair),
            f"{sheet.word} stage {sheet.stage + 1} of {sheet.stages}",
            f"Diagnosis {sheet.rests_on}",
            *(f"{label} {text}" for label, text in sheet.answers),
            *(f"{label} {text}" for label, text, _ in sheet.facts_of_order(whole=True)),
            f"{NOT_OUR_REPLY} {' '.join(sheet.reply)}",
            *sheet.facts,
            f"Funds {WHOSE}{sheet.place}",
            f"Next {WHOSE}{sheet.acts}",
            f"Made into a page by swapdesk {__version__}.",
            *(f"{name} {value}" for name, value in file.program.items()),
        ]
        for text in said:
            assert plain(text) in page.said, (case.rule, text)
        for name, value in document_of(file)["order"].items():
            shown = value if isinstance(value, str) else json.dumps(value)
            assert f"{name} {plain(shown)}" in page.said, (case.rule, name)


def test_both_sides_of_the_exchange_are_told_apart() -> None:
    said = page_of(whole_case()).said
    sent, paid, rest = (said.index(f" {title} ") for title in ("What is sent", "What is paid out",
                                                              "The order"))  # fmt: skip
    order = whole_case().order
    for name in order:
        at = said.index(f" {name} ", sent)
        side = sent if name.startswith(("in", "quotedIn", "deposit", "refund")) else rest
        side = paid if name.startswith(("out", "quotedOut", "receiver")) else side
        assert side == max(start for start in (sent, paid, rest) if start < at), name
    assert {"inAmount", "outAmount", "displayStatus"} <= order.keys()


def test_the_time_line_has_every_update_and_request() -> None:
    file = whole_case()
    said = page_of(file).said
    said = said[said.index("Time line") :]
    assert len(file.record.moments) == 3
    assert len(file.record.calls) == 2
    place = 0
    for entry in timeline(file.record):
        texts = [entry.day, entry.quiet]
        if isinstance(entry.of, CaseMoment):
            then = entry.of.sheet
            texts += [entry.of.state, entry.of.source, *entry.of.changed]
            texts += ["As it stood then", then.word, *(text for _, text in then.answers)]
            texts += [plain(" ".join(then.reply))]
        else:
            texts += [entry.of.path, entry.of.status, entry.of.told]
        for text in filter(None, texts):
            place = said.index(plain(text), place) + len(plain(text))
    assert "nothing new for 1d00h" in said


@each_row("kind", get_args(Shown))
def test_what_is_masked_in_the_file_stands_on_no_page(kind: Shown) -> None:
    for case in CASES[::15]:
        one = named(facts(case))
        masked = page_of(written(one, tuple(set(get_args(Shown)) - {kind}))).said
        for value in told(one, kind):
            assert len(value) < 12 or value not in masked, (case.rule, value)
        assert " …ss-" not in masked, case.rule


def test_a_newer_file_says_so() -> None:
    document = document_of(whole_case())
    newer = read_document(document | {"schema": 9, "mood": "good"})
    assert newer.newer
    assert newer.newer in page_of(newer).said
    assert "newer version" not in page_of(whole_case()).said


SHAPE = page_of(whole_case()).shape


def test_every_text_of_a_file_stays_a_text() -> None:
    """One hostile text in all places, then each place with another one."""
    for text in TEXTS:
        file = with_texts(whole_case(), lambda text=text: text)  # type: ignore[misc]
        page = page_of(file)
        assert page.shape == SHAPE, text
        assert plain(safe_text(text, 200).rstrip("…")) in page.said
        assert not any(is_unsafe(char) for char in page.said), text
    count = len(list(texts_of(document_of(whole_case()))))
    for first in range(0, len(TEXTS), 7):
        texts = cycle(TEXTS[first:] + TEXTS[:first])
        assert page_of(with_texts(whole_case(), lambda texts=texts: next(texts))).shape == SHAPE  # type: ignore[misc]
    assert count > 150


def test_every_number_and_truth_of_a_file_may_be_any() -> None:
    plain_document = document_of(whole_case())
    sheet = plain_document["record"]["sheet"]
    numbers = [name for name, value in sheet.items() if type(value) is int]
    assert {"stage", "stages", "earlier"} <= set(numbers)
    for value in (-(10**18), -1, 0, 1, 4, 21, 10**18):
        document = document_of(whole_case())
        document["record"]["sheet"] |= dict.fromkeys(numbers, value)
        assert "Diagnosis" in page_of(read_document(document)).said
    for name in [name for name, value in sheet.items() if type(value) is bool]:
        document = document_of(whole_case())
        document["record"]["sheet"][name] = not sheet[name]
        page_of(read_document(document))
    for value in (None, [], {}, 10**30, 1.5, {"a": [{"b": "</script>"}]}):
        document = document_of(whole_case())
        document["order"] |= {"inAmount": value, "in": value, "": value}
        page_of(read_document(document))


def test_a_case_without_updates_and_requests_is_a_page() -> None:
    document = document_of(whole_case())
    document["record"] |= {"moments": [], "calls": []}
    document["order"], document["program"] = {}, {}
    document["record"]["sheet"] |= {"pair": [], "steps": [], "facts": [], "reply": []}
    page = page_of(read_document(document))
    assert "Time line" in page.said


def test_the_same_file_is_the_same_page() -> None:
    assert case_page(whole_case()) == case_page(whole_case())
