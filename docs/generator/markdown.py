"""Markdown that every page of the reference is made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

COMMAND = "python docs/make_reference.py"


def page(title: str, intro: str, *sections: str) -> str:
    """A whole page; ``said`` is what it lists and where that comes from."""
    made = f"<!-- Made by {COMMAND}: change the source that it names, not this page. -->"
    return (
        "\n\n".join([f"# {title}", made, intro, *(section for section in sections if section)])
        + "\n"
    )


def section(title: str, *parts: str, level: int = 2) -> str:
    return "\n\n".join([f"{'#' * level} {title}", *(part for part in parts if part)])


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table without the columns that are empty in every row; nothing without rows."""
    cells = [[cell(text) for text in row] for row in rows]
    if not cells:
        return ""
    used = [place for place in range(len(heads)) if any(row[place] for row in cells)]
    lines = [[heads[place] for place in used], ["---"] * len(used)]
    lines += [[row[place] for place in used] for row in cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def anchor(name: str) -> str:
    """Where a link may lead to, beside the headings."""
    return f'<a id="{name}"></a>'


def code(text: object) -> str:
    """A name as it is typed; nothing for nothing."""
    return f"`{text}`" if str(text) else ""


def codes(names: Iterable[object]) -> str:
    return ", ".join(code(name) for name in names)


def sentence(text: str) -> str:
    """The first letter large, a point behind it."""
    text = plain(text)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def plain(docstring: str) -> str:
    """A docstring on one line, names written as Markdown writes them."""
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", " ".join(docstring.split())).replace("``", "`")
