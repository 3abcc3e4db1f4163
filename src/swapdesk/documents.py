"""Finds the documentation about a name: pages of the site, and the same pages as files on this
machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

from swapdesk import SITE

TRADER, SUPPORT = "guide/trader.md", "guide/support.md"
COMMANDS, ERRORS, KEYS = "reference/commands.md", "reference/errors.md", "reference/keys.md"

SCREENS = {
    "Swap": f"{TRADER}#1-start",
    "Tokens": f"{TRADER}#2-find-a-token",
    "Quotes": f"{TRADER}#3-compare-quotes",
    "Create": f"{TRADER}#4-create-an-order",
    "Deposit": f"{TRADER}#5-pay",
    "Deposit code": f"{TRADER}#5-pay",
    "Sign": f"{TRADER}#5-pay",
    "Order": f"{TRADER}#6-watch",
    "Orders": f"{TRADER}#6-watch",
    "History": f"{SUPPORT}#6-what-happened-when",
    "Batch": f"{TRADER}#9-batches",
    "Wallets": f"{TRADER}#10-keys-and-accounts",
    "Account": f"{TRADER}#limits-commissions-and-volume",
    "Address book": f"{TRADER}#11-address-book",
    "Unfinished business": f"{TRADER}#14-when-something-fails",
    "Which order": f"{TRADER}#14-when-something-fails",
    "Inspect": f"{SUPPORT}#1-the-answer-in-five-keys",
    "Bundle": f"{SUPPORT}#7-pass-a-case-on",
    "Demo": "guide/presenter.md#1-show-it",
    "Faults": "guide/developer.md#6-faults",
    "Requests": f"{KEYS}#request-log",
    "Raw order": f"{KEYS}#raw-order",
    "Raw fields": f"{KEYS}#raw-payload",
}
"""The guide section about each screen, by the name in its frame."""


class WrittenPlace(Struct, frozen=True):
    """A page or section about the subject ``about``. ``address`` is its URL, or None if the release
    has no web site; ``file`` is its path, or None if the file is missing."""

    about: str
    page: str
    address: str | None
    file: str | None


def place(about: str, page: str) -> WrittenPlace:
    name, mark, anchor = page.partition("#")
    address = f"{SITE}{name.removesuffix('.md')}.html{mark}{anchor}" if SITE else None
    file = file_of(name)
    return WrittenPlace(about, page, address, None if file is None else str(file))


def places_of(name: str) -> list[WrittenPlace]:
    """Returns every page or section about ``name``: a code, an exit code, a command or a screen."""
    words = " ".join(name.split()).removeprefix("swapdesk ").casefold()
    return [place(about, page) for about, page in _named(words)]


def all_places() -> list[WrittenPlace]:
    """Returns every page of the documentation, with the page's title as ``about``."""
    return [place(title, page) for page, title in _titles().items()]


def subjects() -> Iterator[str]:
    """Yields every name that has a section in the documentation: screens, commands and codes, but
    not exit codes."""
    yield from SCREENS
    yield from _headings(COMMANDS, "## swapdesk ")
    yield from (code.upper() for code in _codes())


def _named(words: str) -> Iterator[tuple[str, str]]:
    for kind in ("", "rule-", "finding-"):
        if f"{kind}{words}" in _anchors(ERRORS):
            yield f"{kind.replace('-', ' ')}{words.upper()}", f"{ERRORS}#{kind}{words}"
    if re.fullmatch(r"http_\d{3}", words):
        yield words.upper(), f"{ERRORS}#codes"
    if re.fullmatch(r"\d{1,3}", words) and f"\n| {words} | " in _text(ERRORS):
        yield f"exit {words}", f"{ERRORS}#exit-codes"
    for command in _headings(COMMANDS, "## swapdesk "):
        if command.casefold() == words:
            yield f"swapdesk {command}", f"{COMMANDS}#swapdesk-{words.replace(' ', '-')}"
    for screen, target in screens().items():
        if screen.casefold() == words:
            yield f"screen {screen}", target


def screens() -> dict[str, str]:
    """Returns the place in the documentation for each screen by name: in a guide, otherwise in the
    page about keys."""
    listed = _headings(KEYS, "## ")
    return {name: f"{KEYS}#{name.casefold().replace(' ', '-')}" for name in listed} | SCREENS


def _codes() -> list[str]:
    names = (re.sub(r"^(?:rule|finding)-", "", anchor) for anchor in sorted(_anchors(ERRORS)))
    return list(dict.fromkeys(names))


@cache
def _folder() -> Path | None:
    package = Path(__file__).resolve().parent
    folders = (package / "docs", package.parents[1] / "docs")
    return next((folder for folder in folders if (folder / ERRORS).is_file()), None)


def file_of(page: str) -> Path | None:
    folder = _folder()
    return None if folder is None or not (folder / page).is_file() else folder / page


@cache
def _text(page: str) -> str:
    file = file_of(page)
    return "" if file is None else file.read_text(encoding="utf-8")


@cache
def _anchors(page: str) -> frozenset[str]:
    named = re.findall(r'<a id="([^"]+)"></a>', _text(page))
    return frozenset([*named, *(heading.casefold() for heading in _headings(page, "### "))])


def _headings(page: str, mark: str) -> list[str]:
    lines = _text(page).splitlines()
    return [line.removeprefix(mark) for line in lines if line.startswith(mark)]


def _titles() -> dict[str, str]:
    folder = _folder()
    if folder is None:
        return {}
    paths = [
        path for inside in ("guide", "reference", "") for path in (folder / inside).glob("*.md")
    ]
    pages = [path.relative_to(folder).as_posix() for path in sorted(paths)]
    return {page: next(iter(_headings(page, "# ")), page) for page in pages}
