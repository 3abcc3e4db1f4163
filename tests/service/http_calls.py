"""Reading answers, and requests that a careful client would not send."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from service.world import AS_FIRST
from swapdesk.service.app import build_service
from swapdesk.service.handlers import ServiceParts

JSON = {"content-type": "application/json"}


def code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def fields(answer: httpx2.Response) -> dict[str, Any]:
    assert code(answer) == (422, "VALIDATION_ERROR")
    assert answer.json().keys() == {"message", "code", "requestId", "fields"}
    found: dict[str, Any] = answer.json()["fields"]
    return found


async def raw_get(service: ServiceParts, path: str, query: bytes) -> tuple[int, Any]:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query,
        "headers": [(b"authorization", AS_FIRST["Authorization"].encode())],
    }
    await build_service(service)(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])
