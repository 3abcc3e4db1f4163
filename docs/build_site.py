"""Builds the site of the documents into ``build/site/html``, strictly, and checks what was built.

Run it with the Python of an environment that has the group ``site`` of ``pyproject.toml``:
``.venv-release/bin/python docs/build_site.py``. Its pages are the documents themselves, laid out
with addresses of their own; nothing but links is changed in them. It ends with 1 where a link or an
anchor leads nowhere, a page is on no menu, Markdown was read otherwise than meant, or a page would
ask another host for anything. Links to other hosts are listed, and not followed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from swapdesk import SITE  # noqa: E402

CONFIG = ROOT / "docs" / "site" / "zensical.toml"
BUILD = ROOT / "build" / "site"
PAGES, BUILT = BUILD / "pages", BUILD / "html"
ADDED = ("site.css", "favicon.svg")
"""Of ``docs/site``, beside its pages."""

# The documents, and where each is on the site


def documents() -> dict[str, str]:
    """Files from the top of the project, each with its place among the pages."""
    targets = {"README.md": "index.md"}
    for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY", "CODE_OF_CONDUCT"):
        if (ROOT / f"{name}.md").exists():
            targets[f"{name}.md"] = f"{name.lower().replace('_', '-')}.md"
    for path in sorted((ROOT / "docs").rglob("*")):
        name = path.relative_to(ROOT / "docs").as_posix()
        if path.suffix in (".md", ".svg", ".json", ".1") and not name.startswith("site/"):
            targets[f"docs/{name}"] = name.replace("README.md", "index.md")
    for folder in ("themes", "benchmarks"):
        for path in sorted((ROOT / folder).glob("*.md")):
            name = "index.md" if path.name == "README.md" else path.name.lower()
            targets[f"{folder}/{path.name}"] = f"{folder}/{name}"
    return targets


MENU_LINE = re.compile(r'^ *\{ "[^"]+" = "([^"]+)" \},\n', re.MULTILINE)
LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def laid_out(source: str, places: Mapping[str, str]) -> str:
    """The text of a document, each link to another one as its place needs it."""

    def placed(link: re.Match[str]) -> str:
        target = os.path.normpath(PurePosixPath(source).parent / link[2])
        if target not in places:
            raise SystemExit(f"{source}: {link[2]} is no page of the site")
        here = PurePosixPath(places[source]).parent
        return f"{link[1]}{os.path.relpath(places[target], here)}{link[3] or ''}{link[4]}"

    text = (ROOT / source).read_text(encoding="utf-8")
    parts = FENCED.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(placed, part) for part in parts)


def lay_out() -> dict[str, str]:
    """Write what Zensical builds from; the places of the documents."""
    shutil.rmtree(BUILD, ignore_errors=True)
    places = documents()
    for source, place in places.items():
        target = PAGES / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            target.write_text(laid_out(source, places), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / source, target)
    for name in ADDED:
        shutil.copyfile(CONFIG.with_name(name), PAGES / name)
    config = MENU_LINE.sub(
        lambda line: line[0] if (PAGES / line[1]).exists() else "",
        CONFIG.read_text(encoding="utf-8"),
    )
    if SITE:
        config = config.replace("[project]\n", f'[project]\nsite_url = "{SITE}"\n', 1)
    (BUILD / "zensical.toml").write_text(config, encoding="utf-8")
    return places


# The menu, and what it makes


def menu(entries: list[Any], within: str = "") -> Iterator[tuple[str, str, str]]:
    """Of every page: the group that it is in, its name there, and its place."""
    for entry in entries:
        for name, inner in entry.items():
            if isinstance(inner, list):
                yield from menu(inner, name)
            else:
                yield within, name, inner


def llms_text(project: Mapping[str, Any]) -> str:
    """``llms.txt`` (llmstxt.org): what there is to read, and what each page says it is."""
    lines = [f"# {project['site_name']}", "", f"> {project['site_description']}"]
    group_name = ""
    for group, name, place in menu(project["nav"]):
        if group != group_name:
            lines += ["", f"## {group}", ""]
            group_name = group
        elif not group_name and lines[-1] != "":
            lines.append("")
        summary = first_paragraph((PAGES / place).read_text(encoding="utf-8"))
        lines.append(f"- [{name}]({SITE}{place}): {summary}")
    return "\n".join(lines) + "\n"


def first_paragraph(page: str) -> str:
    for part in page.split("\n\n"):
        paragraph = " ".join(part.split())
        if paragraph and not re.match(r"[#<!\[|`-]|\d+\.", paragraph):
            return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", paragraph)
    raise SystemExit("a page has no first paragraph")


def add_files(project: Mapping[str, Any]) -> None:
    """``llms.txt``, and the Markdown of the pages beside them."""
    (BUILT / "llms.txt").write_text(llms_text(project), encoding="utf-8")
    for _, _, place in menu(project["nav"]):
        (BUILT / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PAGES / place, BUILT / place)


# What was built

ASKING = {"src", "srcset", "data", "poster", "action", "formaction", "background", "ping"}
"""Attributes by which a page asks for something without being told to."""
NO_ASKING_LINKS = {"canonical", "alternate", "prev", "next", "describedby"}
FOREIGN_IN_STYLE = re.compile(r"url\(\s*['\"]?(?:https?:)?//|@import")
MISREAD = re.compile(r"^\s*(?:[-*] |\d+\. |\||#{1,4} |```)", re.MULTILINE)


class Page(HTMLParser):
    """What a page links to, asks for (in ``styles`` of others), and is linked by."""

    def __init__(self, place: str, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.asked: list[str] = []
        self.styles: list[str] = []
        self.anchors: set[str] = set()
        self.twice: set[str] = set()
        self.misread: list[str] = []
        self.diagrams = 0
        self._style = False
        self._paragraph: list[str] | None = None
        self.place = place
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if (name := given.get("id")) is not None:
            self.twice |= self.anchors & {name}
            self.anchors.add(name)
        self._style = tag == "style"
        if tag == "p":
            self._paragraph = []
        if "mermaid" in given.get("class", "").split():
            self.diagrams += 1
        asking = tag == "link" and not NO_ASKING_LINKS & set(given.get("rel", "").split())
        for name, value in given.items():
            if name in ASKING or (name in ("href", "xlink:href") and (asking or tag == "use")):
                self.asked.append(value)
            elif name == "href":
                self.links.append(value)
            elif name == "style" and FOREIGN_IN_STYLE.search(value):
                self.styles.append(value)

    def handle_endtag(self, tag: str) -> None:
        if tag == "p" and self._paragraph is not None:
            text = "".join(self._paragraph)
            if MISREAD.search(text):
                self.misread.append(" ".join(text.split())[:80])
            self._paragraph = None

    def handle_data(self, data: str) -> None:
        if self._style and FOREIGN_IN_STYLE.search(data):
            self.styles.append(data.strip())
        if self._paragraph is not None:
            self._paragraph.append(data)


def is_foreign(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def built_pages() -> dict[str, Page]:
    return {
        path.relative_to(BUILT).as_posix(): Page(
            path.relative_to(BUILT).as_posix(), path.read_text(encoding="utf-8")
        )
        for path in sorted(BUILT.rglob("*.html"))
    }


def unnamed(places: Mapping[str, str]) -> list[str]:
    """Pages that are on no menu."""
    named = {place for *_, place in menu(tomllib.loads(CONFIG.read_text())["project"]["nav"])}
    return [place for place in places.values() if place.endswith(".md") and place not in named]


def problems(pages: Mapping[str, Page], places: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the site, a sentence each."""
    for place in unnamed(places):
        yield f"{place} is on no menu: add it to {CONFIG.relative_to(ROOT)}"
    for place, page in pages.items():
        for asked in page.asked:
            if is_foreign(asked):
                yield f"{place} asks another host: {asked}"
            elif not leads(place, asked, pages):
                yield f"{place}: {asked} is not there"
        for style in page.styles:
            yield f"{place} asks another host in a style: {style}"
        for link in page.links:
            if not urlsplit(link).scheme and not leads(place, link, pages):
                yield f"{place}: the link {link} leads nowhere"
        for problem in page.misread:
            yield f"{place} was read otherwise than meant: {problem}"
        for anchor in page.twice:
            yield f"{place} has the anchor {anchor} twice"
        if page.diagrams:
            yield f"{place} has a diagram that the theme fetches a program for"
    for path in sorted(BUILT.rglob("*")):
        if path.suffix in (".css", ".svg") and FOREIGN_IN_STYLE.search(path.read_text("utf-8")):
            yield f"{path.relative_to(BUILT)} asks another host"


def leads(place: str, link: str, pages: Mapping[str, Page]) -> bool:
    """Whether a link of a page leads to a file of the site, and to an anchor of a page."""
    parts = urlsplit(link)
    if parts.scheme == "data":
        return True
    # The page of what is not there is shown at any depth: its links begin at the top.
    base = "" if place == "404.html" or parts.path.startswith("/") else os.path.dirname(place)
    target = os.path.normpath(os.path.join(base, unquote(parts.path).lstrip("/") or "."))
    if not parts.path:
        target = place
    elif (BUILT / target).is_dir():
        target = os.path.normpath(os.path.join(target, "index.html"))
    if not (BUILT / target).is_file():
        return False
    fragment = unquote(parts.fragment)
    return not fragment or target not in pages or fragment in pages[target].anchors


def main() -> int:
    places = lay_out()
    build = (sys.executable, "-m", "zensical", "build", "--strict", "--clean")
    if subprocess.run(build, cwd=BUILD, check=False).returncode:
        return 1
    add_files(tomllib.loads((BUILD / "zensical.toml").read_text(encoding="utf-8"))["project"])
    pages = built_pages()
    wrong = sorted(set(problems(pages, places)))
    for problem in wrong:
        print(problem)  # noqa: T201
    abroad = sorted({link for page in pages.values() for link in page.links if is_foreign(link)})
    print(f"{len(pages)} pages, {len(wrong)} problems. Links to other hosts, not followed:")  # noqa: T201
    for link in abroad:
        print(f"  {link}")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
