"""What commands print with ``--json``, from the documents that they write in the source."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Container
from dataclasses import dataclass, field

from generator.commands import every_command
from generator.markdown import codes, page, section
from generator.source import defined, imports, module, modules, path_of
from swapdesk.flows.batch.progress import ENDS, HEADS

PRINTED: dict[str, str] = {
    "cli/creation.py:_print": "swap, send",
    "cli/creation.py:print_dry_run": "swap --dry-run, send --dry-run",
    "cli/dex_creation.py:_tell": "swap --type dex",
    "cli/dex_creation.py:run": "swap --type dex --dry-run, sign --dry-run",
    "cli/creation.py:print_withheld": "swap, send: an order that must not be paid yet",
    "cli/demo_transcript.py:stage": "demo --auto",
    "cli/demo_transcript.py:end": "demo --auto: its end",
    "cli/funding.py:_tell": "fund",
    "cli/batch_plan.py:tell_plan": "batch plan",
    "cli/batch_result.py:tell_batch": (
        "batch create, batch build, batch sign, batch submit, batch run, batch resume, batch status"
    ),
    "cli/catalog_report.py:_print_tokens": "tokens",
    "cli/order_reports.py:_tell_order": "orders show, orders put-away",
    "cli/listen_command.py:_tell": "listen",
    "cli/partner_commands.py:_tell_booked": "partner payout, partner reverse",
    "cli/order_watch.py:_print_changes": "orders watch",
    "cli/support_report.py:_tell": "why, inspect",
    "cli/trigger_report.py:report_answers": "trigger run --answers",
    "cli/wallet_keys.py:_kept": "wallet new, wallet import",
    "cli/wallet_keys.py:_give": "wallet export",
    "cli/wallet_chains.py:_told": "wallet revoke",
    "cli/wallet_withdrawing.py:_told": "wallet withdraw",
}
"""By the function that prints a document: the commands that print it. Left out is a function that
a command names itself."""

NAMED = {"tracked_json": "TrackedOrder", "account_json": "Account", "token_json": "TokenName"}
"""Objects that several documents hold, told once."""
OF_API = {"order_json": "Order", "_wire": "Quote"}
COLUMNS = "flows/quotes/quote_columns.py"
"""What the service answered, under the names of the API."""
EXPORT = "flows/orders/order_export.py"
WIDE = 96


@dataclass
class Shape:
    """The fields of an object by name. ``name`` alone: an object that is told elsewhere."""

    fields: dict[str, Shape | None] = field(default_factory=dict)
    many: bool = False
    name: str = ""


def json_page() -> str:
    found = printers()
    printed = {**_named_by_commands(found), **PRINTED}
    missing = sorted(found.keys() - printed.keys())
    assert not missing, f"PRINTED in generator/json_documents.py needs: {missing[0]!r}: its command"
    gone = sorted(PRINTED.keys() - found.keys())
    assert not gone, f"PRINTED in generator/json_documents.py: {gone[0]!r} prints nothing"
    order = [name.removeprefix("swapdesk ") for name, _ in every_command()]

    def place_in_help(row: tuple[str, str]) -> int:
        return order.index(re.split(r",|:| --", row[1])[0])

    flat = defined(EXPORT, "_row")
    assert flat is not None
    return page(
        "JSON documents",
        "The fields of what commands print with `--json`, read from the source. Most commands print"
        " one document; `orders watch` prints one for each change,"
        " and `listen` one for each try. `[...]` is a list, and an"
        " object may be null. `Order` and `Quote` are objects of the API ([api.md](api.md));"
        " `**Quote` stands for all fields of one. Errors are in"
        " [errors.md](errors.md#errors-as-json). What fields mean, where a name does not say it, is"
        " in [behaviour.md](behaviour.md).",
        *(
            _printed(place, commands, found[place])
            for place, commands in sorted(printed.items(), key=place_in_help)
        ),
        *(_named(function, name) for function, name in NAMED.items()),
        section(
            "Columns of orders export",
            "Columns of the CSV, and fields of each of the `orders` with `--format json`, beside"
            " `total` and `at`.",
            codes(_shape_of(EXPORT, "_row").fields),
        ),
        section("Columns of batch export", codes((*HEADS, *ENDS))),
    )


def _named_by_commands(printers: Container[str]) -> dict[str, str]:
    """The printers that the function of a command is, calls or imports, and whose it is."""
    found: dict[str, list[str]] = {}
    for name, command in every_command():
        function = command.callback and inspect.unwrap(command.callback)
        if function is None:
            continue
        path = path_of(function.__module__)
        body = defined(path, function.__name__)
        assert body is not None
        named = {f"{path}:{function.__name__}"}
        for node in ast.walk(body):
            if isinstance(node, ast.Name):
                named.add(f"{path}:{node.id}")
            elif isinstance(node, ast.ImportFrom):
                named |= {f"{path_of(node.module or '')}:{alias.name}" for alias in node.names}
        for place in sorted(named):
            if place in printers:
                found.setdefault(place, []).append(name.removeprefix("swapdesk "))
    return {place: ", ".join(names) for place, names in found.items()}


def _printed(place: str, commands: str, documents: list[ast.expr]) -> str:
    names = [f"swapdesk {one}" for one in commands.partition(":")[0].split(", ")]
    first, *others = names
    title = commands if len(others) < 2 else f"{first.removeprefix('swapdesk ')} and others"
    blocks = [_block(_shape(one, *_place(place))) for one in documents]
    return section(title, f"Printed by {codes(names)}." if others else "", *blocks)


def _named(function: str, name: str) -> str:
    for path, tree in modules("cli"):
        if any(isinstance(one, ast.FunctionDef) and one.name == function for one in tree.body):
            return section(name, _block(_shape_of(path, function)))
    raise AssertionError(f"there is no {function}")


def printers() -> dict[str, list[ast.expr]]:
    """Every function of the commands that prints a document, with what it prints."""
    found: dict[str, list[ast.expr]] = {}
    for path, tree in modules("cli"):
        for within in ast.walk(tree):
            if not isinstance(within, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for node in ast.walk(within):
                called = node.func if isinstance(node, ast.Call) else None
                if isinstance(called, ast.Attribute) and called.attr == "document":
                    assert isinstance(node, ast.Call)
                    found.setdefault(f"{path}:{within.name}", []).append(node.args[0])
    return found


def _place(place: str) -> tuple[str, ast.AST]:
    path, _, name = place.partition(":")
    for node in ast.walk(module(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            return path, node
    raise AssertionError(f"there is no {place}")


def _shape_of(path: str, function: str) -> Shape:
    """Of what a function returns."""
    found = defined(path, function)
    assert isinstance(found, ast.FunctionDef), f"{path} has no {function}"
    shape = _returned(path, found)
    assert shape is not None, f"{function} returns no object"
    return shape


def _returned(path: str, function: ast.FunctionDef) -> Shape | None:
    """With the fields of every object that it may return."""
    whole: Shape | None = None
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            one = _shape(node.value, path, function)
            if one is not None and whole is not None:
                whole.fields |= one.fields
            whole = whole or one
    return whole


def _shape(node: ast.expr, path: str, within: ast.AST) -> Shape | None:
    """None for what is no object: a text, a number, or something that the source does not say."""
    if isinstance(node, ast.Dict):
        return _object(node, path, within)
    if isinstance(node, ast.Lambda):
        return _shape(node.body, path, within)
    if isinstance(node, ast.IfExp):
        return _shape(node.body, path, within) or _shape(node.orelse, path, within)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        inner = _shape(node.elt, path, within)
        return inner and Shape(inner.fields, many=True, name=inner.name)
    if isinstance(node, ast.DictComp):
        inner = _shape(node.value, path, within)
        return Shape(dict.fromkeys(_members(node, path) or ["NAME"], inner))
    if isinstance(node, ast.Name):
        return _assigned(node.id, path, within)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _called(node.func.id, path)
    return None


def _members(node: ast.DictComp, path: str) -> list[str]:
    """The values of the enumeration that a mapping goes through; none for anything else."""
    over = node.generators[0].iter
    if not isinstance(over, ast.Name):
        return []
    place, name = imports(path).get(over.id, (path, over.id))
    found = defined(place, name)
    return [
        str(one.value.value)
        for one in (found.body if isinstance(found, ast.ClassDef) else ())
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant)
    ]


def _object(node: ast.Dict, path: str, within: ast.AST) -> Shape:
    shape = Shape()
    for key, value in zip(node.keys, node.values, strict=True):
        inner = _shape(value, path, within)
        if key is None:
            assert inner is not None, f"{path}: {ast.unparse(value)} is unknown"
            shape.fields |= {f"**{inner.name}": None} if inner.name else inner.fields
        else:
            shape.fields[_key(key, path)] = inner
    return shape


def _key(node: ast.expr, path: str) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Attribute):
        # A field of a table of the flows: what its rows give it.
        names = [
            str(row.value.value)
            for _, tree in modules("flows")
            for row in ast.walk(tree)
            if isinstance(row, ast.keyword)
            and row.arg == node.attr
            and isinstance(row.value, ast.Constant)
        ]
        assert names, f"{path}: {ast.unparse(node)} is unknown"
        return " or ".join(sorted(set(names)))
    return f"{{{ast.unparse(node)}}}"


def _assigned(name: str, path: str, within: ast.AST) -> Shape | None:
    for node in ast.walk(within):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(one, ast.Name) and one.id == name for one in targets):
            assert isinstance(node, ast.Assign)
            return _shape(node.value, path, within)
    return None


def _called(name: str, path: str) -> Shape | None:
    if name in NAMED or name in OF_API:
        return Shape(name=NAMED.get(name) or OF_API[name])
    if name == "quote_json":
        return _quote()
    found = defined(path, name)
    if found is None and name in imports(path):
        path, name = imports(path)[name]
        found = defined(path, name)
    return _returned(path, found) if isinstance(found, ast.FunctionDef) else None


def _quote() -> Shape:
    """The members of the columns, and those of the quote itself."""
    shape = Shape()
    table = module(COLUMNS)
    members = [
        node
        for node in ast.walk(table)
        if isinstance(node, ast.Dict) and node.keys and isinstance(node.values[0], ast.Lambda)
    ]
    for node in sorted(members, key=lambda node: node.lineno):
        shape.fields |= _object(node, COLUMNS, table).fields
    shape.fields["**Quote"] = None
    return shape


def _block(shape: Shape | None) -> str:
    assert shape is not None
    lines = [shape.name] if shape.name else _lines(shape, "")
    return "\n".join(["```", *lines, "```"])


def _lines(shape: Shape, before: str) -> list[str]:
    """An object, on one line where it fits, else with each object in it on lines of its own."""
    begin, end = ("[{", "}]") if shape.many else ("{", "}")
    parts = [_lines_of(name, inner) for name, inner in shape.fields.items()]
    flat = f"{before}{begin}{', '.join(one[0] for one in parts)}{end}"
    if all(len(one) == 1 for one in parts) and len(flat) <= WIDE:
        return [flat]
    lines, plain = [f"{before}{begin}"], list[str]()
    for part in [*parts, []]:
        if len(part) == 1:
            plain.append(f"{part[0].replace(' ', _HELD)},")
            continue
        wrapped = textwrap.wrap(" ".join(plain), WIDE, break_on_hyphens=False)
        lines += [f"  {one.replace(_HELD, ' ')}" for one in wrapped]
        plain.clear()
        lines += [f"  {one}" for one in part[:-1]]
        lines += [f"  {one}," for one in part[-1:]]
    return [*lines[:-1], lines[-1].removesuffix(","), end]


_HELD = "\0"
"""A blank at which a line is not broken."""


def _lines_of(name: str, inner: Shape | None) -> list[str]:
    shown = name if name.startswith("**") else f'"{name}"'
    if inner is None:
        return [shown]
    if inner.name:
        return [f"{shown}: [{inner.name}]" if inner.many else f"{shown}: {inner.name}"]
    return _lines(inner, f"{shown}: ")
