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
    "query", ["term=%FF", "term=%C3%28", "term=\xff", "%FF=1", "term=%ED%A0%80"]
)
async def test_parameters_are_utf8(service: ServiceParts, query: str) -> None:
    status, body = await raw_get(service, "/v2/tokens", query.encode("latin-1"))
    assert (status, body["code"]) == (422, "VALIDATION_ERROR")


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
