"""Both sides of every bound of every parameter and body field, taken from the document.

The document is what clients read, so it is what the parsers are held against: each value
inside a stated bound is read, each just outside is refused under the name of its input. The
bounds of contract 16.1 stand in ``bounds.txt`` once more, so that both cannot be wrong together.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from rows import each_row
from swapdesk.service.openapi import document
from swapdesk.wire.encoding.codec import ShapeError, decode_json, encode_json, validate
from swapdesk.wire.encoding.numbers import MONEY, plain
from swapdesk.wire.encoding.query import QueryError, parse_query, wire_names
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.operation import Operation
from swapdesk.wire.operations import BY_NAME, OPERATIONS
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order, OrderStatusCode

DOCUMENT: dict[str, Any] = document("1")
TOKEN = "a" * 24
LEAST = Decimal(1).scaleb(-40)
WALLET = "0x" + "ab" * 20
TRON = "T" + "a" * 33
GIVEN = {"signature": "0x" + "ab" * 65, "key": "order", "swapRequiredMetadata": {"a": 1}}

ROW = {"from": TOKEN, "to": TOKEN, "amount": 1, "addressTo": "a"}

REQUIRED: dict[str, dict[str, Any]] = {
    "create_multi_exchange": {"orders": [ROW]},
    "get_multi_exchange": {"multiId": "a"},
    "build_multi_transactions": {"multiId": "a", "sender": "a"},
    "get_multi_transactions": {"multiId": "a", "sender": "a"},
    "submit_multi_transactions": {"multiId": "a", "signatures": ["0xab"]},
    "get_pair_limits": {"tokenIdFrom": "BTC", "tokenIdTo": "ETH"},
    "get_quotes": {"amount": "1", "from": TOKEN, "to": TOKEN},
    "get_private_send_quotes": {"amount": "1", "from": TOKEN},
    "create_exchange": {"quoteId": TOKEN, "addressTo": "a"},
    "create_private_send": {"quoteId": TOKEN, "addressTo": "a"},
    "get_token": {"id": TOKEN},
    "get_order": {"serviceId": "a"},
    "receive_webhook": {"source": "a"},
    "dex_approve": {"quoteId": TOKEN, "addressFrom": WALLET},
    "dex_allowance": {"quoteId": TOKEN, "addressFrom": WALLET},
    "dex_chain_signatures": {
        "quoteId": TOKEN,
        "addressFrom": WALLET,
        "previousSignature": GIVEN,
        "signatureKey": "order",
        "signatureStep": 0,
    },
    "dex_confirm_transaction": {"id": "abc"},
    "get_chart": {"metric": "volume"},
}
"""What a request must have beside the input under test."""


class Case(Struct):
    """One input: its name, its schema, and whether it stands in a query or in a body."""

    operation: Operation
    place: str
    name: str
    schema: Any

    def __repr__(self) -> str:
        return f"{self.operation.name}-{self.place}-{self.name}"

    @property
    def model(self) -> type[BaseModel]:
        """The model that reads the input."""
        of = self.operation
        return {"path": of.path_parameters, "query": of.query, "body": of.body}[self.place]

    @property
    def field(self) -> FieldInfo:
        (found,) = [
            each
            for name, each in self.model.model_fields.items()
            if wire_names(name, each)[0] == self.name
        ]
        return found

    def read(self, *values: Any) -> Any:
        """Read a request with the input at these values; raises when it is refused."""
        model = self.model
        beside = {wire_names(name, each)[0] for name, each in model.model_fields.items()}
        required = {
            name: value
            for name, value in REQUIRED.get(self.operation.name, {}).items()
            if name in beside
        }
        if self.place == "body":
            (value,) = values
            sent = encode_json({**required, self.name: value})
            return validate(model, decode_json(sent, max_bytes=1 << 20), side="service")
        pairs = [(name, value) for name, value in required.items() if name != self.name]
        return parse_query(model, [*pairs, *((self.name, value) for value in values)])

    def refused(self, *values: Any) -> set[str]:
        """The inputs the request is refused for; empty when it is read."""
        try:
            self.read(*values)
        except QueryError as error:
            return set(error.fields)
        except ShapeError as error:
            return {path.partition(".")[0] for path, _ in error.fields}
        return set()


def cases() -> Iterator[Case]:
    for operation in OPERATIONS:
        described = DOCUMENT["paths"][operation.path][operation.method.lower()]
        for one in described.get("parameters", []):
            yield Case(operation, one["in"], one["name"], one["schema"])
        if operation.body is not None:
            schema = DOCUMENT["components"]["schemas"][operation.body.__name__]
            for name, inner in schema["properties"].items():
                yield Case(operation, "body", name, inner)


CASES = list(cases())

Values = tuple[list[Any], list[Any]]
"""Inside and outside."""


SPELLINGS: dict[str, Values] = {
    "^0x[0-9a-fA-F]{40}$": ([WALLET, WALLET.upper().replace("X", "x")], [WALLET + "a", TRON, ""]),
    "^(0x[0-9a-fA-F]{40}|T[1-9A-HJ-NP-Za-km-z]{33})$": (
        [WALLET, TRON],
        [WALLET + "a", WALLET[:-1], TRON + "a", TRON[:-1], "t" + TRON[1:], ""],
    ),
    "^[0-9]{4}-(0[1-9]|1[0-2])$": (
        ["2026-01", "2026-12", "0001-10"],
        ["", "2026-00", "2026-13", "2026-1", "2026-01-01", "26-01", "２０26-01"],
    ),
    "^[0-9A-Za-z]{1,64}$": (["a", "Z9" * 32], ["", "a" * 65, "a b", "a-b", "é"]),
    "^0x([0-9a-fA-F]{2})+$": (["0xab", "0x" + "aB" * 2047], ["0x", "0xa", "ab", "0xgg"]),
    "^[A-Za-z0-9_-]{3,64}$": (["abc", "Z9-_" * 16], ["", "ab", "a" * 65, "a b", "a.b", "abé"]),
    "^[a-zA-Z0-9+/=_.-]{10,128}$": (["a" * 10, "a" * 128, "+/=_.-aA09"], ["a" * 9, "a" * 129]),
}
"""Where a pattern says more than a length."""

FILTERS: Values = (
    [
        {},
        {"onlySwaps": ["aa"] * 100, "rotatePayoutWallets": True},
        {"deviationThreshold": 0, "rotationLookback": 1, "inLeg": {}, "outLeg": None},
        {"deviationThreshold": 100, "rotationLookback": 100},
        {"inLeg": {"include": ["aa"]}, "outLeg": {"exclude": ["aa"] * 100}},
    ],
    [
        {"onlySwaps": []},
        {"onlySwaps": ["aa"] * 101},
        {"onlySwaps": ["a" * 33]},
        {"rotatePayoutWallets": "true"},
        {"deviationThreshold": -1},
        {"deviationThreshold": MONEY.add(100, LEAST)},
        {"rotationLookback": 0},
        {"rotationLookback": 101},
        {"rotationLookback": Decimal("1.5")},
        {"inLeg": {"include": []}},
        {"outLeg": {"exclude": ["aa"] * 101}},
        {"outLeg": {"only": ["aa"]}},
        {"rotateFallback": True},
        [],
    ],
)

OBJECTS: dict[str, Values] = {
    "#/components/schemas/RouteFilters": FILTERS,
    "#/components/schemas/MultiOrderRequest": (
        [
            ROW,
            ROW | {"amount": LEAST, "addressTo": "a" * 200, "destinationTag": "a" * 64},
            ROW | {"anonymous": True, "useXmr": False, "fixed": True, "walletInfo": "a" * 256},
            ROW | {"refundAddress": "a" * 200, "refundExtraId": "a" * 64, "filters": None},
            *(ROW | {"filters": inside} for inside in FILTERS[0]),
        ],
        [
            {},
            *({key: value for key, value in ROW.items() if key != name} for name in ROW),
            ROW | {"from": "a" * 23},
            ROW | {"to": "g" * 24},
            ROW | {"amount": 0},
            ROW | {"amount": "1x"},
            ROW | {"addressTo": ""},
            ROW | {"addressTo": "a" * 201},
            ROW | {"addressTo": "a b"},
            ROW | {"destinationTag": "a" * 65},
            ROW | {"walletInfo": "a" * 257},
            ROW | {"refundAddress": "a" * 201},
            ROW | {"refundExtraId": "a" * 65},
            ROW | {"anonymous": "true"},
            ROW | {"useXmr": 1},
            ROW | {"fixed": "yes"},
            ROW | {"quoteId": "a"},
            *(ROW | {"filters": outside} for outside in FILTERS[1]),
            [],
            "a",
        ],
    ),
    "#/components/schemas/GivenSignature": (
        [
            GIVEN,
            {"signature": "0xa", "key": "k" * 64},
            {"signature": "0x" + "a" * 4094, "key": "k"},
        ],
        [
            {},
            {"key": "k"},
            {"signature": "0xa"},
            {"signature": "0x", "key": "k"},
            {"signature": "0x" + "a" * 4095, "key": "k"},
            {"signature": "0xg", "key": "k"},
            {"signature": "0xa", "key": ""},
            {"signature": "0xa", "key": "k" * 65},
            {"signature": "0xa", "key": "k", "swapRequiredMetadata": []},
            {"signature": "0xa", "key": "k", "more": 1},
            [],
            "0xa",
        ],
    ),
}
"""Objects inside a body, with both sides of the bounds of their fields."""


def text_values(schema: dict[str, Any]) -> Values:
    if "enum" in schema:
        wrong = ["nonsense", *(value.swapcase() for value in schema["enum"] if value.isalpha())]
        return list(schema["enum"]), wrong
    if schema.get("format") == "date-time":
        return ["2026-11-20", "2026-11-20T14:00:00.5Z"], ["1700000000", "2026-13-01", "today"]
    if schema.get("pattern") in SPELLINGS:
        return SPELLINGS[schema["pattern"]]
    longest = schema["maxLength"]
    inside = ["a" * longest]
    outside = ["a" * (longest + 1), "a\x00", "a\n"]
    if "minLength" in schema or "pattern" in schema:
        outside.append("")
    if schema.get("pattern") == "^[a-fA-F0-9]{24}$":
        outside += ["a" * 23, "g" * 24]
    else:
        inside.append("a")
    return inside, outside


def number_values(schema: dict[str, Any]) -> Values:
    step = Decimal(1) if schema["type"] == "integer" else LEAST
    least = Decimal(schema["minimum"])
    below = MONEY.subtract(least, step)
    if schema.get("exclusiveMinimum"):
        least, below = MONEY.add(least, step), least
    most = Decimal(schema["maximum"])
    # Where a bound is as long as numbers may be, the next one is a digit longer.
    above = MONEY.add(most, step if most < 10**15 else 1)
    return [least, most], [below, above]


def values(schema: dict[str, Any], *, body: bool) -> Values:
    if "allOf" in schema:
        (schema,) = schema["allOf"]
    if schema.get("nullable") and "anyOf" in schema:
        schema = schema["anyOf"][0]
    if "$ref" in schema:
        return OBJECTS[schema["$ref"]]
    kind = schema["type"]
    if kind == "boolean":
        return (
            ([True, False], ["true", 1]) if body else (["true", "false"], ["True", "1", "yes", ""])
        )
    if kind == "string":
        return text_values(schema)
    inside, outside = number_values(schema)
    if body:
        return inside, [*outside, "x", True]
    return [plain(value) for value in inside], [*map(plain, outside), "", "1e1", "+1", "01", "１"]


@each_row("case", CASES, ids=repr)
def test_both_sides_of_every_bound(case: Case) -> None:
    body = case.place == "body"
    schema = case.schema
    if body:
        assert case.refused(None) == (set() if schema.get("nullable") else {case.name})
    if schema.get("type") != "array":
        inside, outside = values(schema, body=body)
        assert inside
        assert outside
        for value in inside:
            assert case.refused(value) == set(), value
        for value in outside:
            assert case.refused(value) == {case.name}, value
        if not body:
            assert case.refused(inside[0], inside[0]) == {case.name}, "given twice"
        return
    inside, outside = values(schema["items"], body=body)
    for value in inside:
        assert case.refused(*([[value]] if body else [value])) == set(), value
    for value in outside:
        assert case.refused(*([[value]] if body else [value])) == {case.name}, value
    most = schema.get("maxItems")
    if body:
        assert case.refused([]) == ({case.name} if schema.get("minItems") else set())
        assert case.refused("a") == {case.name}, "no list"
    if most is not None:
        for count, refused in ((most, set()), (most + 1, {case.name})):
            listed = inside[:1] * count
            assert case.refused(*([listed] if body else listed)) == refused


@each_row("case", CASES, ids=repr)
def test_defaults_are_those_of_the_document(case: Case) -> None:
    required = REQUIRED.get(case.operation.name, {})
    if case.name in required or case.place == "body":
        assert "default" not in case.schema
        return
    other = next((one for one in required), None)
    model: type[BaseModel] | None = case.operation.query
    read = parse_query(model, list(required.items())) if other else parse_query(model, [])
    written = read.model_dump(by_alias=True)
    assert written[case.name] == case.schema.get("default")


def constraints(annotation: Any) -> Iterator[Any]:
    """Whatever an annotation carries, in every one of its parts."""
    yield from getattr(annotation, "__metadata__", ())
    for part in get_args(annotation):
        yield from constraints(part)


@each_row("case", CASES, ids=repr)
def test_no_bound_of_a_model_is_kept_from_the_document(case: Case) -> None:
    """What the parsers check beyond the document would be proven by nothing above."""
    field = case.field
    written = {"ge": "minimum", "gt": "minimum", "le": "maximum", "max_length": "maxLength"}
    lists = {"min_length": "minItems", "max_length": "maxItems"}
    schemas = [case.schema, case.schema.get("items", {})]
    for constraint in (*field.metadata, *constraints(field.annotation)):
        for name in ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern"):
            stated = getattr(constraint, name, None)
            if stated is not None:
                under = {written.get(name, name), lists.get(name, name)}
                found = [schema.get(each) for schema in schemas for each in under]
                assert stated in found, (name, stated)


def test_every_input_is_a_case() -> None:
    for operation in OPERATIONS:
        found = {case.name for case in CASES if case.operation is operation}
        models = (operation.path_parameters, operation.query, operation.body)
        assert len(found) == sum(len(model.model_fields) for model in models if model is not None)
    assert set(REQUIRED) <= set(BY_NAME)


# No state, code, input or bound without a test that proves it


TESTS = Path(__file__).parents[1]
LISTED = Path(__file__).with_name("bounds.txt")
MARKER = "pytest.mark.proves"
LEFT_OUT = {f"pytest.mark.{name}" for name in ("long", "skip", "skipif", "xfail")}
"""Tests that a usual run leaves out; they prove nothing."""


def proven() -> Iterator[str]:
    """What the markers of all tests say."""
    for path in TESTS.rglob("test_*.py"):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source) if MARKER in source else ast.Module([], [])
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                marks = {ast.unparse(each).partition("(")[0]: each for each in node.decorator_list}
                mark = marks.get(MARKER)
                if isinstance(mark, ast.Call) and not LEFT_OUT & marks.keys():
                    yield from (ast.literal_eval(each) for each in mark.args)


def promised() -> Iterator[str]:
    """Every state, code and input of the operations."""
    yield from (f"status {state.name}" for state in OrderStatusCode)
    yield from (f"display {shown.value}" for shown in DisplayStatus)
    yield from (f"leg {state.name}" for state in LegStatus)
    yield from (f"code {code.value}" for code in ErrorCode)
    for operation in OPERATIONS:
        for model in (operation.path_parameters, operation.query, operation.body):
            for key, field in ({} if model is None else model.model_fields).items():
                yield f"input {operation.name} {wire_names(key, field)[0]}"


def test_nothing_is_unproven_and_nothing_is_proven_that_is_gone() -> None:
    found = set(proven())
    fields = {each for each in found if each.startswith("field ")}
    assert found - fields == set(promised())
    there = {each.serialization_alias or each.alias for each in Order.model_fields.values()}
    assert {each.removeprefix("field ") for each in fields} <= there


def words(schema: dict[str, Any], of: str = "") -> Iterator[str]:
    """A schema as the words of ``bounds.txt``."""
    writings: dict[str, Callable[[Any], str]] = {
        "type": str,
        "enum": lambda value: "enum=" + "|".join(value),
        "exclusiveMinimum": lambda value: "exclusive",
        "nullable": lambda value: "nullable",
        "default": lambda value: f"default={str(value).lower() if value is False else value}",
    }
    for name, value in schema.items():
        if name == "items":
            yield from words(value, "[]")
        elif name == "allOf" or (name == "anyOf" and schema.get("nullable")):
            # Beside a reference null is an alternative of its own.
            yield from words(value[0], of)
        elif name != "description":
            yield of + writings.get(name, f"{name}={{}}".format)(value)


def test_the_bounds_are_those_that_were_written_down() -> None:
    served = document("1")
    stated = {}
    for operation in OPERATIONS:
        described = served["paths"][operation.path][operation.method.lower()]
        for one in described.get("parameters", []):
            stated[f"{operation.name} {one['in']} {one['name']}"] = set(words(one["schema"]))
        if operation.body is not None:
            schema = served["components"]["schemas"][operation.body.__name__]
            for name, inner in schema["properties"].items():
                stated[f"{operation.name} body {name}"] = set(words(inner))
    lines = LISTED.read_text(encoding="utf-8").splitlines()
    listed = [line.split() for line in lines if not line.startswith("#")]
    assert stated == {" ".join(line[:3]): set(line[3:]) for line in listed}


def test_every_operation_succeeds_in_some_test() -> None:
    """By its method of the client, or by its path."""
    sources = [path.read_text() for path in sorted((TESTS / "client").glob("test_*.py"))]
    sources += [path.read_text() for path in sorted((TESTS / "service").rglob("*.py"))]
    unproven = [
        operation.name
        for operation in OPERATIONS
        if not any(
            f"api.{operation.name}(" in source
            or ("{" not in operation.path and f'{operation.path}"' in source)
            or (operation.signed and f'"{operation.path.partition("{")[0]}' in source)
            for source in sources
        )
    ]
    assert not unproven, f"tests/client/test_api.py needs: await api.{unproven[0]}(...)"


def test_the_first_version_is_gone() -> None:
    assert "quote" not in {field.alias for field in Order.model_fields.values()}
    assert not [each.path for each in OPERATIONS if "v1" in each.path or each.path == "/status"]
