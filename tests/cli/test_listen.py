"""``listen`` beside a sandbox: killed in the middle, it goes on where the receiver stood."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from standardwebhooks import Webhook

from cli.desks import Desk, InProcess, run_here
from forked_processes import in_fresh_interpreters
from harness import environment, wait_for
from patience import PATIENCE

Taken = list[tuple[str, str]]


@contextmanager
def receiving(secret: str, taken: Taken, status: int = 204) -> Iterator[str]:
    """The address of a receiver that checks each signature, by the clock of this machine, notes id
    and state, and answers with ``status``."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            told = Webhook(secret).verify(body, {k.lower(): v for k, v in self.headers.items()})
            assert int(self.headers["webhook-timestamp"]) <= time.time()
            taken.append((self.headers["webhook-id"], told["data"]["displayStatus"]))
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
    """``listen``, once it posts; its address is told without a query."""
    with in_fresh_interpreters():
        process = subprocess.Popen(
            [sys.executable, "-m", "swapdesk", "listen", "--forward-to", url, "--json"],
            env=environment(desk.home, **desk.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert process.stderr is not None
    assert process.stdout is not None
    try:
        first = process.stderr.readline()
        assert first.startswith(f"Posting to {url.partition('?')[0]}")
        assert "token" not in first
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
    refused: Taken = []
    with receiving(secret, taken) as url, receiving(secret, refused, 410) as gone_url:
        with listening(desk, url) as process:
            made = desk.made("swap", *PAIR, "--to", BITCOIN, "--yes")
            order = made["serviceId"]
            wait_for(lambda: taken, what="the first state")
            line = json.loads(process.stdout.readline())
            assert (line["id"], line["taken"], line["attempt"]) == (taken[0][0], True, 1)
        desk.sandbox.control("POST", "/faults", {"fault": "ws_drop", "times": 1})
        asks = f"{gone_url}?token=abc"
        with listening(desk, asks) as ended, listening(desk, url):
            assert desk("fund", order, "--yes", "--json").code == 0
            wait_for(lambda: any(state == "SWAP_COMPLETED" for _, state in taken), what="the end")
            assert ended.wait(PATIENCE) == 5
            assert ended.stdout is not None
            told = ended.stdout.read() + ended.stderr.read()
        assert "RECEIVER_GONE" in told
        assert "token" not in told
        assert len(refused) == 1
        states = list(dict(taken).values())
        assert states[0] == "WAITING_FOR_DEPOSIT"
        assert states[-1] == "SWAP_COMPLETED"
        desk.made("listen", "--forward-to", url, "--replay", taken[-1][0])
        assert taken[-1] == taken[-2]
        desk.refused(5, "RECEIVER_GONE", "listen", "--forward-to", asks, "--replay", taken[-1][0])
        (root / "webhook.secret").write_text("")
        desk.refused(2, "NO_SECRET", "listen", "--forward-to", url)


PAIR = ("0.5", "eth.ethereum", "btc.bitcoin")
BITCOIN = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (("--forward-to", "http://example.com/"), 2, "BAD_RECEIVER"),
        ((), 2, "USAGE"),
    ],
)
def test_bad_words_are_refused_before_anything_is_asked(
    here: InProcess, words: tuple[str, ...], code: int, name: str
) -> None:
    told = run_here("listen", *words, "--json", home=here.home)
    assert (told.code, told.error["code"]) == (code, name)
