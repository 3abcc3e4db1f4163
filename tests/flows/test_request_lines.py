"""The request log in words: rows, what is left out, and the command that repeats a call."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from corpus import load
from swapdesk.client.exchange_log import MASK, Exchange
from swapdesk.flows.request_lines import as_command, call_lines, logged_call

AT = datetime(2026, 11, 20, 14, 2, 11, 250_000, tzinfo=UTC)
GET = Exchange(
    number=7,
    at=AT,
    operation="get_order",
    method="GET",
    target="/base/v2/orders/m1Xc7DpRsTuVwXyZ1a2b3c?a=1&b=x%20y%26z&c=",
    attempt=1,
    request_headers=(("Authorization", MASK), ("Accept", "application/json")),
    request_body=b"",
    status=200,
    request_id="6f1d22c9",
    answer_headers=(("content-type", "application/json"),),
    answer_body=b'{"depositAddress":"rEb8TK3gBgk5","depositTag":"1","amount":0.10000000000000000001}',
    answer_size=82,
    ms=34.6,
    outcome="",
)
REFUSED = replace(
    GET,
    method="POST",
    operation="create_exchange",
    target="/v2/exchanges",
    status=422,
    outcome="InvalidRequest",
    request_body=b'{"addressTo":"it\'s $HOME","amount":0.5}',
    answer_body=b'{"message":"too low","code":"AMOUNT_TOO_LOW"}',
)


def test_a_row() -> None:
    call = logged_call(GET)
    assert (call.at, call.method, call.status, call.code) == (AT, "GET", "200", "")
    assert call.path == "/orders/m1Xc7DpRsTuVwXyZ1a2b3c?a=1&b=x y&z&c="
    assert (call.ms, call.request_id, call.failed) == ("35", "6f1d22c9", False)
    failed = logged_call(replace(REFUSED, attempt=2))
    assert (failed.status, failed.code, failed.failed) == ("422", "AMOUNT_TOO_LOW", True)
    assert failed.path == "/exchanges  attempt 2"


def test_what_never_got_an_answer_says_what_happened() -> None:
    lost = replace(GET, status=None, outcome="Unreachable", answer_body=b"")
    assert (logged_call(lost).status, logged_call(lost).code) == ("—", "Unreachable")
    gateway = replace(REFUSED, status=502, answer_body=b"<html>", outcome="ServiceFailed")
    assert logged_call(gateway).code == "ServiceFailed"


def test_rows_are_found_by_words() -> None:
    call, failed = logged_call(GET), logged_call(REFUSED)
    assert call.matches("")
    assert call.matches("get ORDERS 200")
    assert not call.matches("get 404")
    assert not call.matches("failed")
    assert failed.matches("failed exchanges amount_too")
    assert call.matches("6f1d")


def test_deposit_addresses_and_secrets_are_not_shown_and_digits_are_kept() -> None:
    text = "\n".join(call_lines(GET))
    assert "rEb8" not in text
    assert '"depositAddress": "«withheld»"' in text
    assert '"amount": 0.10000000000000000001' in text
    assert f"Authorization: {MASK}" in text
    assert "2026-11-20T14:02:11.250+00:00" in text
    assert "request id 6f1d22c9" in text


def test_what_was_cut_is_said() -> None:
    assert call_lines(replace(GET, answer_size=100_000))[-1] == "… 82 of 100000 bytes are kept"
    many = b"[" + b"1," * 3000 + b"1]"
    lines = call_lines(replace(GET, answer_body=many, answer_size=len(many)))
    assert lines[-1] == "… 2,003 more lines"


def test_a_command_repeats_the_call() -> None:
    command = as_command(GET)
    assert command is not None
    assert shlex.split(command) == [
        *("swapdesk", "api", "GET", "/orders/m1Xc7DpRsTuVwXyZ1a2b3c"),
        *("-q", "a=1", "-q", "b=x y&z", "-q", "c="),
    ]
    named = as_command(GET, "main")
    assert named.startswith("swapdesk --profile main api GET ")


def test_a_writing_call_is_not_repeated_by_pasting_it() -> None:
    command = as_command(REFUSED)
    assert command is not None
    words = shlex.split(command)
    assert words[-2:] == ["-d", '{"addressTo":"it\'s $HOME","amount":0.5}']
    assert "--yes" not in words


@pytest.mark.parametrize(
    "changes",
    [
        {"target": f"/v2/orders/x?s={MASK}"},
        {"request_body": b'{"a":"' + MASK.encode() + b'"}'},
        {"request_body": b'{"cut'},
        {"request_body": b'{"a":"\xff"}'},
    ],
)
def test_what_is_not_known_whole_is_no_command(changes: dict[str, object]) -> None:
    assert as_command(replace(REFUSED, **changes)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("case", load("text", "markup"), ids=lambda case: case.id)
def test_hostile_answers_stay_lines_of_printable_text(case: object) -> None:
    raw = case.text[:2000].encode("utf-8", "surrogatepass")  # type: ignore[attr-defined]
    hostile = replace(
        REFUSED,
        answer_body=raw,
        answer_size=len(raw),
        answer_headers=(("x-said", raw.decode("latin-1")[:500]),),
        request_id=case.text[:50],  # type: ignore[attr-defined]
        target="/v2/exchanges?a=%1B%5B2J",
    )
    shown = [logged_call(hostile).path, logged_call(hostile).request_id, *call_lines(hostile)]
    assert all(line.isprintable() for line in shown)


def test_a_control_byte_in_an_address_stays_inside_its_quotes() -> None:
    command = as_command(replace(GET, target="/v2/orders/a?x=%27%3B%20rm%20-rf%20%2F%0A%1B"))
    assert command is not None
    assert shlex.split(command)[-1] == "x='; rm -rf /\n\x1b"
