"""A broken home is named with the command that mends it; the command is run, and all is well."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from unittest import mock

import msgspec
import pytest
from msgspec import Struct, field

from cli.desks import Desk, run_here
from harness import Result, Sandbox, environment, home_of
from patience import PATIENCE
from swapdesk.cli.doctor_report import examine
from swapdesk.clock import SystemClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.installation import shell_word

Build = Callable[[Path], None]


def tree(home: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file and directory with its mode, its time and its bytes."""
    found = {}
    for path in sorted(home.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(home))] = (status.st_mode, status.st_mtime_ns, content)
    return found


def doctor(home: Path, env: Mapping[str, str], *options: str) -> Result:
    """What it says of a home, in which nothing changes by that."""
    home.mkdir(mode=0o700, exist_ok=True)
    before = tree(home)
    said = run_here("doctor", "--json", *options, home=home, env=env)
    assert tree(home) == before
    return said


def wrong(said: Result) -> list[dict[str, str]]:
    found = [one for one in said.document["findings"] if one["state"] == "wrong"]
    assert said.document["ok"] is (not found)
    assert said.code == (9 if found else 0)
    return found


class Broken(Struct, frozen=True):
    """A home and what is found in it. ``mend`` is a pattern of the command. ``edit`` is what a
    person does in the editor to the line where it opens, for ``sed``; ``typed`` what is typed."""

    name: str
    build: Build
    check: str
    said: str
    mend: str
    env: Mapping[str, str] = field(default_factory=dict)
    edit: str = "d"
    typed: str = ""
    mendable: bool = True


def mended(home: Path, env: Mapping[str, str], case: Broken, command: str) -> dict[str, str]:
    """Run the command of a finding; the environment of the shell after it."""
    editor = home.parent / "editor"
    editor.write_text('#!/bin/sh\nsed -i "${1#+}$TYPED" "$2"\n')
    editor.chmod(0o700)
    given = {**environment(home, **env), "EDITOR": str(editor), "TYPED": case.edit}
    ended = subprocess.run(
        ["bash", "-c", f"{command}\nok=$?; env -0; exit $ok"],
        env=given,
        cwd=home,
        input=case.typed.encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    after = dict(one.split("=", 1) for one in ended.stdout.decode().split("\0") if "=" in one)
    own = {name: value for name, value in after.items() if given.get(name) != value}
    kept = {name: value for name, value in env.items() if name in after}
    return {**kept, **{n: v for n, v in own.items() if n.startswith(("SWAPDESK", "L", "TERM"))}}


def config(text: str) -> Build:
    return lambda home: (home / "config.toml").write_text(text) and None


def file(name: str, content: bytes = b"", mode: int = 0o600) -> Build:
    def build(home: Path) -> None:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(content)
        path.chmod(mode)

    return build


PROFILE = "profiles/sandbox"
JOURNAL = f"{PROFILE}/journal.db"


def journal(home: Path) -> Path:
    (home / PROFILE).mkdir(parents=True, mode=0o700, exist_ok=True)
    path = home / JOURNAL
    Journal.open(path, SystemClock()).close()
    return path


def newer_journal(home: Path) -> None:
    with closing(sqlite3.connect(journal(home))) as db:
        db.execute("PRAGMA user_version = 99")


def damaged_journal(home: Path) -> None:
    path = journal(home)
    content = bytearray(path.read_bytes())
    # The second page of the file, where a table begins.
    content[4096:8192] = os.urandom(4096)
    path.write_bytes(content)


def linked_journal(home: Path) -> None:
    path = journal(home)
    path.rename(home / "elsewhere.db")
    path.symlink_to(home / "elsewhere.db")


def mode(name: str, bits: int) -> Build:
    return lambda home: (home / name).chmod(bits)


def dead_sandbox(home: Path) -> None:
    """As a sandbox that was killed leaves it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
    at = f"http://127.0.0.1:{port}"
    line = (
        f'{{"url": "{at}/v2", "control": "{at}/sandbox", "controlToken": "x", "pid": 1,'
        ' "partners": [{"tier": "PRO", "partnerId": "p", "apiKey": "k", "apiSecret": "s"}]}'
    )
    file("sandbox/run.json", line.encode())(home)


HOMES = [
    Broken(
        "no TOML",
        config('theme = "ink"\nprofile = \n'),
        "config",
        "config.toml:2: is no TOML",
        r"\$\{EDITOR:-vi\} \+2 .*/config\.toml",
    ),
    Broken(
        "a key that is unknown",
        config('theme = "ink"\nthema = "ink"\n'),
        "config",
        "thema is unknown; did you mean theme?",
        r"\$\{EDITOR:-vi\} \+2 .*/config\.toml",
    ),
    Broken(
        "a directory as configuration",
        lambda home: (home / "config.toml").mkdir(),
        "config",
        "is no file",
        r"mkdir -m 700 .*/set-aside-config && mv .*",
    ),
    Broken(
        "a configuration of everybody",
        file("config.toml", b'theme = "iris"\n', 0o666),
        "config",
        "Other users can write to",
        r"chmod go-rwx .*/config\.toml",
    ),
    Broken(
        "a theme file",
        file("themes/mine.toml", b'acent = "#ffffff"\n'),
        "config",
        "mine.toml:1: acent is unknown; did you mean accent?",
        r"\$\{EDITOR:-vi\} \+1 .*/themes/mine\.toml",
        edit="s/acent/accent/",
    ),
    Broken(
        "a variable that is not used",
        lambda home: None,
        "config",
        "SWAPDESK_API_URL is not used: the profile is sandbox",
        "unset SWAPDESK_API_URL",
        env={"SWAPDESK_API_URL": "https://api.example", "SWAPDESK_PROFILE": "sandbox"},
    ),
    Broken(
        "a profile of the environment that is not there",
        lambda home: None,
        "profile",
        "SWAPDESK_PROFILE names no profile 'main'",
        "unset SWAPDESK_PROFILE",
        env={"SWAPDESK_PROFILE": "main"},
    ),
    Broken(
        "a profile of the file that is not there",
        config('profile = "mian"\n'),
        "profile",
        "config.toml:1: profile names no profile 'mian'",
        r"\$\{EDITOR:-vi\} \+1 .*/config\.toml",
    ),
    Broken(
        "a home of everybody",
        lambda home: home.chmod(0o777),
        "files",
        "Other users can write to",
        r"chmod go-rwx .*/home",
    ),
    Broken(
        "a key file of everybody",
        file(f"{PROFILE}/keys/names.json", b"{}", 0o640),
        "files",
        "names.json is open to other users",
        r"chmod go-rwx .*/keys/names\.json",
    ),
    Broken(
        "a pass phrase of everybody",
        file(f"{PROFILE}/wallet.passphrase", b"phrase", 0o604),
        "files",
        "wallet.passphrase is open to other users",
        r"chmod go-rwx .*/wallet\.passphrase",
    ),
    Broken(
        "a journal behind a link",
        linked_journal,
        "journal",
        "journal.db is no regular file",
        r"cp -L .* && chmod 600 .* && mv .*/journal\.db",
    ),
    Broken(
        "a damaged journal",
        damaged_journal,
        "journal",
        "journal.db is damaged",
        r"mkdir -m 700 .*/set-aside-journal && mv .*/journal\.db\* .*/set-aside-journal/",
    ),
    Broken(
        "a journal that is no database",
        file(JOURNAL, b"orders: none\n" * 100),
        "journal",
        "file is not a database",
        r"mkdir -m 700 .*/set-aside-journal && mv .*",
    ),
    Broken(
        "a journal of a newer version",
        newer_journal,
        "journal",
        "was written by a newer swapdesk (its version 99",
        r".* -m pip install -e .*",
        mendable=False,
    ),
    Broken(
        "a run file of a sandbox that was killed",
        dead_sandbox,
        "run file",
        "No sandbox answers where",
        r"rm .*/run\.json",
    ),
]
"""Homes of the sandbox's profile, in which no sandbox runs."""


@pytest.mark.parametrize("case", HOMES, ids=lambda case: case.name)
def test_a_broken_home_is_named_and_mended(case: Broken, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    case.build(home)
    check_and_mend(case, home, dict(case.env))


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_home_that_cannot_be_written_is_said_before_anything_is_lost(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    (found,) = wrong(run_here("doctor", "--json", home=tmp_path / "home"))
    assert (found["check"], found["mend"]) == ("files", f"chmod u+rwx {tmp_path}")
    assert "cannot be written" in found["said"]


def test_a_file_system_that_takes_nothing_asks_for_another_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mounted read-only, it refuses root, too."""
    real = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: mode != os.W_OK | os.X_OK and real(path, mode)
    )
    (found,) = wrong(run_here("doctor", "--json", home=tmp_path))
    assert (found["check"], found["mend"]) == (
        "files",
        "read -r SWAPDESK_HOME && export SWAPDESK_HOME",
    )


def test_what_was_set_aside_before_stays(tmp_path: Path) -> None:
    for times in (1, 2):
        damaged_journal(tmp_path)
        (found,) = wrong(doctor(tmp_path, {}))
        mended(tmp_path, {}, HOMES[0], found["mend"])
        assert len(list(tmp_path.glob("profiles/sandbox/set-aside-journal*/journal.db"))) == times


def check_and_mend(case: Broken, home: Path, env: dict[str, str]) -> None:
    (found,) = wrong(doctor(home, env))
    assert found["check"] == case.check
    assert case.said in found["said"]
    assert re.fullmatch(case.mend, found["mend"]), found["mend"]
    if case.mendable:
        env = mended(home, env, case, found["mend"])
        assert wrong(doctor(home, env)) == []


# Against a service


LIVE = {"SWAPDESK_PROFILE": "main"}


def change(old: str, new: str) -> Build:
    def build(home: Path) -> None:
        path = home / "config.toml"
        text, count = re.subn(old, new, path.read_text())
        assert count
        path.write_text(text)

    return build


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        return f"http://127.0.0.1:{silent.getsockname()[1]}"


SECRET = r"\(umask 077 && cat > .*/secret\)"
AT_LINE = r"\$\{EDITOR:-vi\} \+%d .*/config\.toml"
HOMES_OF_SERVICE = [
    Broken(
        "a secret of everybody",
        mode("secret", 0o644),
        "secret",
        "secret is open to other users",
        r"chmod go-rwx .*/secret",
    ),
    Broken(
        "no secret",
        lambda home: (home / "secret").unlink(),
        "secret",
        "secret cannot be read: No such file",
        SECRET,
    ),
    Broken(
        "a secret in a directory that is a file",
        change("secret_file = .*", 'secret_file = "config.toml/secret"'),
        "secret",
        "config.toml/secret cannot be looked at: Not a directory",
        r"chmod -R u\+rwX .*",
        mendable=False,
    ),
    Broken("an empty secret", file("secret"), "secret", "secret is empty", SECRET),
    Broken(
        "a secret with blanks",
        file("secret", b"one two"),
        "credentials",
        "The secret must be printable ASCII without blanks",
        SECRET,
    ),
    Broken(
        "a wrong secret",
        file("secret", b"wrong"),
        "credentials",
        "refuses the API key and its secret (INVALID_API_CREDENTIALS)",
        SECRET,
    ),
    Broken(
        "a wrong secret of the environment",
        lambda home: None,
        "credentials",
        "refuses the API key and its secret (INVALID_API_CREDENTIALS)",
        "read -rs SWAPDESK_API_SECRET && export SWAPDESK_API_SECRET",
        env={"SWAPDESK_API_SECRET": "wrong"},
    ),
    Broken(
        "a key without a secret",
        change("secret_file = .*\n", ""),
        "credentials",
        "has no key with secret_file and no partner_id",
        AT_LINE % 3,
        edit='s/$/\\nsecret_file = "secret"/',
    ),
    Broken(
        "a wrong partner id",
        change("key = .*\nsecret_file = .*", 'partner_id = "nobody"'),
        "credentials",
        "refuses the partner id",
        AT_LINE % 3,
        edit="s/nobody/PARTNER/",
    ),
    Broken(
        "no url",
        change("url = .*\n", ""),
        "service",
        "Profile main has no url",
        AT_LINE % 1,
        edit='s|$|\\nurl = "URL"|',
    ),
    Broken(
        "a url that is open on its way",
        change("url = .*", 'url = "http://api.example"'),
        "service",
        "http:// is for this machine only",
        AT_LINE % 2,
        edit='s|"http.*"|"URL"|',
    ),
    Broken(
        "a service that is not there",
        change("url = .*", f'url = "{closed_port()}"'),
        "service",
        "does not answer (health: no connection",
        AT_LINE % 2,
        edit='s|"http.*"|"URL"|',
    ),
    Broken(
        "a node that is not there",
        change("base = .*", f'base = "{closed_port()}"'),
        "nodes",
        "base: the node cannot be reached",
        AT_LINE % 6,
    ),
    Broken(
        "a node of another chain",
        change("base = ", "polygon = "),
        "nodes",
        "polygon: the node is one of chain 1337008453, not of 1337000137.",
        AT_LINE % 6,
        edit="s/polygon/base/",
    ),
    Broken(
        "a node of a chain that is none",
        change("base = ", "moon = "),
        "nodes",
        "rpc: the service knows no chain moon.",
        AT_LINE % 6,
        edit="s/moon/base/",
    ),
]
"""Homes of a profile for a service that answers. The secret is on line 4 of the configuration."""


@pytest.mark.parametrize("case", HOMES_OF_SERVICE, ids=lambda case: case.name)
def test_a_broken_profile_is_named_and_mended(case: Broken, live_desk: Desk) -> None:
    case.build(live_desk.home)
    partner = live_desk.sandbox.partner("PRO", 1)
    edit = case.edit.replace("URL", live_desk.sandbox.ready["url"])
    edit = edit.replace("PARTNER", partner["partnerId"])
    case = msgspec.structs.replace(case, edit=edit, typed=partner["apiSecret"] + "\n")
    check_and_mend(case, live_desk.home, {**LIVE, **case.env})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("name", ["config.toml", "secret", "."])
def test_what_belongs_to_another_user(name: str, live_desk: Desk) -> None:
    os.chown(live_desk.home / name, 4321, -1)
    command = "chown -R 0 .*"
    check = {"config.toml": "config", "secret": "secret", ".": "files"}[name]
    case = Broken(name, mode(name, 0o700), check, "belongs to another user", command)
    found = [one for one in wrong(doctor(live_desk.home, LIVE)) if one["check"] == check]
    assert re.fullmatch(command, found[0]["mend"])
    assert wrong(doctor(live_desk.home, mended(live_desk.home, LIVE, case, found[0]["mend"]))) == []


def test_a_wrong_clock(live_desk: Desk) -> None:
    with mock.patch.dict(os.environ, environment(live_desk.home, **LIVE), clear=True):
        late = examine(None, SystemClock(offset=-3600.0))
        right = examine(None, SystemClock())
    (found,) = [one for one in late if one.state == "wrong"]
    assert (found.check, found.said[:47]) == (
        "clock",
        "This machine's clock is 1h00m behind the servic",
    )
    assert found.mend.endswith("timedatectl set-ntp true") or sys.platform != "linux"
    assert not [one for one in right if one.state == "wrong"]


def test_whole_homes(clean: Sandbox, live_desk: Desk, tmp_path: Path) -> None:
    """Of a sandbox that runs, with keys; of a live service; and one that nobody has used."""
    running = doctor(home_of(clean, tmp_path / "other").home, {})
    assert wrong(running) == []
    said = {one["check"]: one["said"] for one in running.document["findings"]}
    assert said["files"].endswith("is open to nobody else.")
    assert said["nodes"].startswith("Nodes answer for ")
    assert said["credentials"] == "The API key is accepted."
    live = doctor(live_desk.home, LIVE)
    assert wrong(live) == []
    assert "Nodes answer for base." in live.stdout
    assert wrong(doctor(tmp_path / "new", {})) == []


# The machine


_BARE = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
from swapdesk.cli.main import run
sys.exit(run(["doctor", "--json"]))
"""


def test_missing_packages_are_named_and_keep_nothing_else_from_being_looked_at(
    tmp_path: Path,
) -> None:
    missing = (
        "textual",
        "httpx2",
        "pydantic",
        "websockets",
        "segno",
        "Crypto",
        "uvicorn",
    )
    damaged_journal(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-c", _BARE.format(missing=missing)],
        env=environment(tmp_path),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    said = Result(ended.stdout.decode(), ended.stderr.decode(), ended.returncode)
    python, extras, broken = wrong(said)
    assert python["said"] == "The desk needs textual, httpx2, pydantic, websockets, segno, Crypto."
    clone = Path(__file__).resolve().parents[2]
    assert python["mend"].endswith(f"-m pip install -e {shell_word(clone)}")
    assert extras["said"] == "The sandbox needs uvicorn."
    assert extras["mend"].endswith(f"-m pip install -e {shell_word(f'{clone}[sandbox]')}")
    assert broken["check"] == "journal"
    left = {one["check"] for one in said.document["findings"] if one["state"] == "unchecked"}
    of_the_shell = {"command", "manual", "completion"}
    assert left - of_the_shell == {"service"}


RUNS = "$(touch gone)`touch gone`'\"; touch gone"


@pytest.mark.parametrize("hostile", [f"x\x1b[2J\n{RUNS}", f"x {RUNS}"], ids=["drawn", "printable"])
def test_texts_of_files_reach_neither_the_terminal_nor_a_shell(
    hostile: str, tmp_path: Path
) -> None:
    quoted = json.dumps(hostile).replace("\x1b", "\\u001b")
    config(
        f'[profiles.main]\nurl = "{closed_port()}"\nkey = "k"\nsecret_file = {quoted}\n'
        f"{quoted} = 1\n[profiles.main.rpc]\n{quoted} = {quoted}\n"
    )(tmp_path)
    file("profiles/main/address_book.toml", f"[{quoted}]\naddress = {quoted}\n".encode())(tmp_path)
    file(f"profiles/main/keys/{hostile}", b"", 0o644)(tmp_path)
    shown = run_here("doctor", home=tmp_path, env=LIVE)
    assert "\x1b" not in shown.stdout
    assert {line.split()[0] for line in shown.stdout.splitlines()} <= {
        "ok",
        "wrong",
        "unchecked",
        "$",
    }
    case = Broken("", config(""), "", "", "", edit="b", typed="secret\n")
    for found in wrong(doctor(tmp_path, LIVE)):
        mended(tmp_path, LIVE, case, found["mend"])
    assert not (tmp_path / "gone").exists()
    assert (tmp_path / hostile).read_text() == "secret\n"
    assert {one["check"] for one in wrong(doctor(tmp_path, LIVE))} == {
        "config",
        "service",
    }


# The journal is read without a trace


_WRITER = """
import sys, time
from pathlib import Path
from swapdesk.clock import SystemClock
from swapdesk.flows.journal.journal_file import JournalFile
file = JournalFile.open(Path(sys.argv[1]))
with file.write() as db:
    db.execute("PRAGMA user_version = 99")
print("written", flush=True)
time.sleep(1000)
"""


def test_a_journal_in_use_is_read_with_its_log_and_left_as_it_is(tmp_path: Path) -> None:
    """While its desk runs, after that was killed, and where the file was copied with its log."""
    home, copy = tmp_path / "home", tmp_path / "copy"
    path = home / JOURNAL
    path.parent.mkdir(parents=True)
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE)
    try:
        assert writer.stdout.readline() == b"written\n"
        assert "its version 99" in wrong(doctor(home, {}))[0]["said"]
    finally:
        writer.kill()
        writer.communicate()
    assert "its version 99" in wrong(doctor(home, {}))[0]["said"]
    (copy / JOURNAL).parent.mkdir(parents=True)
    for name in ("journal.db", "journal.db-wal"):
        shutil.copy2(path.with_name(name), (copy / JOURNAL).with_name(name))
    assert "its version 99" in wrong(doctor(copy, {}))[0]["said"]
    # Without its log the file says nothing of that version.
    (copy / JOURNAL).with_name("journal.db-wal").unlink()
    assert wrong(doctor(copy, {})) == []
