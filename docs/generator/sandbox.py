"""The sandbox as other programs use it: its control, its faults, its exchanges and chains."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from pydantic import BaseModel

from generator.api import shape_of
from generator.markdown import code, codes, page, plain, section, sentence, table
from generator.source import class_of, said_in, said_of
from swapdesk.sandbox import control_bodies, fault_choice
from swapdesk.sandbox.bundle_faults import BundleFault
from swapdesk.sandbox.control_bodies import FaultBody
from swapdesk.sandbox.fault_choice import DELETE, KNOWN, FaultRefused, choose
from swapdesk.sandbox.faults import STREAM, AnswerFault
from swapdesk.sandbox.node.embedded import FAULTS_OF
from swapdesk.sandbox.node.evm.terms import chain_terms
from swapdesk.sandbox.node.params import FAULT_HELP
from swapdesk.sandbox.operation_tampering import Part
from swapdesk.sandbox.run_file import TOKEN_HEADER, ReadyLine
from swapdesk.sandbox.venue_faults import VenueFault
from swapdesk.sandbox.venue_rows import ON_CHAIN_NAMES, VENUE_ROWS
from swapdesk.sandbox.world import chains_by_name
from swapdesk.wire.encoding.query import wire_names
from swapdesk.wire.operations import OPERATIONS

SELECTORS = {
    "operation": OPERATIONS[0].name,
    "service_id": "order",
    "quote_id": "quote",
    "multi_id": "group",
    "venue": VENUE_ROWS[0].code,
    "chain": next(iter(FAULTS_OF)),
}
"""Every selector with something that it may select."""
FURTHER = {"leg": "in", "times": 2, "seconds": 1, "part": Part.AMOUNT}
"""What a fault may take beside its selector; the depth of a reorganisation is not free."""


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
                ((code(one.name), _type(str(one.type))) for one in fields(ReadyLine)),
            ),
            plain(inspect.getdoc(ReadyLine) or ""),
        ),
        section(
            "Control operations",
            f"Paths are below the `control` address of the ready line. Every call carries the"
            f" header `{TOKEN_HEADER}` with the `controlToken`. A body is closed: an unknown field"
            " is refused with 422.",
            table(("Call", "Body", "Does"), _operations()),
            *(_body(one) for one in _bodies()),
        ),
        section(
            "Faults",
            "A fault is set with `POST /faults`. It takes exactly one of its selectors, or none"
            " where the table says so. A fault that comes too late is refused with the reason.",
            table(("Fault", "Does", "Selector", "Also takes"), map(_fault, KNOWN)),
            section("Operations of faults", "", table(("Fault", "Operations"), _told()), level=3),
            section("Chains of faults", "", table(("Chain", "Faults"), _chains()), level=3),
            f"`part` is one of {codes(Part)}. The name of the WebSocket as an operation is"
            f" `{STREAM}`. `DELETE /faults` also ends holds.",
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
    methods = {one.name: one for one in control.body if isinstance(one, ast.AsyncFunctionDef)}
    for path, by_method in _paths(control).items():
        for method, handler in by_method.items():
            body = _body_of(methods[handler])
            said = ast.get_docstring(methods[handler])
            assert said, f"{handler} of the control has no docstring"
            link = f"[{body}](#{body.lower()})" if body else ""
            yield code(f"{method} {path}"), link, sentence(said)


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
        _body_of(one)
        for one in class_of("sandbox/control.py", "Control").body
        if isinstance(one, ast.AsyncFunctionDef)
    )
    return [getattr(control_bodies, name) for name in names if name]


def _body(model: type[BaseModel]) -> str:
    shape = shape_of(model)
    rows = []
    for key, field in model.model_fields.items():
        name = wire_names(key, field)[0]
        rows.append((code(name), *shape[name], "yes" if field.is_required() else ""))
    said = plain(model.__doc__ or "") if "__doc__" in vars(model) else ""
    return section(
        model.__name__, said, table(("Field", "Type", "Bounds", "Required"), rows), level=3
    )


def _fault(name: str) -> tuple[str, str, str, str]:
    allowed = [key for key, value in SELECTORS.items() if _selects(name, key, value)]
    if _accepts(name, {}):
        allowed.append("none")
    assert allowed, f"{name} selects nothing"
    shown = [code(_wire(key)) if key != "none" else "none" for key in allowed]
    bodies = (_values(name, key, SELECTORS[key]) for key in allowed if key != "none")
    chosen: list[dict[str, Any]] = next(bodies, [{}])
    base = next(one for one in chosen if _accepts(name, one))
    also = [key for key, value in FURTHER.items() if _accepts(name, base | {key: value})]
    if not _plain(base, name):
        also = ["depth" if name == "reorg" else "part", *[one for one in also if one != "part"]]
    return code(name), _said(name), ", ".join(shown), codes(also)


def _said(name: str) -> str:
    for kind in (AnswerFault, VenueFault, BundleFault):
        if name in list(kind):
            told = said_of(kind)
            assert kind(name).name in told, f"{name} has no line"
            return sentence(told[kind(name).name])
    deletion = said_in("sandbox/fault_choice.py")["DELETE"]
    return sentence(deletion if name == DELETE else FAULT_HELP[name])


def _wire(key: str) -> str:
    return fault_choice._NAMES[key]


def _selects(name: str, key: str, value: str) -> bool:
    return any(_accepts(name, one) for one in _values(name, key, value))


def _values(name: str, key: str, value: str) -> list[dict[str, Any]]:
    """Bodies with this selector: every operation or chain is tried."""
    tried = {
        "operation": [*(one.name for one in OPERATIONS), STREAM],
        "chain": list(chains_by_name()),
    }.get(key, [value])
    return [{key: one} for one in tried]


def _accepts(name: str, given: dict[str, Any]) -> bool:
    """Whether there is such a fault, with the depth or part that it needs."""
    needed: dict[str, Any] = {}
    if name == "reorg":
        needed["depth"] = 1
    elif name == AnswerFault.TAMPER_USER_OPERATION:
        needed["part"] = Part.AMOUNT
    try:
        choose(FaultBody.model_construct(fault=name, **needed | given))
    except FaultRefused:
        return False
    return True


def _plain(given: dict[str, Any], name: str) -> bool:
    """Whether a fault needs nothing beside its selector."""
    try:
        choose(FaultBody.model_construct(fault=name, **given))
    except FaultRefused:
        return False
    return True


def _told() -> Iterator[tuple[str, str]]:
    """Faults that only some operations can have."""
    every = [*(one.name for one in OPERATIONS), STREAM]
    for name in AnswerFault:
        found = [one for one in every if _accepts(name, {"operation": one})]
        if len(found) < len(OPERATIONS):
            yield code(name), codes(found)


def _chains() -> Iterator[tuple[str, str]]:
    for chain, found in FAULTS_OF.items():
        yield code(chain), codes(one for one in KNOWN if one in found)
    yield "all others", codes(one for one in KNOWN if _accepts(one, {"chain": "bitcoin"}))


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
        ", ".join(said for said, holds in notes.items() if holds),
    )


def _evm_chains() -> Iterator[tuple[str, ...]]:
    real = chain_terms("real")
    for name, one in chain_terms().items():
        yield (
            code(name),
            f"{one.chain_id:,}",
            f"{real[name].chain_id:,}",
            f"{one.block_ms / 1000:g} s",
            str(one.confirmations),
            f"{one.lowest_base_fee:,}",
        )
