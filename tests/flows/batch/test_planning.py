"""Plans of files against a real service: every problem named, twins kept, groups, limits."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace

from flows.batch.test_reading import read_sheet
from rows import each_row
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.client.api import PartnerApi
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.plan import BatchPlan, Means, against_means, plan_of
from swapdesk.flows.batch.planner import STEP, BatchPlanner, RowJudge, arrives_about
from swapdesk.flows.batch.reading import template, with_decimal_commas
from swapdesk.flows.batch.rows import (
    Row,
    Sheet,
    SheetColumn,
    selling,
    skipping,
)
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.payees.address_book import AddressBook, BookEntry
from swapdesk.sandbox.world import find_token
from swapdesk.wire.multi import MultiExchangeRequest
from swapdesk.wire.quotes import Limits, PairLimits
from world import World

HEAD = "to,amount,token,chain,memo,route,sell,refund\n"


def address(kind: str, name: str) -> str:
    return derive_address(kind, hashlib.sha256(name.encode()).digest())


@pytest.fixture
def planner(
    catalog: Catalog, book: AddressBook, clock: ManualClock, journal: Journal
) -> BatchPlanner:
    return BatchPlanner(catalog, book, journal, clock, live=False)


def csv_of(*rows: str, head: str = HEAD) -> bytes:
    return (head + "\n".join(rows) + "\n").encode()


async def planned(planner: BatchPlanner, api: PartnerApi, *rows: str) -> BatchPlan:
    plan = await planner.judged(read_sheet("payout.csv", csv_of(*rows)))
    return await planner.with_limits(plan, api)


def found(row: Row) -> list[tuple[str, SheetColumn | None]]:
    return [(one.code, one.column) for one in row.findings]


@pytest.mark.parametrize(
    ("row", "code", "column", "says"),
    [
        (",100,ETH,base,,,USDC.ethereum,", "NO_RECIPIENT", "to", "No recipient"),
        ("@nobody,100,ETH,base,,,USDC.ethereum,", "BAD_ADDRESS", "to", "address book"),
        ("@cold,100,ETH,base,,,USDC.ethereum,", "BAD_ADDRESS", "to", "Bitcoin"),
        (
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD,100,ETH,base,,,USDC.ethereum,",
            "BAD_ADDRESS",
            "to",
            "checksum",
        ),
        # Nobody is paid at the contract of a token.
        (
            f"{find_token('base', 'USDC').address},100,ETH,base,,,USDC.ethereum,",
            "BAD_ADDRESS",
            "to",
            "contract",
        ),
        ("@bob,,ETH,base,,,USDC.ethereum,", "NO_AMOUNT", "sell_amount", "No amount"),
        (
            '@bob,"1,5",ETH,base,,,USDC.ethereum,',
            "BAD_AMOUNT",
            "sell_amount",
            "write 1.5",
        ),
        (
            '@bob,"1,000",ETH,base,,,USDC.ethereum,',
            "BAD_AMOUNT",
            "sell_amount",
            "1.000 or 1000",
        ),
        ("@bob,0,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", "sell_amount", "above 0"),
        ("@bob,1e3,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", "sell_amount", "exponent"),
        (
            "@bob,1.1234567,ETH,base,,,USDC.ethereum,",
            "BAD_AMOUNT",
            "sell_amount",
            "6 decimals",
        ),
        ("@bob,=1+1,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", "sell_amount", '"="'),
        ("@bob,100,NOPE,base,,,USDC.ethereum,", "TOKEN_NOT_FOUND", "buy", "NOPE"),
        ("@bob,100,,base,,,USDC.ethereum,", "NO_TOKEN", "buy", "recipient"),
        ("@bob,100,ETH,base,,,,", "NO_TOKEN", "sell", "to sell"),
        ("@bob,100,ETH,,,,USDC.ethereum,", "AMBIGUOUS_TOKEN", "buy", "ETH.base"),
        ("@bob,100,ETH,base,,,USDC,", "AMBIGUOUS_TOKEN", "sell", "USDC."),
        ("@bob,100,ETH,atlantis,,,USDC.ethereum,", "NO_CHAIN", "chain", "atlantis"),
        (
            "@bob,100,ETH.base,ethereum,,,USDC.ethereum,",
            "OTHER_CHAIN",
            "chain",
            "Ethereum",
        ),
        ("@bob,100,ETH,base,,dex,USDC.ethereum,", "BAD_ROUTE", "route", "on chains"),
        ("@bob,100,ETH,base,,fast,USDC.ethereum,", "BAD_ROUTE", "route", "fast"),
        ("@bob,100,ETH,base,hello,,USDC.ethereum,", "BAD_MEMO", "memo", "no memos"),
        ("@rita,100,XRP,xrp,99999999999,,USDC.ethereum,", "BAD_MEMO", "memo", ""),
        ("@bob,100,USDC,ethereum,,,USDC.ethereum,", "SAME_TOKEN", "buy", "private"),
        ("@bob,100,ETH,base,,,USDC.ethereum,nonsense", "BAD_REFUND", "refund", ""),
        ("@bob,0.0001,ETH,base,,,USDC.ethereum,", "LIMITS", "sell_amount", "smallest"),
        ("@bob,90000000,ETH,base,,,USDC.ethereum,", "LIMITS", "sell_amount", "largest"),
        ("@bob,100,ETH,base,,,USDC.ethereum,,x", "TOO_MANY_CELLS", None, "x"),
        ("@bob,1,000.50,ETH,base,,standard,USDC.ethereum,", "TOO_MANY_CELLS", None, '"000.50"'),
        ("@bob,-5,ETH,base,,,USDC.ethereum,", "BAD_AMOUNT", "sell_amount", "no sign"),
        (
            "@bob," + "1" * 600 + ",ETH,base,,,USDC.ethereum,",
            "TOO_LONG",
            "sell_amount",
            "600",
        ),
    ],
)
async def test_a_bad_row_names_column_reason_and_what_to_do(
    planner: BatchPlanner,
    api: PartnerApi,
    row: str,
    code: str,
    column: SheetColumn | None,
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


async def test_disabled_and_malicious_tokens_are_never_planned(
    planner: BatchPlanner, api: PartnerApi, catalog: Catalog
) -> None:
    disabled = next(row for row in catalog.rows if not row.enabled and row.kind == "evm")
    malicious = next(row for row in catalog.rows if row.enabled and row.verdict == "malicious")
    to = address("evm", "somebody")
    plan = await planned(
        planner,
        api,
        f"{to},1,{disabled.id},,,,USDC.ethereum,",
        f"{to},1,{malicious.id},,,,USDC.ethereum,",
        f"{to},1,ETH.base,,,,{malicious.id},",
    )
    assert found(plan.rows[0])[0] == ("TOKEN_DISABLED", "buy")
    assert ("TOKEN_REFUSED", "buy") in found(plan.rows[1])
    assert ("TOKEN_REFUSED", "sell") in found(plan.rows[2])
    assert plan.groups == ()


async def test_twins_are_flagged_and_kept_in_whatever_spelling(
    planner: BatchPlanner, api: PartnerApi, book: AddressBook, bob: BookEntry
) -> None:
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


XRP = "rDsbeomae4FXwgQTJp9Rs64Qg9vDiTCdBv"
XLM = "GDRXE2BQUC3AZNPVFSCEZ76NJ3WWL25FYFK6RGZGIEKWE4SOOHSUJUJ6"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (f"{XRP},100,XRP,xrp,7", f"{XRP},100,XRP,xrp,7", True),
        (f"{XRP},100,XRP,xrp,7", f"{XRP},100.00,XRP.xrp,xrp,007", True),
        ("@rita,100,XRP,xrp,", "@rita,100,XRP,xrp,20117", True),
        (f"{XRP},100,XRP,xrp,7", f"{XRP},100,XRP,xrp,8", False),
        (f"{XRP},100,XRP,xrp,7", f"{XRP},100,XRP,xrp,NO MEMO", False),
        # No tags, as a spreadsheet made both of another one.
        (f"{XRP},100,XRP,xrp,1.1E+05", f"{XRP},100,XRP,xrp,1.2E+05", False),
        (f"{XRP},100,XRP,xrp,1.1E+05", f"{XRP},100,XRP,xrp,1.1E+05", False),
        (f"{XRP},100,XRP,xrp,", f"{XRP},100,XRP,xrp,", False),
        (f"{XLM},100,XLM,stellar,1.1E+05", f"{XLM},100,XLM,stellar,1.2E+05", False),
        (f"{XLM},100,XLM,stellar,7", f"{XLM},100,XLM,stellar,007", False),
        (f"{XLM},100,XLM,stellar, seven", f"{XLM},100,XLM,stellar,seven\u00a0", True),
        ("@bob,100,ETH,base,", "@bob,100,ETH,arbitrum,", False),
        ("@bob,100,ETH,base,", "@bob,100,USDC,base,", False),
        ("@bob,100,ETH,base,", "@bob,100.000001,ETH,base,", False),
    ],
)
async def test_rows_are_called_the_same_where_the_same_is_paid(
    planner: BatchPlanner, api: PartnerApi, first: str, second: str, same: bool
) -> None:
    plan = await planned(planner, api, *(f"{row},,USDC.ethereum," for row in (first, second)))
    assert found(plan.rows[0]).count(("DUPLICATE", None)) == 0
    assert (("DUPLICATE", None) in found(plan.rows[1])) == same


@pytest.mark.parametrize(
    ("row", "codes"),
    [
        (
            ',"1,5",NOPE,,,dex,USDC,',
            {"NO_RECIPIENT", "BAD_AMOUNT", "TOKEN_NOT_FOUND", "BAD_ROUTE", "AMBIGUOUS_TOKEN"},
        ),
        # A formula is data.
        (
            f"{address('xrp', 'an exchange')},100,XRP,xrp,+7,,USDC.ethereum,",
            {"FORMULA", "BAD_MEMO"},
        ),
    ],
)
async def test_all_that_is_wrong_with_a_row_is_told_at_once(
    planner: BatchPlanner, api: PartnerApi, row: str, codes: set[str]
) -> None:
    assert {code for code, _ in found((await planned(planner, api, row)).rows[0])} == codes


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
    assert (first.state, first.order.memo) == ("ready", "20117")
    assert found(other) == [("MEMO_WARNING", "memo")]
    assert (waived.state, waived.order.memo) == ("look", None)
    assert found(missing) == [("NO_MEMO", "memo")]
    (said,) = missing.findings
    assert said.do.endswith("into the cell memo, or NO MEMO if the wallet has none.")


async def test_a_row_to_what_only_a_program_can_spend_from_is_agreed_to(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    vault = "5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1"
    plan = await planned(
        planner,
        api,
        f"{vault},100,SOL,solana,,,USDC.ethereum,",
        "@sol,100,SOL,solana,,,USDC.ethereum,",
        f"@bob,5,ETH,base,,,SOL.solana,{vault}",
    )
    paid, named, refunded = plan.rows
    assert found(paid)[0] == ("ADDRESS_WARNING", "to")
    assert found(refunded) == [("ADDRESS_WARNING", "refund")]
    assert [number for number, _ in plan.doubted] == [paid.number, refunded.number]
    assert not [one for one in named.findings if one.level == "consent"]


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
    assert found(plan.rows[9]) == [("NO_BUNDLER", "sell")]
    assert (plan.calls.create, plan.calls.submit) == (3, 2)
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
    assert found(bundled) == [("NO_SMART_ACCOUNTS", "sell")]
    (said,) = bundled.findings
    assert "pays no bundles on Ethereum" in said.reason
    assert "by itself" in said.do
    assert solana.state == "ready"
    assert found(alone) == [("NO_BUNDLER", "sell")]
    assert not plan.creatable
    assert [(one.chain, one.paid) for one in plan.groups] == [("solana", "solana")]
    journal.close()


async def test_what_the_wallet_has_too_little_for_is_a_problem_of_the_plan(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    plan = await planned(
        planner,
        api,
        "@bob,4000,ETH,base,,,USDC.ethereum,",
        "@rita,50000,XRP,xrp,,,USDC.ethereum,",
        "@bob,6000,ETH,base,,,USDC.ethereum,",
        "@bob,1,ETH,base,,,ETH.ethereum,",
        "@bob,1,ETH,base,,private,SOL.solana,",
        "@rita,3000,XRP,xrp,,,USDC.ethereum,",
    )
    assert plan.creatable
    usdc = plan.totals[0].token
    means = Means("ethereum", "trading", held={usdc.id: Decimal(10_000)})
    short = against_means(plan, [means])
    assert [row.number for row in short.problems] == [2, 6]
    (said,) = short.rows[1].findings
    assert (said.code, said.column) == ("NOT_IN_WALLET", "sell_amount")
    assert said.reason == (
        "Wallet trading has 10,000 USDC on Ethereum, and the rows before take 4,000 USDC of it:"
        " 44,000 USDC are missing."
    )
    assert not short.creatable
    # The total is of all that would be sold, or it would say that nothing is missing.
    assert short.totals == plan.totals
    assert means.missing(short.totals[0]) == 53_000
    assert against_means(short, [means]) is short
    # What a failed bundle left in the smart account is paid from there; the faucet may be late;
    # and what is not known is no problem.
    beside = replace(means, in_smart_account={usdc.id: Decimal(53_000)})
    unread = replace(means, held={usdc.id: None})
    for known in (beside, replace(means, filling=True), unread):
        assert against_means(short, [known]).rows == plan.rows
    assert against_means(short, []).creatable


async def test_a_row_that_is_skipped_is_left_out_of_everything_until_it_is_taken_in_again(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    plan = await planned(
        planner,
        api,
        "@bob,100,ETH,base,,,USDC.ethereum,",
        "@bob,0.0001,ETH,base,,,USDC.ethereum,",
        "@bob,100,ETH,base,,,USDC.ethereum,",
        "@bob,90,BTC,bsc,,,USDC.ethereum,",
        "@rita,1200,XRP,xrp,,,USDC.ethereum,",
        "@bob,1,ETH,base,,,SOL.solana,",
    )
    means = (Means("ethereum", "trading", held={plan.totals[0].token.id: Decimal(1_350)}),)
    plan = against_means(plan, means)
    assert [row.state for row in plan.rows] == [
        "ready",
        "problem",
        "look",
        "look",
        "problem",
        "ready",
    ]

    def without(*numbers: int) -> BatchPlan:
        sheet = skipping(plan.sheet, numbers)
        return against_means(plan_of(sheet, plan.rows, limits_known=True), means)

    assert not without(5).creatable
    some = without(2, 5)
    assert [row.state for row in some.rows] == [
        "ready",
        "skipped",
        "look",
        "look",
        "skipped",
        "ready",
    ]
    assert some.creatable
    assert [one.number for group in some.groups for one in group.rows] == [1, 3, 4, 6]
    assert [(one.amount, one.rows) for one in some.totals] == [(290, 3), (1, 1)]
    assert {one.token.symbol for one in some.arrivals} == {"ETH", "BTC"}
    assert some.routes == {"standard": 4}
    # It is neither somebody's twin nor doubted, and takes nothing out of the wallet.
    others = without(1, 2, 4)
    assert [row.state for row in others.rows] == ["skipped", "skipped", "ready", "skipped"] + [
        "ready"
    ] * 2
    assert others.doubts == ()
    assert len(some.doubts) == 1
    assert others.creatable
    again = skipping(others.sheet, (1, 2, 4))
    assert against_means(plan_of(again, others.rows, limits_known=True), means) == plan
    assert not without(*range(1, 7)).creatable
    with pytest.raises(KeyError):
        without(7)
    # Judged anew, as when a cell is corrected, it stays skipped.
    judged = await planner.with_limits(await planner.judged(some.sheet), api)
    assert against_means(judged, means) == some


async def test_limits_that_cannot_be_asked_lock_their_rows(
    planner: BatchPlanner, world: World
) -> None:
    sheet = read_sheet("a.csv", csv_of("@bob,100,ETH,base,,,USDC.ethereum,"))
    plan = await planner.judged(sheet)
    assert not plan.creatable
    world.network.inner = httpx2.MockTransport(
        lambda request: httpx2.Response(
            404, json={"code": "TOKEN_DISABLED", "message": "to is disabled", "requestId": "1"}
        )
    )
    after = await planner.with_limits(plan, world.api)
    assert [code for code, _ in found(after.rows[0])] == ["LIMITS_UNKNOWN"]
    assert not after.creatable


async def test_rows_are_told_while_they_are_judged(planner: BatchPlanner) -> None:
    rows = ["@bob,bad,ETH,base,,,USDC.ethereum,"] * (3 * STEP)
    seen: list[int] = []
    await planner.judged(
        read_sheet("a.csv", csv_of(*rows)), lambda so_far: seen.append(len(so_far))
    )
    assert seen == [STEP, 2 * STEP, 3 * STEP]


async def test_the_template_is_a_clean_plan_that_sells_what_it_says(
    planner: BatchPlanner, api: PartnerApi, book: AddressBook
) -> None:
    written = template(book)
    assert written.startswith("to,sell_amount,sell,buy,chain,memo,route\n")
    assert "@rita,250,USDC.ethereum,XRP,xrp,20117,standard\n" in written
    plan = await planner.judged(read_sheet("t.csv", written.encode()))
    assert [row.state for row in plan.rows] == ["ready"] * 3
    assert plan.heads_note is None
    rita = plan.rows[2].order
    assert (rita.amount, rita.token_in.symbol, rita.token_out.symbol) == (250, "USDC", "XRP")


async def test_heads_of_before_say_once_how_the_amount_is_read(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    plan = await planned(
        planner,
        api,
        "@bob,100,USDC,ethereum,,private,USDC.ethereum,",
        "@rita,250,XRP,xrp,,,USDC.ethereum,",
        "@bob,100,ETH,base,,,USDC.ethereum,",
    )
    assert plan.heads_note == (
        "The amount counts what is sold: row 2 sells 250 USDC and buys XRP. It does not buy"
        " 250 XRP. The heads sell_amount, sell and buy say so."
    )


async def test_a_plan_says_about_what_arrives_without_a_quote(
    planner: BatchPlanner, api: PartnerApi
) -> None:
    """By prices of the list, and never outside of what the limits state as received."""
    plan = await planned(
        planner,
        api,
        "@rita,250,XRP,xrp,,,USDC.ethereum,",
        "@rita,250,XRP,xrp,,private,USDC.ethereum,",
        "@bob,100,ETH,base,,,USDC.ethereum,",
        "@bob,5,USDC,ethereum,,private,USDC.ethereum,",
        "@bob,bad,ETH,base,,,USDC.ethereum,",
    )
    orders = [row.order for row in plan.rows if row.order is not None]
    assert orders[3].about == Decimal(5)
    assert [(one.token.symbol, one.rows) for one in plan.arrivals] == [
        ("XRP", 2),
        ("ETH", 1),
        ("USDC", 1),
    ]
    assert plan.arrivals[0].about == (orders[0].about or 0) + (orders[1].about or 0)


def limits(**bucket: str) -> PairLimits:
    return PairLimits(cex=Limits(**{name: Decimal(text) for name, text in bucket.items()}))


@pytest.mark.parametrize(
    ("prices", "stated", "about"),
    [
        (("2", "4"), None, "50"),
        (("2", "4"), limits(min="10", max="1000"), "50"),
        # Prices may be old: what the pair itself states as received bounds them.
        (("2", "4"), limits(min="10", max="100", min_out="4", max_out="40"), "40"),
        (("2", "4"), limits(min="100", max="900", min_out="60", max_out="500"), "60"),
        # The smallest amount loses 1 of its worth of 5, and so does every other.
        (("2", "4"), limits(min="10", max="0", min_out="4", max_out="0"), "49"),
        (("2", "4"), limits(min="10", max="1000", min_out="4", max_out="480"), "49"),
        # An amount that the pair does not take buys neither.
        (("2", "4"), limits(min="200", max="900", min_out="60", max_out="500"), "50"),
        (("2", "4"), limits(min="10", max="90", min_out="4", max_out="40"), "50"),
        # A token without a price: on the line between the two limits.
        ((None, "4"), limits(min="0", max="200", min_out="0", max_out="80"), "40"),
        ((None, "4"), limits(min="50", max="150", min_out="10", max_out="70"), "40"),
        (("2", None), limits(min="100", max="100", min_out="7", max_out="7"), "7"),
        (("2", None), limits(min="10", max="0", min_out="4", max_out="0"), None),
        (("2", None), limits(min="10", max="1000"), None),
        (("2", "0"), None, None),
    ],
)
async def test_what_arrives_is_of_prices_and_limits(
    planner: BatchPlanner,
    api: PartnerApi,
    prices: tuple[str | None, str | None],
    stated: PairLimits | None,
    about: str | None,
) -> None:
    plan = await planned(planner, api, "@rita,100,XRP,xrp,,,USDC.ethereum,")
    order = plan.rows[0].order
    assert order is not None
    sold, bought = (None if one is None else Decimal(one) for one in prices)
    priced = replace(
        order,
        token_in=order.token_in.model_copy(update={"price": sold}),
        token_out=order.token_out.model_copy(update={"price": bought}),
    )
    known = {} if stated is None else {order.pair: stated}
    assert arrives_about(priced, known) == (None if about is None else Decimal(about))


@pytest.mark.parametrize(
    ("amounts", "offered"),
    [
        (("1,5", "1,234", "20"), True),
        (("1,5", "1.5"), False),
        (("1,5", "-1"), False),
        (("1,5", "1,2,3"), False),
        (("20", "30"), False),
    ],
)
async def test_decimal_commas_are_offered_where_they_are_all_that_is_wrong(
    planner: BatchPlanner, api: PartnerApi, amounts: tuple[str, ...], offered: bool
) -> None:
    rows = [f'@bob,"{amount}",ETH,base,,,ETH.ethereum,' for amount in amounts]
    plan = await planned(planner, api, *rows)
    first = plan.comma_problem
    assert (first is not None) == offered
    other = await planned(planner, api, *rows, "@nobody,1,ETH,base,,,USDC.ethereum,")
    assert other.comma_problem is None
    if first is not None:
        assert first.number == 1
        read = await planner.judged(with_decimal_commas(plan.sheet))
        found = [row.order.amount for row in read.rows if row.order is not None]
        assert found == [Decimal("1.5"), Decimal("1.234"), Decimal(20)]


@pytest.fixture
def tokens(catalog: Catalog, book: AddressBook, clock: ManualClock) -> RowJudge:
    return RowJudge(catalog, clock.now(), book, {}, (), smart_accounts=True)


def row(**cells: str) -> Row:
    return Row(1, 2, dict(cells))


@each_row(
    ("cells", "symbol", "chain"),
    [
        ({"buy": "ETH.base"}, "ETH", "base"),
        ({"buy": "eth", "chain": "BASE"}, "ETH", "base"),
        ({"buy": "ETH.base", "chain": "base"}, "ETH", "base"),
        ({"buy": "btc", "chain": "Bitcoin"}, "BTC", "bitcoin"),
    ],
)
def test_a_row_names_its_token_in_one_cell_or_two(
    cells: dict[str, str], symbol: str, chain: str, tokens: RowJudge
) -> None:
    token, said = tokens.named(row(**cells), "buy")
    assert (token.symbol, token.chain_data.short_name, said) == (symbol, chain, ())


def test_the_chain_of_a_row_is_that_of_what_the_recipient_gets(tokens: RowJudge) -> None:
    both = row(buy="ETH", chain="base", sell="USDC.ethereum")
    sold, _ = tokens.named(both, "sell")
    assert sold.chain_data.short_name == "ethereum"


def test_a_row_that_sells_nothing_by_name_sells_what_is_said_beside_the_sheet(
    tokens: RowJudge,
) -> None:
    rows = (row(buy="ETH.base"), row(buy="ETH.base", sell="ETH.base"), row(sell=" "))
    sheet = selling(Sheet("a.csv", ",", True, (), rows), "USDC.ethereum")
    sold = [tokens.named(one, "sell") for one in sheet.rows]
    assert [token.symbol for token, _ in sold if token] == ["USDC", "ETH", "USDC"]
    assert selling(sheet, "") is sheet
    none, (finding,) = tokens.named(row(), "sell")
    assert (none, finding.code, finding.column) == (None, "NO_TOKEN", "sell")


@each_row(
    ("cells", "code"),
    [
        ({"buy": "avax"}, "TOKEN_DISABLED"),
        ({"buy": "disabled"}, "TOKEN_NOT_FOUND"),
        ({"buy": "disabled", "chain": "base"}, "TOKEN_NOT_FOUND"),
    ],
)
def test_a_token_is_disabled_by_what_the_list_says_and_not_by_its_name(
    cells: dict[str, str], code: str, tokens: RowJudge
) -> None:
    token, (finding,) = tokens.named(row(**cells), "buy")
    assert (token, finding.code, finding.column) == (None, code, "buy")
