"""``account`` and ``partner``: what a partner asks, what the operator books, and accounts, keys and
terms in the store of a service."""

from __future__ import annotations

import asyncio
import getpass
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from cli.desks import Desk, InProcess
from harness import Result, Sandbox, running_sandbox
from patience import PATIENCE
from rows import each_row
from service.new_store import open_new
from service.test_store import order
from swapdesk.service.store.records import StoredGroup, StoredOrder
from swapdesk.service.store.schema import VERSION
from swapdesk.service.store.store import Store
from swapdesk.wire.encoding.timestamps import parse_rfc3339, rfc3339


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One whose books are these tests' own."""
    with running_sandbox(tmp_path_factory.mktemp("home")) as running:
        asyncio.run(_write_history(running))
        yield running


def service_time(sandbox: Sandbox) -> datetime:
    answer = httpx2.get(sandbox.ready["url"] + "/health", timeout=PATIENCE, trust_env=False)
    return parse_rfc3339(answer.json()["time"])


async def _write_history(sandbox: Sandbox) -> None:
    """Three finished orders of the desk's own partner, two of them 40 days ago, and one of the
    second partner, written beside the service that runs."""
    now = service_time(sandbox)
    alice, carol = (sandbox.partner("PRO", place)["partnerId"] for place in (0, 1))
    rows: list[StoredOrder] = []
    for number, (who, days, usd, earned) in enumerate(
        (
            (alice, 40, "1000.5", "5.25"),
            (alice, 40, "250", "0"),
            (alice, 0, "40000", "200.000000001"),
            (carol, 0, "7", "0.5"),
        ),
        start=1,
    ):
        row = replace(
            order(number, partner_id=who),
            amount_in_usd=Decimal(usd),
            route="private" if number == 1 else "standard",
        )
        finished = rfc3339(now - timedelta(days=days))
        ended = {"finished": finished}
        rows.append(replace(row, status=4, rank=8, detail=ended, commission=Decimal(earned)))
    store = Store.open(sandbox.home / "sandbox" / "service.db")
    try:
        begun = [replace(row, status=-2, rank=0, detail={}, due_at=None) for row in rows]
        await store.groups.begin(StoredGroup("history", alice, now, "ethereum"), begun)
        for row in rows:
            assert await store.orders.advance(replace(row, due_at=None), expected_version=1)
    finally:
        await store.close()


def lines(said: Result) -> list[str]:
    assert said.code == 0, said.stderr
    return said.stdout.splitlines()


def test_volume_and_weeks(desk: Desk) -> None:
    found = desk.made("account", "volume")["volume"]
    assert (found["count"], found["totalTransactedUSD"]) == (3, "41250.5")
    said = lines(desk("account", "volume"))
    assert said[0].split() == ["orders", "3"]
    assert said[2].split() == ["volume", "$41,250.50"]
    weeks = desk.made("account", "weekly")["weeks"]
    assert len(weeks) in (6, 7)
    assert (weeks[0]["count"], weeks[0]["anonymous"], weeks[-1]["count"]) == (2, 1, 1)
    shown = lines(desk("account", "weekly"))
    assert shown[0].split() == ["WEEK", "ORDERS", "PRIVATE", "VOLUME", "COMMISSION"]
    newest = weeks[-1]
    assert shown[1].split() == [
        str(newest["year"]), f"W{newest['week']:02}", "1", "0", "$40,000.00", "$200.00",
    ]  # fmt: skip
    assert len(shown) == len(weeks) + 1


def test_other_partners_have_none_of_it(other_desk: Desk, tmp_path: Path) -> None:
    told = other_desk.made("account", "volume")["volume"]
    assert (told["count"], told["totalTransactedUSD"]) == (1, 7)
    frank = other_desk.sandbox.partner("FREE")
    given = {"SWAPDESK_API_KEY": frank["apiKey"], "SWAPDESK_API_SECRET": frank["apiSecret"]}
    home = tmp_path / "frank"
    home.mkdir(mode=0o700)
    newcomer = Desk(other_desk.sandbox, home, other_desk.environ | given)
    said = newcomer("account", "weekly")
    assert (said.code, said.stdout) == (0, "")
    assert "No order was finished yet." in said.stderr


def test_a_chart_is_drawn_and_told(desk: Desk, clean: Sandbox) -> None:
    now = service_time(clean)
    points = desk.made("account", "chart")["points"]
    assert len(points) == 30
    assert points[-1] == {"date": f"{now:%Y-%m-%d}", "volumeUsd": 40000, "count": 1}
    drawn = lines(desk("account", "chart"))
    assert drawn[0].split() == ["40k", "█"]
    assert drawn[-1] == "Orders 1, volume $40,000.00."
    since = f"{now - timedelta(days=40):%Y-%m-%d}"
    plain = lines(desk("account", "chart", "--plain", "--from", since, "--to", since))
    assert plain == [f"{since}: orders 2, volume $1,250.50."]
    months = desk.made("account", "chart", "--granularity", "month", "--from", since)
    assert months["points"][0]["date"] == since[:7]
    for wrong in (("--from", "yesterday"), ("--granularity", "week"), ("--to", "2026-13-01")):
        assert desk("account", "chart", *wrong).code == 2
    long = desk("account", "chart", "--from", "2020-01-01")
    first = f"{now - timedelta(days=399):%Y-%m-%d}"
    assert f"The chart begins with {first}, not with 2020-01-01" in long.stderr
    assert lines(long)[-1] == f"From {first} on: orders 3, volume $41,250.50."


def test_limits_count_what_every_command_of_the_profile_asked(desk: Desk) -> None:
    def told() -> dict[str, dict[str, Any]]:
        found = desk.made("account", "limits")["limits"]
        return {f"{one['calls']} {one['window']}": one for one in found}

    before = told()
    windows = ("minute", "hour", "day")
    assert list(before) == [f"{calls} {w}" for calls in ("quotes", "exchanges") for w in windows]
    assert desk("quote", "1", "btc.bitcoin", "eth.ethereum", "--json").code == 0
    after = told()
    for name in ("quotes day", "exchanges day"):
        # A day that ended in between has begun to count anew.
        same = before[name]["resetsAt"] == after[name]["resetsAt"]
        used = before[name]["used"] if same else 0
        assert after[name]["used"] == used + name.startswith("quotes")
    said = lines(desk("account", "limits"))
    assert said[0].split() == ["CALLS", "WINDOW", "USED", "LIMIT", "PERCENT", "RESETS", "IN"]
    assert said[3].split()[:2] == ["quotes", "day"]
    assert said[3].split()[3:5] == ["5,000", "0%"]


def test_limits_that_are_used_over_a_percentage_end_with_3(desk: Desk) -> None:
    assert desk("account", "limits", "--fail-over", "100").code == 0
    assert desk("quote", "1", "btc.bitcoin", "eth.ethereum", "--json").code == 0
    over = desk("account", "limits", "--fail-over", "0", "--json")
    assert over.code == 3
    assert any(one["exceeded"] for one in json.loads(over.stdout)["limits"])
    assert "of the quotes of this day are used, over 0%." in over.stderr
    assert desk("account", "limits", "--fail-over", "101").code == 2


def test_commissions_and_their_payout(desk: Desk, clean: Sandbox) -> None:
    now = service_time(clean)
    old, new = f"{now - timedelta(days=40):%Y-%m}", f"{now:%Y-%m}"

    def told(*options: str) -> dict[str, Any]:
        return desk.made("account", "commissions", *options)["commissions"]

    assert told()["totalEarnings"] == told()["pendingCommissions"] == "205.25"
    assert told()["commissionCount"] == 2
    assert told("--month", old)["totalEarnings"] == "5.25"
    for name, month in (("alice", new), ("nobody", old), ("carol", old)):
        refused = desk("partner", "payout", name, month, "--json")
        assert refused.code == (2 if name == "nobody" else 9), refused.stderr
    paid = desk.made("partner", "payout", "alice", old)
    assert paid == {"partner": "alice", "month": old, "amount": "5.25"}
    assert desk("partner", "payout", "alice", old).code == 9
    assert told("--month", old)["processedCommissions"] == "5.25"
    assert told()["pendingCommissions"] == 200
    shown = dict(line.rsplit(maxsplit=1) for line in lines(desk("account", "commissions")))
    assert shown["paid out"] == "$5.25"
    assert shown["not paid yet"] == shown["this month"] == "$200.00"
    assert desk("account", "commissions", "--month", "2026-13").code == 2
    assert desk("partner", "payout", "alice", "2026").code == 2


def test_a_commission_is_reversed_once(desk: Desk, other_desk: Desk) -> None:
    which = order(4).service_id
    assert lines(desk("partner", "reverse", which)) == [
        f"The commission of {which} is reversed: −$0.50."
    ]
    assert desk("partner", "reverse", which).code == 9
    found = other_desk.made("account", "commissions")["commissions"]
    assert (found["totalEarnings"], found["commissionCount"]) == (0, 1)


def test_sums_agree_with_the_orders_while_the_service_runs(desk: Desk) -> None:
    found = desk.made("partner", "sums")
    assert (found["sums"], found["differing"], found["rebuilt"]) == (3, [], False)
    assert lines(desk("partner", "sums")) == ["Sums of days 3: all right."]


def test_sums_of_a_stopped_service_are_rebuilt(desk: Desk, tmp_path: Path) -> None:
    for name in ("service.db", "service.db-wal", "sandbox.key"):
        if (there := desk.home / "sandbox" / name).exists():
            shutil.copy(there, tmp_path / name)
    with sqlite3.connect(tmp_path / "service.db") as db:
        db.execute("UPDATE day_sums SET volume = '1' WHERE orders = 2")
    db.close()
    at = ("partner", "sums", "--data", str(tmp_path))
    wrong = desk(*at)
    assert wrong.code == 9
    assert wrong.stdout.splitlines()[1].startswith("alice")
    assert "1 wrong" in wrong.stdout
    assert desk.made(*at, "--rebuild")["rebuilt"] is True
    assert desk(*at).code == 0


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """The directory of a service that has run, without partners."""
    place = tmp_path / "data"
    place.mkdir()
    await open_new(place / "service.db").close()
    return place


class Partner(InProcess):
    """``partner`` on that store."""

    def __call__(self, *words: str, stdin: str = "") -> Result:
        return super().__call__("partner", *words, "--data", str(self.home / "data"), stdin=stdin)

    def shown(self, which: str = "Shop") -> dict[str, Any]:
        return self.made("show", which)["partner"]


@pytest.fixture
def partner(tmp_path: Path, data: Path) -> Partner:
    return Partner(tmp_path)


def test_an_account_with_its_keys(partner: Partner, data: Path) -> None:
    made = partner.made("create", "Shop", "--tier", "pro")
    # A person sees a secret once.
    shown = dict(
        line.rsplit(maxsplit=1) for line in partner("create", "Bar").stdout.splitlines()[:5]
    )
    assert (shown["tier"], len(shown["secret"])) == ("FREE", 43)
    secrets = [made["apiSecret"], shown["secret"]]
    assert made["partner"]["tier"] == "PRO"
    further = partner.made("key", "Shop", "--scope", "read", "--dialect", "vendor")
    secrets.append(further["apiSecret"])
    found = partner.shown(made["partner"]["partnerId"])
    assert [(key["apiKey"], key["scope"], key["dialect"]) for key in found["keys"]] == [
        (made["apiKey"], "full", None),
        (further["apiKey"], "read", "vendor"),
    ]
    revoked = partner.made("revoke", made["apiKey"])["partner"]["keys"]
    assert [key["revoked"] is None for key in revoked] == [False, True]
    again = partner.made("revoke", made["apiKey"])["partner"]["keys"]
    assert again == revoked, "revoked since the first time"
    listed = partner("list").stdout
    assert listed.splitlines()[-1].split()[1:] == ["Bar", "FREE", "active", "1", "none"]
    printed = partner("show", "Shop").stdout + partner("show", "Bar").stdout + listed
    assert shown["key"] in printed
    stored = b"".join(path.read_bytes() for path in data.iterdir())
    for secret in secrets:
        assert secret not in printed
        assert secret.encode() not in stored


def test_what_operators_changed(partner: Partner) -> None:
    """Newest first, without any secret; also of what was refused nothing."""
    assert partner("audit").stdout.endswith("No operator has changed anything.\n")
    made = partner.made("create", "Shop")
    partner("override", "Shop", "--markup", "1", "--read", "5/-/50", "--fixed-rates", "on")
    partner("override", "Shop", "--quote", "1/2/3", "--remove", "fee-share", "--remove", "markup")
    partner("override", "Shop", "--remove", "all")
    partner.refused(2, "NO_SUCH_PARTNER", "suspend", "Nobody")
    partner("revoke", made["apiKey"])
    changes = partner.made("audit")["changes"]
    who = {"by": getpass.getuser(), "partnerId": made["partner"]["partnerId"], "partner": "Shop"}
    assert [each["action"] for each in changes] == [
        f"revoke {made['apiKey']}",
        "override, without all",
        "override, quote 1/2/3, without fee-share, without markup",
        "override, read 5/-/50, markup 1, fixed-rates on",
        "create",
    ]
    assert all(who.items() <= each.items() for each in changes)
    assert parse_rfc3339(changes[0]["at"]) >= parse_rfc3339(changes[-1]["at"])
    printed = partner("audit").stdout
    assert printed.count("Shop") == 5
    assert made["apiSecret"] not in printed + json.dumps(changes)


def test_accounts_of_the_service_of_a_file(partner: Partner, tmp_path: Path) -> None:
    """Those of its data directory; both cannot be given, and a broken file says what is wrong."""
    partner("create", "Shop")
    file = tmp_path / "service.toml"
    chain = f'[chains.base]\nrpc = "http://127.0.0.1:1"\nchain_id = 1\nwrapped = "0x{"11" * 20}"\n'
    file.write_text(f'data = "data"\nport = 0\n{chain}')
    desk = InProcess(tmp_path)
    found = desk.made("partner", "list", "--config", str(file))["partners"]
    assert [each["name"] for each in found] == ["Shop"]
    partner.refused(2, "USAGE", "list", "--config", str(file))
    file.write_text("data = 7\n")
    desk.refused(2, "CONFIG", "partner", "list", "--config", str(file))


def test_tier_suspension_and_overrides(partner: Partner) -> None:
    partner("create", "Shop")
    assert partner.shown()["quote"] == {"perMinute": 5, "perHour": 20, "perDay": 50}
    assert not partner.shown()["fixedRates"]
    assert partner.made("tier", "Shop", "PRO")["partner"]["fixedRates"]
    assert partner.made("suspend", "Shop")["partner"]["suspended"]
    assert not partner.made("suspend", "Shop", "--lift")["partner"]["suspended"]
    told = partner(
        "override", "Shop", "--quote", "1/2/3", "--read", "0/0/0", "--fee-share", "12.5",
        "--markup", "0.25", "--fixed-rates", "off",
    )  # fmt: skip
    assert told.code == 0
    assert "1 a minute, 2 an hour, 3 a day (override)" in told.stdout
    found = partner.shown()
    assert found["overrides"] == ["quote", "read", "fee-share", "markup", "fixed-rates"]
    assert found["exchange"]["perDay"] == 2000
    assert (found["feeShare"], found["defaultMarkup"], found["fixedRates"]) == (
        "12.5",
        "0.25",
        False,
    )
    partner("override", "Shop", "--remove", "quote", "--markup", "1")
    assert partner.shown()["overrides"] == ["read", "fee-share", "markup", "fixed-rates"]
    partner("override", "Shop", "--remove", "all", "--exchange", "9/9/9")
    assert partner.shown()["overrides"] == ["exchange"]
    partner("override", "Shop", "--exchange", "-/5/-")
    assert partner.shown()["exchange"] == {"perMinute": 9, "perHour": 5, "perDay": 9}
    partner("override", "Shop", "--remove", "all", "--exchange", "0/-/-")
    assert partner.shown()["exchange"] == {"perMinute": 0, "perHour": 500, "perDay": 2000}, "PRO"


def test_pages_of_an_account(partner: Partner) -> None:
    partner("create", "Shop")
    assert partner("origin", "Shop", "list").stdout == "Every page is allowed.\n"
    for origin in ("https://shop.example", "http://localhost:8080", "http://[::1]:3000"):
        partner("origin", "Shop", "add", origin)
    partner("origin", "Shop", "remove", "http://localhost:8080")
    assert partner.shown()["origins"] == ["https://shop.example", "http://[::1]:3000"]
    partner.refused(2, "BAD_ORIGIN", "origin", "Shop", "remove", "https://other.example")


@each_row(
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
    partner.refused(2, "BAD_ORIGIN", "origin", "Shop", "add", origin)
    assert partner.shown()["origins"] == []


@each_row(
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
    before = partner.shown()
    partner.refused(2, code, *words)
    assert partner.made("list")["partners"] == [before]


def test_stores_that_cannot_be_used(data: Path, partner: Partner) -> None:
    for word in ("--config", "--data"):
        assert word in Partner(data).refused(5, "NO_STORE", "list")["next"]
    with closing(sqlite3.connect(data / "service.db")) as db:
        db.execute("UPDATE schema_version SET number = ?, serves_from = ?", (VERSION + 1,) * 2)
        db.commit()
    partner.refused(9, "STORE_UNUSABLE", "create", "Shop")
    partner.refused(9, "STORE_UNUSABLE", "list", "--read-only")


def test_a_store_is_copied_lost_and_gone_on_with(partner: Partner, data: Path) -> None:
    """While a service has it open, and what was committed last is not in its file yet."""
    run = Store.open(data / "service.db")
    made = partner.made("create", "Shop")
    copy = data.parent / "copy.db"
    told = InProcess(data.parent).made("backup", str(copy), "--data", str(data))
    assert told == {"file": str(copy), "bytes": copy.stat().st_size}
    assert copy.stat().st_mode & 0o777 == 0o600
    partner.made("create", "Later")
    asyncio.run(run.close())
    InProcess(data.parent).refused(2, "FILE_EXISTS", "backup", str(copy), "--data", str(data))
    for left in data.iterdir():
        left.unlink()
    copy.rename(data / "service.db")
    assert [one["name"] for one in partner.made("list")["partners"]] == ["Shop"]
    assert partner.shown()["keys"][0]["apiKey"] == made["apiKey"]
    assert partner.made("create", "Later")["partner"]["name"] == "Later"


def test_what_is_no_store_is_not_copied(partner: Partner, data: Path) -> None:
    copy = data.parent / "copy.db"
    (data / "service.db").write_bytes(b"this is no database" * 1000)
    words = ("backup", str(copy), "--data", str(data))
    InProcess(data.parent).refused(9, "STORE_UNUSABLE", *words)
    assert not copy.exists()
    refused = partner.refused(9, "STORE_UNUSABLE", "list")
    assert "is damaged, restore a backup of it: file is not a database" in refused["message"]
    InProcess(data.parent).refused(5, "NO_STORE", "backup", str(copy), "--data", str(data.parent))


def test_a_copy_needs_a_directory_that_is_there(partner: Partner, data: Path) -> None:
    copy = data / "none" / "copy.db"
    words = ("backup", str(copy), "--data", str(data))
    error = InProcess(data.parent).refused(2, "FILE_UNUSABLE", *words)
    assert error["message"] == f"{copy} cannot be written: No such file or directory."
    assert "directory that exists" in error["next"]


def test_a_desk_that_only_reads_changes_no_account(partner: Partner) -> None:
    assert partner("list", "--read-only").code == 0
    assert partner("create", "Shop", "--read-only").code == 9
    assert partner("list").stdout.startswith("There are no partners.")
