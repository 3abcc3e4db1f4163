"""``demo --page``: one file with every stage whole, which nothing else can steer."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import fields, replace

from cli.desks import run_here
from corpus.texts import all_texts, sample
from recorded_demo import recorded
from swapdesk.cli.demo_page import demo_page
from swapdesk.flows.demo.stage import DEMOS, Stage, link_pane, panes_of
from swapdesk.wire.encoding.text import is_unsafe, safe_text
from swapdesk.wire.tokens import Token

LOADS = {"src", "srcset", "action", "formaction", "data", "poster", "ping", "style"}
HOSTILE = [
    "</script><script>alert(1)</script>",
    "</style><style>*{background:url(https://evil.example)}</style>",
    '"><img src=x onerror=alert(1)>',
    "' onfocus='alert(1)' autofocus '",
    "<!-- ", "]]>", "&lt;b&gt;", "{{ 7 * 7 }}{% raw %}", "javascript:alert(1)", "x" * 20_000,
]  # fmt: skip


class Read(HTMLParser):
    """The elements of a page with the names of their attributes, and the text of each section."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.shape: list[tuple[str, tuple[str, ...]]] = []
        self.attributes: list[tuple[str, str]] = []
        self.text: dict[str, str] = {}
        self.raw: dict[str, str] = {}
        self._in = self._element = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shape.append((tag, tuple(name for name, _ in attrs)))
        self.attributes += [(name, value or "") for name, value in attrs]
        self._element = tag
        if tag == "section":
            self._in = dict(attrs)["id"] or ""

    def handle_endtag(self, tag: str) -> None:
        self._element = ""
        if tag == "section":
            self._in = ""

    def handle_data(self, data: str) -> None:
        self.text[self._in] = self.text.get(self._in, "") + data
        if self._element in ("style", "script"):
            self.raw[self._element] = data


def page_of(name: str, stages: tuple[Stage, ...] | None = None) -> str:
    return demo_page(DEMOS[name], stages or recorded(name).stages, "what is paid")


@pytest.mark.parametrize("name", sorted(DEMOS))
def test_every_stage_is_whole_without_the_script(name: str) -> None:
    """With its sentences, each line of its panes, whole hashes and blocks, and where the money
    is."""
    stages, read = recorded(name).stages, Read(page_of(name))
    for stage in stages:
        told = re.sub(r"\s+", " ", read.text[f"stage-{stage.number}"])
        said = [stage.row.title, stage.row.sentence, stage.row.more, stage.money, stage.next]
        panes = panes_of(stage, DEMOS[name].did)
        said += [line.whole or line.text for pane in panes for line in pane.lines]
        said += [pane.ending for pane in panes]
        said += [text for row in stage.compared for text in (row.label, row.value, row.remark)]
        said += [f"{each.chain} {each.block} · {each.hash}" for each in stage.moved]
        assert [text for text in said if re.sub(r"\s+", " ", text) not in told] == []
    last = stages[-1]
    assert ("link-search" in read.text) == last.can_be_linked == (name == "private")
    if name == "private":
        told = read.text["link-search"]
        assert all(line.text in told for line in link_pane(last.search).lines)
        assert len(last.crowd) >= 5
        assert all(each.hash in told for each in (*last.moved, *last.crowd))


def test_missing_edge_is_drawn_once_there_is_something_to_search() -> None:
    stages = recorded("private").stages
    labels = [
        value for name, value in Read(page_of("private")).attributes
        if name == "aria-label" and value.startswith("Alice → Pell →")
    ]  # fmt: skip
    missing = "; Alice → Bob: no path on the chains"
    path = "Alice → Pell → ETH → Halyard → Bob"
    # The first stage has no payment, so nothing can be searched for; the last is the graph's.
    assert labels[: len(stages)] == [path, *[path + missing] * (len(stages) - 1)]
    last = stages[-1]
    linked = replace(last, search=replace(last.search, path=last.moved[:2]), linked=last.moved[:2])
    found = page_of("private", (*stages[:-1], linked))
    assert "▲ 2 payments on the chains" in Read(found).text["stage-9"]
    assert found.count('class="edge found"') == 2


def test_payments_to_the_left_or_within_a_column_are_drawn() -> None:
    """A width below nothing is refused by a browser, and draws nothing."""
    *stages, last = recorded("private").stages
    hers, _, his = last.moved
    back = replace(hers, sender=hers.receiver, receiver=hers.sender, block=hers.block + 1)
    across = replace(hers, sender=hers.sender, receiver=his.sender, block=hers.block + 2)
    beside = replace(hers, sender=hers.receiver, receiver=his.sender, block=hers.block + 3)
    read = Read(page_of("private", (*stages, replace(last, linked=(back, across, beside)))))
    widths = [float(value.rstrip("%em")) for name, value in read.attributes if name == "width"]
    assert min(widths) > 0


def test_nothing_is_loaded_and_only_its_own_script_and_style_run() -> None:
    read = Read(page_of("private"))
    (policy,) = [value for name, value in read.attributes if value.startswith("default-src")]
    assert policy == (
        f"default-src 'none'; style-src '{digest(read.raw['style'])}';"
        f" script-src '{digest(read.raw['script'])}'; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )
    for name, value in read.attributes:
        assert not name.startswith("on")
        assert name not in LOADS
        assert name != "href" or value.startswith("#")
    assert "url(" not in read.raw["style"]
    assert "@import" not in read.raw["style"]
    named = {f"#{section}" for section in read.text}
    assert {value for name, value in read.attributes if name == "href"} <= named


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


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


@pytest.mark.parametrize("text", HOSTILE + sample(all_texts(), 12))
@pytest.mark.parametrize("name", sorted(DEMOS))
def test_text_of_the_service_stays_data_in_every_field(name: str, text: str) -> None:
    def page(text: str) -> str:
        stages = tuple(
            replace(with_texts(stage, text), tracked=stage.tracked)
            for stage in recorded(name).stages
        )
        return demo_page(replace(DEMOS[name], title=text, did=text), stages, text)

    made = page(text)
    assert Read(made).shape == Read(page("harmless")).shape
    assert not [char for char in made if is_unsafe(char) and char != "\n"]
    assert safe_text(text, 4_000) in Read(made).text["stage-1"]


def test_a_page_replaces_an_older_one_and_nothing_else(tmp_path: Path) -> None:
    """What stands there is looked at before anything is carried out."""
    for content in (b"", b"notes", b"<!doctype html>\n<html>swapdesk demo</html>"):
        file = tmp_path / "notes.html"
        file.write_bytes(content)
        told = run_here("demo", "stuck", "--page", "notes.html", home=tmp_path)
        assert (told.code, told.stdout) == (2, "")
        assert "it was not replaced" in told.stderr
        assert file.read_bytes() == content


@pytest.mark.parametrize(
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
