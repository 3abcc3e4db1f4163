"""What the documents name is there: files, rooms, commands with their options, codes."""

from __future__ import annotations

import importlib
import re
import runpy
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from patience import PATIENCE
from rows import each_row
from swapdesk.cli.main import COMMANDS, swapdesk
from swapdesk.service.openapi import document as openapi_document
from swapdesk.tui.app import DeskApp
from swapdesk.tui.commands import everywhere_commands
from swapdesk.tui.page import Page
from swapdesk.wire.errors import STATUS_OF
from swapdesk.wire.operations import OPERATIONS

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "swapdesk"
GUIDES = tuple(f"docs/guide/{path.name}" for path in sorted(ROOT.glob("docs/guide/*.md")))
DOCUMENTS = (
    "README.md",
    *GUIDES,
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/dependencies.md",
    "docs/architecture.md",
    "docs/contract.md",
    "docs/interfaces.md",
    "docs/reference/behaviour.md",
    "docs/reference/chains.md",
    "docs/tapes/README.md",
    "benchmarks/README.md",
    "themes/README.md",
)
WRITTEN = (
    "docs/interfaces.md",
    "docs/reference/behaviour.md",
    "docs/reference/chains.md",
    "docs/tapes/README.md",
)
"""Pages on outer interfaces that are written by hand, beside those that are generated."""
COMMANDED = ("README.md", "SECURITY.md", *GUIDES, *WRITTEN)
"""Documents that say how commands are given."""
SPAN = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def text(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def spans(document: str) -> list[str]:
    return SPAN.findall(BLOCK.sub("", text(document)))


# files and rooms


@cache
def files() -> frozenset[str]:
    """Files and folders of the project, from its root."""
    paths = {"."}
    for top in ("src", "tests", "docs", "benchmarks", "themes", "requirements", "deploy", ".ci"):
        for path in (ROOT / top, *(ROOT / top).rglob("*")):
            if "__pycache__" not in path.parts:
                paths.add(path.relative_to(ROOT).as_posix())
    return frozenset(paths | {path.name for path in ROOT.iterdir() if path.is_file()})


def is_there(name: str) -> bool:
    """Whether a file, a module or a folder is called so, by its whole path or its end."""
    name = name.rstrip("/")
    ends = (name, f"{name}.py")
    return any(path == end or path.endswith(f"/{end}") for path in files() for end in ends)


def is_named_in_the_code(name: str) -> bool:
    """A file of the user's home: its last name is a text of the code."""
    last = name.rstrip("/").rpartition("/")[2]
    return any(f'"{last}"' in source for source in sources())


@cache
def sources() -> tuple[str, ...]:
    return tuple(path.read_text() for path in sorted(SOURCES.rglob("*.py")))


@each_row("document", DOCUMENTS)
def test_every_file_is_there(document: str) -> None:
    named = [
        word.split("=")[-1]
        for span in spans(document)
        for word in span.split()
        if re.fullmatch(r"[\w.]+(/[\w.]+)+/?|\w+\.(py|md|toml|tsv|db)|\w+/", word.split("=")[-1])
    ]
    assert named or document == "themes/README.md" or "reference" in document
    made = ("path/to/", ".venv/bin/", ".venv-release/bin/", "dist/")
    missing = [
        name
        for name in named
        if not name.startswith(made) and not is_there(name) and not is_named_in_the_code(name)
    ]
    assert missing == []


@cache
def anchors(path: Path) -> list[str]:
    """What the headings of a page are linked by, the second of a name with a number; and places
    that are named."""
    page = path.read_text(encoding="utf-8")
    names = re.findall(r'<a id="([^"]+)"></a>', page)
    for title in re.findall(r"^#+ (.+)$", page, re.MULTILINE):
        name = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        names.append(f"{name}-{names.count(name)}" if name in names else name)
    return names


PAGES = sorted(
    {
        *DOCUMENTS,
        "CHANGELOG.md",
        "CODE_OF_CONDUCT.md",
        "benchmarks/FINDINGS.md",
        *(f"docs/reference/{path.name}" for path in ROOT.glob("docs/reference/*.md")),
    }
)
"""Everything that people read."""


@each_row("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", BLOCK.sub("", text(page))):
        name, _, anchor = link.partition("#")
        if not name.startswith("https:"):
            target = (ROOT / page).parent / name if name else ROOT / page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def paragraphs(page: str) -> list[str]:
    """Paragraphs, list items and cells."""
    begins = r"\n[ ]*\n|\n(?=[ ]*(?:[-*|]|\d+\.)[ ])"
    return [
        cell
        for block in re.split(begins, BLOCK.sub("", text(page)))
        for cell in (block.split(" | ") if block.startswith("|") else [block])
    ]


@each_row("page", PAGES)
def test_no_paragraph_is_long(page: str) -> None:
    assert [paragraph for paragraph in paragraphs(page) if len(paragraph.split()) > 80] == []


def rooms() -> Iterator[tuple[list[str], str]]:
    """Of the tables of rooms in the map: the rooms of a row, and what it says they hold."""
    for line in text("docs/architecture.md").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 2 and "/" in cells[0]:
            yield SPAN.findall(cells[0]), cells[1]


def modules_of(room: str) -> frozenset[str]:
    places = [place for place in (SOURCES, SOURCES / "flows", ROOT) if (place / room).exists()]
    assert places, f"there is no room {room}"
    place = places[0] / room
    return frozenset(path.stem for path in (place, *place.rglob("*")))


def test_every_room_of_the_map_holds_what_it_says() -> None:
    read = list(rooms())
    assert len(read) > 15
    for names, holds in read:
        inside = frozenset[str]().union(*map(modules_of, names))
        named = [
            name.removesuffix(".py").rstrip("/").rpartition("/")[2]
            for name in SPAN.findall(holds)
            if re.fullmatch(r"[a-z_/]+(\.py)?/?", name)
        ]
        assert [name for name in named if name not in inside] == [], names


def test_every_room_is_on_the_map() -> None:
    named = {name.rstrip("/") for names, _ in rooms() for name in names}
    tops = {name.partition("/")[0] for name in named}
    for place in (SOURCES, SOURCES / "flows"):
        assert {path.parent.name for path in place.glob("*/__init__.py")} - tops == set()


# the guides


@pytest.mark.parametrize("guide", GUIDES)
def test_the_screens_of_a_guide_are_the_goldens(guide: str) -> None:
    with_screens = runpy.run_path(str(ROOT / "docs" / "copy_screens.py"))["with_screens"]
    assert with_screens(text(guide)) == text(guide), "run docs/copy_screens.py"


def test_the_readme_is_short() -> None:
    assert len(text("README.md").split()) <= 850


# commands


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the words begin with, and what follows it."""
    command: click.Command = swapdesk
    while words and isinstance(command, click.Group):
        inner = command.get_command(click.Context(command), words[0])
        if inner is None:
            break
        command, words = inner, words[1:]
    return command, words


def options_of(command: click.Command) -> set[str]:
    return {
        spelling for param in command.params for spelling in (*param.opts, *param.secondary_opts)
    }


def every_command(
    command: click.Command = swapdesk, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """All commands and groups by their words, the program itself by none."""
    yield " ".join(words), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from every_command(inner, (*words, name))


@cache
def every_option() -> frozenset[str]:
    """Of all commands."""
    options = {option for _, command in every_command() for option in options_of(command)}
    return frozenset(options | {"--help"})


def calls(document: str) -> Iterator[str]:
    """Command lines of the desk: in spans, in blocks, and in the table of commands."""
    for line in "\n".join(BLOCK.findall(text(document))).splitlines():
        yield from re.findall(r"\bswapdesk ([a-z].*?)(?=\$\(|[|>;\"]|$)", line)
    for span in spans(document):
        words = span.removeprefix("swapdesk ").split()
        if span.startswith("swapdesk ") or (words and words[0] in COMMANDS and len(words) > 1):
            yield " ".join(words)


@each_row("document", COMMANDED)
def test_every_command_takes_what_is_said(document: str) -> None:
    read = [call for call in calls(document) if not call.startswith("COMMAND")]
    assert read
    for call in read:
        # Of "list|export" the first counts.
        words = [word.partition("|")[0] for word in re.sub(r"[\[\]]", " ", call).split()]
        command, left = command_of(words)
        assert command is not swapdesk, call
        if isinstance(command, click.Group):
            assert not [word for word in left if word.islower() and word.isalpha()], call
            continue
        asked = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", call))
        assert asked - options_of(command) - {"--help"} == set(), call


def test_every_option_is_one_of_some_command() -> None:
    named = {
        option
        for document in COMMANDED
        for span in spans(document)
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span)
    }
    assert len(named) > 20
    assert named - every_option() == set()


def test_every_code_is_one_of_the_code() -> None:
    whole = "\n".join(sources())
    codes = set(re.findall(r"\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+\b", whole)) | {
        code.upper() for code in re.findall(r'"([a-z]+(?:_[a-z]+)+)"', whole)
    }
    named = {
        code
        for document in COMMANDED
        for span in spans(document)
        for code in re.findall(r"(?<!\w)[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+(?!\w)", span)
    }
    assert len(named) > 15
    assert named - codes == set()


# the reference, which is generated


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    """The pages of the reference as the source has them now."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        from make_reference import PAGES

        return {f"docs/reference/{name}": make() for name, make in PAGES.items()}


def test_the_reference_says_what_the_source_says(reference: dict[str, str]) -> None:
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/reference").iterdir()}
    other = sorted(there - reference.keys() - set(WRITTEN))
    other += [page for page, made in reference.items() if page not in there or text(page) != made]
    assert other == [], "run: python docs/make_reference.py"


def test_every_command_is_in_the_reference(reference: dict[str, str]) -> None:
    listed = re.findall(
        r"^## swapdesk (.+)$", reference["docs/reference/commands.md"], re.MULTILINE
    )
    wanted = [words for words, _ in every_command() if words]
    assert sorted(listed) == sorted(wanted)


def test_the_manual_page_is_installed_and_has_every_command(reference: dict[str, str]) -> None:
    project = tomllib.loads(text("pyproject.toml"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    shared = wheel["shared-data"]
    assert shared.pop("docs/reference/swapdesk.1") == "share/man/man1/swapdesk.1"
    assert all(place == f"share/swapdesk/{file}" for file, place in shared.items())
    sdist = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    tops = {path.partition("/")[0] for path in wheel["force-include"]}
    assert tops <= set(sdist), "a wheel is built from it, too"
    assert "deploy" in sdist
    page = reference["docs/reference/swapdesk.1"]
    listed = re.findall(r"^\.SS swapdesk ([a-z ]+)", page.replace("\\-", "-"), re.MULTILINE)
    assert {heading.split()[0] for heading in listed} == set(COMMANDS)


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_read_without_a_warning(reference: dict[str, str]) -> None:
    ended = subprocess.run(
        ["groff", "-man", "-ww", "-Tascii", "-P-bcou"],
        input=reference["docs/reference/swapdesk.1"].encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"swapdesk wallet withdraw" in ended.stdout


# what stands in tables of the code


def test_every_key_of_everywhere_leads_somewhere() -> None:
    """It opens a page, or every page or the application does it."""
    for verb in everywhere_commands():
        if verb.opens:
            module, _, name = verb.opens.rpartition(".")
            assert issubclass(getattr(importlib.import_module(module), name), Page)
        else:
            assert hasattr(Page, verb.method) != hasattr(DeskApp, verb.method), verb
    places = [verb.place for verb in everywhere_commands()]
    assert len(places) == len(set(places))


def test_every_case_of_the_benchmarks_is_told() -> None:
    cases = set(re.findall(r'^    "(\w+)": lambda', text("benchmarks/__main__.py"), re.MULTILINE))
    listed = set(re.findall(r"^\| `(\w+)`:", text("benchmarks/README.md"), re.MULTILINE))
    assert cases
    assert cases == listed


# the contract: rules with numbers, and who cites them

CONTRACT = "docs/contract.md"
CITED_BY = ("src", "tests", "benchmarks", "docs")
RULE = re.compile(r"^\*\*(\d+)\.(\d+)\*\* ", re.MULTILINE)
CITATION = re.compile(r"\b[Cc]ontract\s+(\d+\.\d+(?:(?:,| and| to)\s+\d+\.\d+)*)")
INNER = re.compile(r"(?:\(|\b(?:see|in|of|until) )(\d+\.\d+)(?=[\s,;.)|]|$)", re.MULTILINE)
ELSEWHERE = re.compile(
    r"[Ww]ire[ ]decision|\bdecisions[ ]\d|\bSpec[:] |spec[:] [A-Z]|promises?[ ]S\d"
)
"""Pages that are not in the repository."""


@cache
def rules() -> tuple[str, ...]:
    """The numbers of the contract, in the order of the page."""
    return tuple(f"{chapter}.{place}" for chapter, place in RULE.findall(text(CONTRACT)))


def rule(number: str) -> str:
    """The text of a rule."""
    return text(CONTRACT).partition(f"\n**{number}** ")[2].partition("\n**")[0]


@cache
def citing() -> tuple[tuple[str, str], ...]:
    """Every text that may cite the contract: its path and itself."""
    paths = [path for top in CITED_BY for path in (ROOT / top).rglob("*")]
    paths += ROOT.glob("*.md")
    return tuple(
        (path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(paths)
        if path.suffix in (".py", ".md", ".txt", ".tsv")
    )


def test_the_rules_of_the_contract_are_numbered_one_after_another() -> None:
    chapters = text(CONTRACT).split("\n## ")[1:]
    assert len(chapters) > 15
    for number, chapter in enumerate(chapters, 1):
        assert chapter.startswith(f"{number}. ")
        places = RULE.findall(chapter)
        assert places == [(str(number), str(place)) for place in range(1, len(places) + 1)], number


def test_every_rule_that_is_cited_is_there() -> None:
    cited = [
        (path, number)
        for path, citation in citing()
        for run in CITATION.findall(citation)
        for number in re.findall(r"\d+\.\d+", run)
    ]
    assert len(cited) > 200
    numbers = set(rules())
    assert [(path, number) for path, number in cited if number not in numbers] == []
    assert set(INNER.findall(SPAN.sub("", text(CONTRACT)))) - numbers == set()


def test_nothing_cites_a_page_that_is_not_here() -> None:
    assert [
        (path, line)
        for path, citation in citing()
        for line in citation.splitlines()
        if ELSEWHERE.search(line) and "def " not in line
    ] == []


def test_the_contract_names_every_operation_and_no_other() -> None:
    listed = re.findall(r"^\| `(\w+ /\S+)` \| (\w+) \| (\w+) \|", rule("4.1"), re.MULTILINE)
    there = [
        (f"{operation.method} {operation.path}", operation.access.value, operation.rate_class.value)
        for operation in OPERATIONS
    ]
    assert sorted(listed) == sorted(there)


def test_the_contract_names_every_code_with_its_status() -> None:
    listed = re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", rule("3.4"), re.MULTILINE)
    assert {code: int(status) for code, status in listed} == STATUS_OF


def test_the_contract_names_every_field_and_input() -> None:
    served = openapi_document("0")
    fields = {
        name for schema in served["components"]["schemas"].values() for name in schema["properties"]
    }
    inputs = {
        parameter["name"]
        for path in served["paths"].values()
        for operation in path.values()
        for parameter in operation.get("parameters", ())
    }
    words = set(re.findall(r"\w+", " ".join(spans(CONTRACT))))
    assert len(fields) > 100
    assert (fields | inputs) - words == set()
