"""Docstrings, comments and documents name only what exists.

A name is what stands in double back-ticks (single ones in a document), in a role, or in words that
only code has: ``inner_underscores``, ``InnerCapitals``, ``file.py``. It exists if some code of the
project has it: an identifier, a word in a text, a file. ``module.name`` must exist in that module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

from test_documents import DOCUMENTS, ROOT, files, is_named_in_the_code, is_there, spans

TOPS = ("src", "tests", "docs", "benchmarks", ".ci")
DATA = ("src/**/*.*", "themes/*.toml", "deploy/*", ".github/**/*.yml", ".ci/*", "pyproject.toml")
"""What is no module and has names all the same."""
ABOUT_THE_API = ("docs/contract.md",)
"""Names the members of the API, which `test_documents.py` holds against its document."""
OTHERS = """
AccountDB AllowanceTransfer BaseHTTPMiddleware CashAddr ComputeBudget MyEtherWallet
PT_DENY_ATTACH SO_ATTACH_FILTER SignatureTransfer SimpleAccount StrKey UserOperations ada_byron
blockchain_utils cosmos1 faulthandler from_ss58 from_tron_address getUserOperationHash key_io_valid
legacy_address set_keymap sitecustomize test_cases test_vector_1 timedatectl to_ss58 token_address
uri_spec
"""
"""Names of other projects and systems, and examples."""
PART = re.compile(
    r"""
    (?P<docstring> (?<![,(]\n) ^[ ]* r? \"{3} (?: \\. | [^\\] )*? \"{3} )
  | (?P<comment> \# [^\n]* )
  | (?P<string> \"{3} (?: \\. | [^\\] )*? \"{3}
              | "(?: \\. | [^"\\\n] )*" | '(?: \\. | [^'\\\n] )*' )
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
CODE_WORD = re.compile(
    r"\b(?:[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+|[a-z]+(?:_[a-z0-9]+)+|[A-Z]+(?:_[A-Z0-9]+)+)\b"
)
QUOTED = re.compile(r"``([^`]+)``|:\w+:`~?([^`]+)`")
NAME = re.compile(r"_?[a-z][\w.]*|[A-Z]\w*[a-z][\w.]*|[A-Z]+(?:_[A-Z0-9]+)+")
WORD = re.compile(r"[A-Za-z_]\w*")
PLACEHOLDER = re.compile(r"\w*NAME\w*|NewScreen|Model|do_|kind_state")
"""What a reader replaces by a name of his own."""
MEMBER = re.compile(r"([a-z]\w*)\.([a-z_]+|[A-Z]\w*)")
"""``module.member``; a member of JSON has capitals inside."""


class Module(Struct, frozen=True):
    """A module; ``prose`` holds its docstrings and comments with the lines where they begin."""

    path: Path
    code: str
    prose: tuple[tuple[int, str], ...]


@cache
def modules() -> tuple[Module, ...]:
    return tuple(
        read_module(path)
        for top in TOPS
        for path in sorted((ROOT / top).rglob("*.py"))
        if path != Path(__file__)
    )


def read_module(path: Path) -> Module:
    source = path.read_text(encoding="utf-8")
    prose: list[tuple[int, str]] = []

    def taken_out(part: re.Match[str]) -> str:
        if part.lastgroup == "string":
            return part[0]
        prose.append((source.count("\n", 0, part.start()) + 1, part[0]))
        return " "

    return Module(path.relative_to(ROOT), PART.sub(taken_out, source), tuple(prose))


@cache
def existing() -> frozenset[str]:
    """Every name that code, data and the paths of files have."""
    names = set(re.findall(r"\w+", " ".join(files())))
    for module in modules():
        sentences = r'"(?=[^"\n]* )[^"\n]*"'
        names.update(re.findall(r"\w+", re.sub(sentences, " ", module.code)))
        names.update(CODE_WORD.findall(module.code))
    for pattern in DATA:
        for path in ROOT.glob(pattern):
            if path.is_file() and path.suffix not in (".py", ".pyc"):
                names.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return frozenset(names)


@cache
def code_of(stem: str) -> str:
    """The code of all modules of a name; of a package, of all its modules."""
    return "\n".join(
        module.code
        for module in modules()
        if stem == module.path.stem or stem in module.path.parts[:-1]
    )


@cache
def missing_words(name: str) -> list[str]:
    return [word for word in WORD.findall(name) if not exists(word)]


@cache
def lost_member(name: str) -> str:
    """The module of ``module.member`` where no module of that name has the member."""
    member = MEMBER.fullmatch(name)
    if member is None or is_there(name) or is_there(name.replace(".", "/")):
        return ""
    code = code_of(member[1])
    has_it = not code or re.search(rf"\b{member[2]}\b", code) or is_named_in_the_code(name)
    return "" if has_it else member[1]


def exists(word: str) -> bool:
    """A member of JSON has the name of its attribute."""
    snake_case = re.sub(r"(?<=[a-z])[A-Z]", lambda capital: f"_{capital[0].lower()}", word)
    return bool({word, snake_case} & existing() or PLACEHOLDER.fullmatch(word))


def names_in_prose(prose: str) -> Iterator[str]:
    for quoted, role in QUOTED.findall(prose):
        name = (quoted or role).removesuffix("()")
        if NAME.fullmatch(name):
            yield name
    yield from CODE_WORD.findall(prose)
    yield from re.findall(r"\b\w+\.py\b", prose)


def words_of_documents() -> Iterator[tuple[str, str]]:
    """Words of the names in spans, each with its document."""
    for document in sorted({*DOCUMENTS} - {*ABOUT_THE_API}):
        for span in spans(document):
            if NAME.fullmatch(name := span.removesuffix("()")):
                for word in WORD.findall(name):
                    yield document, word


def stale_words() -> dict[str, list[str]]:
    """Stale names, each with the places that name it."""
    places: dict[str, list[str]] = {}
    for module in modules():
        for line, prose in module.prose:
            for name in names_in_prose(prose):
                lost = lost_member(name)
                # A variable of the module may be called as another module is.
                stale = [name] if lost and not re.search(rf"\b{lost}\b", module.code) else []
                for word in (*missing_words(name), *stale):
                    places.setdefault(word, []).append(f"{module.path}:{line}")
    for document, word in words_of_documents():
        if not exists(word):
            places.setdefault(word, []).append(document)
    return places


def test_no_name_is_stale() -> None:
    places, others = stale_words(), set(OTHERS.split())
    assert {name: places[name] for name in sorted(places.keys() - others)} == {}
    assert others - places.keys() == set(), "named nowhere, or the project has it as well"
