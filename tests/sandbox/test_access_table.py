"""The table of the developer's guide: which key of a sandbox gets which answer."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import pytest
from msgspec import Struct

from plain_http import PLAIN
from sandbox.running import Running, create_order
from swapdesk.sandbox.world import find_token

GUIDE = Path(__file__).parents[2] / "docs/guide/developer.md"
RECEIVER = "0x" + "1a" * 20
BTC, ETH = find_token("bitcoin", "BTC").token_id, find_token("ethereum", "ETH").token_id
AT_MOST = 12
"""Five calls a minute are let through, and a minute may end in between."""


class Row(Struct, frozen=True):
    """``answer`` is the status, with its code where it is refused."""

    who: str
    call: str
    answer: str


def _rows() -> list[Row]:
    text = GUIDE.read_text(encoding="utf-8").partition("| Who asks | Asks for | Gets |\n")[2]
    lines = text.partition("\n\n")[0].splitlines()[1:]
    return [Row(*(cell.strip() for cell in line.strip("| ").split(" | "))) for line in lines]


ROWS = _rows()


@pytest.fixture(scope="module")
def order(running: Running) -> str:
    """Of alice, the desk's own."""
    with running.api() as api:
        return str(create_order(api, BTC, ETH, "0.5", RECEIVER)["serviceId"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.who}: {row.answer}")
def test_a_key_gets_what_the_guide_says(running: Running, order: str, row: Row) -> None:
    method, path = re.findall(r"`(\w+) ([^`]+)`", row.call)[0]
    for word, value in (("ORDER", order), ("FROM", BTC), ("TO", ETH)):
        path = path.replace(word, value)
    body = {"quoteId": "0" * 24, "addressTo": RECEIVER} if method == "POST" else None
    with httpx2.Client(
        headers=_credentials(running, row.who), trust_env=False, verify=PLAIN
    ) as api:
        for _ in range(AT_MOST if "again" in row.call else 1):
            answer = api.request(method, running.ready.url + path, json=body)
            if answer.is_error:
                break
    told = answer.json().get("code") if answer.is_error else None
    code = "" if told is None else f" `{told}`"
    assert f"{answer.status_code}{code}" == row.answer, answer.text


def _credentials(running: Running, who: str) -> dict[str, str]:
    if who == "nobody":
        return {}
    name = re.findall(r"`(\w+)`", who)[0]
    keys = [key for key in running.ready.partners if key["name"] == name]
    if "alone" in who:
        return {"partner-id": keys[0]["partnerId"]}
    scope = "read" if "`read`" in who else "full"
    key = [key for key in keys if key["scope"] == scope]["second" in who]
    secret = "x" if "wrong" in who else key["apiSecret"]
    return {"Authorization": f"{key['apiKey']}:{secret}"}


def test_every_code_of_access_is_in_the_table() -> None:
    assert {row.answer for row in ROWS} == {
        "200",
        "401 `INVALID_API_CREDENTIALS`",
        "402",
        "401 `PARTNER_ID_NOT_SUPPORTED`",
        "403 `ACCESS_DENIED`",
        "403 `FIXED_RATE_NOT_ALLOWED`",
        "404 `NOT_FOUND`",
        "429 `RATE_LIMIT_EXCEEDED`",
    }
