"""What a command line says before any service is asked, and of wrong files of the user."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from inspect import signature
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cli.desks import Desk, InProcess
from harness import environment
from patience import PATIENCE
from rows import each_row
from swapdesk import __version__
from swapdesk.cli.cli_context import named
from swapdesk.cli.command_error import Exit
from swapdesk.cli.contract_commands import OF_ALL
from swapdesk.cli.main import COMMANDS, REMOVED, commands, run, swapdesk
from swapdesk.sandbox.tables import ON_CHAIN_NAMES, VENUE_ROWS
from swapdesk.wire.operations import OPERATIONS

RUN = {
    "quote": ("1", "btc", "eth"),
    "swap": ("1", "btc", "eth", "--to", "@bob", "--yes"),
    "send": ("1", "btc", "--to", "@bob", "--yes"),
}

OPENED = ("call", "session", "wallet", "output", "store", "act")
"""What a command is carried out on."""


def test_version(here: InProcess) -> None:
    assert here("--version").stdout == f"swapdesk, version {__version__}\n"


def tells_its_version(command: list[str], place: Path, env: dict[str, str], what: str) -> None:
    """The command runs in ``place``, and says nothing else."""
    ended = subprocess.run(
        [*command, "--version"],
        env=env,
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, ""), (what, ended)
    assert ended.stdout.startswith("swapdesk, version"), what


def test_no_code_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    shadow = tmp_path / "shadow"
    for name in ("swapdesk/__init__.py", "click/__init__.py", "startup.py"):
        (shadow / name).parent.mkdir(parents=True, exist_ok=True)
        (shadow / name).write_text(f"raise SystemExit('loaded {name}')")
    foreign = {"PYTHONPATH": str(shadow), "PYTHONSTARTUP": str(shadow / "startup.py")}
    for name, variables in (("foreign", foreign), ("inspected", {**foreign, "PYTHONINSPECT": "1"})):
        command = [sys.executable, str(root / "scripts" / "swapdesk")]
        tells_its_version(command, shadow, environment(tmp_path, **variables), name)
    with (root / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    scripts = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-scripts"]
    assert scripts == {"scripts/swapdesk": "swapdesk"}
    assert "scripts" not in project["project"]


@pytest.mark.skipif(os.name != "posix", reason="a script of POSIX")
@pytest.mark.parametrize("beside", [True, False])
def test_the_command_starts_its_python_from_any_folder(tmp_path: Path, beside: bool) -> None:
    """The one beside it, also through a link and where a name has a space; else the path's."""
    folder, other = tmp_path / "my desk" / "bin", tmp_path / "other"
    folder.mkdir(parents=True)
    other.mkdir()
    shutil.copy(Path(__file__).parents[2] / "scripts" / "swapdesk", folder)
    (other / "swapdesk").symlink_to(folder / "swapdesk")
    for place, begins in ((folder, beside), (other, not beside)):
        said = f'exec "{sys.executable}" "$@"' if begins else "exit 77"
        if begins or place is other:
            (place / "python3").write_text(f"#!/bin/sh\n{said}\n")
            (place / "python3").chmod(0o700)
    for command in (folder / "swapdesk", other / "swapdesk"):
        variables = {"PATH": f"{other}{os.pathsep}{os.environ['PATH']}"}
        tells_its_version([str(command)], other, environment(tmp_path, **variables), str(command))


@pytest.mark.skipif(os.name != "posix", reason="a script of POSIX")
def test_the_command_names_its_python_where_that_is_gone(tmp_path: Path) -> None:
    """As an update of the system leaves a virtual environment; another Python has no packages."""
    shutil.copy(Path(__file__).parents[2] / "scripts" / "swapdesk", tmp_path)
    python = tmp_path / "python3"
    python.symlink_to(tmp_path / "gone")
    command = [str(tmp_path / "swapdesk"), "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    said = f"swapdesk: its Python, {python}, cannot be run: install swapdesk anew\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", said)


_ELSEWHERE = """
import runpy, sys
sys.{name} = {value}
sys.argv = {arguments}
runpy.{way}({what!r}, run_name="__main__")
"""
ENTRIES = {
    "command": ("run_path", str(Path(__file__).parents[2] / "scripts" / "swapdesk")),
    "module": ("run_module", "swapdesk"),
    "agent": ("run_module", "swapdesk.agent"),
}


@each_row("entry", ENTRIES)
@each_row(
    ("name", "value", "said"),
    [
        ("platform", "'win32'", "swapdesk runs on Linux and macOS, not on Windows itself."),
        ("version_info", "(3, 10, 13)", "swapdesk needs Python 3.11 or newer, and this is 3.10.13"),
    ],
)
def test_where_it_does_not_run_every_entry_says_so_in_a_sentence(
    tmp_path: Path, entry: str, name: str, value: str, said: str
) -> None:
    """Windows, and a Python that pip was not asked to install for, as far as a program can tell."""
    way, what = ENTRIES[entry]
    program = _ELSEWHERE.format(
        name=name, value=value, arguments=["swapdesk", "--version"], way=way, what=what
    )
    ended = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(said)
    assert len(ended.stderr.splitlines()) == 1
    assert "WSL" in ended.stderr or name != "platform"


@pytest.mark.skipif(shutil.which("python3.10") is None, reason="there is no Python 3.10 here")
@pytest.mark.parametrize("found", [True, False])
def test_an_old_python_gets_no_traceback(tmp_path: Path, found: bool) -> None:
    """Of the real one, which knows less than it is pretended to above."""
    root = Path(__file__).parents[2]
    python = shutil.which("python3.10")
    assert python is not None
    if subprocess.run([python, "-c", ""], capture_output=True).returncode != 0:
        pytest.skip("its Python 3.10 does not run")
    foreign = {"PYTHONPATH": str(root / "src")} if found else {}
    ended = subprocess.run(
        [python, str(root / "scripts" / "swapdesk")],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **foreign},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    said = (
        "swapdesk needs Python 3.11 or newer" if found else "swapdesk: its packages are not there"
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(said)
    assert len(ended.stderr.splitlines()) == 1


def test_help_names_every_command_and_every_exit_code(here: InProcess) -> None:
    told = here("-h")
    assert told.code == 0, told
    help_text = told.stdout
    for name in COMMANDS:
        assert f"\n  {name} " in help_text
    words = " ".join(help_text.split())
    for end in Exit:
        assert f" {end.value} " in words


def test_unknown_command_names_the_nearest(here: InProcess) -> None:
    result = here("qoute", "1", "btc", "eth")
    assert result.code == 2
    assert "Did you mean quote?" in result.stderr
    assert result.stdout == ""


def test_what_is_gone_names_what_takes_its_place(here: InProcess) -> None:
    for gone, instead in REMOVED.items():
        result = here.refused(2, "REMOVED", *gone.split())
        assert gone in result["message"]
        assert instead in result["next"]
        command, _, word = gone.rpartition(" ")
        assert word not in here(*command.split(), "-h").stdout.split(), gone
        # Elsewhere the word is one like any other.
        assert here("support", "open", word, "--json").error["code"] != "REMOVED"


def test_usage_error_is_a_document_with_json(here: InProcess) -> None:
    result = here("quote", "1", "--json")
    assert result.code == 2
    assert result.error["code"] == "USAGE"
    assert result.error["money"] == "nothing was sent"
    # Where the money of a batch is, stands with the batch.
    plain = here("batch", "submit", "--yes")
    assert plain.code == 2
    assert "Nothing was sent.\n" in plain.stderr
    assert "money" not in plain.stderr
    assert "wallet" not in plain.stderr


def test_choices_are_told_on_one_line(here: InProcess) -> None:
    result = here("wallet", "import", "--json")
    said = result.error["message"]
    assert "Choose from: mnemonic, hex, keystore, keygen, base58. See" in said
    assert said.isprintable()


def test_a_terminal_of_lines_is_sent_to_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("SWAPDESK_HOME", str(tmp_path))
    monkeypatch.setenv("TERM", "dumb")
    assert run(()) == Exit.BAD_INPUT
    said = capsys.readouterr().err
    assert "TERM is dumb" in said
    assert "Commands work there: -h." in said


def test_two_forms_are_one_too_many(here: InProcess) -> None:
    assert here("config", "show", "--json", "--plain").code == 2
    assert here("--json", "config", "show", "--plain").stdout.startswith("home is ")


@each_row("command", RUN)
@each_row(
    ("amount", "place"),
    [("1,5", 1), ("1,000", 1), ("１２", 0), ("1e3", 1), ("NaN", 0), ("0x10", 1), ("1.", 1)],
)
def test_amount_names_the_place(here: InProcess, command: str, amount: str, place: int) -> None:
    result = here(command, amount, *RUN[command][1:], "--json")
    assert result.code == 2
    assert result.error["code"] == "BAD_AMOUNT"
    assert result.error["fields"]["amount"]["place"] == place


def test_comma_is_refused_with_the_way_to_write_it(here: InProcess) -> None:
    result = here("quote", "1,5", "btc", "eth")
    assert result.stderr.splitlines() == [
        '"1,5": write 1.5. The mistake is at character 2.',
        "The money is in your wallet; nothing was sent.",
        "Next you: correct the command.",
        "(BAD_AMOUNT)",
    ]


QUOTE = ("quote", *RUN["quote"])
SWAP = ("swap", *RUN["swap"])
SEND = ("send", *RUN["send"])
CREATE = ("/exchanges", "-d", "{}")
REFUSED = {
    "NO_TERMINAL": [()],
    "NEEDS_YES": [
        SWAP[:-1],
        SEND[:-1],
        *(("api", way, *CREATE) for way in ("POST", "post", "DELETE")),
    ],
    "TWO_CHOICES": [
        (*SWAP, "--quote", "0" * 24, *more)
        for more in (("--type", "private"), ("--provider", "hy"))
    ],
    "BAD_WAIVER": [(*SEND, "--waive-memo", words) for words in ("", "no memo", "yes")],
    "USAGE": [
        *((*SWAP, "--max-loss", loss) for loss in ("-1", "101", "NaN", "much", "1,5")),
        (*QUOTE, "--type", "bridge"),
        *(("serve", "--sandbox", "--speed", speed) for speed in ("0", "-1", "inf", "fast")),
    ],
    "BAD_TIMEOUT": [("orders", "watch", "abc", "--timeout", "0")],
    "BAD_PARAMETER": [("api", "GET", "/tokens", "-q", "term")],
    "BAD_BODY": [("api", "POST", "/exchanges", "-d", "@/none")],
}


@each_row(
    ("code", "arguments"), [(code, line) for code, lines in REFUSED.items() for line in lines]
)
def test_a_wrong_line_is_refused(here: InProcess, code: str, arguments: tuple[str, ...]) -> None:
    here.refused(2, code, *arguments)


def test_serve_without_sandbox_gives_a_hint(here: InProcess) -> None:
    result = here.refused(2, "ONLY_SANDBOX", "serve")
    assert "--sandbox" in result["message"]


@each_row(
    ("body", "why"),
    [
        ('{"a": 1, "a": 2}', "the same name twice in one object"),
        ('{"a": NaN}', "NaN is no JSON number"),
        ("[" * 40 + "]" * 40, "nested more than 32 deep"),
        ("\ufeff\ufeff{}", "begins with a byte order mark"),
        ("<p>", "no JSON at character 0"),
    ],
)
def test_why_a_body_is_refused_is_a_sentence(desk: Desk, body: str, why: str) -> None:
    result = desk("api", "POST", "/exchanges", "-d", body, "--yes", "--json")
    assert result.error["message"] == f"The body cannot be read: {why}."


@each_row(
    "arguments",
    [
        ("api", "POST", "/exchanges", "-d", "\udcff", "--yes"),
        ("api", "GET", "/tokens", "-q", "term=\udcff"),
        ("swap", *RUN["swap"], "--memo", "\udcff"),
        ("quote", *RUN["quote"], "--provider", "hy", "--provider", "\udcff"),
        ("tokens", "\udcff"),
    ],
)
def test_words_are_utf_8(here: InProcess, arguments: tuple[str, ...]) -> None:
    result = here.refused(2, "USAGE", *arguments)
    assert "not UTF-8" in result["message"]


LIVE = '[profiles.main]\nurl = "https://api.example/v2"\n'


@each_row(
    ("config", "named", "code", "said"),
    [
        (LIVE, ("--profile", "mian"), "NO_SUCH_PROFILE", "; did you mean main?"),
        (LIVE, ("--profile", "main"), "NOT_CONFIGURED", ""),
        (
            '\nthene = "ink"\n',
            (),
            "CONFIG",
            "/config.toml:2: thene is unknown; did you mean theme?",
        ),
        ('[keys]\ntokens = "o"\n', (), "CONFIG", "keys.tokens wants o, which belongs to orders"),
    ],
)
def test_a_wrong_configuration_stops_a_command(
    here: InProcess, config: str, named: tuple[str, ...], code: str, said: str
) -> None:
    (here.home / "config.toml").write_text(config)
    result = here.refused(2, code, "chains", *named)
    assert said in result["message"]


def test_config_show_prints_values_origins_and_problems(here: InProcess) -> None:
    config = 'theme = "paper"\nthene = "ink"\n[keys]\ntokens = ["f6", "ctrl+o"]\n'
    (here.home / "config.toml").write_text(config)
    shown = here("config", "show", "--json")
    for name, value in (("theme", "paper"), ("keys.tokens", "f6,ctrl+o")):
        assert shown.document["settings"][name] == {"value": value, "origin": "config.toml"}
    assert (shown.code, shown.error["code"]) == (2, "CONFIG")
    table = here("config", "show").stdout.splitlines()
    assert table[0].split() == ["NAME", "VALUE", "ORIGIN"]
    assert ["theme", "paper", "config.toml"] in [line.split() for line in table]


def test_profiles_are_listed_and_chosen(here: InProcess) -> None:
    file = here.home / "config.toml"
    table = '# mine\n[profiles.main]\nurl = "https://api.example/v2"\nkey = "k"\n'
    file.write_text(table)
    used = here("profile", "use", "main", "--json")
    assert (used.code, used.document["profile"], used.document["previous"]) == (
        0,
        "main",
        "sandbox",
    )
    assert used.document["live"]
    assert file.read_text() == f'profile = "main"\n{table}'
    assert "It is LIVE: this is real money." in here("profile", "use", "main").stdout
    listed = here("profile", "list", "--json").document["profiles"]
    assert [(one["name"], one["access"], one["chosen"]) for one in listed] == [
        ("sandbox", "sandbox", False),
        ("main", "key", True),
    ]
    again = here("--profile", "sandbox", "profile", "use", "sandbox")
    assert "chooses sandbox" in again.stderr
    assert again.stdout == "The profile is sandbox now.\n"
    here.refused(2, "NO_SUCH_PROFILE", "profile", "use", "mian")
    file.write_text("broken =\n")
    here.refused(2, "FILE_UNUSABLE", "profile", "use", "sandbox")
    assert file.read_text() == "broken =\n"


def test_a_profile_that_is_gone_can_be_mended(here: InProcess) -> None:
    file = here.home / "config.toml"
    file.write_text('theme = "ink"\nprofile = "gone"\n[profiles.live]\nurl = "https://a.example"\n')
    said = f"{file}:2: profile names no profile 'gone'; there are sandbox, live"
    refused = here.refused(2, "NO_SUCH_PROFILE", "chains")
    assert refused["message"] == f"{said}."
    assert refused["next"].startswith("you: swapdesk profile use NAME")
    shown = here("config", "show", "--json")
    assert (shown.code, shown.error["code"], shown.error["message"]) == (2, "CONFIG", said)
    value = {"value": "gone", "origin": "config.toml"}
    assert shown.document["settings"]["profile"] == value
    listed = here("profile", "list", "--json")
    assert (listed.code, listed.stderr) == (0, f"{said}\n")
    assert [one["chosen"] for one in listed.document["profiles"]] == [False, False]
    named = {"SWAPDESK_PROFILE": "lost"}
    here.environ |= named
    elsewhere = here("chains", "--json").error
    assert elsewhere["message"].startswith("environment: SWAPDESK_PROFILE names no profile 'lost'")
    assert elsewhere["next"].startswith("you: set SWAPDESK_PROFILE")
    used = here("profile", "use", "live", "--json")
    assert (used.code, used.document["previous"]) == (0, "gone")
    assert "Here SWAPDESK_PROFILE chooses lost all the same." in used.stderr
    here.environ.clear()
    assert here("config", "show", "--json").document["settings"]["profile"]["value"] == "live"
    assert "gone" not in file.read_text()


KEY = {"SWAPDESK_API_URL": "https://api.example/v2", "SWAPDESK_API_KEY": "0123456789abcdef"}


def test_config_show_masks_secrets(here: InProcess) -> None:
    here.environ |= {**KEY, "SWAPDESK_API_SECRET": "a-very-secret-text"}
    for form in ((), ("--json",), ("--plain",)):
        shown = here("config", "show", *form)
        assert shown.code == 0
        assert "a-very-secret-text" not in shown.stdout
        assert "0123456789abcdef" not in shown.stdout
        assert "…cdef" in shown.stdout


@click.command()
def broken() -> None:
    raise RuntimeError("api_secret=hunter2hunter2 \x1b[2J")


def test_a_defect_is_reported_without_secrets(here: InProcess) -> None:
    COMMANDS["broken"] = f"{__name__}:broken"
    try:
        plain, document = here("broken"), here("broken", "--json")
    finally:
        del COMMANDS["broken"]
    assert plain.code == 1
    assert "RuntimeError" in plain.stderr
    assert "hunter2" not in plain.stderr
    assert "\x1b" not in plain.stderr
    # The command has no --json of its own, which is a usage error and not a defect.
    assert document.code == 2


def test_what_carries_a_command_out_takes_its_options() -> None:
    carried_out = {
        name: command.callback.work
        for name, command in commands().items()
        if hasattr(command.callback, "work")
    }
    assert len(carried_out) > 40
    for name, work in carried_out.items():
        takes = signature(named(work))
        opened = [one for one in takes.parameters if one in OPENED]
        options = {one.name for one in commands()[name].params} - {*OF_ALL, "read_only"}
        if "store" in opened:
            options -= {"data", "config"}
        takes.bind(*opened, **dict.fromkeys(options))


WRONG = [
    ('thema = "ink"', ":1: thema is unknown; did you mean theme?"),
    ('theme = "irs"', ":1: theme names no theme 'irs'"),
    ('theme = "irs"', "; did you mean iris?"),
    ('glyphs = "asci"', ":1: glyphs must be auto, unicode or ascii; did you mean ascii?"),
    ('[keys]\ncopy-adress = "c"', ":2: keys.copy-adress is no command; did you mean copy-address?"),
    ('[keys]\ntokens = "o"', ":2: keys.tokens wants o, which belongs to orders"),
    ('[keys]\nquit = "ctrl+m"', ":2: keys.quit ctrl+m is sent by terminals as enter"),
    ('[keys]\nquit = "ctr+x"', ":2: keys.quit 'ctr+x' is no key"),
    ("[keys]\nquit = 3", ":2: keys.quit must be a key or a list of keys"),
    ("[keys]\nquit = []", ":2: keys.quit must name a key"),
    ("keys = 3", ":1: keys must be a table of command = key"),
]


@each_row(("text", "said"), WRONG)
def test_a_wrong_configuration(here: InProcess, text: str, said: str) -> None:
    (here.home / "config.toml").write_text(text)
    ended = here("config", "show", "--json")
    assert ended.code == 2
    assert said in ended.error["message"]
    assert str(here.home / "config.toml") in ended.error["message"]


def test_a_wrong_theme_file_is_named_where_the_configuration_is_shown(here: InProcess) -> None:
    (here.home / "themes").mkdir()
    (here.home / "themes" / "mine.toml").write_text('acent = "#ffffff"\n')
    ended = here("config", "show", "--json")
    assert ended.code == 2
    assert "mine.toml:1: acent is unknown; did you mean accent?" in ended.error["message"]


def words(*command: str) -> str:
    """The help of a command on one line."""
    answer = CliRunner().invoke(swapdesk, [*command, "--help"], terminal_width=200)
    assert answer.exit_code == 0
    return re.sub(r"\s+", " ", answer.output)


@each_row("command", ["quote", "swap", "send"])
def test_every_code_stands_in_the_help_of_what_takes_one(command: str) -> None:
    said = words(command)
    for row in VENUE_ROWS:
        assert f" {row.code} {row.name}" in said
        assert row.enabled or f"{row.name}, not enabled" in said


@each_row("command", ["quote", "swap"])
def test_every_on_chain_venue_stands_in_the_help_of_what_finds_their_routes(command: str) -> None:
    said = words(command)
    for code, name in ON_CHAIN_NAMES.items():
        assert f" {code} {name}" in said


def test_every_operation_stands_in_the_help_of_api() -> None:
    said = words("api")
    for one in OPERATIONS:
        assert f"{one.method} {one.path} {one.name}: {one.summary}." in said
