"""Plans of files against a real service: every problem named, twins kept, groups, limits."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from pathlib import Path

import httpx
import pytest

from flows.marketplace import api, book, catalog, clock, service, venues
from swapdesk.chain.addresses.derive import derive_address
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.plan import BatchPlan
from swapdesk.flows.batch.planned import PlannedRow
from swapdesk.flows.batch.planner import STEP, BatchPlanner
from swapdesk.flows.batch.reading import read_sheet
from swapdesk.flows.batch.sheet import Column, edited
from swapdesk.flows.batch.template import template
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.wire.multi import MultiExchangeRequest

__all__ = ["api", "book", "catalog", "clock", "service", "venues"]

HEAD = "to,amount,token,chain,memo,route,sell,refund\n"


def address(kind: str, name: str) -> str:
    return derive_address(kind, hashlib.sha256(name.encode()).digest())


@pytest.fixture
def planner(
    catalog: Catalog, book: AddressBook, clock: ManualClock, tmp_path: Path
) -> BatchPlanner:
    journal = Journal.open(tmp_path / "journal.db", clock)
    return BatchPlanner(catalog, book, journal, clock, live=False)


def csv_of(*rows: str, head: str = HEAD) -> bytes:
    return (head + "\n".join(rows) + "\n").encode()


async def planned(planner: BatchPlanner, api: PartnerApi, *rows: str) -> BatchPlan:
    plan = await planner.judged(await planner.read("payout.csv", csv_of(*rows)))
    return await planner.with_limits(plan, api)


def found(row: PlannedRow) -> list[tuple[str, Column | None]]:
    return [(one.code, one.column) for one in row.findings]


@pytest.mark.parametrize(
    ("row", "code", "column", "says"),
    [
        (",100,ETH,base,,,USDC.ethereum,", "NO_RECIPIENT", Column.TO, "No recipient"),
        ("@nobody,100,ETH,base,,,USDC.ethereum,", "BAD_ADDRESS", Column.TO, "address book"),
        ("@cold,100,ETH,base,,,USDC.ethereum,", "BAD_ADDRESS", Column.TO, "Bitcoin"),
        (
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD,100,ETH,base,,,USDC.ethereum,",
            "BAD_ADDRESS",
            Column.TO,
            "checksum",
        ),
        ("@bob,,ETH,base,,,USDC.ethereum,", "NO_AMOUNT", Column.AMOUNT, "No amount"),
        ('@bob,"1,5",ETH,base,,,USDC.ethereum,', "BAD_AMOUNT", Column.AMOUNT, "write 1.5"),
        ('@bob,"1,000",ETH,base,,,USDC.ethereum,', "BAD_AMOUNT", Column.AMOUNT, "1.000 or 1000"),
        ("@bob,0,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", Column.AMOUNT, "above 0"),
        ("@bob,1e3,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", Column.AMOUNT, "exponent"),
        ("@bob,1.1234567,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", Column.AMOUNT, "6 decimals"),
        ("@bob,=1+1,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", Column.AMOUNT, '"="'),
        ("@bob,100,NOPE,base,,,USDC.ethereum,", "TOKEN_NOT_FOUND", Column.TOKEN, "NOPE"),
        ("@bob,100,,base,,,USDC.ethereum,", "NO_TOKEN", Column.TOKEN, "recipient"),
        ("@bob,100,ETH,base,,,,", "NO_TOKEN", Column.SELL, "to sell"),
        ("@bob,100,ETH,,,,USDC.ethereum,", "AMBIGUOUS_TOKEN", Column.TOKEN, "ETH.base"),
        ("@bob,100,ETH,base,,,USDC,", "AMBIGUOUS_TOKEN", Column.SELL, "USDC."),
        ("@bob,100,ETH,atlantis,,,USDC.ethereum,", "NO_CHAIN", Column.CHAIN, "atlantis"),
        ("@bob,100,ETH.base,ethereum,,,USDC.ethereum,", "OTHER_CHAIN", Column.CHAIN, "Ethereum"),
        ("@bob,100,ETH,base,,dex,USDC.ethereum,", "BAD_ROUTE", Column.ROUTE, "on chains"),
        ("@bob,100,ETH,base,,fast,USDC.ethereum,", "BAD_ROUTE", Column.ROUTE, "fast"),
        ("@bob,100,ETH,base,hello,,USDC.ethereum,", "BAD_MEMO", Column.MEMO, "no memos"),
        ("@rita,100,XRP,xrp,99999999999,,USDC.ethereum,", "BAD_MEMO", Column.MEMO, ""),
        ("@bob,100,USDC,ethereum,,,USDC.ethereum,", "SAME_TOKEN", Column.TOKEN, "private"),
        ("@bob,100,ETH,base,,,USDC.ethereum,nonsense", "BAD_REFUND", Column.REFUND, ""),
        ("@bob,0.0001,ETH,base,,,USDC.ethereum,", "LIMITS", Column.AMOUNT, "smallest"),
        ("@bob,90000000,ETH,base,,,USDC.ethereum,", "LIMITS", Column.AMOUNT, "largest"),
        ("@bob,100,ETH,base,,,USDC.ethereum,,x", "TOO_MANY_CELLS", None, "x"),
        ("@bob,1,000.50,ETH,base,,standard,USDC.ethereum,", "TOO_MANY_CELLS", None, '"000.50"'),
        ("@bob,-5,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", Column.AMOUNT, "no sign"),
        ("@bob," + "1" * 600 + ",ETH,base,,,USDC.ethereum,", "TOO_LONG", Column.AMOUNT, "600"),
    ],
)
async def test_a_bad_row_names_column_reason_and_what_to_do(
    planner: BatchPlanner,
    api: PartnerApi,
    row: str,
    code: str,
    column: Column | None,
    says: str,
) -> None:
    plan = await planned(planner, api, "@bob,100,ETH,base,,,USDC.ethereum,", row)
    good, bad = plan.rows
    assert good.state == "ready"
    assert bad.state == "problem"
    assert [(one.code, one.column) for one in bad.problems] == [(code, column)]
    assert says in bad.problems[0].reason
    assert bad.problems[0].do
    assert not plan.creatable
    assert [one.number for group in plan.groups for one in group.rows] == [1]


async def test_every_bad_cell_of_a_row_is_told_at_once(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    plan = await planned(planner, api, ',"1,5",NOPE,,,dex,USDC,')
    assert {code for code, _ in found(plan.rows[0])} == {
        "NO_RECIPIENT",
        "BAD_AMOUNT",
        "TOKEN_NOT_FOUND",
        "BAD_ROUTE",
        "AMBIGUOUS_TOKEN",
    }


async def test_disabled_and_malicious_tokens_are_never_planned(
    planner: BatchPlanner, api: PartnerApi, catalog: Catalog
) -> None:
    disabled = next(row for row in catalog.rows if not row.enabled and row.kind == "evm")
    malicious = next(row for row in catalog.rows if row.enabled and row.verdict.word == "malicious")
    to = address("evm", "somebody")
    plan = await planned(
        planner,
        api,
        f"{to},1,{disabled.id},,,,USDC.ethereum,",
        f"{to},1,{malicious.id},,,,USDC.ethereum,",
        f"{to},1,ETH.base,,,,{malicious.id},",
    )
    assert found(plan.rows[0])[0] == ("TOKEN_DISABLED", Column.TOKEN)
    assert ("TOKEN_REFUSED", Column.TOKEN) in found(plan.rows[1])
    assert ("TOKEN_REFUSED", Column.SELL) in found(plan.rows[2])
    assert plan.groups == ()


async def test_twins_are_flagged_and_kept_in_whatever_spelling(
    planner: BatchPlanner, api: PartnerApi, book: AddressBook
) -> None:
    bob = book.entry("@bob")
    assert bob is not None
    plan = await planned(
        planner,
        api,
        "@bob,100,ETH,base,,,USDC.ethereum,",
        f"{bob.address.lower()},100.0,ETH.base,,,standard,USDC.ethereum,",
        "@bob,101,ETH,base,,,USDC.ethereum,",
    )
    assert [row.state for row in plan.rows] == ["ready", "look", "ready"]
    assert ("DUPLICATE", None) in found(plan.rows[1])
    assert plan.creatable
    assert plan.totals[0].amount == Decimal(301)
    assert len(plan.groups[0].rows) == 3


async def test_formulas_are_data_and_flagged(planner: BatchPlanner, api: PartnerApi) -> None:
    to = address("xrp", "an exchange")
    plan = await planned(planner, api, f"{to},100,XRP,xrp,+7,,USDC.ethereum,")
    assert ("FORMULA", Column.MEMO) in found(plan.rows[0])
    assert ("BAD_MEMO", Column.MEMO) in found(plan.rows[0])


async def test_the_memo_of_the_book_goes_with_its_address(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    plan = await planned(
        planner,
        api,
        "@rita,100,XRP,xrp,,,USDC.ethereum,",
        "@rita,100,XRP,xrp,4,,USDC.ethereum,",
        f"{address('xrp', 'a wallet')},100,XRP,xrp,NO MEMO,,USDC.ethereum,",
        f"{address('xrp', 'another')},100,XRP,xrp,,,USDC.ethereum,",
    )
    first, other, waived, missing = plan.rows
    assert first.order is not None
    assert (first.state, first.order.memo) == ("ready", "20117")
    assert found(other) == [("MEMO_WARNING", Column.MEMO)]
    assert waived.order is not None
    assert (waived.state, waived.order.memo) == ("look", None)
    assert found(missing) == [("NO_MEMO", Column.MEMO)]
    (said,) = missing.findings
    assert said.do.endswith("into the cell memo, or NO MEMO if the wallet has none.")


async def test_groups_have_one_chain_and_at_most_fifty_rows(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    rows = [f"@bob,{100 + at},ETH,base,,,USDC.ethereum," for at in range(51)]
    rows.insert(3, "@bob,1,ETH,base,,private,SOL.solana,")
    rows.insert(9, "@bob,1,ETH,base,,,BTC.bitcoin,")
    plan = await planned(planner, api, *rows)
    assert [(one.chain, len(one.rows), one.paid) for one in plan.groups] == [
        ("ethereum", 50, "bundle"),
        ("ethereum", 1, "bundle"),
        ("solana", 1, "solana"),
    ]
    assert found(plan.rows[9]) == [("NO_BUNDLER", Column.SELL)]
    assert (plan.creates, plan.builds, plan.submits) == (3, 3, 2)
    assert plan.routes == {"standard": 51, "private": 1}
    assert {one.token.symbol: one.amount for one in plan.totals} == {
        "USDC": Decimal(sum(range(100, 151))),
        "SOL": Decimal(1),
    }
    for group in plan.groups:
        MultiExchangeRequest(orders=[order.request() for order in group.orders])


async def test_what_a_live_wallet_cannot_pay_together_is_a_problem_of_the_plan(
    catalog: Catalog, book: AddressBook, clock: ManualClock, api: PartnerApi, tmp_path: Path
) -> None:
    journal = Journal.open(tmp_path / "journal.db", clock)
    live = BatchPlanner(catalog, book, journal, clock, live=True)
    plan = await planned(
        live,
        api,
        "@bob,100,ETH,base,,,USDC.ethereum,",
        "@bob,1,ETH,base,,private,SOL.solana,",
        "@bob,1,ETH,base,,,BTC.bitcoin,",
    )
    bundled, solana, alone = plan.rows
    assert found(bundled) == [("NO_SMART_ACCOUNTS", Column.SELL)]
    (said,) = bundled.findings
    assert "pays no bundles on Ethereum" in said.reason
    assert "by itself" in said.do
    assert solana.state == "ready"
    assert found(alone) == [("NO_BUNDLER", Column.SELL)]
    assert not plan.creatable
    assert [(one.chain, one.paid) for one in plan.groups] == [("solana", "solana")]
    journal.close()


async def test_a_row_is_put_right_in_place(planner: BatchPlanner, api: PartnerApi) -> None:
    plan = await planned(planner, api, "@bob,0.0001,ETH,base,,,USDC.ethereum,")
    assert plan.problems
    sheet = edited(plan.sheet, 1, Column.AMOUNT, "100")
    after = await planner.with_limits(await planner.judged(sheet), api)
    assert after.creatable


async def test_limits_that_cannot_be_asked_lock_their_rows(
    planner: BatchPlanner, clock: ManualClock
) -> None:
    sheet = read_sheet("a.csv", csv_of("@bob,100,ETH,base,,,USDC.ethereum,"))
    plan = await planner.judged(sheet)
    assert not plan.creatable
    credentials = Credentials.of_key("first-key", "first-secret")
    refusing = httpx.MockTransport(
        lambda request: httpx.Response(
            404, json={"code": "TOKEN_DISABLED", "message": "to is disabled", "requestId": "1"}
        )
    )
    async with PartnerApi(
        "http://127.0.0.1/v2", credentials, clock=clock, transport=refusing
    ) as nobody:
        after = await planner.with_limits(plan, nobody)
    assert [code for code, _ in found(after.rows[0])] == ["LIMITS_UNKNOWN"]
    assert not after.creatable


async def test_rows_are_told_while_they_are_judged(planner: BatchPlanner) -> None:
    rows = ["@bob,bad,ETH,base,,,USDC.ethereum,"] * (3 * STEP)
    seen: list[int] = []
    await planner.judged(
        read_sheet("a.csv", csv_of(*rows)), lambda so_far: seen.append(len(so_far))
    )
    assert seen == [STEP, 2 * STEP, 3 * STEP]


async def test_the_template_is_a_clean_plan(
    planner: BatchPlanner, api: PartnerApi, book: AddressBook
) -> None:
    plan = await planner.judged(read_sheet("t.csv", template(book).encode()))
    assert [row.state for row in plan.rows] == ["ready"] * 3
