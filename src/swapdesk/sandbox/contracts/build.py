"""Compiles the sources into the artefacts beside them. This needs Vyper, which the rest of swapdesk
does not need.

python -m swapdesk.sandbox.contracts.build
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOM = Path(__file__).parent
SOURCES = ROOM / "sources"
ARTEFACTS = ROOM / "artefacts"
EVM = "cancun"
MODULES = frozenset({"ledger", "standard", "permits", "routing"})

# Vyper keeps ``from``, ``to`` and ``value`` for itself in places where the standards use
# them; names are in no selector and no topic, and tools expect those of the standards.
_OFFICIAL = {
    ("Transfer", "sender"): "from",
    ("Transfer", "receiver"): "to",
    ("Transfer", "amount"): "value",
    ("Approval", "amount"): "value",
    ("transfer", "receiver"): "to",
    ("transfer", "amount"): "value",
    ("approve", "amount"): "value",
    ("transferFrom", "sender"): "from",
    ("transferFrom", "receiver"): "to",
    ("transferFrom", "amount"): "value",
    ("permit", "amount"): "value",
    ("transferWithAuthorization", "sender"): "from",
    ("transferWithAuthorization", "receiver"): "to",
    ("transferWithAuthorization", "amount"): "value",
    ("receiveWithAuthorization", "sender"): "from",
    ("receiveWithAuthorization", "receiver"): "to",
    ("receiveWithAuthorization", "amount"): "value",
    ("execute", "amount"): "value",
    ("executeBatch", "values"): "value",
}

_ERRORS: dict[str, tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = {
    "EntryPoint": (
        ("FailedOp", (("opIndex", "uint256"), ("reason", "string"))),
        (
            "FailedOpWithRevert",
            (("opIndex", "uint256"), ("reason", "string"), ("inner", "bytes")),
        ),
        ("SenderAddressResult", (("sender", "address"),)),
        ("ReentrancyGuardReentrantCall", ()),
    ),
    "Account": (
        ("ECDSAInvalidSignature", ()),
        ("ECDSAInvalidSignatureLength", (("length", "uint256"),)),
        ("ECDSAInvalidSignatureS", (("s", "bytes32"),)),
        ("InvalidInitialization", ()),
    ),
}
"""The errors with which each contract reverts: names and parameters (name, type). Vyper does not
declare them."""


def contracts() -> list[str]:
    """Returns the names of the contracts to compile, without modules that other contracts
    include."""
    return sorted(path.stem for path in SOURCES.glob("*.vy") if path.stem not in MODULES)


def compiled(name: str) -> str:
    """Returns the artefact of a contract as JSON text, always the same for the same sources and
    compiler."""
    from vyper.compiler import compile_from_file_input
    from vyper.compiler.input_bundle import FilesystemInputBundle
    from vyper.compiler.settings import Settings

    bundle = FilesystemInputBundle([SOURCES])
    out = compile_from_file_input(
        bundle.load_file(Path(f"{name}.vy")),
        input_bundle=bundle,
        settings=Settings(evm_version=EVM),
        output_formats=["abi", "bytecode_runtime", "layout"],
    )
    document = {
        "abi": [_renamed(item) for item in out["abi"]] + list(_errors(name)),
        "code": out["bytecode_runtime"].removeprefix("0x"),
        "variables": dict(_variables(out["layout"].get("storage_layout", {}))),
    }
    return _text({**document, "digest": digest(name, document)})


def digest(name: str, document: dict[str, Any]) -> str:
    """Returns the SHA-256 of an artefact, its sources, the compiler version and this program. It
    shows whether the artefact is current."""
    made_of = sha256(version("vyper").encode())
    sources = [SOURCES / f"{one}.vy" for one in (name, *sorted(MODULES))]
    for path in (Path(__file__), *sources):
        made_of.update(path.read_bytes())
    made_of.update(_text({key: document[key] for key in document if key != "digest"}).encode())
    return made_of.hexdigest()


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _renamed(item: dict[str, Any]) -> dict[str, Any]:
    # Permit2's events and functions keep their names: its approvals speak of an ``amount``.
    inputs = item.get("inputs", [])
    if any(one["type"] == "uint160" for one in inputs):
        return item
    return {
        **item,
        "inputs": [
            {**one, "name": _OFFICIAL.get((item.get("name", ""), one["name"]), one["name"])}
            for one in inputs
        ],
    }


def _errors(name: str) -> Iterator[dict[str, Any]]:
    for error, inputs in _ERRORS.get(name, ()):
        yield {
            "type": "error",
            "name": error,
            "inputs": [{"name": each, "type": kind} for each, kind in inputs],
        }


def _variables(layout: dict[str, Any], prefix: str = "") -> Any:
    for name, place in layout.items():
        if "slot" in place:
            yield f"{prefix}{name}", {"slot": place["slot"], "type": place["type"]}
        else:
            yield from _variables(place, f"{prefix}{name}.")


def main() -> None:
    ARTEFACTS.mkdir(exist_ok=True)
    for name in contracts():
        (ARTEFACTS / f"{name}.json").write_text(compiled(name), encoding="utf-8")


if __name__ == "__main__":
    main()
