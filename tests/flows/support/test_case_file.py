"""A support file tells what the desk showed, nothing that was not asked for, and is hostile until
it was read."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

from corpus import load
from flows.orders import NOW, intent, order
from flows.support.cases import CASES, HASH, REQUEST, Case, sent
from flows.support.test_pasted_secrets import KEYS, OWN_SECRET, WORDS
from rows import each_row
from swapdesk.client.exchange_log import Exchange
from swapdesk.flows.support.case_file import (
    MOST_BYTES,
    CaseFile,
    CaseFileRefused,
    Shown,
    case_file,
    contents,
    file_bytes,
    read_bytes,
    read_case_file,
    write_case,
)
from swapdesk.flows.support.support_case import CaseFacts, DeskFacts, record_of
from swapdesk.wire.encoding.text import is_unsafe
from swapdesk.wire.orders import Order

PROGRAM = {"swapdesk": "1.0.0", "service": "sandbox"}
EVERYTHING = tuple(get_args(Shown))


def call(number: int, target: str, body: bytes = b"") -> Exchange:
    return Exchange(
        number, NOW, "getOrder", "GET", target, 1, (), body, 404, "7f00aa11", (), b"", 0, 12.0,
        "NOT_FOUND",
    )  # fmt: skip


def facts(case: Case) -> CaseFacts:
    first = order(intent(route=case.route) if case.tracked.get("intent", True) else None)
    return CaseFacts(
        case.now,
        case.whole,
        case.made,
        ((NOW, "create", first), (case.now, "read", case.whole.order)),
        REQUEST,
        case.known or DeskFacts(),
        (call(1, f"/v2/orders/{first.service_id}"),),
    )


def named(one: CaseFacts) -> CaseFacts:
    """With a recipient of the address book, a memo and what was paid, where an intent was
    confirmed."""
    if one.tracked.intent is None:
        return one
    known = replace(one.tracked.intent, recipient_label="@landlady", memo="rent for May")
    state = one.tracked.order.model_copy(update={"receiver_tag": "rent for May"})
    own = sent("sent")[0]
    return replace(one, tracked=replace(one.tracked, order=state, intent=known, own_payment=own))


def written(one: CaseFacts, shown: tuple[Shown, ...] = (), **more: Any) -> CaseFile:
    return case_file(one, shown, program=PROGRAM, **more)


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
    return re.search(rf"(?<![\w.,]){re.escape(value)}(?![\w]|[.,]\d)", text) is not None


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
