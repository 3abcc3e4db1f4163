"""``batch`` against a real sandbox: problems, one group, its results, never the same twice."""

from __future__ import annotations

import csv
import io
import re
from contextlib import closing
from pathlib import Path

from cli.desks import Desk, batch_file
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.cli.command_error import Exit
from swapdesk.clock import SystemClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.paths import Home
from swapdesk.settings import load_settings

CLEAN = "@bob,150,ETH,base,USDC.ethereum", "@cold,250,BTC,bitcoin,USDC.ethereum"


def test_a_bad_file_names_row_column_and_reason(desk: Desk, tmp_path: Path) -> None:
    rows = (row.replace(",", ";") for row in CLEAN)
    head = "to;sell_amount;buy;chain;sell"
    file = batch_file(tmp_path, *rows, "@bob;150,0;ETH;base;USDC.ethereum", head=head)
    shown = desk("batch", "plan", file, "--json")
    assert shown.code == Exit.BAD_INPUT
    plan = shown.document
    assert (plan["separator"], plan["problems"], plan["creatable"]) == ("semicolon", 1, False)
    (finding,) = plan["rows"][2]["findings"]
    assert (finding["code"], finding["column"]) == ("BAD_AMOUNT", "sell_amount")
    assert plan["rows"][2]["line"] == 4
    desk.refused(Exit.BAD_INPUT, "BATCH_PROBLEMS", "batch", "create", file, "--yes")
    assert "--decimal-comma reads 1,5 as 1.5" in desk("batch", "plan", file).stderr
    assert desk.made("batch", "plan", file, "--decimal-comma")["decimalComma"]
    mixed = batch_file(tmp_path, "@bob;157,5;ETH;base;USDC.ethereum", "@bob;1.5;ETH", head=head)
    desk.refused(Exit.BAD_INPUT, "DECIMAL_COMMA", "batch", "plan", mixed, "--decimal-comma")


def test_limits_that_cannot_be_asked_for_are_no_fault_of_the_file(
    desk: Desk, tmp_path: Path
) -> None:
    good = batch_file(tmp_path, "@bob,151,ETH,base,USDC.ethereum")
    desk.sandbox.fault("http_500", operation="get_pair_limits", times=1000)
    for words in (("plan",), ("create", "--yes")):
        failed = desk("batch", *words, good, "--json")
        assert (failed.code, failed.error["status"]) == (Exit.UNREACHABLE, 500)
        assert failed.error["money"].startswith("in your wallet")


def test_rows_that_are_skipped_are_left_out_and_the_others_created(
    desk: Desk, tmp_path: Path
) -> None:
    rows = ("@bob,x", "@bob,161", "@nobody,5", "@bob,162")
    file = batch_file(tmp_path, *(f"{row},ETH,base,USDC.ethereum" for row in rows))
    for skip, code in (("5", "NO_ROW"), ("1,x", "USAGE"), ("1,2,3,4", "BATCH_PROBLEMS")):
        desk.refused(Exit.BAD_INPUT, code, "batch", "create", file, "--skip", skip, "--yes")
    created = desk.made("batch", "create", file, "--skip", "3,1", "--yes")
    assert [(row["row"], row["line"]) for row in created["rows"]] == [(2, 3), (4, 5)]


def test_a_batch_is_created_once_and_exported_line_by_line(desk: Desk, tmp_path: Path) -> None:
    file = batch_file(tmp_path, *CLEAN)
    batch = desk.made("batch", "create", file, "--yes")
    assert [row["state"] for row in batch["rows"]] == ["created", "created"]
    assert batch["groups"][0]["multiId"]
    desk.refused(Exit.OWN_REFUSAL, "CREATED_BEFORE", "batch", "create", file, "--yes")
    exported = desk("batch", "export", batch["batch"][:8])
    rows = list(csv.DictReader(io.StringIO(exported.stdout)))
    assert [(row["line"], row["serviceId"]) for row in rows] == [
        (str(row["line"]), row["serviceId"]) for row in batch["rows"]
    ]
    assert {row["orderState"] for row in rows} == {"WAITING_FOR_DEPOSIT"}


def test_both_sides_of_a_row_are_told_and_heads_of_before_are_explained(
    desk: Desk, tmp_path: Path
) -> None:
    rows = (
        "@rita,250,XRP,xrp,,,USDC.ethereum",
        "@bob,155,ETH,base,,,USDC.ethereum",
        f"0x{'1a' * 20},156,ETH,base,,,USDC.ethereum",
    )
    head = "to,amount,token,chain,memo,route,sell"
    read = desk("batch", "plan", batch_file(tmp_path, *rows, head=head))
    assert re.search(r"250 USDC\.ethereum +≈ [0-9.]+ XRP\.xrp +standard +ready", read.stdout)
    assert re.search(r"Sells +561 USDC on Ethereum\n", read.stdout)
    assert re.search(r"Arrives +≈ [0-9.]+ XRP on XRP Ledger, ≈ 0\.[0-9]+ ETH on Base", read.stdout)
    note = "row 1 sells 250 USDC and buys XRP. It does not buy 250 XRP."
    assert read.stderr.count(note) == 1
    assert "Rows to look at are created as they stand" in read.stderr


def test_a_row_with_a_spoilt_memo_is_created_once_it_is_agreed_to(
    desk: Desk, tmp_path: Path
) -> None:
    row = f"{derive_address('xlm', bytes(32))},251,XLM,stellar,#N/A,USDC.ethereum"
    file = batch_file(tmp_path, row, head="to,sell_amount,buy,chain,memo,sell")
    words = ("batch", "create", file, "--yes")
    refused = desk.refused(Exit.OWN_REFUSAL, "MEMO_WARNING", *words)
    assert "--accept-warnings" in refused["next"]
    desk.made(*words, "--accept-warnings")


def test_a_create_that_was_not_let_through_is_gone_on_with(desk: Desk, tmp_path: Path) -> None:
    file = batch_file(tmp_path, "@bob,185,ETH,base,USDC.ethereum")
    desk.sandbox.fault("rate_limited", operation="create_multi_exchange", times=2)
    stopped = desk("batch", "create", file, "--yes", "--json")
    error = stopped.error
    assert (stopped.code, error["code"]) == (Exit.RATE_LIMITED, "RATE_LIMIT_EXCEEDED")
    assert error["money"] == "in your wallet; no deposit was paid"
    batch = stopped.document["batch"]
    assert error["next"].endswith(f"swapdesk batch resume {batch[:8]} goes on with what is left")
    gone_on = desk.made("batch", "resume", batch[:8])
    assert [row["state"] for row in gone_on["rows"]] == ["created"]


def test_a_status_is_told_by_the_journal_where_the_service_says_nothing(
    desk: Desk, tmp_path: Path
) -> None:
    file = batch_file(tmp_path, "@bob,165,ETH,base,USDC.ethereum")
    batch = desk.made("batch", "create", file, "--yes")["batch"]
    desk.sandbox.fault("rate_limited", operation="get_multi_exchange", times=50, seconds=1)
    silent = desk("batch", "status", batch, "--json")
    assert silent.code == Exit.RATE_LIMITED
    assert [row["state"] for row in silent.document["rows"]] == ["created"]
    assert silent.document["money"] == "in your wallet; no deposit was paid"
    said = silent.stderr.splitlines()
    assert said[0].startswith("Not all orders could be asked after: The calls of this window")
    assert said[-1].endswith(f"you: swapdesk batch status {batch[:8]} asks again.")


def test_a_batch_of_another_desk_is_left_to_it(desk: Desk, tmp_path: Path) -> None:
    file = batch_file(tmp_path, "@bob,175,ETH,base,USDC.ethereum")
    batch = desk.made("batch", "create", file, "--yes")["batch"]
    settings = load_settings({}, Home.at(desk.home))
    with closing(Journal.open(settings.places.journal, SystemClock())) as here:
        assert here.ledger.take_over(batch)
        for words in (("resume", batch), ("build", batch)):
            refused = desk.process("batch", *words, "--json")
            error = refused.error
            assert (refused.code, error["code"]) == (Exit.OWN_REFUSAL, "OWNED"), refused.stderr
            assert error["money"].endswith("in your wallet; no deposit was paid")
            assert error["next"].startswith("the other desk: ")


def test_the_template_is_written_once(desk: Desk, tmp_path: Path) -> None:
    out = tmp_path / "template.csv"
    assert desk("batch", "template", "--out", str(out)).code == Exit.DONE
    assert out.read_text().startswith("to,sell_amount,sell,buy,chain,memo,route\n")
    for name in (out, tmp_path / f"{'n' * 300}.csv"):
        assert desk("batch", "template", "--out", str(name)).code == Exit.BAD_INPUT
    # It sells ETH and USDC on one chain: one bundle, and a signature for each token.
    read = desk("batch", "plan", str(out))
    assert "3 rows on Ethereum, 1 bundle of 3 transfers, 2 signatures" in read.stdout


def test_what_a_live_wallet_cannot_pay_is_not_created(live_desk: Desk, tmp_path: Path) -> None:
    before = orders_of(live_desk)
    evm, solana = "150,ETH,base,USDC.ethereum", "2,ETH,base,SOL.solana"
    for command, sold, code, end in (
        ("create", evm, "BATCH_PROBLEMS", Exit.BAD_INPUT),
        ("run", evm, "BATCH_PROBLEMS", Exit.BAD_INPUT),
        ("run", solana, "NO_NODES", Exit.OWN_REFUSAL),
    ):
        file = batch_file(tmp_path, f"0x52908400098527886E0F7030069857D2E4169EE7,{sold}")
        refused = live_desk.refused(end, code, "batch", command, file, "--yes")
        assert refused["money"].startswith("in your wallet"), refused
        assert refused["next"].startswith("you: "), refused
    assert orders_of(live_desk) == before


def orders_of(desk: Desk) -> list[object]:
    """As the service lists them, newest first."""
    listed = desk.made("api", "GET", "/orders")
    return [one["serviceId"] for one in listed["orders"]]
