"""The sandbox as other programs use it: its control, its faults, its exchanges and chains."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from generator.api import shape_of
from generator.markdown import code, codes, page, plain, section, sentence, table
from generator.source import class_of
from swapdesk.sandbox import control
from swapdesk.sandbox.fault_layer import STREAM
from swapdesk.sandbox.run_file import TOKEN_HEADER, ReadyLine
from swapdesk.sandbox.tables import ON_CHAIN_NAMES, VENUE_ROWS, chain_terms
from swapdesk.wire.encoding.query import wire_names
from swapdesk.wire.faults import FAULTS, Fault


def sandbox_page() -> str:
    return page(
        "The sandbox",
        "Its control operations and faults, its exchanges and chains, from the tables that it runs"
        " on. `swapdesk serve --sandbox` prints where the control is. The rules of time, ports and"
        " chains are in [interfaces.md](../interfaces.md).",
        section(
            "Ready line",
            "`swapdesk serve --sandbox` prints it as one JSON line; `sandbox/run.json` holds it.",
            table(
                ("Field", "Type"),
                ((code(name), _type(kind)) for name, kind in ReadyLine.__annotations__.items()),
            ),
            plain(inspect.getdoc(ReadyLine) or ""),
        ),
        section(
            "Control operations",
            f"Paths are below the `control` address of the ready line. Every call carries the"
            f" header `{TOKEN_HEADER}` with the `controlToken`. A body is closed: an unknown field"
            " is refused with 422.",
            table(("Call", "Body", "Does"), _operations()),
            *(_body(body) for body in _bodies()),
        ),
        section(
            "Faults",
            "A fault is set with `POST /faults`. It takes exactly one of its selectors, or none"
            " where the table says so. A fault that comes too late is refused with the reason.",
            table(("Fault", "Does", "Selector", "Also takes"), map(_fault, FAULTS.values())),
            f"Faults whose name begins with `ws_` happen to the stream, whose name as an operation"
            f" is `{STREAM}`. `DELETE /faults` also ends holds.",
        ),
        section(
            "Exchanges",
            "`CODE` of options, and `venue` of faults. Amounts are in US dollars. A live service"
            " lists its own: `swapdesk api GET /swaps`.",
            table(
                ("Code", "Name", "Least", "Most", "Fixed rates", "Notes"),
                map(_exchange, VENUE_ROWS),
            ),
            section(
                "On-chain venues",
                "",
                table(("Code", "Name"), ((code(a), b) for a, b in ON_CHAIN_NAMES.items())),
                level=3,
            ),
        ),
        section(
            "Embedded EVM chains",
            "The lowest base fee is in wei per gas. Block times are of a sandbox at speed 1.",
            table(
                ("Chain", "Id", "Id with `--chain-ids real`", "Block", "Confirmations", "Base fee"),
                _evm_chains(),
            ),
        ),
    )


def _type(written: str) -> str:
    return {"str": "text", "int": "integer"}.get(written, "list of objects")


def _operations() -> Iterator[tuple[str, str, str]]:
    """Of the table that the control answers from: the call, its body, what its method says."""
    control = class_of("sandbox/control.py", "Control")
    methods = {
        function.name: function
        for function in control.body
        if isinstance(function, ast.AsyncFunctionDef)
    }
    for path, by_method in _paths(control).items():
        for method, handler in by_method.items():
            body = _body_of(methods[handler])
            about = ast.get_docstring(methods[handler])
            assert about, f"{handler} of the control has no docstring"
            link = f"[{body}](#{body.lower()})" if body else ""
            yield code(f"{method} {path}"), link, sentence(about)


def _paths(control: ast.ClassDef) -> dict[str, dict[str, str]]:
    for node in ast.walk(control):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "self._operations":
            assert isinstance(node.value, ast.Dict)
            return {
                str(ast.literal_eval(path)): {
                    str(ast.literal_eval(method)): ast.unparse(handler).removeprefix("self.")
                    for method, handler in zip(inner.keys, inner.values, strict=True)
                    if method is not None
                }
                for path, inner in zip(node.value.keys, node.value.values, strict=True)
                if path is not None and isinstance(inner, ast.Dict)
            }
    raise AssertionError("the control has no table of operations")


def _body_of(handler: ast.AST) -> str:
    for node in ast.walk(handler):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "_body":
            return ast.unparse(node.args[0])
    return ""


def _bodies() -> list[type[BaseModel]]:
    names = dict.fromkeys(
        _body_of(statement)
        for statement in class_of("sandbox/control.py", "Control").body
        if isinstance(statement, ast.AsyncFunctionDef)
    )
    return [getattr(control, name) for name in names if name]


def _body(model: type[BaseModel]) -> str:
    shape = shape_of(model)
    rows = []
    for key, field in model.model_fields.items():
        name = wire_names(key, field)[0]
        rows.append((code(name), *shape[name], "yes" if field.is_required() else ""))
    about = plain(model.__doc__ or "") if "__doc__" in vars(model) else ""
    return section(
        model.__name__, about, table(("Field", "Type", "Bounds", "Required"), rows), level=3
    )


def _fault(fault: Fault) -> tuple[str, str, str, str]:
    only = f" ({codes(fault.chains)} alone)" if fault.chains else ""
    shown = [f"{code(name)}{only}" for name in fault.selectors]
    if fault.unselected:
        shown.append("none")
    return code(fault.name), sentence(fault.does), ", ".join(shown), codes(fault.takes)


def _exchange(row: Any) -> tuple[str, ...]:
    notes = {
        "not enabled": not row.enabled,
        "deprecated": row.deprecated,
        "takes a markup": row.markup,
        "needs a refund address": row.requires_refund_address,
        "static deposit addresses": row.static_deposits,
        "an address for each deposit on chains with memos": not row.memo_deposits,
        f"keeps {row.refund_fee} % of a refund": bool(row.refund_fee),
        "does not tell what it refunded": not row.tells_refund,
        "closed at times": row.outage is not None,
        "slow at times": row.slow is not None,
    }
    return (
        code(row.code),
        row.name,
        f"{row.minimum:,}",
        f"{row.maximum:,}",
        "yes" if row.fixed_spread is not None else "no",
        ", ".join(about for about, holds in notes.items() if holds),
    )


def _evm_chains() -> Iterator[tuple[str, ...]]:
    real = chain_terms("real")
    for name, terms in chain_terms().items():
        yield (
            code(name),
            f"{terms.chain_id:,}",
            f"{real[name].chain_id:,}",
            f"{terms.block_ms / 1000:g} s",
            str(terms.confirmations),
            f"{terms.lowest_base_fee:,}",
        )
