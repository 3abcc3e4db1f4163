"""``partner``: accounts, keys and terms in the store of a service that does not run now."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.desks import run_here
from harness import Result
from service.new_store import open_new
from swapdesk.service.store.database import VERSION

Partner = Callable[..., Result]


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """The directory of a service that has run, without partners."""
    place = tmp_path / "data"
    place.mkdir()
    await open_new(place / "service.db").close()
    return place


@pytest.fixture
def partner(tmp_path: Path, data: Path) -> Partner:
    def run(*words: str) -> Result:
        return run_here("partner", *words, "--data", str(data), home=tmp_path)

    return run


def document(result: Result) -> dict[str, Any]:
    assert result.code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    assert found.pop("schemaVersion") == 1
    return found


def shown(partner: Partner, which: str = "Shop") -> dict[str, Any]:
    return document(partner("show", which, "--json"))["partner"]


def refused(result: Result) -> tuple[int, str]:
    return result.code, json.loads(result.stderr)["error"]["code"]


def test_an_account_with_its_keys(partner: Partner, data: Path) -> None:
    made = document(partner("create", "Shop", "--tier", "pro", "--json"))
    secrets = [made["apiSecret"]]
    assert made["partner"]["tier"] == "PRO"
    further = document(partner("key", "Shop", "--scope", "read", "--dialect", "vendor", "--json"))
    secrets.append(further["apiSecret"])
    found = shown(partner, made["partner"]["partnerId"])
    assert [(key["apiKey"], key["scope"], key["dialect"]) for key in found["keys"]] == [
        (made["apiKey"], "full", None),
        (further["apiKey"], "read", "vendor"),
    ]
    revoked = document(partner("revoke", made["apiKey"], "--json"))["partner"]["keys"]
    assert [key["revoked"] is None for key in revoked] == [False, True]
    again = document(partner("revoke", made["apiKey"], "--json"))["partner"]["keys"]
    assert again == revoked, "revoked since the first time"
    printed = partner("show", "Shop").stdout + partner("list").stdout
    stored = b"".join(path.read_bytes() for path in data.iterdir())
    for secret in secrets:
        assert secret not in printed
        assert secret.encode() not in stored


def test_a_person_sees_a_secret_once(partner: Partner) -> None:
    lines = dict(
        line.rsplit(maxsplit=1) for line in partner("create", "Shop").stdout.splitlines()[:5]
    )
    assert lines["tier"] == "FREE"
    assert len(lines["secret"]) == 43
    told = partner("show", "Shop").stdout
    assert lines["key"] in told
    assert lines["secret"] not in told
    assert partner("list").stdout.splitlines()[1].split()[1:] == [
        "Shop", "FREE", "active", "1", "none",
    ]  # fmt: skip


def test_tier_suspension_and_overrides(partner: Partner) -> None:
    partner("create", "Shop")
    assert shown(partner)["quote"] == {"perMinute": 5, "perHour": 20, "perDay": 50}
    assert not shown(partner)["fixedRates"]
    assert document(partner("tier", "Shop", "PRO", "--json"))["partner"]["fixedRates"]
    assert document(partner("suspend", "Shop", "--json"))["partner"]["suspended"]
    assert not document(partner("suspend", "Shop", "--lift", "--json"))["partner"]["suspended"]
    told = partner(
        "override", "Shop", "--quote", "1/2/3", "--read", "0/0/0", "--fee-share", "12.5",
        "--markup", "0.25", "--fixed-rates", "off",
    )  # fmt: skip
    assert told.code == 0
    assert "1 a minute, 2 an hour, 3 a day (override)" in told.stdout
    found = shown(partner)
    assert found["overrides"] == ["quote", "read", "fee-share", "markup", "fixed-rates"]
    assert found["exchange"]["perDay"] == 2000
    assert (found["feeShare"], found["defaultMarkup"], found["fixedRates"]) == (12.5, 0.25, False)
    partner("override", "Shop", "--remove", "quote", "--markup", "1")
    assert shown(partner)["overrides"] == ["read", "fee-share", "markup", "fixed-rates"]
    partner("override", "Shop", "--remove", "all", "--exchange", "9/9/9")
    assert shown(partner)["overrides"] == ["exchange"]
    partner("override", "Shop", "--exchange", "-/5/-")
    assert shown(partner)["exchange"] == {"perMinute": 9, "perHour": 5, "perDay": 9}
    partner("override", "Shop", "--remove", "all", "--exchange", "0/-/-")
    assert shown(partner)["exchange"] == {"perMinute": 0, "perHour": 500, "perDay": 2000}, "PRO"


def test_pages_of_an_account(partner: Partner) -> None:
    partner("create", "Shop")
    assert partner("origin", "Shop", "list").stdout == "Every page is allowed.\n"
    for origin in ("https://shop.example", "http://localhost:8080", "http://[::1]:3000"):
        partner("origin", "Shop", "add", origin)
    partner("origin", "Shop", "remove", "http://localhost:8080")
    assert shown(partner)["origins"] == ["https://shop.example", "http://[::1]:3000"]
    gone = partner("origin", "Shop", "remove", "https://other.example", "--json")
    assert refused(gone) == (2, "BAD_ORIGIN")


@pytest.mark.parametrize(
    "origin",
    [
        "shop.example", "https://shop.example/", "https://shop.example/a", "https://u@shop.example",
        "ftp://shop.example", "https://shop.example:443", "https://shop.example:99999",
        "https://shop.example:", "https://шоп.example", "https://shop..example", "null", "*",
        "https://shop.example:８０", "https://[::g]", "https://a" + "a" * 300,
    ],
)  # fmt: skip
def test_what_is_no_origin(partner: Partner, origin: str) -> None:
    partner("create", "Shop")
    assert refused(partner("origin", "Shop", "add", origin, "--json")) == (2, "BAD_ORIGIN")
    assert shown(partner)["origins"] == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("show", "Nobody"), "NO_SUCH_PARTNER"),
        (("key", "0" * 24), "NO_SUCH_PARTNER"),
        (("revoke", "0" * 32), "NO_SUCH_KEY"),
        (("create", "sHOP"), "NAME_TAKEN"),
        (("create", "Shop\x1b[2J"), "BAD_NAME"),
        (("create", "0" * 24), "BAD_NAME"),
        (("tier", "Shop", "GOLD"), "USAGE"),
        (("override", "Shop"), "USAGE"),
        (("override", "Shop", "--quote", "1/1/1", "--remove", "quote"), "USAGE"),
        (("override", "Shop", "--quote", "5/20"), "USAGE"),
        (("override", "Shop", "--quote", "5//-"), "USAGE"),
        (("override", "Shop", "--quote", "-1/20/50"), "USAGE"),
        (("override", "Shop", "--quote", "٥/٢٠/٥٠"), "USAGE"),
        (("override", "Shop", "--read", "1/1/9999999999"), "USAGE"),
        (("override", "Shop", "--fee-share", "-1"), "USAGE"),
        (("override", "Shop", "--fee-share", "100.1"), "USAGE"),
        (("override", "Shop", "--fee-share", "٥"), "USAGE"),
        (("override", "Shop", "--markup", "4.1"), "USAGE"),
        (("override", "Shop", "--markup", "1e0"), "USAGE"),
        (("override", "Shop", "--markup", "NaN"), "USAGE"),
        (("origin", "Shop", "add"), "USAGE"),
        (("origin", "Shop", "list", "https://shop.example"), "USAGE"),
    ],
)
def test_words_that_change_nothing(partner: Partner, words: tuple[str, ...], code: str) -> None:
    partner("create", "Shop")
    before = shown(partner)
    assert refused(partner(*words, "--json")) == (2, code)
    assert document(partner("list", "--json"))["partners"] == [before]


def test_stores_that_cannot_be_used(tmp_path: Path, data: Path, partner: Partner) -> None:
    nothing = run_here(
        "partner", "list", "--data", str(tmp_path / "nothing"), "--json", home=tmp_path
    )
    assert refused(nothing) == (5, "NO_STORE")
    with closing(sqlite3.connect(data / "service.db")) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    assert refused(partner("create", "Shop", "--json")) == (9, "STORE_UNUSABLE")
    assert refused(partner("list", "--read-only", "--json")) == (9, "STORE_UNUSABLE")


def test_a_desk_that_only_reads_changes_no_account(partner: Partner) -> None:
    assert partner("list", "--read-only").code == 0
    assert partner("create", "Shop", "--read-only").code == 9
    assert partner("list").stdout.startswith("There are no partners.")
