"""What a parameter may be."""

from __future__ import annotations

import httpx2
import pytest

from service.http_calls import fields, raw_get
from service.test_access import path_of
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store.sqlite import SqliteStore
from swapdesk.wire.operation import Operation
from swapdesk.wire.operations import OPERATIONS

WALLET = "0x" + "ab" * 20


@pytest.fixture
def store(unwritten_store: SqliteStore) -> SqliteStore:
    return unwritten_store


@pytest.mark.parametrize(
    "operation",
    [each for each in OPERATIONS if each.name != "health" and not each.signed],
    ids=lambda operation: operation.name,
)
async def test_unknown_parameters_are_refused(
    api: httpx2.AsyncClient, operation: Operation
) -> None:
    answer = await api.request(
        operation.method, path_of(operation), params={"dateFrom": "2026-01-01"}
    )
    wrong = fields(answer)
    assert wrong["dateFrom"] == {
        "message": "is no parameter of this operation",
        "value": "2026-01-01",
    }


@pytest.mark.parametrize("name", ["nonsense", "apiKey"])
async def test_health_takes_no_parameters(anyone: httpx2.AsyncClient, name: str) -> None:
    assert fields(await anyone.get("/health", params={name: "1"})).keys() == {name}


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("page=1&page=1", "page"),
        ("term=a&term=b", "term"),
        ("page=", "page"),
        ("term=", "term"),
        ("page", "page"),
        ("hasCex=", "hasCex"),
        ("Page=1", "Page"),
        ("has_cex=true", "has_cex"),
    ],
)
async def test_repeated_empty_and_misspelled_parameters(
    api: httpx2.AsyncClient, query: str, name: str
) -> None:
    assert fields(await api.get(f"/tokens?{query}")).keys() == {name}


@pytest.mark.parametrize(
    "value", ["+1", "01", "1.0", "1e1", " 1", "1 ", "１", "0x1", "1_0", "true", "-0x1", "9" * 400]
)
async def test_integers_are_strict(api: httpx2.AsyncClient, value: str) -> None:
    assert fields(await api.get("/tokens", params={"page": value})).keys() == {"page"}


@pytest.mark.parametrize("value", ["True", "TRUE", "yes", "1", "0", "on", "t", "null"])
async def test_booleans_are_strict(api: httpx2.AsyncClient, value: str) -> None:
    assert fields(await api.get("/tokens", params={"hasCex": value})).keys() == {"hasCex"}


@pytest.mark.parametrize(
    ("path", "name", "inside", "outside"),
    [
        ("/tokens", "page", ("1", "10000"), ("0", "10001", "-1")),
        ("/tokens", "pageSize", ("1", "1000"), ("0", "1001")),
        ("/tokens", "term", ("a", "a" * 100, "é" * 100), ("a" * 101,)),
        ("/tokens", "address", ("a" * 200,), ("a" * 201,)),
        ("/tokens", "symbol", ("a" * 20,), ("a" * 21,)),
        ("/chains", "page", ("1", "10000"), ("0", "10001")),
        ("/chains", "pageSize", ("1", "100"), ("0", "101")),
        ("/chains", "name", ("a" * 50,), ("a" * 51,)),
        ("/chains", "kind", ("a" * 16,), ("a" * 17,)),
        ("/chains", "chainId", ("1", "9007199254740991"), ("0", "-1", "9007199254740992")),
        ("/orders", "page", ("1", "10000"), ("0", "10001")),
        ("/orders", "pageSize", ("1", "100"), ("0", "101")),
        ("/orders", "status", ("-2", "8"), ("-3", "9", "FINISHED")),
        ("/orders", "multiId", ("a" * 64,), ("a" * 65,)),
        ("/orders", "sortBy", ("created", "updated", "amount"), ("rank", "Created")),
        ("/orders", "sortOrder", ("asc", "desc"), ("ASC", "up")),
        ("/orders", "anonymous", ("true", "false"), ("1", "yes")),
        ("/orders", "inTokenId", ("a" * 24, "A" * 24), ("a" * 23, "a" * 25, "g" * 24)),
        ("/orders", "outTokenId", ("a" * 24,), ("a" * 23, "x")),
        (
            "/orders",
            "from",
            ("2026-11-20", "2026-11-20T14:00:00Z", "2026-11-20T14:00:00.5"),
            ("1700000000", "yesterday", "2026-13-01", "20.11.2026", "2026-11-20T25:00:00Z"),
        ),
    ],
)
async def test_both_sides_of_every_bound(
    api: httpx2.AsyncClient, path: str, name: str, inside: tuple[str, ...], outside: tuple[str, ...]
) -> None:
    for value in inside:
        assert (await api.get(path, params={name: value})).status_code == 200, value
    for value in outside:
        wrong = fields(await api.get(path, params={name: value}))
        assert wrong.keys() == {name}
        assert wrong[name]["value"] == value


async def test_kind_takes_ten_values(api: httpx2.AsyncClient) -> None:
    assert (await api.get("/chains", params={"kind": ["evm"] * 10})).status_code == 200
    assert fields(await api.get("/chains", params={"kind": ["evm"] * 11})).keys() == {"kind"}


@pytest.mark.parametrize(
    "query", ["term=%FF", "term=%C3%28", "term=\xff", "%FF=1", "term=%ED%A0%80"]
)
async def test_parameters_are_utf8(service: ServiceParts, query: str) -> None:
    status, body = await raw_get(service, "/v2/tokens", query.encode("latin-1"))
    assert (status, body["code"]) == (422, "VALIDATION_ERROR")


@pytest.mark.parametrize("value", ["a%00b", "a%0Ab", "%1B[31m", "a%E2%80%AEb", "%20a", "a%20"])
async def test_parameters_without_control_characters(service: ServiceParts, value: str) -> None:
    status, body = await raw_get(service, "/v2/tokens", f"term={value}".encode())
    assert (status, list(body["fields"])) == (422, ["term"])


async def test_path_parameters_are_validated(api: httpx2.AsyncClient) -> None:
    assert fields(await api.get("/tokens/xyz")) == {
        "id": {"message": "must match ^[a-fA-F0-9]{24}$", "value": "xyz"}
    }
    sent = {"tx": {"signatures": ["0xab"]}, "tx/build": {"sender": WALLET}}
    for length in (64, 65):
        path = "/exchanges/multi/" + "a" * length
        order = await api.get("/orders/" + "a" * length)
        calls = [await api.get(path), await api.get(f"{path}/tx", params={"sender": WALLET})]
        calls += [await api.post(f"{path}/{name}", json=body) for name, body in sent.items()]
        if length == 64:
            assert {answer.status_code for answer in (order, *calls)} == {404}
            continue
        assert fields(order).keys() == {"serviceId"}
        assert {tuple(fields(answer)) for answer in calls} == {("multiId",)}


@pytest.mark.parametrize("text", ["a.b", "a b", "...", "a%27%22", "%25", "~", "{serviceId}"])
async def test_what_is_no_id_of_ours_is_unknown(api: httpx2.AsyncClient, text: str) -> None:
    """These ids are bounded by their length alone (contract 1.16)."""
    body = {"json": {"signatures": ["0xab"]}}
    for call in (
        api.get(f"http://service/v2/orders/{text}"),
        api.get(f"http://service/v2/exchanges/multi/{text}"),
        api.post(f"http://service/v2/exchanges/multi/{text}/tx", **body),
    ):
        answer = await call
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("text", ["%00", "a%0ab", "%e2%80%ae", "%c3%a9", "%ff"])
async def test_what_is_no_line_of_ascii_is_no_id(api: httpx2.AsyncClient, text: str) -> None:
    answer = await api.get(f"http://service/v2/orders/{text}")
    assert fields(answer).keys() == {"serviceId"}


async def test_many_wrong_parameters_are_bounded(api: httpx2.AsyncClient) -> None:
    wrong = fields(await api.get("/tokens", params={f"p{n}": "1" for n in range(200)}))
    assert len(wrong) == 50
