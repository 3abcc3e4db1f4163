"""Batches created against a real service: journaled first, never twice, every row told; an order
is that of its row only when nothing of it differs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from msgspec import Struct

from flows.batch.test_reading import read_sheet
from flows.faulty_network import After, FaultyNetwork, changed, lose_answer, on, refuse_connection
from flows.orders import ETH, RECIPIENT, order
from rows import each_row
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.cli.batch_report import GroupDocument
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import Unreachable
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.batches import (
    Batch,
    find_batch,
    move_group,
    move_row,
    newest_batches,
)
from swapdesk.flows.batch.building import differing
from swapdesk.flows.batch.creation import BatchCreation, NotCreatable
from swapdesk.flows.batch.plan import BatchPlan, plan_of
from swapdesk.flows.batch.planner import BatchPlanner
from swapdesk.flows.batch.progress import (
    HEADS,
    failed_sheet,
    result_rows,
    results_csv,
    standings,
)
from swapdesk.flows.batch.rows import Became, Group, GroupWord, selling, skipping
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import ClaimTaken, State
from swapdesk.flows.notation import iso
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.wire.multi import MultiOrderRequest
from swapdesk.wire.orders import DisplayStatus
from world import World

HEAD = "to,sell_amount,buy,chain,memo,route,sell\n"
DAY = 86_400.0
SPOILT = ("1.07712E+09", "#N/A", "nan", "1077120.0")
CLEAN = ("@bob,100,ETH,base,,,USDC.ethereum", "@rita,200,XRP,xrp,,,USDC.ethereum")


class Desk(Struct):
    clock: ManualClock
    network: FaultyNetwork
    api: PartnerApi
    journal: Journal
    planner: BatchPlanner

    @property
    def creation(self) -> BatchCreation:
        return BatchCreation(self.api, self.journal, self.clock, looks=(0.0,))

    def batch(self, batch_id: str) -> Batch:
        batch = find_batch(self.journal.ledger, batch_id)
        assert batch is not None
        return batch

    async def run(self, batch_id: str) -> list[Group]:
        """The groups that came to something."""
        return [group async for group, _ in self.creation.run(batch_id)]

    def left(self, batch_id: str) -> bool:
        """The first group leaves, and the desk dies."""
        (group,) = self.batch(batch_id).groups
        return move_group(self.journal.ledger, group, State.SENT, server_at=self.api.server_now())

    async def plan(self, *rows: str, sell: str = "") -> BatchPlan:
        content = (HEAD + "\n".join(rows) + "\n").encode()
        plan = await self.planner.judged(selling(read_sheet("payout.csv", content), sell))
        return await self.planner.with_limits(plan, self.api)

    async def groups(self) -> set[str | None]:
        """Groups the service has."""
        return {order.multi_id for order in (await self.api.list_orders()).orders}


@pytest.fixture
def desk(world: World, catalog: Catalog, book: AddressBook) -> Desk:
    planner = BatchPlanner(catalog, book, world.journal, world.clock, live=False)
    return Desk(world.clock, world.network, world.api, world.journal, planner)


async def test_a_clean_file_becomes_a_group_with_an_order_a_row(desk: Desk) -> None:
    plan = await desk.plan(*CLEAN)
    batch_id = desk.creation.write(plan)
    written = desk.batch(batch_id)
    assert [group.word for group in written.groups] == ["PREPARED"]
    (group,) = await desk.run(batch_id)
    assert group.word == "ACKED"
    assert [row.became for row in group.rows] == ["created"] * 2
    status = await desk.api.get_multi_exchange(str(group.multi_id))
    assert [order.service_id for order in status.orders] == [row.service_id for row in group.rows]
    assert await desk.run(batch_id) == []
    assert await desk.groups() == {group.multi_id}
    # A result for each line of the file.
    batch = desk.batch(batch_id[:8])
    assert batch.operation.state is State.DONE
    assert {row.act.body["place"] for row in batch.rows} == {0, 1}
    read = list(csv.reader(io.StringIO(results_csv(result_rows(batch, {})).decode())))
    assert read[0] == [*HEADS]
    assert read[0][2:6] == ["to", "sell_amount", "sell", "buy"]
    assert [row[:6] for row in read[1:]] == [
        ["1", "2", "'@bob", "100", "USDC.ethereum", "ETH"],
        ["2", "3", "'@rita", "200", "USDC.ethereum", "XRP"],
    ]
    assert {row[read[0].index("state")] for row in read[1:]} == {"created"}


async def test_the_same_rows_are_created_again_only_on_purpose(desk: Desk) -> None:
    plan = await desk.plan(*CLEAN)
    first = desk.creation.write(plan)
    with pytest.raises(ClaimTaken):
        desk.creation.write(plan, again=True)  # the first one has not left yet
    await desk.run(first)
    with pytest.raises(ClaimTaken) as caught:
        desk.creation.write(plan)
    assert caught.value.holder.id == first
    # Rows that are orders stay so when they are asked for again and refused.
    refused = desk.creation.write(plan, again=True)
    assert desk.left(refused)
    (group,) = desk.batch(refused).groups
    assert move_group(desk.journal.ledger, group, State.REFUSED, reasons=["no", "no"])
    assert desk.batch(refused).operation.state is State.REFUSED
    with pytest.raises(ClaimTaken) as caught:
        desk.creation.write(plan)
    assert caught.value.holder.id == first
    await desk.run(desk.creation.write(plan, again=True))
    assert len(await desk.groups()) == 2


async def test_rows_that_were_created_are_told_in_every_other_file(desk: Desk) -> None:
    """One row is skipped or changed, and the file is another one: its other rows are not."""
    more = "@bob,300,ETH,base,,,USDC.ethereum"
    plan = await desk.plan(*CLEAN, more)
    some = plan_of(skipping(plan.sheet, {3}), plan.rows, limits_known=True)
    batch_id = desk.creation.write(some)
    waiting = await desk.plan(*CLEAN)
    assert [row.state for row in waiting.rows] == ["look"] * 2
    await desk.run(batch_id)
    again = await desk.plan(more, *CLEAN)
    assert [row.state for row in again.rows] == ["ready", "look", "look"]
    (said,) = again.rows[2].findings
    assert (said.code, said.column) == ("CREATED_BEFORE", None)
    assert said.reason == f"The same payment as row 2 of batch {batch_id[:8]}."
    assert again.creatable
    # Of a batch that is shown they are its own.
    made = await desk.planner.judged(plan.sheet, made=True)
    assert [row.state for row in made.rows] == ["ready"] * 3
    desk.clock.advance(2 * DAY)
    assert [row.state for row in (await desk.plan(*CLEAN)).rows] == ["ready"] * 2


async def test_rows_that_may_have_been_created_are_in_no_other_batch(desk: Desk) -> None:
    more = "@bob,300,ETH,base,,,USDC.ethereum"
    batch_id = desk.creation.write(await desk.plan(*CLEAN))
    assert desk.left(batch_id)
    desk.clock.advance(3 * DAY)
    plan = await desk.plan(more, CLEAN[0])
    assert [row.state for row in plan.rows] == ["ready", "problem"]
    (said,) = plan.rows[1].findings
    assert said.reason == (
        f"Row 1 of batch {batch_id[:8]} asks for the same payment, and may have been created."
    )
    with pytest.raises(NotCreatable):
        desk.creation.write(plan, agreed=True, again=True)


async def test_a_row_that_is_doubted_is_agreed_to_before_it_is_written(desk: Desk) -> None:
    """The receiver of a spoilt memo would get nothing; of a token the service itself warns."""
    to = derive_address("xlm", bytes(32))
    memos = [f"{to},250,XLM,stellar,{memo},,USDC.ethereum" for memo in SPOILT]
    tokens = ["@bob,100,BTC,bsc,,,USDC.ethereum", "@bob,1,ETH,base,,,BTC.bsc"]
    for rows, code in ((memos, "MEMO_WARNING"), (tokens, "TOKEN_WARNING")):
        plan = await desk.plan(*rows)
        assert [row.state for row in plan.rows] == ["look"] * len(rows)
        assert {one.code for row in plan.rows for one in row.findings} == {code}
        assert plan.creatable
        assert [number for number, _ in plan.doubted] == [row.number for row in plan.rows]
        with pytest.raises(NotCreatable):
            desk.creation.write(plan)
        assert newest_batches(desk.journal.ledger, 9) == []
    assert desk.creation.write(plan, agreed=True)


async def test_a_batch_that_is_to_be_paid_says_so_before_anything_leaves(desk: Desk) -> None:
    plan = await desk.plan(*CLEAN)
    paid = desk.creation.write(plan, payer="trading")
    assert desk.batch(paid).payer == "trading"
    (standing,) = standings(desk.journal, paid)
    assert GroupDocument(standing).next == f"you: swapdesk batch resume {paid[:8]}"
    await desk.run(paid)
    again = desk.creation.write(plan, again=True)
    assert desk.batch(again).payer is None


@pytest.mark.parametrize(
    ("before", "after", "died", "state", "rows", "says"),
    [
        (None, lose_answer, False, "RESOLVED_YES", "created", "build"),
        (refuse_connection, None, False, "PREPARED", "planned", "resume"),
        # There is nothing to go on with: its rows are created anew, on purpose.
        (None, None, True, "RESOLVED_NO", "failed", "create --failed"),
    ],
)
async def test_what_became_of_a_create_is_looked_for_and_what_left_is_never_sent_again(
    desk: Desk,
    before: Callable[[httpx2.Request], None] | None,
    after: After | None,
    died: bool,
    state: GroupWord,
    rows: Became,
    says: str,
) -> None:
    """Beside the group of another batch, which is not taken for it."""
    await desk.run(desk.creation.write(await desk.plan("@bob,101,ETH,base,,,USDC.ethereum")))
    others = await desk.groups()
    batch_id = desk.creation.write(await desk.plan(*CLEAN))
    desk.network.before, desk.network.after = before, after
    if died:
        assert desk.left(batch_id)
    ((group, error),) = [each async for each in desk.creation.run(batch_id)]
    assert group.word == state
    assert isinstance(error, Unreachable) is (before is not None)
    assert {row.became for row in group.rows} == {rows}
    (standing,) = standings(desk.journal, batch_id)
    assert GroupDocument(standing).next.startswith(f"you: swapdesk batch {says} {batch_id[:8]}")
    desk.network.before = desk.network.after = None
    made = {group.multi_id} if rows == "created" else set()
    assert await desk.groups() - others == made
    # Only what never left may leave later.
    again = await desk.run(batch_id)
    assert [one.word for one in again] == ["ACKED"] * (before is not None)


async def test_a_group_from_before_is_not_the_one_that_was_asked_for(desk: Desk) -> None:
    plan, answers = await desk.plan(*CLEAN), []

    def kept(body: bytes) -> bytes:
        answers.append(body)
        return answers[0]

    desk.network.after = on("POST", lambda _, response: changed(response, kept))
    ended = []
    for again in (False, True):
        (group,) = await desk.run(desk.creation.write(plan, again=again))
        ended.append(group)
    first, second = ended
    assert (first.word, second.word) == ("ACKED", "RESOLVED_YES")
    assert first.multi_id != second.multi_id
    names = [{row.service_id for row in group.rows} for group in ended]
    assert not names[0] & names[1]


async def test_one_order_is_not_the_order_of_two_rows(desk: Desk) -> None:
    def repeated(body: bytes) -> bytes:
        said = json.loads(body)
        said["orders"] = said["orders"][:1] * 2
        return json.dumps(said).encode()

    desk.network.after = on("POST", lambda _, response: changed(response, repeated))
    plan = await desk.plan(CLEAN[0], CLEAN[0])
    (group,) = await desk.run(desk.creation.write(plan))
    first, second = group.rows
    assert first.became == "created"
    assert (second.became, second.service_id) == ("unknown", None)
    assert second.reason == (
        f"The service answered with order {first.service_id}, which is of another row or was"
        " there before."
    )


async def test_results_are_read_again_as_the_same_rows(desk: Desk) -> None:
    """Also where cells would be computed, and where a token was named beside the file."""
    to, memos = derive_address("xlm", bytes(32)), ("'-7", "a;=1", "'text", "''@x", "1,5")
    rows = [*CLEAN, "@bob,101,ETH,base,,,", *(f'{to},250,XLM,stellar,"{one}",,' for one in memos)]
    plan = await desk.plan(*rows, sell="USDC.ethereum")
    assert plan.creatable
    batch_id = desk.creation.write(plan, agreed=True)
    await desk.run(batch_id)
    batch = desk.batch(batch_id)
    written = results_csv(result_rows(batch, {}))
    again = await desk.planner.with_limits(
        await desk.planner.judged(read_sheet("results.csv", written)), desk.api
    )
    assert [row.order for row in again.rows] == [row.order for row in plan.rows]
    assert [row.order.memo for row in again.rows if row.order][3:] == [
        "-7",
        "a;=1",
        "'text",
        "'@x",
        "1,5",
    ]
    with pytest.raises(ClaimTaken):
        desk.creation.write(again, agreed=True)


async def test_results_say_what_arrived_by_which_transaction_and_when(desk: Desk) -> None:
    batch_id = desk.creation.write(await desk.plan(*CLEAN))
    (made,) = await desk.run(batch_id)
    batch = desk.batch(batch_id)
    paid, back = (str(row.service_id) for row in made.rows)
    at = desk.clock.now()
    about = {"in_transaction_out_hash": "0xpaid", "order_finished_received": at}
    orders = {
        name: order(service_id=name, out_amount=Decimal("0.030190"), **about).model_copy(
            update={"status": status, "display_status": display}
        )
        for name, status, display in (
            (paid, 4, DisplayStatus.SWAP_COMPLETED),
            (back, 5, DisplayStatus.REFUNDED),
        )
    }
    first, second = result_rows(batch, orders)
    assert (first.order_state, first.received_amount) == ("SWAP_COMPLETED", Decimal("0.030190"))
    assert (first.payout_hash, first.finished) == ("0xpaid", at)
    assert (second.order_state, second.received_amount, second.payout_hash) == (
        "REFUNDED",
        None,
        None,
    )
    read = list(csv.DictReader(io.StringIO(results_csv([first, second]).decode())))
    assert [row["receivedAmount"] for row in read] == ["0.030190", ""]
    assert read[0]["finished"] == read[1]["finished"] == iso(at)


async def test_rows_that_failed_are_created_again_by_themselves_and_once(desk: Desk) -> None:
    batch_id = desk.creation.write(await desk.plan(*CLEAN))
    ledger = desk.journal.ledger
    batch = desk.batch(batch_id)
    assert failed_sheet(batch) is None  # nothing is known of them yet
    (group,) = batch.groups
    assert move_group(ledger, group, State.SENT, server_at=desk.api.server_now())
    assert move_group(ledger, group, State.DONE, multi_id="multi")
    first, second = group.rows
    move_row(ledger, first, State.DONE, service_id="kXb7PqLmN4sTvWzYcDfGhJ")
    why = "It is too little."
    move_row(ledger, second, State.REFUSED, code="AMOUNT_TOO_LOW", reason=why)
    batch = desk.batch(batch_id)
    sheet = failed_sheet(batch)
    assert [(row.number, row.line, row.cell("to")) for row in sheet.rows] == [(2, 3, "@rita")]
    plan = await desk.planner.with_limits(await desk.planner.judged(sheet), desk.api)
    again = desk.creation.write(plan)
    (group,) = await desk.run(again)
    assert [row.became for row in group.rows] == ["created"]
    with pytest.raises(ClaimTaken):
        desk.creation.write(plan)
    made = desk.batch(again)
    assert failed_sheet(made) is None


ORDER = order()


def asked(**changes: Any) -> MultiOrderRequest:
    fields: dict[str, Any] = {
        "from_": ORDER.in_token_id,
        "to": ORDER.out_token_id,
        "amount": Decimal("0.5"),
        "address_to": RECIPIENT,
    }
    return MultiOrderRequest(**{**fields, **changes})


@each_row(
    ("row", "change", "said"),
    [
        ({}, {"in_token_id": ETH.id}, "token sold"),
        ({}, {"out_token_id": "6689b73ec90e45f3b3e51500"}, "token bought"),
        ({}, {"receiver_address": derive_address("evm", b"x" * 32)}, "recipient"),
        ({}, {"receiver_address": None}, "recipient"),
        ({}, {"receiver_tag": "70417"}, "memo"),
        ({}, {"anonymous": True}, "route"),
        ({}, {"in_amount": Decimal("0.501")}, "amount"),
        ({}, {"in_amount": Decimal("0.499")}, "amount"),
        # What is within the tolerance or not said is the same.
        ({}, {}, None),
        ({}, {"receiver_address": RECIPIENT.lower()}, None),
        ({}, {"in_amount": Decimal("0.50004")}, None),
        ({}, dict.fromkeys(("in_token_id", "out_token_id", "anonymous", "in_amount")), None),
        # A memo of the row has to be repeated.
        ({"destination_tag": "70417"}, {}, "memo"),
        ({"destination_tag": "70417"}, {"receiver_tag": "70417"}, None),
    ],
)
def test_what_differs_from_the_row_is_named(
    row: dict[str, str], change: dict[str, Any], said: str | None
) -> None:
    assert differing(asked(**row), ORDER.model_copy(update=change)) == said


def test_a_memo_that_is_not_said_is_not_repeated() -> None:
    unsaid = ORDER.model_copy()
    unsaid.model_fields_set.discard("receiver_tag")
    assert differing(asked(destination_tag="70417"), unsaid) == "memo"
