"""``demo --page``: one file with every stage whole, which nothing else can steer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import fields, replace

from cli.desks import run_here
from corpus.texts import control_texts, invisible_texts, web_texts
from recorded_demo import recorded
from rows import each_row
from swapdesk.cli.demo_report import demo_page
from swapdesk.flows.demo.stage import DEMOS, Stage, link_pane
from swapdesk.web_page import LONGEST_TEXT
from swapdesk.wire.encoding.text import is_unsafe, safe_text
from swapdesk.wire.tokens import Token
from web_documents import WebDocument, hold_sealed

TEXTS = web_texts() + control_texts()[::20] + invisible_texts()[::8]
"""More of them: ``tests/test_web_page.py``."""
DRAWN = "Alice → Pell → ETH → Halyard → Bob"


def said_in(page: str, name: str) -> str:
    """What a section says; empty where there is none."""
    behind = page.partition("</main>")[0].partition(f'<section id="{name}">')[2]
    section = behind.partition('<section id="')[0]
    return WebDocument(f"<body><section>{section}</body>").said if behind else ""


def attributes_of(page: str, name: str) -> list[str]:
    elements = WebDocument(page).elements
    return [one.attributes[name] for one in elements if name in one.attributes]


def page_of(name: str, stages: tuple[Stage, ...] | None = None) -> str:
    return demo_page(DEMOS[name], stages or recorded(name).stages, "what is paid")


@pytest.mark.parametrize("name", sorted(DEMOS))
def test_every_stage_is_whole_without_the_script(name: str) -> None:
    """With its sentences, each line of its panes, whole hashes and blocks, and where the money
    is."""
    stages, page = recorded(name).stages, page_of(name)
    for stage in stages:
        told = said_in(page, f"stage-{stage.number}")
        said = [stage.row.title, stage.row.sentence, stage.row.more, stage.money, stage.next]
        panes = stage.panes
        said += [line.whole or line.text for pane in panes for line in pane.lines]
        said += [pane.ending for pane in panes]
        said += [text for row in stage.compared for text in (row.label, row.value, row.remark)]
        said += [f"{each.chain} {each.height} · {each.hash}" for each in stage.moved]
        assert [text for text in said if " ".join(text.split()) not in told] == []
    last = stages[-1]
    told = said_in(page, "link-search")
    assert bool(told) == last.can_be_linked == (name == "private")
    if name == "private":
        assert all(line.text in told for line in link_pane(last.search).lines)
        assert len(last.crowd) >= 5
        assert all(each.hash in told for each in (*last.moved, *last.crowd))


def test_missing_edge_is_drawn_once_there_is_something_to_search() -> None:
    stages = recorded("private").stages
    labels = [one for one in attributes_of(page_of("private"), "aria-label") if DRAWN in one]
    missing = DRAWN + "; Alice → Bob: no path on the chains"
    # The first stage has no payment, so nothing can be searched for.
    assert labels == [DRAWN, *[missing] * (len(stages) - 1)]
    last = stages[-1]
    linked = replace(last, search=replace(last.search, path=last.moved[:2]))
    found = page_of("private", (*stages[:-1], linked))
    assert "▲ 2 payments on the chains" in said_in(found, "stage-9")
    assert found.count('class="edge found"') == 2


def test_payments_to_the_left_or_within_a_column_are_drawn() -> None:
    """A width below nothing is refused by a browser, and draws nothing."""
    *stages, last = recorded("private").stages
    hers, _, his = last.moved
    back = replace(hers, sender=hers.receiver, receiver=hers.sender, height=hers.height + 1)
    across = replace(hers, sender=hers.sender, receiver=his.sender, height=hers.height + 2)
    beside = replace(hers, sender=hers.receiver, receiver=his.sender, height=hers.height + 3)
    crossed = replace(last.search, path=(back, across, beside))
    page = page_of("private", (*stages, replace(last, search=crossed)))
    assert all(float(width.rstrip("%em")) > 0 for width in attributes_of(page, "width"))


def test_nothing_is_loaded_and_every_link_leads_to_a_stage() -> None:
    page = hold_sealed(page_of("private"))
    assert page.parts["script"]
    named = {one.attributes["id"] for one in page.of("section")}
    assert {one.attributes["href"] for one in page.of("a")} == {f"#{name}" for name in named}


CHECKED = {"sender", "receiver"}
"""Read from a chain as 40 hexadecimal digits, or refused there."""


def with_texts(value: Any, text: str) -> Any:
    """The same record with this text in every field that holds one."""
    if isinstance(value, str):
        return text
    if isinstance(value, Token):
        chain = value.chain_data.model_copy(update={"name": text, "short_name": text})
        return value.model_copy(update={"symbol": text, "name": text, "chain_data": chain})
    if isinstance(value, tuple):
        return tuple(with_texts(one, text) for one in value)
    if isinstance(value, dict):
        return {with_texts(key, text): one for key, one in value.items()}
    if isinstance(value, Struct):
        changes = {
            one.name: with_texts(getattr(value, one.name), text)
            for one in fields(value)
            if one.name not in CHECKED
        }
        return replace(value, **changes)
    return value


@pytest.mark.parametrize("name", sorted(DEMOS))
def test_text_of_the_service_stays_data_in_every_field(name: str) -> None:
    def page(text: str) -> str:
        stages = tuple(
            replace(with_texts(stage, text), tracked=stage.tracked)
            for stage in recorded(name).stages
        )
        return demo_page(replace(DEMOS[name], title=text, did=text), stages, text)

    shape = WebDocument(page("harmless")).shape
    for text in TEXTS:
        made = page(text)
        assert hold_sealed(made).shape == shape, text
        assert not any(is_unsafe(char) for char in made if char != "\n"), text
        shown = " ".join(safe_text(text, LONGEST_TEXT).split())
        assert shown in said_in(made, "stage-1")


def test_a_page_replaces_an_older_one_and_nothing_else(tmp_path: Path) -> None:
    """What stands there is looked at before anything is carried out."""
    for content in (b"", b"notes", b"<!doctype html>\n<html>swapdesk demo</html>"):
        file = tmp_path / "notes.html"
        file.write_bytes(content)
        told = run_here("demo", "stuck", "--page", "notes.html", home=tmp_path)
        assert (told.code, told.stdout) == (2, "")
        assert "it was not replaced" in told.stderr
        assert file.read_bytes() == content


@each_row(
    ("words", "said"),
    [
        (("--page", "missing/demo.html"), "There is no folder missing"),
        (("--page", "."), "is a directory"),
        (("--page", "-", "--auto"), "--auto tells the stages on standard output"),
    ],
)
def test_a_place_that_takes_no_page_begins_nothing(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    told = run_here("demo", "stuck", *words, home=tmp_path)
    assert (told.code, told.stdout) == (2, "")
    assert said in told.stderr


@pytest.mark.long
def test_a_page_goes_to_standard_output(tmp_path: Path) -> None:
    told = run_here("demo", "stuck", "--page", "-", home=tmp_path)
    assert (told.code, told.stderr) == (0, "")
    about = recorded("stuck").text.partition(": ")[2].partition("\n")[0]
    assert told.stdout == demo_page(DEMOS["stuck"], recorded("stuck").stages, about)
