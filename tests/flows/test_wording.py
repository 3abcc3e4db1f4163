"""The catalogue of messages: every failure says cause, place of the money and next actor."""

from __future__ import annotations

import ast
import json
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

import swapdesk.cli
import swapdesk.flows
import swapdesk.tui
from corpus import Case, load
from swapdesk.cli.command_error import OWN_ROWS, UNSENT, Row
from swapdesk.client.transport import refusal_of
from swapdesk.flows.failure_messages import FAILURES, failure_of
from swapdesk.flows.tracking.announcements import failure_of_error
from swapdesk.wire.errors import STATUS_OF, ErrorCode

NEVER = re.compile(
    r"\b(please|oops|sorry|successfully|guaranteed|guarantee|nothing is lost)\b|!(?:\s|$)", re.I
)
"""No pleading, no cheering, no promise."""
OWNERS = ("you", "the service", "the desk", "the chain", "nobody", "support")


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_code_of_the_service_has_cause_money_and_next(code: ErrorCode) -> None:
    failure = failure_of(code.value, STATUS_OF[code])
    assert failure.cause.endswith(".")
    assert failure.cause[0].isupper()
    assert failure.money
    assert failure.next.startswith(OWNERS)
    assert failure.next.count(": ") < 2


@pytest.mark.parametrize(
    "code", ["FIXED_RATE_NOT_ALLOWED", "STATIC_DEPOSIT_IN_USE", "FIXED_RATE_QUOTE_EXPIRED"]
)
def test_codes_with_an_act_of_their_own_are_not_told_by_their_status(code: str) -> None:
    assert code in FAILURES


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 418, 422, 429, 500, 502, 599])
def test_a_code_nobody_knows_is_told_by_its_status(status: int) -> None:
    failure = failure_of("SOMETHING_NEW", status)
    assert failure.cause.endswith(".")
    assert failure.next.startswith(OWNERS)


def test_a_gateway_without_a_code_says_nothing_of_an_exchange() -> None:
    assert failure_of("HTTP_502", 502).cause == "The service cannot answer right now."
    assert failure_of("PROVIDER_EXCHANGE_FAILED", 502).cause == "No exchange accepted the order."


@pytest.mark.parametrize("case", load("refusal", name="live_shapes"), ids=lambda case: case.id)
def test_a_recorded_refusal_is_told_by_what_it_means(case: Case) -> None:
    body = json.dumps(case.input["body"]).encode()
    refused = refusal_of(case.input["status"], {}, body, datetime(2026, 7, 3, tzinfo=UTC))
    assert refused.code == case.expect["code"]
    assert failure_of_error(refused).cause == case.expect["cause"]


CODE = re.compile(r"SELECT |INSERT |CREATE |json_extract\(|%\(complete_func\)s|^ *#compdef")
"""What is written for a database or a shell."""


@cache
def sentences() -> list[tuple[str, str]]:
    """(file, text) of every text of the desk that reads like a sentence; docstrings and what a
    customer wrote left out."""
    found = []
    for room in (swapdesk.flows, swapdesk.tui, swapdesk.cli):
        for path in sorted(Path(next(iter(room.__path__))).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docs = {
                id(node.value)
                for node in ast.walk(tree)
                if (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
                or (isinstance(node, ast.keyword) and node.arg == "customer")
            }
            found += [
                (path.name, node.value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and id(node) not in docs
                and isinstance(node.value, str) and node.value.count(" ") >= 2
                and not CODE.search(node.value)
            ]  # fmt: skip
    return found


def test_no_sentence_pleads_cheers_or_promises() -> None:
    texts = sentences()
    assert len(texts) > 300
    assert [(file, text) for file, text in texts if NEVER.search(text)] == []


KINDS = {
    "two colons behind Next": re.compile(r"\bNext: ?$|\bNext:? (?:[a-z]+ ?)+: [^.\n]*: "),
    "another word for lock and edit": re.compile(r"\b(?:freez\w*|frozen|thaw\w*)\b", re.I),
    "a plural of one": re.compile(
        r"(?<![\d.,:-])\b1 (?:more |other |later )?(?!is\b|has\b)[a-z]+s\b"
    ),
    "a word twice": re.compile(r"(?<![\w.-])(?!rrrr)([a-z]{2,}) \1(?![\w.-])"),
    "words of our own": re.compile(
        r"hands it on|nowhere safe|not told of|more behind|hop over|wallets in turn|\bheld stands"
    ),
}
"""Slips that every text can make, each once made on a screen."""


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_makes_a_slip_of_this_kind(kind: str) -> None:
    slip = KINDS[kind]
    assert [(file, text) for file, text in sentences() if slip.search(text)] == []
    for golden in sorted((Path(__file__).parents[1] / "tui/goldens").rglob("*.txt")):
        found = slip.search(golden.read_text(encoding="utf-8"))
        assert found is None, (golden.name, found)


@pytest.mark.parametrize("row", OWN_ROWS, ids=lambda row: row[0])
def test_an_error_is_a_sentence_a_place_and_an_actor(row: Row) -> None:
    _, _, said, money, next_ = row
    assert said[0].isupper()
    assert said.endswith(".")
    # Read as "The money is ...".
    assert money == UNSENT or money.split()[0] in ("in", "where", "with", "the")
    assert ": " not in money
    assert next_.count(": ") < 2
    assert not money.endswith(".")
    assert not next_.endswith(".")
