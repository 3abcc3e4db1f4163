"""What the desk writes: numbers, times, addresses, calls, and for every failure cause, place of the
money and next actor."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import swapdesk.cli
import swapdesk.flows
import swapdesk.tui
from corpus import Case, load
from rows import each_row
from swapdesk.cli.command_error import OWN_ROWS, UNSENT, Row
from swapdesk.client.exchange_log import MASK, Exchange
from swapdesk.client.transport import refusal_of
from swapdesk.flows import notation as n
from swapdesk.flows.failure_messages import failure_of
from swapdesk.flows.request_lines import as_command, call_lines, logged_call
from swapdesk.flows.tracking.announcements import failure_of_error
from swapdesk.wire.errors import STATUS_OF, ErrorCode

NEVER = re.compile(
    r"\b(please|oops|sorry|successfully|guaranteed|guarantee|nothing is lost)\b|!(?:\s|$)", re.I
)
"""No pleading, no cheering, no promise."""
OWNERS = ("you", "the service", "the desk", "the chain", "nobody", "support")


UNKNOWN = (400, 401, 402, 403, 404, 409, 418, 422, 429, 500, 502, 599)
"""A code that nobody knows is told by its status."""


@each_row(
    ("code", "status"),
    [
        *((code.value, STATUS_OF[code]) for code in ErrorCode),
        *(("SOMETHING_NEW", status) for status in UNKNOWN),
    ],
)
def test_every_code_of_the_service_has_cause_money_and_next(code: str, status: int) -> None:
    failure = failure_of(code, status)
    assert failure.cause.endswith(".")
    assert failure.cause[0].isupper()
    assert failure.money
    assert failure.next.startswith(OWNERS)
    assert failure.next.count(": ") < 2


def test_a_gateway_without_a_code_says_nothing_of_an_exchange() -> None:
    assert failure_of("HTTP_502", 502).cause == "The service cannot answer right now."
    assert failure_of("PROVIDER_EXCHANGE_FAILED", 502).cause == "No exchange accepted the order."


@each_row("case", load("refusal", name="live_shapes"), ids=lambda case: case.id)
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
            nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
            docs = {
                id(node.value)
                for node in nodes
                if (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
                or (isinstance(node, ast.keyword) and node.arg == "customer")
            }
            found += [
                (path.name, node.value)
                for node in nodes
                if isinstance(node, ast.Constant) and id(node) not in docs
                and isinstance(node.value, str) and node.value.count(" ") >= 2
                and not CODE.search(node.value)
            ]  # fmt: skip
    return found


def test_no_sentence_pleads_cheers_or_promises() -> None:
    texts = sentences()
    assert len(texts) > 300
    assert [(file, text) for file, text in texts if NEVER.search(text)] == []


@cache
def goldens() -> list[tuple[str, str]]:
    """(name, text) of every screen."""
    files = (Path(__file__).parents[1] / "tui/goldens").rglob("*.txt")
    return [(golden.name, golden.read_text(encoding="utf-8")) for golden in sorted(files)]


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


@each_row("kind", KINDS)
def test_no_text_makes_a_slip_of_this_kind(kind: str) -> None:
    slip = KINDS[kind]
    assert [(file, text) for file, text in sentences() if slip.search(text)] == []
    assert [(name, found) for name, text in goldens() if (found := slip.search(text))] == []


@each_row("row", OWN_ROWS, ids=lambda row: row[0])
def test_an_error_is_a_sentence_a_place_and_an_actor(row: Row) -> None:
    _, _, said, money, next_, *_ = row
    assert said[0].isupper()
    assert said.endswith(".")
    # Read as "The money is ...".
    assert money == UNSENT or money.split()[0] in ("in", "where", "with", "the")
    assert ": " not in money
    assert next_.count(": ") < 2
    assert not money.endswith(".")
    assert not next_.endswith(".")


AMOUNTS = st.decimals(
    min_value=Decimal("-1e20"),
    max_value=Decimal("1e20"),
    allow_nan=False,
    allow_infinity=False,
    places=18,
)


def written(write: Callable[..., object], *rows: tuple[object, ...]) -> list[Any]:
    """Cases of one function: its arguments, amounts as text, and what it writes."""
    return [pytest.param(write, row[:-1], row[-1]) for row in rows]


def of(*amounts: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, amounts))


TODAY = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
MONDAY = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
LONG = "12,345,678,901,234,567,890,123,456,789.500001"


@each_row(
    ("write", "arguments", "text"),
    [
        *written(
            n.table_amount,
            (*of("14.5241089"), "receive", "14.524108"),
            (*of("14.5241081"), "pay", "14.524109"),
            (*of("14.498"), "receive", "14.498000"),
            (*of("2500.0"), "receive", "2,500"),
            (*of("2.5E3"), "pay", "2,500"),
            (*of("0.034487515"), "receive", "0.03448751"),
            (*of("1E-9"), "receive", "<0.00000001"),
            (*of("0"), "receive", "0"),
            (*of("123456789.12"), "receive", "123,456,789"),
            (*of("123456789.12"), "pay", "123,456,790"),
            (*of("-1.5"), "receive", "−1.5000000"),
        ),
        # Estimates have four digits and never flatter.
        *written(
            n.about_amount,
            (*of("0.0302059"), "≈ 0.0302"),
            (*of("914.4988"), "≈ 914.4"),
            (*of("12345678"), "≈ 12,340,000"),
            (*of("0.000000012345"), "≈ 0.00000001234"),
            (*of("5"), "≈ 5"),
        ),
        *written(
            n.tracker_amount,
            (*of("5538.20"), "5,538.2"),
            (*of("0.4937719"), "pay", "0.493772"),
            (*of("0.0000001"), "<0.000001"),
        ),
        *written(
            n.usd, (*of("48210"), "$48,210.00"), (*of("0.004"), "<$0.01"), (*of("-3"), "−$3.00")
        ),
        *written(
            n.usd_market,
            (*of("61800000000"), "$61.8B"),
            (*of("999960"), "$1.0M"),
            (*of("12"), "$12.00"),
        ),
        # Differences always have a sign.
        *written(
            n.difference,
            (*of("-0.0147770"), "−0.014777"),
            (*of("2.5"), "+2.500000"),
            (*of(f"-{LONG.replace(',', '')}"), f"−{LONG}"),
        ),
        *written(
            n.percent,
            (*of("-0.434"), "−0.43%"),
            (*of("1.24"), "+1.24%"),
            (*of("0.001"), "<0.01%"),
            (*of("0"), "0.00%"),
        ),
        *written(
            n.expected,
            (40, "~40s"),
            (14 * 60, "~14m"),
            (65 * 60, "~1h05m"),
            (59.6, "~1m"),
            (51 * 3600, "~2d03h"),
        ),
        *written(n.expected_minutes, (*of("27.0"), "~27m"), (*of("0.5"), "~30s")),
        *written(
            n.countdown,
            (48, "0:48"),
            (27 * 60 + 12, "27:12"),
            (0.2, "0:01"),
            (3900, "1h05m"),
            (0, "expired"),
        ),
        *written(n.age, (2, "2s"), (41 * 60, "41m"), (3 * 3600, "3h"), (50 * 3600, "2d")),
        # Unknown is never a zero.
        *written(n.about_amount, (None, "—")),
        *written(n.table_amount, (None, "—")),
        *written(n.usd, (None, "—")),
        *written(n.percent, (None, "—")),
        *written(n.expected, (None, "—")),
        *written(
            n.rate_both_ways,
            (
                *of("0.5"), "BTC", *of("14.498"), "ETH",
                ("1 BTC ≈ 28.996000 ETH", "1 ETH ≈ 0.03448751 BTC"),
            ),
            (*of("0.5"), "BTC", *of("0"), "ETH", None),
        ),
        # Points stand below one another.
        *written(
            n.align_on_point,
            (["14.5", "2,500", "—", "0.123"], ["   14.5  ", "2,500    ", "        —", "    0.123"]),
            ([], []),
        ),
        *written(
            n.elapsed,
            (19 * 60, 27 * 60, n.Elapsed("19m of ~27m", "19m/27m", late=False)),
            (41 * 60, 14 * 60, n.Elapsed("27m over", "27m over", late=True)),
        ),
        *written(lambda seconds: n.elapsed(seconds).text, (90, "1m")),
        *written(partial(n.clock_time, zone=True), (TODAY, "14:02:11 UTC")),
        *written(
            n.day,
            (TODAY, TODAY, "today 14:02"),
            (datetime(2026, 11, 19, 23, 59, tzinfo=UTC), TODAY, "yesterday"),
            (MONDAY, TODAY, "Mon 16 Nov"),
        ),
        *written(n.date, (MONDAY.replace(year=2025), TODAY, "Sun 16 Nov 2025")),
        *written(n.iso, (TODAY, "2026-11-20T14:02:11Z")),
    ],
)  # fmt: skip
def test_what_is_written(
    write: Callable[..., object], arguments: tuple[object, ...], text: object
) -> None:
    assert write(*arguments) == text


@given(AMOUNTS)
def test_an_exact_amount_keeps_every_digit(amount: Decimal) -> None:
    assert Decimal(n.copied_amount(amount)) == amount
    assert Decimal(n.exact_amount(amount).replace(",", "").replace("−", "-")) == amount


@given(AMOUNTS)
def test_rounding_never_flatters(amount: Decimal) -> None:
    def back(text: str) -> Decimal | None:
        return None if text.startswith("<") else Decimal(text.replace(",", "").replace("−", "-"))

    for write in (n.table_amount, n.tracker_amount):
        down, up = back(write(amount, "receive")), back(write(amount, "pay"))
        assert down is None or down <= amount
        assert up is None or up >= amount


@given(st.text(alphabet="0123456789abcdefx", min_size=1, max_size=110), st.integers(8, 80))
def test_a_wrapped_address_is_whole(address: str, width: int) -> None:
    rows = n.wrapped_address(address, width)
    assert "".join(rows).replace(" ", "") == address
    assert all(len(row) <= width for row in rows)


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


@each_row(
    ("call", "words", "found"),
    [
        (GET, "", True),
        (GET, "get ORDERS 200", True),
        (GET, "6f1d", True),
        (GET, "get 404", False),
        (GET, "failed", False),
        (REFUSED, "failed exchanges amount_too", True),
    ],
)
def test_rows_are_found_by_words(call: Exchange, words: str, found: bool) -> None:
    assert logged_call(call).matches(words) is found


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


BODY = '{"addressTo":"it\'s $HOME","amount":0.5}'
HOSTILE = "/v2/orders/a?x=%27%3B%20rm%20-rf%20%2F%0A%1B"


@each_row(
    ("call", "words"),
    [
        (
            GET,
            ["GET", "/orders/m1Xc7DpRsTuVwXyZ1a2b3c", "-q", "a=1", "-q", "b=x y&z", "-q", "c="],
        ),
        # A writing call is not repeated by pasting it: it asks first.
        (REFUSED, ["POST", "/exchanges", "-d", BODY]),
        # A control byte in an address stays inside its quotes.
        (replace(GET, target=HOSTILE), ["GET", "/orders/a", "-q", "x='; rm -rf /\n\x1b"]),
    ],
)
def test_a_command_repeats_the_call(call: Exchange, words: list[str]) -> None:
    assert shlex.split(as_command(call)) == ["swapdesk", "api", *words]
    assert as_command(call, "main").startswith("swapdesk --profile main api ")


@each_row(
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


@each_row("case", load("text", "markup"), ids=lambda case: case.id)
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
