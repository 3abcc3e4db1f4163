"""Answers against the served OpenAPI document."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import httpx2
from openapi_schema_validator import OAS30Validator


def require_valid(document: dict[str, Any], model: str, value: Any) -> None:
    """Raise ValidationError for a value that is not of this schema of the document."""
    _held(document, {"$ref": f"#/components/schemas/{model}"}).validate(value)


def _held(document: dict[str, Any], schema: dict[str, Any]) -> OAS30Validator:
    return OAS30Validator({**schema, "components": document["components"]})


class HeldAnswers:
    """A hook of an HTTP client: every answer has a status, headers and a body that the document
    states for its operation."""

    def __init__(self, document: dict[str, Any], prefix: str = "/v2") -> None:
        self._document = document
        self._prefix = prefix
        literal_first = sorted(document["paths"], key=lambda path: path.count("{"))
        self._paths = [
            (re.compile(re.sub(r"\\{[^}]+\\}", "[^/]+", re.escape(path))), path)
            for path in literal_first
        ]
        self._validator = lru_cache(None)(self._validator_of)

    def __call__(self, answer: httpx2.Response) -> None:
        answer.read()
        self.hold(answer)

    def hold(self, answer: httpx2.Response) -> None:
        asked = answer.request.url.path.removeprefix(self._prefix)
        path = next(path for form, path in self._paths if form.fullmatch(asked))
        method, status = answer.request.method.lower(), answer.status_code
        stated = self._stated(path, method, status)
        for name, header in stated.get("headers", {}).items():
            assert name in answer.headers or not header.get("required"), (path, status, name)
        kind = answer.headers["content-type"].partition(";")[0]
        validator = self._validator(path, method, status, kind)
        if validator is not None:
            validator.validate(json.loads(answer.content))

    def _stated(self, path: str, method: str, status: int) -> dict[str, Any]:
        answers = self._document["paths"][path][method]["responses"]
        assert str(status) in answers, f"{method} {path} states no {status}"
        return self._whole(answers[str(status)])

    def _whole(self, part: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in part:
            at: Any = self._document
            for step in part["$ref"].removeprefix("#/").split("/"):
                at = at[step]
            part = at
        return part

    def _validator_of(
        self, path: str, method: str, status: int, kind: str
    ) -> OAS30Validator | None:
        content = self._stated(path, method, status)["content"]
        assert kind in content, f"{method} {path} answers {status} as {kind}"
        schema = content[kind]["schema"]
        return _held(self._document, schema) if kind == "application/json" else None
