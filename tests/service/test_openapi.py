"""The served document: valid, complete, and nothing but the table."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from openapi_spec_validator import OpenAPIV30SpecValidator, validate
from pydantic import BaseModel

from rows import each_row
from swapdesk import __version__
from swapdesk.service.openapi import _link as linked
from swapdesk.service.openapi import converted, document
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.encoding.query import wire_names
from swapdesk.wire.errors import STATUS_OF
from swapdesk.wire.operation import Access, Operation
from swapdesk.wire.operations import OPERATIONS, STREAM_PATH


@pytest.fixture
async def served(api: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await api.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def described(served: dict[str, Any], operation: Operation) -> dict[str, Any]:
    return served["paths"][operation.path][operation.method.lower()]


SECURITY: dict[Access, list[dict[str, list[str]]]] = {
    Access.OPEN: [],
    Access.READ: [{"apiKey": []}, {"partnerId": []}],
    Access.KEY: [{"apiKey": []}],
}


def test_the_document_is_valid() -> None:
    validate(document(__version__), cls=OpenAPIV30SpecValidator)


async def test_it_is_served(served: dict[str, Any]) -> None:
    assert served["openapi"] == "3.0.3"
    assert served["servers"] == [{"url": "/v2"}]
    rows = {(operation.path, operation.method.lower()) for operation in OPERATIONS}
    assert rows == {(path, method) for path, item in served["paths"].items() for method in item}
    assert STREAM_PATH not in served["paths"]
    assert STREAM_PATH in served["info"]["description"]


@each_row("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_every_row_is_described(served: dict[str, Any], operation: Operation) -> None:
    found = described(served, operation)
    assert found["operationId"] == operation.name
    assert found["security"] == SECURITY[operation.access]
    statuses = {"200"} | {str(STATUS_OF[code]) for code in operation.errors}
    others = {"405", "421"} | (set() if operation.access is Access.OPEN else {"402"})
    assert found["responses"].keys() == statuses | others
    assert operation.access is Access.OPEN or {"401", "403", "429"} <= statuses
    for status, answer in found["responses"].items():
        if status in others:
            shared, name = answer["$ref"].rsplit("/", 1)
            assert shared == "#/components/responses"
            headers = served["components"]["responses"][name]["headers"]
            assert {"x-request-id", "Date"} <= headers.keys()
            continue
        counted = {"ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"}
        assert (counted <= answer["headers"].keys()) is (operation.access is not Access.OPEN)
        shown = "access-control-allow-origin" in answer["headers"]
        assert shown is (operation.access is Access.READ)
        assert {"x-request-id", "Date"} <= answer["headers"].keys()
        schema = answer["content"]["application/json"]["schema"]
        if status != "200":
            wanted = "ValidationBody" if status == "422" else "ErrorBody"
            assert schema == {"$ref": f"#/components/schemas/{wanted}"}
        if status == "429":
            assert "retry-after" in answer["headers"]
    for code in operation.errors:
        assert f"`{code}`" in found["responses"][str(STATUS_OF[code])]["description"]
    wanted_parameters = set()
    for model, place in ((operation.path_parameters, "path"), (operation.query, "query")):
        if model is not None:
            wanted_parameters |= {
                (place, wire_names(name, field)[0]) for name, field in model.model_fields.items()
            }
    parameters = found.get("parameters", [])
    assert {(one["in"], one["name"]) for one in parameters} == wanted_parameters
    assert ("requestBody" in found) == (operation.body is not None)


@pytest.mark.parametrize("dialect", Dialect)
async def test_the_vendors_document_is_free_and_says_so(
    anyone: httpx2.AsyncClient, api: httpx2.AsyncClient, dialect: Dialect
) -> None:
    free = dialect is Dialect.VENDOR
    assert (await anyone.get("/openapi.json")).status_code == (200 if free else 401)
    described = (await api.get("/openapi.json")).json()["paths"]["/openapi.json"]["get"]
    assert (described["security"] == []) is free
    assert ({"401", "402", "429"} <= described["responses"].keys()) is not free


async def test_security_schemes(served: dict[str, Any]) -> None:
    schemes = served["components"]["securitySchemes"]
    assert {(one["type"], one["in"], one["name"]) for one in schemes.values()} == {
        ("apiKey", "header", "Authorization"),
        ("apiKey", "header", "partner-id"),
    }


async def test_quotes_link_to_creates_and_creates_to_their_order(served: dict[str, Any]) -> None:
    def links(path: str, method: str) -> Any:
        return served["paths"][path][method]["responses"]["200"]["links"]

    dex = ("dex_approve", "dex_allowance")
    for kind, *names in (("", "create_exchange", *dex), ("/private-send", "create_private_send")):
        assert links(f"/quotes{kind}", "get") == {
            name: {
                "operationId": name,
                "requestBody": {"quoteId": "$response.body#/quotes/0/quoteId"},
            }
            for name in names
        }
        assert links(f"/exchanges{kind}", "post") == {
            "get_order": {
                "operationId": "get_order",
                "parameters": {"serviceId": "$response.body#/serviceId"},
            },
            "list_orders": LISTED_BY_TOKENS,
        }
    assert links("/orders/{serviceId}", "get") == {"list_orders": LISTED_BY_TOKENS}


async def test_bodies_of_webhooks(served: dict[str, Any]) -> None:
    """What comes is an open object without declared fields; what goes has one."""
    schemas = served["components"]["schemas"]
    event = schemas["WebhookEvent"]
    assert (event["type"], event["properties"]) == ("object", {})
    assert event["additionalProperties"] is True
    assert not event.get("required")
    answer = schemas["WebhookAcknowledgement"]
    assert answer["required"] == ["received"]
    assert answer["properties"]["received"]["type"] == "boolean"
    assert answer["properties"].keys() == {"received"}


LISTED_BY_TOKENS = {
    "operationId": "list_orders",
    "parameters": {
        "inTokenId": "$response.body#/inTokenId",
        "outTokenId": "$response.body#/outTokenId",
    },
}


def test_a_link_to_an_input_that_is_none_is_refused() -> None:
    with pytest.raises(LookupError, match="serviceID"):
        linked("get_order", {"serviceID": "/serviceId"})


REQUIRED = {
    "Chain": "id created name shortName shortNameV1 icon addressValidation tokenAddressValidation "
    "explorerUrl addressUrl priority kind enabled",
    "Token": "icon id chain decimals symbol name created chainData enabled",
    "TokenSecurityScan": "scannedAt expiresAt",
    "SwapProvider": "id name shortName enabled",
    "RateLimits": "monthlyRequestCount quote exchange",
    "RateWindows": "perMinute perHour perDay",
    "Limits": "min max minOut maxOut",
    "PairLimits": "cex dex private",
    "TokenSearchResult": "tokens total totalPages",
    "ChainList": "chains total totalPages",
    "OrderList": "orders total totalPages",
    "PrivateSendQuoteList": "total quotes",
    "MultiSubmission": "userOpHashes",
    "ErrorBody": "message code",
    "ValidationBody": "message code fields",
    "FieldProblem": "message",
    "Order": "serviceId status",
}
"""What the specification says of each resource. Of a deleted order nothing else is told."""


@each_row("model", REQUIRED)
async def test_what_the_specification_requires(served: dict[str, Any], model: str) -> None:
    found = served["components"]["schemas"][model]
    assert set(found["required"]) == set(REQUIRED[model].split())
    assert set(found["required"]) <= found["properties"].keys()


@each_row(("name", "least", "most"), [("status", -2, 8), ("inStatus", 0, 10), ("outStatus", 0, 10)])
async def test_the_codes_of_states(
    served: dict[str, Any], name: str, least: int, most: int
) -> None:
    found = served["components"]["schemas"]["Order"]["properties"][name]
    assert found == {"type": "integer", "enum": [*range(least, most + 1)]}


async def test_formats_and_ranges_of_a_token(served: dict[str, Any]) -> None:
    schemas = served["components"]["schemas"]
    assert schemas["Token"]["properties"]["decimals"]["format"] == "int32"
    score = schemas["TokenSecurityScan"]["properties"]["maliciousScore"]
    assert score == {"type": "number", "minimum": 0, "maximum": 1}
    finding = schemas["TokenScanFeature"]["properties"]
    assert {name: each["type"] for name, each in finding.items()} == {
        "featureId": "string",
        "type": "string",
        "description": "string",
    }


async def test_answers_that_several_operations_share(served: dict[str, Any]) -> None:
    answers = served["components"]["responses"]
    assert set(answers) == {"PaymentRequired", "MethodNotAllowed", "MisdirectedRequest"}
    assert "payment-required" in answers["PaymentRequired"]["headers"]
    unpaid = answers["PaymentRequired"]["content"]
    assert unpaid["application/json"]["schema"] == {"type": "object", "maxProperties": 0}
    assert answers["MethodNotAllowed"]["headers"]["allow"]["required"] is True


def walk(value: Any) -> Any:
    yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, (dict, list)):
            yield from walk(inner)


def test_no_keyword_of_a_later_version() -> None:
    later = {"const", "prefixItems", "examples", "patternProperties", "$defs", "ge", "le"}
    for schema in walk(document("1")["components"]["schemas"]):
        if isinstance(schema, dict):
            assert not later & schema.keys()
            assert schema.get("type") != "null"
            assert "$ref" not in schema or len(schema) == 1


@each_row(
    ("schema", "wanted"),
    [
        ({"const": "a", "title": "A"}, {"enum": ["a"]}),
        ({"exclusiveMinimum": 0}, {"minimum": 0, "exclusiveMinimum": True}),
        ({"lt": 9}, {"maximum": 9, "exclusiveMaximum": True}),
        ({"le": 9}, {"maximum": 9}),
        ({"type": "string", "default": None}, {"type": "string"}),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            {"type": "integer", "nullable": True},
        ),
        (
            {"anyOf": [{"$ref": "#/a"}, {"type": "null"}]},
            {
                "anyOf": [
                    {"$ref": "#/a"},
                    {"type": "object", "nullable": True, "enum": [None]},
                ],
                "nullable": True,
            },
        ),
        (
            {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        ),
        (
            {"$ref": "#/a", "default": 1},
            {"allOf": [{"$ref": "#/a"}], "default": 1},
        ),
        (
            {"properties": {"const": {"type": "string"}}},
            {"properties": {"const": {"type": "string"}}},
        ),
    ],
)
def test_conversion(schema: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert converted(schema) == wanted


def test_what_has_no_counterpart_is_refused() -> None:
    class Pair(BaseModel):
        both: tuple[int, str]

    with pytest.raises(ValueError, match="prefixItems"):
        converted(Pair.model_json_schema())
