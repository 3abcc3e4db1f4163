"""A support file tells what the desk showed, nothing that was not asked for, and is hostile until
it was read.

A case as a web page shows what the desk shows of its file, as the words of whoever wrote it, and
nothing in it runs.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

from corpus import load
from corpus.texts import control_texts, invisible_texts, web_texts
from flows.orders import NOW, intent, order
from flows.support.case_documents import (
    EVERYTHING,
    call,
    document_of,
    facts,
    named,
    read_document,
    texts_of,
    whole_case,
    with_texts,
    written,
)
from flows.support.cases import CASES, HASH
from flows.support.test_pasted_text import KEYS, OWN_SECRET, WORDS
from rows import each_row
from swapdesk import __version__
from swapdesk.flows.support.case_file import (
    MOST_BYTES,
    NOT_OUR_REPLY,
    NOT_OURS,
    WHOSE,
    CaseFile,
    CaseFileRefused,
    Shown,
    case_page,
    contents,
    file_bytes,
    read_bytes,
    read_case_file,
    write_case,
)
from swapdesk.flows.support.support_case import (
    CaseFacts,
    CaseMoment,
    record_of,
    timeline,
)
from swapdesk.wire.encoding.text import is_unsafe, safe_text
from swapdesk.wire.orders import Order
from web_documents import WebDocument, hold_sealed


def text_of(file: CaseFile) -> str:
    return file_bytes(file).decode()


ENDINGS = {"addresses": "_address", "memos": "_tag", "hashes": "_hash"}


def told(one: CaseFacts, kind: Shown) -> set[str]:
    """Texts of this kind that the facts hold, found by the names of their fields."""
    orders = [one.tracked.order, *(state for *_, state in one.seen)]
    fields = [(name, getattr(state, name)) for state in orders for name in Order.model_fields]
    intent, payments = one.tracked.intent, one.tracked.payments
    if kind == "amounts":
        amounts = [value for name, value in fields if name != "eta" and isinstance(value, Decimal)]
        amounts += [paid.amount for paid in payments if paid.amount is not None]
        return {text for amount in amounts for text in (f"{amount:f}", f"{amount:,f}")}
    texts = [value for name, value in fields if name.endswith(ENDINGS.get(kind, "-"))]
    texts += {
        "addresses": [*(paid.to for paid in payments), intent and intent.recipient],
        "memos": [paid.memo for paid in payments],
        "hashes": [HASH],
        "names": [intent and intent.recipient_label],
    }[kind]
    return set(filter(None, texts))


def stands(text: str, value: str) -> bool:
    place = rf"(?<![\w.,]){re.escape(value)}(?![\w]|[.,]\d)"
    return value in text and re.search(place, text) is not None


def test_what_is_masked_stands_nowhere_and_what_was_asked_for_does() -> None:
    """Of every rule of the diagnosis: each text and each amount of the order, its history, its
    payment and what was confirmed."""
    seen = dict.fromkeys(get_args(Shown), 0)
    for case in CASES:
        one = named(facts(case))
        masked, shown = text_of(written(one)), text_of(written(one, EVERYTHING))
        for kind in get_args(Shown):
            for value in told(one, kind):
                assert not stands(masked, value), (case.rule, value)
                assert len(value) < 12 or value[:12] not in masked, (case.rule, value)
                seen[kind] += stands(shown, value)
    assert all(seen.values()), seen


@each_row("kind", get_args(Shown))
def test_one_kind_is_shown_alone(kind: Shown) -> None:
    case = next(one for one in CASES if one.paid is not None and one.made)
    one = named(facts(case))
    text = text_of(written(one, (kind,)))
    for other in set(get_args(Shown)) - {kind}:
        assert not [value for value in told(one, other) if stands(text, value)], other


def test_the_same_case_is_the_same_file_and_is_read_as_it_was_written() -> None:
    for case in CASES[::5]:
        assert written(facts(case), EVERYTHING).record == record_of(facts(case))
        for shown in ((), EVERYTHING):
            file = written(facts(case), shown)
            assert file_bytes(file) == file_bytes(written(facts(case), shown))
            assert read_bytes(file_bytes(file)) == file


PHRASES = [" ".join(WORDS[at : at + 12]) for at in (0, 400, 900, 1800)]
PLANTED = dict(list(KEYS.items())[:12])


@each_row("shown", [(), EVERYTHING])
def test_no_planted_secret_stands_in_a_file(shown: tuple[Shown, ...]) -> None:
    secrets = [*PLANTED.values(), *PHRASES, OWN_SECRET]
    assert len(secrets) == 17
    for secret in secrets:
        state = order(
            status_label=secret[:60], swap_name=secret[:90], in_symbol=secret[:60],
            metadata={"note": secret}, receiver_tag=secret[:64] if len(secret) <= 64 else None,
        )  # fmt: skip
        known = replace(intent(), recipient_label=secret, memo=secret, refund_memo=secret)
        one = facts(CASES[0])
        one = replace(
            one,
            tracked=replace(one.tracked, order=state, intent=known),
            seen=((NOW, "read", state),),
            calls=(call(1, f"/v2/orders/{state.service_id}?note={secret}", secret.encode()),),
        )
        text = text_of(written(one, shown, secrets=(OWN_SECRET,)))
        assert secret not in text
        assert json.dumps(secret)[1:-1] not in text


def test_what_is_in_a_file_is_said_before_it_is_written() -> None:
    said = dict(contents(written(facts(CASES[0]), ("amounts",))))
    assert (said["amounts"], said["addresses"]) == ("as they are", "masked")
    assert said["requests"] == "1, without their bodies"


def test_a_file_is_private_and_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    file = written(facts(CASES[0]))
    write_case(file_bytes(file), path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_case_file(path) == file
    with pytest.raises(CaseFileRefused, match="is there already"):
        write_case(file_bytes(file), path)
    with pytest.raises(CaseFileRefused, match="cannot be written"):
        write_case(file_bytes(file), tmp_path / "none" / "case.json")
    with pytest.raises(CaseFileRefused, match="cannot be read"):
        read_case_file(tmp_path / "none.json")


# Files of an attacker


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    document = msgspec.to_builtins(written(facts(CASES[0])))
    change(document)
    # Surrogates are written as escapes, as an attacker would.
    return json.dumps(document).encode()


REFUSED: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "cut": lambda: file_bytes(written(facts(CASES[0])))[:-40],
    "too large": lambda: changed(lambda d: None) + b" " * MOST_BYTES,
    "no json": lambda: b"{",
    "no utf-8": lambda: b'{"schema":"\xff"}',
    "deep": lambda: b'{"schema":1,"order":' + b"[" * 90_000 + b"]" * 90_000,
    "a list": lambda: b"[]",
    "no schema": lambda: b"{}",
    "schema of text": lambda: changed(lambda d: d.update(schema="1")),
    "schema of truth": lambda: changed(lambda d: d.update(schema=True)),
    "schema zero": lambda: changed(lambda d: d.update(schema=0)),
    "not whole": lambda: changed(lambda d: d.pop("record")),
    "sheet of text": lambda: changed(lambda d: d["record"].update(sheet="x")),
    "time of nothing": lambda: changed(lambda d: d.update(written="yesterday")),
    "first day of all": lambda: changed(lambda d: d.update(written="0001-01-01T00:00:00+14:00")),
    "last day of all": lambda: changed(
        lambda d: d["record"]["moments"][0].update(at="9999-12-31T23:59:59-14:00")
    ),
    "time without a zone": lambda: changed(
        lambda d: d["record"]["calls"][0].update(at="2026-11-20T14:02:11")
    ),
    "stage of text": lambda: changed(lambda d: d["record"]["sheet"].update(stage="2")),
    "many updates": lambda: changed(
        lambda d: d["record"].update(moments=d["record"]["moments"] * 1_500)
    ),
}


@each_row("name", REFUSED)
def test_a_hostile_file_is_refused_in_a_sentence(name: str) -> None:
    with pytest.raises(CaseFileRefused) as refused:
        read_bytes(REFUSED[name]())
    said = str(refused.value)
    assert said[0].isupper()
    assert said.endswith(".")
    assert len(said) < 300


@each_row("hostile", load("case_file", name="answers"), ids=lambda one: one.id)
def test_a_zip_is_not_read_bytes(hostile: Any) -> None:
    """As an earlier version wrote its files: it may grow without a bound."""
    out, sent = io.BytesIO(), hostile.input
    with zipfile.ZipFile(out, "w", getattr(zipfile, f"ZIP_{sent['method']}")) as made:
        made.writestr("case.json", sent["byte"].encode() * sent["times"])
    with pytest.raises(CaseFileRefused, match=hostile.expect["refused"]):
        read_bytes(out.getvalue())


@each_row("hostile", load("markup", "text"), ids=lambda one: one.id)
def test_texts_of_a_file_are_made_safe(hostile: Any) -> None:
    def plant(document: dict[str, Any]) -> None:
        sheet = document["record"]["sheet"]
        sheet["cause"] = hostile.text
        sheet["reply"] = [hostile.text]
        document["order"]["statusLabel"] = hostile.text

    try:
        file = read_bytes(changed(plant))
    except CaseFileRefused:
        assert hostile.id == "lone-surrogate"
        return
    for text in (file.record.sheet.cause, *file.record.sheet.reply, file.order["statusLabel"]):
        assert not any(is_unsafe(char) for char in text)


def test_a_file_of_a_newer_version_keeps_what_it_has() -> None:
    def newer(document: dict[str, Any]) -> None:
        document["schema"] = 9
        document["mood"] = {"good": True}
        document["record"]["sheet"]["level"] = "teleporting"
        document["record"]["sheet"]["tide"] = "low"

    file = read_bytes(changed(newer))
    assert "A newer version wrote it (schema 9, this one knows 1)" in file.newer
    assert read_bytes(changed(lambda _: None)).newer == ""
    assert file.record.sheet.level == "teleporting"
    lacking = changed(lambda d: (d.update(schema=9), d.pop("record")))
    with pytest.raises(CaseFileRefused, match=r"newer version \(schema 9\)"):
        read_bytes(lacking)


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
