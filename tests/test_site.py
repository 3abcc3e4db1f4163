"""The site is made of the documents, and what is wrong with a built one is found."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("build_site")


def test_every_document_has_a_place_on_a_menu_and_links_to_places(builder: ModuleType) -> None:
    places = builder.documents()
    assert len(set(places.values())) == len(places)
    assert builder.unnamed(places) == []
    assert builder.unnamed({**places, "docs/new.md": "new.md"}) == ["new.md"]
    pages = {name: builder.laid_out(name, places) for name in places if name.endswith(".md")}
    assert "](guide/trader.md#13-live-services)" in pages["README.md"]
    assert "](../images/themes/ink.svg)" in pages["themes/README.md"]
    assert "](../interfaces.md#7-keys)" in pages["docs/guide/trader.md"]
    # What an example of a block holds is nobody's link.
    block = "```\n[a](README.md)\n```\n"
    page = ROOT / "docs" / "contract.md"
    assert builder.FENCED.split(block)[1] == block.rstrip("\n")
    assert page.read_text().count("```") == pages["docs/contract.md"].count("```")


SOUND = """<html><head><link rel="stylesheet" href="site.css"><script src="a.js"></script>
<link rel="canonical" href="https://swapdesk.example/"></head><body>
<h1 id="top">A</h1><p>Text with <code>- no list</code></p><a href="#top">up</a>
<a href="guide/b.html#place">b</a><a href="https://swapdesk.example/x">abroad</a>
<img src="a.svg"><img src="data:image/png;base64,AA=="></body></html>"""

FLAWS = {
    '<a href="gone.html">x</a>': "the link gone.html leads nowhere",
    '<a href="guide/b.html#gone">x</a>': "the link guide/b.html#gone leads nowhere",
    '<img src="gone.svg">': "gone.svg is not there",
    '<img src="//host.example/a.png">': "asks another host: //host.example/a.png",
    '<script src="https://host.example/a.js"></script>': "asks another host",
    '<link rel="preconnect" href="https://fonts.gstatic.com">': "asks another host",
    "<style>@import 'a.css';</style>": "asks another host",
    '<p style="background: url(https://host.example/a.png)">x</p>': "asks another host",
    '<pre class="mermaid">graph</pre>': "a diagram that the theme fetches a program for",
    "<p>A list:\n- one\n- two</p>": "read otherwise than meant: A list: - one - two",
    "<p>A table:\n| a | b |</p>": "read otherwise than meant",
    '<h2 id="top">again</h2>': "has the anchor top twice",
}


@pytest.fixture
def built(tmp_path: Path, builder: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(builder, "BUILT", tmp_path)
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "b.html").write_text('<p id="place"></p><a href="../index.html">a</a>')
    for name in ("a.js", "a.svg", "site.css"):
        (tmp_path / name).write_text("")
    (tmp_path / "index.html").write_text(SOUND)
    return tmp_path


def test_a_sound_site_is_sound(built: Path, builder: ModuleType) -> None:
    assert list(builder.problems(builder.built_pages(), {})) == []


@pytest.mark.parametrize("flaw", FLAWS)
def test_what_is_wrong_with_a_site_is_said(built: Path, builder: ModuleType, flaw: str) -> None:
    (built / "index.html").write_text(SOUND.replace("</body>", f"{flaw}</body>"))
    (said,) = builder.problems(builder.built_pages(), {})
    assert FLAWS[flaw] in said


def test_a_style_or_a_picture_that_asks_another_host_is_found(
    built: Path, builder: ModuleType
) -> None:
    (built / "site.css").write_text('a { background: url("https://host.example/a.png"); }')
    (built / "a.svg").write_text("<svg><style>@import 'x';</style></svg>")
    said = list(builder.problems(builder.built_pages(), {}))
    assert said == ["a.svg asks another host", "site.css asks another host"]
