"""schemathesis over the served document, in process, with every check it has by default.

Imported by the tests when they run: it reads the whole document, and every worker collects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import httpx2
import schemathesis
from hypothesis import settings
from hypothesis import strategies as st
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python import asgi
from schemathesis.python._constants.orchestrator import make_constants_value_source
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

import swapdesk
from service.world import AS_FIRST, BTC, ETH
from swapdesk.service.openapi import LINE, encoded_document

NO_CHARACTER = re.compile("%[89a-fA-F][0-9a-fA-F]")
"""schemathesis takes it in a path for an escaped byte, and what it sends then is not this text."""
_printable = st.characters(min_codepoint=0x20, max_codepoint=0x7E)


def lengths_of_lines(part: Any) -> Iterator[int]:
    """Every length at a bound of a line of the document, and beside it."""
    if isinstance(part, dict):
        if part.get("format") == LINE:
            for bound in ("minLength", "maxLength"):
                if bound in part:
                    yield from (part[bound] - 1, part[bound], part[bound] + 1)
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from lengths_of_lines(inner)


# Of short texts alone no bound would ever be met, and to find that out takes most of a run.
_bounds = sorted(set(lengths_of_lines(json.loads(encoded_document(swapdesk.__version__)))))
schemathesis.openapi.format(
    LINE,
    st.text(_printable, min_size=1, max_size=16)
    .map(str.strip)
    .filter(lambda text: bool(text) and not NO_CHARACTER.search(text))
    | st.sampled_from([length for length in _bounds if length > 0]).map("w".__mul__),
)

# Rules that a schema cannot state: the amount against the token and the market, one side
# against the other, the quote against what was quoted.
BEYOND_A_SCHEMA = (
    "no blank at the beginning or the end",
    "must differ from",
    "must not be after",
    "decimals",
    "hasSelfPrivate",
    "is no provider code",
    "needs fixed=true",
    "needs rotatePayoutWallets=true",
    "is not supported with types=dex",
)


async def the_document(request: Request) -> Response:
    return Response(encoded_document(swapdesk.__version__), media_type="application/json")


OBJECT_ID = re.compile("[0-9a-fA-F]{24}")
# JSON numbers that a query does not take: with an exponent, or finer than 40 decimals.
NOTATION = re.compile(r"[0-9]+(\.[0-9]+)?e[+-]?[0-9]+|[0-9]+\.[0-9]{41,}…?")


class Late:
    """The application under test. Tests are collected before it exists: then it is the document."""

    def __init__(self) -> None:
        self.service: ASGIApp = Starlette(routes=[Route("/v2/openapi.json", the_document)])
        self.calls = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Without credentials one address has a limit; every call comes from its own.
        self.calls += 1
        scope["client"] = (f"2001:db8:{self.calls:x}::1", 1)
        await self.service(scope, receive, send)


LATE = Late()
CLIENT = asgi.get_client(LATE)
"""One for all calls. It asks neither the environment for proxies nor a file for passwords."""
CLIENT.trust_env = False
schema = schemathesis.openapi.from_asgi("/v2/openapi.json", LATE)


async def read_document(app: Any) -> Any:
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, headers=AS_FIRST) as client:
        return (await client.get("http://service/v2/openapi.json")).json()


@schema.hook
def map_query(context: Any, query: Any) -> Any:
    """Numbers in plain notation, and every other token one that exists."""
    if not query:
        return query
    written = dict(query)
    for name, value in query.items():
        if isinstance(value, float):
            written[name] = format(Decimal(repr(value)), "f")
    for name, known in (("from", BTC), ("to", ETH), ("tokenIdFrom", BTC), ("tokenIdTo", ETH)):
        value = written.get(name)
        if isinstance(value, str) and OBJECT_ID.fullmatch(value) and value[0] in "01234567":
            written[name] = known.id
    return written


def beyond_a_schema(answer: Any) -> bool:
    """Whether a well-formed request was refused for a rule of the market."""
    if answer.status_code != 422:
        return False
    body = answer.json()
    return body["code"] != "VALIDATION_ERROR" or any(
        any(reason in problem["message"] for reason in BEYOND_A_SCHEMA)
        or NOTATION.fullmatch(str(problem.get("value")))
        for problem in body["fields"].values()
    )


def spoiled_headers(case: Any) -> bool:
    """Whether the case is about wrong headers, which good credentials would repair."""
    headers = case.meta.components.get(ParameterLocation.HEADER) if case.meta else None
    return headers is not None and headers.mode.is_negative


def check(case: Any) -> None:
    # A copy: the test client adds its own headers to the mapping it is given.
    headers = None if spoiled_headers(case) else dict(AS_FIRST)
    answer = case.call(headers=headers, session=CLIENT)
    assert answer.status_code != 429
    excluded = CHECKS.get_by_names(["positive_data_acceptance"]) if beyond_a_schema(answer) else []
    case.validate_response(answer, excluded_checks=excluded, headers=headers)


OPERATIONS = {found.ok().label: found.ok() for found in schema.get_all_operations()}


def hold(label: str, chosen: settings, *, full: bool) -> None:
    """Drawn requests of one operation; when ``full``, the values at every bound of its schema as
    well, which ``test_bounds.py`` asks of the parsers in every run.

    Made when the test runs: ``parametrize`` of schemathesis makes the cases of every operation
    while tests are collected, in each worker anew, which takes longer than the tests themselves.
    """
    load_all_checks()
    schema.config.phases.coverage.enabled = full
    feedback = FeedbackSources(constants_value_source=make_constants_value_source(schema))
    build_operation_test(
        config=schema.config,
        operation=OPERATIONS[label],
        test_func=check,
        given_kwargs={},
        feedback=feedback,
        explicit_settings=chosen,
    )()
