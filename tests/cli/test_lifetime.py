"""Whose sandbox a command uses, how long it lives, and what a kill leaves behind, also of
``listen``, which goes on where the receiver stood."""

from __future__ import annotations

import contextlib
import fcntl
import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from cli.desks import Desk, InProcess
from harness import (
    Result,
    Sandbox,
    alive,
    children,
    cli,
    end,
    environment,
    running_sandbox,
    start_command,
    wait_for,
)
from patience import PATIENCE
from rows import each_row

BTC_ETH = ("0.1", "btc.bitcoin", "eth.ethereum", "--to", "@bob", "--yes", "--json")


def family(pid: int) -> list[int]:
    """Every process below ``pid``."""
    below = children(pid)
    return below + [each for child in below for each in family(child)]


def watching(home: Path, service_id: str) -> subprocess.Popen[bytes]:
    """``orders watch`` once it has printed its first line."""
    command = start_command(
        "orders", "watch", service_id, "--json", home=home, stdout=subprocess.PIPE
    )
    assert command.stdout.readline().startswith(b'{"schemaVersion":1,"id":')
    return command


@pytest.fixture(scope="module")
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home where no sandbox runs, with one order that nobody has paid."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def unpaid(own_home: Path) -> str:
    """Made beside the books of an earlier release, which are put aside."""
    place = own_home / "sandbox"
    place.mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(place / "node.db")) as books:
        books.executescript("PRAGMA user_version = 4; CREATE TABLE meta (name TEXT);")
    result = cli("swap", *BTC_ETH, home=own_home)
    assert result.code == 0, result.stderr
    assert f"{place} was put aside as {place}.old-1: its books" in result.stderr
    return result.document["serviceId"]


def test_a_command_ends_its_sandbox_and_a_killed_one_leaves_no_process(
    own_home: Path, unpaid: str
) -> None:
    """The state survives: another command, with another sandbox, knows the order."""
    assert not (own_home / "sandbox" / "run.json").exists()
    command = watching(own_home, unpaid)
    below = family(command.pid)
    assert len(below) >= 3
    command.kill()
    command.wait()
    wait_for(lambda: not any(alive(pid) for pid in below), what="the sandbox to end")


def test_two_commands_of_one_home_share_a_sandbox_and_ctrl_c_ends_it_with_130(
    own_home: Path, unpaid: str
) -> None:
    first = watching(own_home, unpaid)
    try:
        run_file = own_home / "sandbox" / "run.json"
        before = run_file.read_text()
        assert run_file.stat().st_mode & 0o077 == 0
        assert cli("orders", "show", unpaid, home=own_home).code == 0
        assert run_file.read_text() == before
        assert first.poll() is None
        below = family(first.pid)
        first.send_signal(signal.SIGINT)
        assert first.wait(PATIENCE) == 130
        wait_for(lambda: not any(alive(pid) for pid in below), what="the sandbox to end")
    finally:
        first.kill()
        first.wait(PATIENCE)


def test_a_watch_outlives_the_sandbox_of_another(tmp_path: Path) -> None:
    with running_sandbox(tmp_path, speed=30) as other:
        name = cli("swap", *BTC_ETH, home=tmp_path).document["serviceId"]
        command = watching(tmp_path, name)
        try:
            assert len(family(command.pid)) == 0
            end(other.process)
            wait_for(lambda: len(family(command.pid)) >= 3, what="its own sandbox")
            assert command.poll() is None
        finally:
            command.terminate()
            command.wait(PATIENCE)


def test_a_create_killed_on_its_way_is_found_and_not_repeated(clean: Sandbox, desk: Desk) -> None:
    before = desk("orders", "list", "--json").document["total"]
    clean.fault("lost_response", operation="create_exchange")
    clean.fault("http_500", operation="list_orders", times=50)
    command = start_command("swap", *BTC_ETH, home=desk.home, stdout=subprocess.DEVNULL)
    journal = desk.home / "profiles" / "sandbox" / "journal.db"

    def unknown() -> bool:
        with contextlib.closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as db:
            return bool(
                db.execute(
                    "SELECT 1 FROM operation WHERE kind = 'create' AND state = 'unknown'"
                ).fetchall()
            )

    wait_for(unknown, what="the answer to be lost")
    meanwhile = desk("orders", "list", "--json")
    (told,) = meanwhile.document["unknown"]
    assert told["what"].startswith("0.1 BTC to ETH")
    assert told["money"] == "in your wallet; nothing was paid"
    assert "another desk or command that runs now looks after it." in meanwhile.stderr
    assert "It may have created the order. Nothing was paid." in meanwhile.stderr
    command.kill()
    command.wait()
    clean.control("DELETE", "/faults")
    listed = desk("orders", "list", "--json")
    assert "The order exists" in listed.stderr
    assert listed.document["total"] == before + 1
    assert listed.document["unknown"] == []


def test_a_sandbox_that_does_not_start_says_why(own_home: Path, unpaid: str) -> None:
    key = own_home / "sandbox" / "sandbox.key"
    key.chmod(0o644)
    try:
        result = cli("chains", "--json", home=own_home)
    finally:
        key.chmod(0o600)
    assert (result.code, result.error["code"]) == (2, "SANDBOX_REFUSED")
    assert "0600" in result.error["message"]


def test_a_sandbox_waits_for_its_directory_and_then_says_who_uses_it(
    clean: Sandbox, own_home: Path, unpaid: str
) -> None:
    """A second start, and beside it a command after a kill, which is no mistake of the command:
    the node may end after its service, and holds the directory until then."""
    second = start_command(
        *("serve", "--sandbox"),
        home=clean.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with (own_home / "sandbox" / "lock").open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.truncate()
        result = cli("chains", "--json", home=own_home)
    assert (result.code, result.error["code"]) == (7, "SANDBOX_NOT_READY")
    assert "another swapdesk uses" in result.error["message"]
    out, err = second.communicate(timeout=PATIENCE)
    assert (second.returncode, out) == (2, b"")
    assert f"another swapdesk (process {clean.ready['pid']}) uses ".encode() in err


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text('port = 0\n[chains]\n[store]\nurl = "postgresql://u@h/d"\n')
    extras = {
        ("serve", "--config", str(file)): "postgres",
        ("serve", "--sandbox"): "sandbox",
        ("chains",): "sandbox",
        ("partner", "list"): "sandbox",
    }
    program = (
        "import sys; sys.modules['asyncpg'] = None\n"
        "from swapdesk.cli.main import run\n"
        f"for words in {list(extras)!r}:\n"
        "    assert run((*words, '--json')) == 2\n"
        "    sys.modules['starlette'] = None"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    for told, extra in zip(ended.stderr.splitlines(), extras.values(), strict=True):
        error = Result("", told, ended.returncode).error
        assert error["code"] == "MISSING_EXTRA"
        assert "pip install -e " in error["message"]
        assert f"[{extra}]'" in error["message"]


def test_a_reader_that_leaves_is_no_defect(desk: Desk) -> None:
    command = start_command(
        *("tokens", "--limit", "20000"),
        home=desk.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    command.stdout.readline()
    command.stdout.close()
    assert command.wait(PATIENCE) == 0
    assert command.stderr.read() == b""
    command.stderr.close()


Taken = list[tuple[str, str, str]]
"""Id and state of an event, and its order."""


@contextmanager
def receiving(secret: str, taken: Taken, status: int = 204) -> Iterator[str]:
    """The address of a receiver that checks each signature by the clock of this machine, notes what
    came, and answers with ``status``."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            told = Webhook(secret).verify(body, {k.lower(): v for k, v in self.headers.items()})
            assert int(self.headers["webhook-timestamp"]) <= time.time()
            data = told["data"]
            noted = self.headers["webhook-id"], data["displayStatus"], data["serviceId"]
            taken.append(noted)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Standard error is not for this."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def listening(desk: Desk, url: str) -> Iterator[subprocess.Popen[str]]:
    """``listen``, once it posts."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    words = ("listen", "--forward-to", url, "--json")
    process = start_command(*words, home=desk.home, env=desk.environ, text=True, **pipes)
    try:
        assert process.stderr.readline().startswith(f"Posting to {url}")
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stdout.close()
        process.stderr.close()


def test_a_killed_listener_goes_on_and_the_stream_may_break(desk: Desk) -> None:
    desk.made("orders", "list")
    taken: Taken = []
    # The receiver's clock stays where it is, and takes nothing from the future.
    desk.sandbox.control("POST", "/clock", {"advance": 15})
    # The secret is made by the first call, here by one whose receiver is not there.
    gone = desk("listen", "--forward-to", "http://127.0.0.1:9/", "--replay", "msg_x")
    assert gone.code == 2, gone.stderr
    root = desk.home / "profiles" / "sandbox"
    secret = (root / "webhook.secret").read_text().strip()

    def states_of(order: str) -> list[str]:
        """Each event once; other orders of this home may be under way."""
        return list({event: state for event, state, of in taken if of == order}.values())

    with receiving(secret, taken) as url, receiving(secret, [], 410) as gone_url:
        with listening(desk, url) as process:
            order = desk.made("swap", *PAIR, "--to", BITCOIN, "--yes")["serviceId"]
            wait_for(lambda: taken, what="the first state")
            line = json.loads(process.stdout.readline())
            assert (line["id"], line["taken"], line["attempt"]) == (taken[0][0], True, 1)
        desk.sandbox.fault("ws_drop", times=1)
        with listening(desk, url):
            desk.made("fund", order, "--yes")
            wait_for(lambda: "SWAP_COMPLETED" in states_of(order), what="the end")
        states = states_of(order)
        assert (states[0], states[-1]) == ("WAITING_FOR_DEPOSIT", "SWAP_COMPLETED")
        replay = ("--replay", taken[-1][0])
        desk.made("listen", "--forward-to", url, *replay)
        assert taken[-1] == taken[-2]
        desk.refused(5, "RECEIVER_GONE", "listen", "--forward-to", gone_url, *replay)
        (root / "webhook.secret").write_text("")
        desk.refused(2, "NO_SECRET", "listen", "--forward-to", url)


PAIR = ("0.5", "eth.ethereum", "btc.bitcoin")
BITCOIN = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"


@each_row(
    ("words", "code", "name"),
    [
        (("--forward-to", "http://example.com/"), 2, "BAD_RECEIVER"),
        ((), 2, "USAGE"),
    ],
)
def test_bad_words_are_refused_before_anything_is_asked(
    here: InProcess, words: tuple[str, ...], code: int, name: str
) -> None:
    here.refused(code, name, "listen", *words)
