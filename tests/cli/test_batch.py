"""``batch`` against a real sandbox: problems, one group, its results, never the same twice."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from cli.desks import Desk
from swapdesk.cli.exit_codes import Exit

HEAD = "to;amount;token;chain;sell\n"
CLEAN = HEAD + "@bob;150;ETH;base;USDC.ethereum\n@cold;250;BTC;bitcoin;USDC.ethereum\n"


def test_a_bad_file_names_row_column_and_reason(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(CLEAN + "@bob;0,5;ETH;base;USDC.ethereum\n")
    shown = desk("batch", "plan", str(file), "--json")
    assert shown.code == Exit.BAD_INPUT
    plan = json.loads(shown.stdout)
    assert (plan["separator"], plan["problems"], plan["creatable"]) == ("semicolon", 1, False)
    (finding,) = plan["rows"][2]["findings"]
    assert (finding["code"], finding["column"]) == ("BAD_AMOUNT", "amount")
    assert plan["rows"][2]["line"] == 4
    refused = desk("batch", "create", str(file), "--yes", "--json")
    assert refused.code == Exit.BAD_INPUT
    assert json.loads(refused.stderr.splitlines()[-1])["error"]["code"] == "BATCH_PROBLEMS"


def test_a_batch_is_created_once_and_exported_line_by_line(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "payout.csv"
    file.write_text(CLEAN)
    created = desk("batch", "create", str(file), "--yes", "--json")
    assert created.code == Exit.DONE, created.stderr
    batch = json.loads(created.stdout)
    assert [row["state"] for row in batch["rows"]] == ["created", "created"]
    assert batch["groups"][0]["multiId"]
    twice = desk("batch", "create", str(file), "--yes", "--json")
    assert twice.code == Exit.OWN_REFUSAL
    assert json.loads(twice.stderr.splitlines()[-1])["error"]["code"] == "CREATED_BEFORE"
    exported = desk("batch", "export", batch["batch"][:8])
    rows = list(csv.DictReader(io.StringIO(exported.stdout)))
    assert [(row["line"], row["serviceId"]) for row in rows] == [
        (str(row["line"]), row["serviceId"]) for row in batch["rows"]
    ]
    assert {row["orderState"] for row in rows} == {"WAITING_FOR_DEPOSIT"}


def test_the_template_is_written_once(desk: Desk, tmp_path: Path) -> None:
    out = tmp_path / "template.csv"
    assert desk("batch", "template", "--out", str(out)).code == Exit.DONE
    assert out.read_text().startswith("to,amount,token,chain,memo,route,sell,refund\n")
    assert desk("batch", "template", "--out", str(out)).code == Exit.BAD_INPUT
    # It sells ETH and USDC on one chain: one bundle, and a signature for each token.
    read = desk("batch", "plan", str(out))
    assert "3 rows on Ethereum, 1 bundle of 3 transfers, 2 signatures" in read.stdout
