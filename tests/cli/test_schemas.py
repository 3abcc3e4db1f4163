"""The contract for scripts: a schema for what every command prints, and what may not change."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from cli.desks import run_here
from printed_documents import check_printed
from swapdesk.cli.cli_context import EFFECTS, Effect
from swapdesk.cli.contract_commands import commands
from swapdesk.cli.main import REMOVED
from swapdesk.cli.output import SCHEMA_VERSION, json_text
from swapdesk.cli.schemas import DOCUMENTS, OTHER_OUTPUT, all_schemas, error_schema, schema_of

ROOT = Path(__file__).parents[2]


def test_every_command_prints_a_document_or_says_what_else() -> None:
    assert DOCUMENTS.keys() | OTHER_OUTPUT.keys() == commands().keys()
    assert not DOCUMENTS.keys() & OTHER_OUTPUT.keys()


@pytest.mark.parametrize("command", sorted(DOCUMENTS))
def test_its_schema_is_one_and_asks_for_the_version(command: str) -> None:
    schema = json.loads(json_text(schema_of(command)))
    assert jsonschema_rs.meta.is_valid(schema)
    assert schema["properties"]["schemaVersion"] == {"const": SCHEMA_VERSION}
    assert not jsonschema_rs.is_valid(schema, {})


def test_amounts_are_numbers_and_times_are_times() -> None:
    defs = schema_of("orders show")["$defs"]
    deposit = defs["DepositFacts"]["properties"]
    assert deposit["amount"] == {"type": "number"}
    assert deposit["expires"]["anyOf"][0] == {"type": "string", "format": "date-time"}
    assert "format" not in json_text(defs["Order"]["properties"]["inAmount"])


def test_words_of_the_service_are_open() -> None:
    said = schema_of("orders show")["$defs"]["Order"]["properties"]["displayStatus"]
    assert "enum" not in json_text(said)
    assert "SWAP_COMPLETED" in json_text(said)


def test_the_command_prints_one_or_all(tmp_path: Path) -> None:
    one = run_here("schema", "config", "show", home=tmp_path)
    assert json.loads(one.stdout) == {
        "schemaVersion": SCHEMA_VERSION,
        **json.loads(json_text(schema_of("config show"))),
    }
    whole = run_here("schema", "--json", home=tmp_path).document
    assert whole["commands"].keys() == DOCUMENTS.keys()
    assert whole["error"]["title"] == error_schema()["title"]
    for words, code in ((("api",), "NO_SCHEMA"), (("batch",), "NO_SUCH_COMMAND")):
        told = run_here("schema", *words, "--json", home=tmp_path)
        assert (told.code, told.error["code"]) == (2, code)
    assert "batch plan" in told.error["fields"]["command"]["candidates"]


def test_a_document_that_is_not_as_its_schema_says_is_found() -> None:
    document: dict[str, Any] = {"schemaVersion": 1, "ok": True, "findings": []}
    check_printed(("doctor", "--json"), json.dumps(document), "")
    for wrong in (
        {**document, "ok": "yes"},
        {**document, "schemaVersion": 0},
        {"schemaVersion": 1, "ok": True},
        {**document, "findings": [{"check": "a", "state": "odd", "said": "", "mend": ""}]},
    ):
        with pytest.raises(AssertionError, match="doctor prints"):
            check_printed(("--profile", "x", "doctor", "--json"), json.dumps(wrong), "")


def test_every_command_is_listed_with_its_effect(tmp_path: Path) -> None:
    told = run_here("commands", "--json", home=tmp_path).document
    listed = {one["name"]: one for one in told["commands"]}
    assert listed.keys() == EFFECTS.keys()
    assert listed["swap"]["effect"] == Effect.MOVES_MONEY
    assert not listed["swap"]["readOnly"]
    assert listed["orders list"]["effect"] == Effect.ONLY_READS
    assert [one["name"] for one in listed["quote"]["arguments"]] == ["AMOUNT", "FROM", "TO"]
    (sort,) = (one for one in listed["orders list"]["options"] if "--sort" in one["names"])
    assert (sort["default"], sort["choices"][0]) == ("deadline", "deadline")
    assert {"--json", "--plain", "--profile", "--passphrase-fd"} == {
        one["names"][0] for one in told["options"]
    }
    shown = run_here("commands", home=tmp_path).stdout
    assert "moves money" in shown
    assert "spends a limit" in shown


# What may not change


Change = Any


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return json.loads((ROOT / "docs/reference/schemas.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def documents() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        from generator import json_documents

        return json_documents


def test_nothing_that_was_printed_is_gone_without_a_new_version(
    kept: dict[str, Any], documents: Any
) -> None:
    documents.require_version(kept, json.loads(json_text(all_schemas())))


def test_what_breaks_readers_is_found_and_what_is_added_is_not(
    kept: dict[str, Any], documents: Any
) -> None:
    fields = documents.fields_of(kept)
    assert fields["orders list: OrdersDocument orders[].deposit.amount"] == "number"
    assert fields["orders list: OrdersDocument orders[].withheld"] == "null or string"
    assert fields["orders watch: WatchedDocument serviceId"] == "string"
    assert fields["quote: QuotesDocument quotes[].waterfall"] == "object?"
    assert fields["error: ErrorDocument error.code"] == "string"
    assert len(fields) > 800

    def broken(change: Change) -> list[str]:
        now = copy.deepcopy(kept)
        change(now["$defs"]["DepositFacts"])
        return documents.breaking(kept, now)

    assert broken(lambda it: it["properties"].update(more={"type": "string"})) == []
    assert broken(lambda it: it.update(description="Other words.")) == []
    for change in (
        lambda it: it["properties"].pop("memo"),
        lambda it: it["properties"].update(amount={"type": "string"}),
        lambda it: it["properties"].update(
            symbol={"anyOf": [{"type": "string"}, {"type": "null"}]}
        ),
        lambda it: it["required"].remove("memo"),
    ):
        assert broken(change)


def test_a_command_may_go_only_as_one_that_says_so(kept: dict[str, Any], documents: Any) -> None:
    for command in ("orders list", *REMOVED):
        before = copy.deepcopy(kept)
        before["commands"][command] = before["commands"]["orders list"]
        now = copy.deepcopy(before)
        del now["commands"][command]
        assert bool(documents.breaking(before, now)) is (command not in REMOVED)


def test_a_new_version_allows_it(kept: dict[str, Any], documents: Any) -> None:
    now = copy.deepcopy(kept)
    del now["$defs"]["DepositFacts"]["properties"]["memo"]
    with pytest.raises(ValueError, match="raise SCHEMA_VERSION"):
        documents.require_version(kept, now)
    now["error"]["properties"]["schemaVersion"]["const"] = SCHEMA_VERSION + 1
    documents.require_version(kept, now)
