"""What the source says without being run: docstrings of attributes, tables, texts of calls."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2] / "src" / "swapdesk"


@cache
def module(path: str) -> ast.Module:
    """A module by its path below ``src/swapdesk``."""
    return ast.parse(text(path))


@cache
def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def paths(folder: str) -> list[str]:
    """The paths of all modules of a folder."""
    return [file.relative_to(ROOT).as_posix() for file in sorted((ROOT / folder).rglob("*.py"))]


def modules(folder: str, *naming: str) -> Iterator[tuple[str, ast.Module]]:
    """Every module of a folder by its path; only those that call one of ``naming``, if any."""
    for path in paths(folder):
        if not naming or any(f"{name}(" in text(path) for name in naming):
            yield path, module(path)


def path_of(name: str) -> str:
    """The path of ``swapdesk.cli.output``."""
    place = name.removeprefix("swapdesk.").replace(".", "/")
    return f"{place}.py" if (ROOT / f"{place}.py").exists() else f"{place}/__init__.py"


@cache
def imports(path: str) -> dict[str, tuple[str, str]]:
    """Names that a module takes from others of the project: the path and the name there."""
    return {
        alias.asname or alias.name: (path_of(node.module), alias.name)
        for node in ast.walk(module(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("swapdesk.")
        for alias in node.names
        if node.module is not None
    }


def defined(path: str, name: str) -> ast.AST | None:
    """A class or function of a module, or what is assigned to a name in it."""
    for node in module(path).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name == name:
                return node
        elif isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets):
            return node.value
    return None


def class_of(path: str, name: str) -> ast.ClassDef:
    value = defined(path, name)
    assert isinstance(value, ast.ClassDef), f"{path} has no class {name}"
    return value


def said_of(kind: type) -> dict[str, str]:
    """The docstrings below the attributes of a class, by the attribute."""
    return _said(class_of(path_of(kind.__module__), kind.__name__).body)


def _said(body: list[ast.stmt]) -> dict[str, str]:
    texts = {}
    for node, after in pairwise(body):
        targets = node.targets if isinstance(node, ast.Assign) else []
        target = node.target if isinstance(node, ast.AnnAssign) else next(iter(targets), None)
        text = _constant(after.value) if isinstance(after, ast.Expr) else None
        if isinstance(target, ast.Name) and isinstance(text, str):
            texts[target.id] = inspect.cleandoc(text)
    return texts


def _constant(node: ast.AST | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def words(node: ast.AST | None, around: ast.AST | None = None) -> str:
    """A text as it stands in the source, ``…`` for what is filled in. A name stands for what was
    assigned to it last before, in ``around``."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(words(value) or "…" for value in node.values)
    if isinstance(node, ast.Name) and around is not None:
        return words(assigned(node, around), None)
    if isinstance(node, ast.BinOp):
        return words(node.left, around) + words(node.right, around)
    if isinstance(node, ast.IfExp):
        return words(node.body, around) or words(node.orelse, around)
    return ""


def assigned(name: ast.Name, around: ast.AST) -> ast.expr | None:
    """What a name is given last before it stands here."""
    before = [
        assignment for assignment in assignments(name.id, around) if assignment.lineno < name.lineno
    ]
    return max(before, key=lambda assignment: assignment.lineno) if before else None


def assignments(name: str, around: ast.AST) -> list[ast.expr]:
    """Everything that a name is given, also as one of several."""
    values = []
    for node in ast.walk(around):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            assert isinstance(node, ast.Assign)
            pairs: list[tuple[ast.expr, ast.expr]] = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            values += [to for at, to in pairs if isinstance(at, ast.Name) and at.id == name]
    return values


def constant(path: str, name: str) -> ast.AST | None:
    """What a name of a module is, also where the module takes it from another one."""
    value = defined(path, name)
    if value is None and name in imports(path):
        path, name = imports(path)[name]
        value = defined(path, name)
    return value


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call, ast.AST]]:
    """Every call by the last name of what is called, with the function that it stands in."""
    for within in ast.walk(tree):
        if not isinstance(within, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(within):
            if isinstance(node, ast.Call):
                called = node.func
                if isinstance(called, ast.Name):
                    yield called.id, node, within
                elif isinstance(called, ast.Attribute):
                    yield called.attr, node, within
