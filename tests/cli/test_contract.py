"""The contract for scripts: a schema for what every command prints, every code and exit, what each
command does at most, and what may not change."""

from __future__ import annotations

import ast
import copy
import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import jsonschema_rs
import pytest

from cli.desks import InProcess, run_here
from harness import Result, environment
from patience import PATIENCE
from printed_documents import check_printed
from rows import each_row
from swapdesk.acts import State
from swapdesk.cli.cli_context import Effect, declared_of
from swapdesk.cli.command_error import (
    FAMILIES,
    NOT_CREATED,
    OWN_CODES,
    OWN_ROWS,
    CommandError,
    Exit,
    Retry,
    exit_of,
    exit_of_refused_create,
    of_client_error,
    of_unusable_file,
    of_wallet_error,
)
from swapdesk.cli.contract_commands import error_codes
from swapdesk.cli.creation import _not_swapped
from swapdesk.cli.main import REMOVED, commands
from swapdesk.cli.output import SCHEMA_VERSION, json_text
from swapdesk.cli.schemas import all_schemas, document_types, error_schema, schema_of
from swapdesk.client import errors
from swapdesk.client.errors import ClientError, api_error
from swapdesk.flows.failure_messages import OUTCOME_PENDING
from swapdesk.flows.transactions import Outcome
from swapdesk.wallet.protocol import RefusalCode, Refused
from swapdesk.wallet.rule_codes import PAYLOADS, RULES
from swapdesk.wire.errors import STATUS_OF, ErrorCode

ROOT = Path(__file__).parents[2]


def test_every_command_prints_a_document_or_says_what_else() -> None:
    for name, command in commands().items():
        declared = declared_of(command)
        assert bool(declared.prints) is not bool(declared.instead), name


def test_each_schema_is_one_and_asks_for_the_version() -> None:
    for command in document_types():
        schema = json.loads(json_text(schema_of(command)))
        assert jsonschema_rs.meta.is_valid(schema), command
        assert schema["properties"]["schemaVersion"] == {"const": SCHEMA_VERSION}, command
        assert not jsonschema_rs.is_valid(schema, {}), command


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
    assert whole["commands"].keys() == document_types().keys()
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
    assert listed.keys() == commands().keys()
    assert {one["effect"] for one in listed.values()} == set(Effect)
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
def documents(generator: None) -> Any:
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
    assert fields["orders list: orders[].deposit.amount"] == "number"
    assert fields["orders list: orders[].withheld"] == "null or string"
    assert fields["orders watch: serviceId"] == "string"
    assert fields["quote: quotes[].waterfall"] == "object?"
    assert fields["error: error.code"] == "string"
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


KNOWN = {one.code: one for one in error_codes()}

NO_ENDS = {
    "RESOLVED_NO": "a step of the journal",
    "RESOLVED_YES": "a step of the journal",
    "LC_ALL": "a variable of the environment",
    "LC_CTYPE": "a variable of the environment",
    "NO_COLOR": "a variable of the environment",
    "O_NOFOLLOW": "a flag of the system",
    "PYDANTIC_DISABLE_PLUGINS": "a variable of the environment",
    "SWAP_COMPLETED": "a state of an order",
}
"""Texts that look like codes."""
FINDINGS = ("flows/batch/planner.py", "flows/batch/rows.py")
"""Files whose codes are of rows: a command ends with BATCH_PROBLEMS for them."""


@pytest.fixture(scope="module", autouse=True)
def generator() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        import generator.json_documents
        import generator.raised_codes  # noqa: F401


def test_no_code_is_raised_that_is_not_in_the_table() -> None:
    from generator.raised_codes import literal_codes, raised_codes

    raised = dict(raised_codes())
    assert len(raised) > 100
    assert {one: path for one, path in raised.items() if one not in KNOWN} == {}
    other = {
        one: path
        for one, path in literal_codes("cli", "flows", "client", "wallet")
        if path not in FINDINGS
        and not one.startswith("SWAPDESK_")
        and one not in KNOWN
        and one not in NO_ENDS
        and one not in FAMILIES
    }
    assert other == {}, "a code without a row in cli/command_error.py, or a word for NO_ENDS"


def test_what_ends_a_command_agrees_with_the_table_and_repeats_nothing_of_it() -> None:
    """It ends as the table says. Money and next are said at a raise only where they are others."""
    from generator.raised_codes import RAISED, codes_in
    from generator.source import calls, constant, modules

    bad = {Exit.BAD_INPUT}
    exits_of = {"bad_input": bad, "refused_as": bad, "own_refusal": {Exit.OWN_REFUSAL}}
    found, seen = set(), 0
    for path, tree in modules("cli", *RAISED):
        for name, call, within in calls(tree):
            if name not in RAISED or name == "not_confirmed":
                continue
            direct = name == "CommandError"
            named = (
                constant(path, one.id) if isinstance(one, ast.Name) else one for one in said(call)
            )
            words = {one.value for one in named if isinstance(one, ast.Constant)}
            ends = exits_in(call.args[0]) if direct else exits_of[name]
            for code in codes_in(call.args[direct or name == "refused_as"], within, path):
                seen += 1
                if ends and not ends & set(KNOWN[code].exits):
                    found.add(f"{path}:{call.lineno} ends with {ends}")
                usual = CommandError(Exit.BAD_INPUT, code, "")
                if repeated := words & {usual.money, usual.next}:
                    found.add(f"{path}:{call.lineno} repeats {repeated}")
    assert found == set()
    assert seen > 150


def said(call: ast.Call) -> list[ast.expr]:
    """Where a raise says money and next."""
    return [*call.args[3:5], *(one.value for one in call.keywords if one.arg in ("money", "next"))]


def exits_in(node: ast.expr) -> set[Exit]:
    found = (one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute))
    return {Exit[name] for name in found if name in Exit.__members__}


def test_no_row_is_of_a_code_that_nothing_raises() -> None:
    source = "\n".join(
        path.read_text("utf-8")
        for path in (ROOT / "src/swapdesk").rglob("*.py")
        if path.name != "rule_codes.py"
    )
    # It stands in its row, and in its family.
    rows = {code: 1 + any(code in nouns for nouns in FAMILIES.values()) for code in OWN_CODES}
    unused = [code for code, count in rows.items() if source.count(f'"{code}"') <= count]
    assert unused == []
    assert len(OWN_CODES) == len(OWN_ROWS)


def test_a_code_of_a_family_is_told_with_its_noun() -> None:
    told = [(one.family, one.noun) for one in KNOWN.values() if one.noun]
    assert len(told) == len(set(told)) == sum(map(len, FAMILIES.values()))
    assert all(one.family == code for code, one in KNOWN.items() if not one.noun)
    error = CommandError(Exit.BAD_INPUT, "BAD_AMOUNT", "Why.")
    assert (error.code, error.family, error.noun) == ("BAD_AMOUNT", "BAD", "amount")


def test_every_refusal_of_a_payload_has_its_row() -> None:

    from generator.raised_codes import CODE
    from generator.source import calls, modules

    raised = {
        call.args[0].value
        for _, tree in modules("agent", "PayloadRefused", "unsound", "_exact_call")
        for name, call, _ in calls(tree)
        if name in ("PayloadRefused", "unsound", "_exact_call")
        and isinstance(call.args[0], ast.Constant)
    }
    assert len(raised) > 20
    assert {one for one in raised if CODE.fullmatch(one)} - PAYLOADS.keys() - RULES.keys() == set()
    assert not RULES.keys() & PAYLOADS.keys()


def test_every_code_of_the_service_and_of_its_table_of_exits_is_told() -> None:
    assert STATUS_OF.keys() <= KNOWN.keys()
    assert NOT_CREATED.keys() <= KNOWN.keys()


def test_nothing_of_which_the_outcome_is_unknown_is_given_again_at_once() -> None:
    for code, exits, *_ in OWN_ROWS:
        if Exit.UNKNOWN in exits:
            assert KNOWN[code].retry is not Retry.CORRECTED, code
    assert KNOWN["OUTCOME_UNKNOWN"].retry is Retry.NO
    assert KNOWN["DEFECT"].retry is Retry.NO


def test_it_is_told_as_a_table_and_as_a_document(tmp_path: Path) -> None:
    told = run_here("errors", "--json", home=tmp_path).document
    assert [one["code"] for one in told["codes"]] == sorted(KNOWN)
    (low,) = (one for one in told["codes"] if one["code"] == "AMOUNT_TOO_LOW")
    assert low == {
        "code": "AMOUNT_TOO_LOW",
        "means": "The amount is below the smallest one any route takes.",
        "retry": "corrected",
        "money": "in your wallet",
        "next": "you: type a larger amount",
        "exits": [4],
        "status": 422,
        "family": "AMOUNT_TOO_LOW",
        "noun": "",
    }
    assert {one["exit"] for one in told["exits"]} == set(Exit)
    shown = run_here("errors", home=tmp_path)
    assert shown.code == 0
    assert "OUTCOME_UNKNOWN" in shown.stdout


WRITING = sorted(name for name, command in commands().items() if not declared_of(command).reading)


def words_for(path: str) -> list[str]:
    """What the command takes at least, so that it is not refused for its words."""
    command = commands()[path]
    words = path.split()
    for one in command.params:
        if isinstance(one, click.Argument) and one.required:
            words += [str(getattr(one.type, "choices", ["1"])[0])] * max(1, one.nargs)
        elif isinstance(one, click.Option) and one.required:
            choices = getattr(one.type, "choices", ["1"])
            words += [one.opts[0], str(choices[0])]
    return words


@each_row("path", WRITING)
def test_a_writing_command_ends_before_it_does_anything(tmp_path: Path, path: str) -> None:
    told = run_here(*words_for(path), "--read-only", "--json", home=tmp_path)
    assert (told.code, told.error["code"]) == (9, "READ_ONLY"), told
    assert not list(tmp_path.rglob("run.json"))
    assert not list(tmp_path.rglob("*.db")), "no journal was opened"


def test_the_profile_says_it_too_and_calls_that_write_are_refused(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[profiles.sandbox]\nread_only = true\n")
    config.chmod(0o600)
    told = run_here("api", "POST", "/exchanges", "-d", "{}", "--yes", "--json", home=tmp_path)
    assert (told.code, told.error["code"]) == (9, "READ_ONLY"), told
    shown = run_here("config", "show", "--json", home=tmp_path).document["settings"]["read_only"]
    assert shown == {"value": "true", "origin": "profile"}


LOST = errors.NoAnswer("create_exchange: no answer within 30 s")
BROKEN = errors.AnswerRefused("no JSON", "not_json", 200, "r-1")


def refused(status: int, code: str | None = None) -> ClientError:
    return api_error(status, code, "why", "r-1", retry_after=7.0)


CASES: list[tuple[ClientError, int]] = [
    (errors.RequestRefused("no such operation"), 2),
    (refused(400, ErrorCode.BAD_REQUEST), 4),
    (refused(401, ErrorCode.INVALID_API_CREDENTIALS), 4),
    (refused(402), 4),
    (refused(403, ErrorCode.ACCESS_DENIED), 4),
    (refused(409), 4),
    (refused(422, ErrorCode.VALIDATION_ERROR), 4),
    (refused(422, ErrorCode.AMOUNT_TOO_LOW), 4),
    (refused(422, ErrorCode.INVALID_SWAP), 4),
    (refused(418), 4),
    (refused(404, ErrorCode.NOT_FOUND), 5),
    (refused(404, ErrorCode.TOKEN_DISABLED), 5),
    (refused(404), 5),
    (refused(429, ErrorCode.RATE_LIMIT_EXCEEDED), 6),
    (refused(500, ErrorCode.INTERNAL_SERVER_ERROR), 7),
    (refused(503), 7),
    (errors.Unreachable("no connection"), 7),
    (LOST, 7),
    (BROKEN, 7),
    (errors.NotPaid("no node", "NO_NODE", "you: name one"), 9),
    (errors.OutcomeUnknown("create_exchange", LOST), 8),
    (errors.OutcomeUnknown("create_exchange", BROKEN), 8),
]


@each_row(("error", "end"), CASES)
def test_every_client_error_has_its_end(error: ClientError, end: int) -> None:
    assert exit_of(error) == end
    told = of_client_error(error)
    assert told.exit == end
    assert told.money
    assert told.next
    assert told.code


@each_row(
    ("code", "end"),
    [
        ("unsafe_files", 2),
        ("bad_key", 2),
        ("published_key", 9),
        ("no_account", 5),
        ("chain_unreachable", 7),
    ],
)
def test_what_the_wallet_refuses_has_its_end(code: RefusalCode, end: int) -> None:
    told = of_wallet_error(Refused(code, "Why."))
    assert (told.exit, told.code) == (end, code.upper())


def test_every_class_of_the_tree_is_covered() -> None:
    def leaves(kind: type[ClientError]) -> set[type[ClientError]]:
        below = kind.__subclasses__()
        return {kind}.union(*(leaves(each) for each in below)) if below else {kind}

    covered = {type(error) for error, _ in CASES}
    missing = leaves(ClientError) - covered - {ClientError, errors.ApiError}
    assert not missing


@each_row(
    ("code", "error", "end"),
    [
        ("NOT_CREATED", None, 7),
        ("NOT_REACHABLE", errors.Unreachable("no"), 7),
        ("PROVIDER_EXCHANGE_FAILED", errors.OutcomeUnknown("create_exchange", LOST), 7),
        ("NO_JOURNAL", None, 9),
        ("QUOTE_EXPIRED", None, 9),
        ("ALREADY_ASKED", None, 9),
        ("OUTCOME_PENDING", None, 8),
        ("INVALID_SWAP", refused(422, ErrorCode.INVALID_SWAP), 4),
        ("TOKEN_DISABLED", refused(404, ErrorCode.TOKEN_DISABLED), 5),
        ("RATE_LIMIT_EXCEEDED", refused(429), 6),
    ],
)
def test_a_create_that_did_not_happen(code: str, error: ClientError | None, end: int) -> None:
    assert exit_of_refused_create(code, error) == end


@each_row("code", NOT_CREATED)
def test_a_swap_on_chains_that_did_not_happen_ends_as_any_create(code: str) -> None:
    told = _not_swapped(Outcome(State.REFUSED, code, OUTCOME_PENDING))
    assert (told.exit, told.money) == (NOT_CREATED[code], OUTCOME_PENDING.money)


def test_the_numbers_are_those_scripts_know() -> None:
    assert sorted(end.value for end in Exit) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 130]
    assert len({end.means for end in Exit}) == len(Exit)


def test_a_refusal_keeps_code_status_request_and_wait() -> None:
    told = of_client_error(refused(429, ErrorCode.RATE_LIMIT_EXCEEDED))
    assert (told.code, told.status, told.request_id) == ("RATE_LIMIT_EXCEEDED", 429, "r-1")
    assert told.next == "you: wait 7 s"


@each_row("words", ["orders list", "wallet list", "swap 0.5 btc eth --to @bob --yes", "tokens btc"])
def test_a_home_that_cannot_be_used_is_told(here: InProcess, words: str) -> None:
    (here.home / "profiles").touch()
    ended = here(*words.split(), "--json")
    assert ended.code == Exit.OWN_REFUSAL
    assert ended.error["code"] == "FILE_UNUSABLE"
    assert str(here.home / "profiles") in ended.error["message"]
    assert ended.error["money"] == "in your wallet; nothing was sent"
    assert "give the command again" in ended.error["next"]


def test_a_limit_on_files_is_told(tmp_path: Path) -> None:
    ended = subprocess.run(
        ["sh", "-c", 'ulimit -f 8; exec "$0" -m swapdesk orders list --json', sys.executable],
        # Python itself would leave half a compiled module behind.
        env=environment(tmp_path, PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    told = Result(ended.stdout.decode(), ended.stderr.decode(), ended.returncode)
    assert told.error["code"] == "FILE_UNUSABLE"
    assert "catalog.db cannot be used" in told.error["message"]
    assert told.code == Exit.OWN_REFUSAL


def test_only_the_file_of_a_database_is_to_blame() -> None:
    full = sqlite3.connect(":memory:")
    full.execute("PRAGMA max_page_count = 1")
    for statement, blamed in (("CREATE TABLE one (a)", True), ("SELECT nonsense", False)):
        with pytest.raises(sqlite3.OperationalError) as raised:
            full.execute(statement)
        assert (of_unusable_file(raised.value) is not None) == blamed
    full.close()
