"""Codes where they are raised, from the source: a test holds them against the table of errors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from generator.markdown import sentence
from generator.source import assignments, calls, constant, modules, paths, text, words

CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
RAISED = ("bad_input", "refused_as", "own_refusal", "not_confirmed", "CommandError")
"""What commands end with."""
ENDED = (
    "Stopped", "Ending", "NotPaid", "PaymentOpen", "SwapEnded", "SwapOpen", "refused",
    "still_open", "end", "open", "NotCreated", "JournalRefused", "NotThisSwap", "NoDexSwap",
    "UnreadableFile", "NotWithdrawn",
)  # fmt: skip
"""Ends of work that several commands share."""
LEAST = 10
"""Letters of a message that says something without what is filled in."""


def raised_codes() -> Iterator[tuple[str, str]]:
    """Every code with the file that ends with it."""
    for folder, names in (("cli", RAISED), ("flows", ENDED)):
        for path, tree in modules(folder, *names):
            for name, call, within in calls(tree):
                if name in names and getattr(within, "name", "") != "of_client_error":
                    for node in call.args[:2]:
                        for code in codes_in(node, within, path):
                            yield code, path


def literal_codes(*folders: str) -> Iterator[tuple[str, str]]:
    """Every text of the source that looks like a code of several words, with its file."""
    for path in chain.from_iterable(map(paths, folders)):
        for value in re.findall(r'"(\w+)"', text(path)):
            if "_" in value and CODE.fullmatch(value):
                yield value, path


def codes_in(node: ast.AST | None, within: ast.AST, path: str) -> list[str]:
    """Every code that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value] if CODE.fullmatch(node.value) else []
    if isinstance(node, ast.IfExp):
        return [*codes_in(node.body, within, path), *codes_in(node.orelse, within, path)]
    if isinstance(node, ast.Name):
        local = assignments(node.id, within)
        if not local:
            value = constant(path, node.id)
            return codes_in(value, within, path) if isinstance(value, ast.Constant) else []
        return [code for expression in local for code in codes_in(expression, within, path)]
    return []


def said_at(rest: Iterable[ast.expr], call: ast.Call, within: ast.AST) -> str:
    """The first text behind the code, else the one that is named as the message."""
    named = [
        keyword.value for keyword in call.keywords if keyword.arg in ("message", "reason", "cause")
    ]
    for node in [*list(rest)[:1], *named]:
        text = words(node, within)
        if len(re.findall("[a-z]", text)) > LEAST:
            return sentence(text)
    return ""
