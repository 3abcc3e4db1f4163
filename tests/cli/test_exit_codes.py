"""The table of ends: every way a call can fail has its number."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from cli.desks import InProcess
from harness import Result, environment
from patience import PATIENCE
from swapdesk.cli.command_error import (
    MEANINGS,
    NOT_CREATED,
    Exit,
    exit_of,
    exit_of_refused_create,
    of_client_error,
    of_unusable_file,
)
from swapdesk.cli.wallet_orders import _not_swapped
from swapdesk.client import errors
from swapdesk.client.errors import ClientError, api_error
from swapdesk.flows.failure_messages import OUTCOME_PENDING
from swapdesk.flows.transactions.outcome import End, Outcome
from swapdesk.wire.errors import ErrorCode

LOST = errors.NoAnswer("create_exchange: no answer within 30 s")
BROKEN = errors.AnswerRefused("no JSON", "not_json", 200, "r-1")


def refused(status: int, code: str | None = None) -> ClientError:
    return api_error(status, code, "why", "r-1", retry_after=7.0)


CASES: list[tuple[ClientError, int]] = [
    (errors.RequestRefused("no such operation"), 2),
    (refused(400, ErrorCode.BAD_REQUEST), 4),
    (refused(401, ErrorCode.INVALID_API_CREDENTIALS), 4),
    (refused(402), 4),
    (refused(403, ErrorCode.ACCESS_DENIED), 4),
    (refused(409), 4),
    (refused(422, ErrorCode.VALIDATION_ERROR), 4),
    (refused(422, ErrorCode.AMOUNT_TOO_LOW), 4),
    (refused(422, ErrorCode.INVALID_SWAP), 4),
    (refused(418), 4),
    (refused(404, ErrorCode.NOT_FOUND), 5),
    (refused(404, ErrorCode.TOKEN_DISABLED), 5),
    (refused(404), 5),
    (refused(429, ErrorCode.RATE_LIMIT_EXCEEDED), 6),
    (refused(500, ErrorCode.INTERNAL_SERVER_ERROR), 7),
    (refused(503), 7),
    (errors.Unreachable("no connection"), 7),
    (LOST, 7),
    (BROKEN, 7),
    (errors.NotPaid("no node", "NO_NODE", "you: name one"), 9),
    (errors.OutcomeUnknown("create_exchange", LOST), 8),
    (errors.OutcomeUnknown("create_exchange", BROKEN), 8),
]


@pytest.mark.parametrize(("error", "end"), CASES)
def test_every_client_error_has_its_end(error: ClientError, end: int) -> None:
    assert exit_of(error) == end
    told = of_client_error(error)
    assert told.exit == end
    assert told.money
    assert told.next
    assert told.code


def test_every_class_of_the_tree_is_covered() -> None:
    def leaves(kind: type[ClientError]) -> set[type[ClientError]]:
        below = kind.__subclasses__()
        return {kind}.union(*(leaves(each) for each in below)) if below else {kind}

    covered = {type(error) for error, _ in CASES}
    missing = leaves(ClientError) - covered - {ClientError, errors.ApiError}
    assert not missing


@pytest.mark.parametrize(
    ("code", "error", "end"),
    [
        ("NOT_CREATED", None, 7),
        ("NOT_REACHABLE", errors.Unreachable("no"), 7),
        ("PROVIDER_EXCHANGE_FAILED", errors.OutcomeUnknown("create_exchange", LOST), 7),
        ("NO_JOURNAL", None, 9),
        ("QUOTE_EXPIRED", None, 9),
        ("ALREADY_ASKED", None, 9),
        ("OUTCOME_PENDING", None, 8),
        ("INVALID_SWAP", refused(422, ErrorCode.INVALID_SWAP), 4),
        ("TOKEN_DISABLED", refused(404, ErrorCode.TOKEN_DISABLED), 5),
        ("RATE_LIMIT_EXCEEDED", refused(429), 6),
    ],
)
def test_a_create_that_did_not_happen(code: str, error: ClientError | None, end: int) -> None:
    assert exit_of_refused_create(code, error) == end


@pytest.mark.parametrize("code", NOT_CREATED)
def test_a_swap_on_chains_that_did_not_happen_ends_as_any_create(code: str) -> None:
    told = _not_swapped(Outcome(End.REFUSED, code, OUTCOME_PENDING))
    assert (told.exit, told.money) == (NOT_CREATED[code], OUTCOME_PENDING.money)


def test_the_numbers_are_those_scripts_know() -> None:
    assert sorted(end.value for end in Exit) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 130]
    assert set(MEANINGS) == set(Exit)


def test_a_refusal_keeps_code_status_request_and_wait() -> None:
    told = of_client_error(refused(429, ErrorCode.RATE_LIMIT_EXCEEDED))
    assert (told.code, told.status, told.request_id) == ("RATE_LIMIT_EXCEEDED", 429, "r-1")
    assert told.next == "you: wait 7 s"


@pytest.mark.parametrize(
    "words", ["orders list", "wallet list", "swap 0.5 btc eth --to @bob --yes", "tokens btc"]
)
def test_a_home_that_cannot_be_used_is_told(here: InProcess, words: str) -> None:
    (here.home / "profiles").touch()
    ended = here(*words.split(), "--json")
    assert ended.code == Exit.OWN_REFUSAL
    assert ended.error["code"] == "FILE_UNUSABLE"
    assert str(here.home / "profiles") in ended.error["message"]
    assert ended.error["money"] == "in your wallet; nothing was sent"
    assert "give the command again" in ended.error["next"]


def test_a_limit_on_files_is_told(tmp_path: Path) -> None:
    ended = subprocess.run(
        ["sh", "-c", 'ulimit -f 8; exec "$0" -m swapdesk orders list --json', sys.executable],
        # Python itself would leave half a compiled module behind.
        env=environment(tmp_path, PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    told = Result(ended.stdout.decode(), ended.stderr.decode(), ended.returncode)
    assert told.error["code"] == "FILE_UNUSABLE"
    assert "catalog.db cannot be used" in told.error["message"]
    assert told.code == Exit.OWN_REFUSAL


def test_only_the_file_of_a_database_is_to_blame() -> None:
    full = sqlite3.connect(":memory:")
    full.execute("PRAGMA max_page_count = 1")
    for statement, blamed in (("CREATE TABLE one (a)", True), ("SELECT nonsense", False)):
        with pytest.raises(sqlite3.OperationalError) as raised:
            full.execute(statement)
        assert (of_unusable_file(raised.value) is not None) == blamed
    full.close()
