"""A page that leaves the program as a file, read as a browser reads it: what it is made of, what it
says, and whether its own policy lets anything else run."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

from msgspec import Struct

VOID = frozenset({"meta", "br", "hr", "circle", "line", "path", "rect", "polyline", "use"})
INLINE = frozenset({"a", "code", "em", "kbd", "span", "strong", "time", "tspan"})
NEVER = frozenset({"base", "iframe", "object", "embed", "link", "form", "applet", "frame"})
"""Elements that fetch, send or change where links lead."""
FETCHES = frozenset({"src", "srcset", "action", "formaction", "ping", "poster", "data", "style"})
"""Attributes that fetch, send, or are a style that the policy blocks."""


class Element(Struct, frozen=True):
    name: str
    attributes: dict[str, str]


class WebDocument(HTMLParser):
    """``said`` is the text of each element of the body that is neither style nor script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.parts: dict[str, list[str]] = {"style": [], "script": []}
        self.comments: list[str] = []
        self._open: list[str] = []
        self._said: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))
        self._divide(tag)
        if tag not in VOID:
            self._open.append(tag)
            self.parts.get(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag
        self._divide(tag)

    def _divide(self, tag: str) -> None:
        if tag not in INLINE:
            self._said.append(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_data(self, data: str) -> None:
        inner = self._open[-1] if self._open else ""
        if inner in self.parts:
            self.parts[inner][-1] += data
        elif "body" in self._open:
            self._said.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def said(self) -> str:
        """What stands on the page, each run of blanks as one."""
        return " ".join("".join(self._said).split())

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """Its elements with the names of their attributes: data changes none of it."""
        return [(one.name, tuple(sorted(one.attributes))) for one in self.elements]

    def of(self, name: str) -> list[Element]:
        return [one for one in self.elements if one.name == name]

    @property
    def policy(self) -> dict[str, list[str]]:
        (told,) = (
            one.attributes["content"]
            for one in self.of("meta")
            if one.attributes.get("http-equiv") == "content-security-policy"
        )
        return {rule.split()[0]: rule.split()[1:] for rule in told.split(";") if rule.strip()}


def hold_sealed(text: str) -> WebDocument:
    """The page, which fetches and sends nothing, and whose policy lets its own style and its own
    script run and no other."""
    page = WebDocument(text)
    assert page.comments == []
    first = [one.name for one in page.elements[:5]]
    assert first == ["html", "head", "meta", "meta", "meta"], "the policy stands before all else"
    policy = page.policy
    assert policy["default-src"] == ["'none'"]
    assert policy["base-uri"] == policy["form-action"] == ["'none'"]
    assert policy.get("img-src", []) in ([], ["data:"])
    assert policy.keys() <= {
        "default-src", "style-src", "script-src", "img-src", "base-uri", "form-action",
    }  # fmt: skip
    for part, rule in (("style", "style-src"), ("script", "script-src")):
        ours = [f"'{digest(one)}'" for one in page.parts[part]]
        assert policy[rule] == (ours or ["'none'"])
        assert not re.search(r"(?i)url\(|@import", "".join(page.parts["style"]))
    for element in page.elements:
        assert element.name not in NEVER
        for name, value in element.attributes.items():
            assert not name.startswith("on"), element
            assert name not in FETCHES, element
            if name == "href":
                assert value.startswith(("https://", "#")), element
                assert value.startswith("#") or "noreferrer" in element.attributes["rel"]
    return page


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
