"""What README and guides tell to type does what they say.

The blocks of a document run one after another in one shell, with a home of its own and one
sandbox. Markers, which nobody sees on the page, say the rest: ``not run: REASON`` before a block
that would open the desk or needs a live service, ``file: NAME`` before what a reader writes into
a file (a program of Python is run, too), ``prints`` before what the block above prints (``…``
stands for what differs each time).
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from furnished_home import furnish
from harness import environment
from patience import PATIENCE
from swapdesk.wire.encoding.codec import encode_json
from test_documents import GUIDES, ROOT, command_of, options_of, text

TOOLS = ("bash", "curl", "jq", "python3")
"""What the guides use beside the project."""
DOCUMENTS = ("README.md", *GUIDES)
SCRIPTER = "docs/guide/scripter.md"
RECIPES = sorted(
    path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/releases").glob("*/scripter.md")
)
"""Blocks of the scripter's guide of each release."""
RUN = ("", "bash", "python")
FEW = 12
"""Blocks of all documents together that do not run."""
BLOCK = re.compile(
    r"(?:^<!-- (?P<marker>.+?) -->\n)?^```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

SERVE = """
swapdesk serve --sandbox --speed 600 > .ready.json &
until [ -s .ready.json ]; do sleep; done
"""
AROUND = {
    # A price that moved is the reader's limit at work.
    "--min-out 14": ("", " || [ $? -eq 3 ]"),
    # Other rows than those of `batch run`.
    "swapdesk batch create payments.csv": ("sed -i 's/,0.5,/,0.4,/' payments.csv", ""),
    # It never ends by itself, and hears of orders that are made meanwhile.
    "async for frame in stream": (
        "",
        " > stream.txt & followed=$!\n"
        'until grep -q SWAP_COMPLETED stream.txt; do "$PYTHON" client.py > again.txt; done\n'
        "kill $followed",
    ),
}
"""Of a block that holds these words: what is run before it, and behind its last line."""
PRELUDE = """
set -e -o pipefail
trap 'kill $(jobs -p) 2> .killed || true; wait' EXIT
sleep() { command sleep 0.2; }
new_order() {
  swapdesk swap 20 usdc.base eth.ethereum --to @bob --yes --json | jq -r .serviceId | tee last_order
}
"""
BEFORE = {
    "README.md": SERVE,
    "docs/guide/trader.md": SERVE,
    "docs/guide/support.md": SERVE + "new_order > .made\n",
}
"""Who does not start a sandbox himself is at a desk, which has one."""
WORDS = {
    "fund ORDER": 'fund "$(new_order)"',
    "ORDER": '"$(cat last_order)"',
    "QUOTE": '"$(swapdesk quote 20 usdc.base weth.base --json'
    ' | jq -r \'[.quotes[] | select(.type == "dex")][0].quoteId\')"',
}
"""What a reader fills in himself."""

SHIM = """#!{python} -IS
import _socket, array, os, sys
try:
    os.fstat(3)
except OSError:
    pass
else:
    os.execv("{python}", ["{python}", "-m", "swapdesk", *sys.argv[1:]])
asked = _socket.socket(_socket.AF_UNIX)
asked.connect("{door}")
env = [name + "=" + value for name, value in os.environ.items()]
request = "\\0".join([os.getcwd(), str(len(env)), *env, *sys.argv[1:]]).encode()
rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
asked.sendmsg([len(request).to_bytes(4, "big")], rights)
asked.sendall(request)
sys.exit(int(asked.recv(8) or b"1"))
"""
"""The command ``swapdesk`` of the shell. It lets the process of the tests start the real one,
which is a fork there; with a descriptor of its own it is started as everywhere. It imports next to
nothing, as it is run more than a hundred times."""


class Block(Struct, frozen=True):
    """A fenced block; ``line`` is where it stands, ``marker`` what the comment before it says."""

    line: int
    marker: str
    language: str
    body: str


def blocks(document: str) -> list[Block]:
    page = text(document)
    return [
        Block(
            page.count("\n", 0, block.start("language")) + 1,
            block["marker"] or "",
            block["language"],
            block["body"],
        )
        for block in BLOCK.finditer(page)
    ]


def does_not_run(block: Block) -> bool:
    return block.marker.startswith(("not run: ", "command: "))


@contextmanager
def swapdesk_command(place: Path) -> Iterator[Path]:
    """A folder with the command; whoever kills the command ends the process behind it."""
    place.mkdir()
    door = place / "door"
    (place / "swapdesk").write_text(SHIM.format(python=sys.executable, door=door))
    (place / "swapdesk").chmod(0o700)
    threads: list[threading.Thread] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(door))
        listening.listen()

        def accept() -> None:
            with suppress(OSError):
                while True:
                    conversation, _ = listening.accept()
                    threads.append(threading.Thread(target=_run, args=(conversation,)))
                    threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield place
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for thread in threads:
                thread.join(PATIENCE)


def _run(conversation: socket.socket) -> None:
    """Run one command with the descriptors of who asks, and tell its exit code."""
    with conversation:
        head, fds, _, _ = socket.recv_fds(conversation, 4, 3)
        request = b""
        while len(request) < int.from_bytes(head, "big"):
            request += conversation.recv(1 << 16)
        directory, count, *told = request.decode().split("\0")
        env, words = told[: int(count)], told[int(count) :]
        process = subprocess.Popen(
            [sys.executable, "-m", "swapdesk", *words],
            cwd=directory,
            env=dict(pair.split("=", 1) for pair in env),
            stdin=fds[0],
            stdout=fds[1],
            stderr=fds[2],
        )
        for fd in fds:
            os.close(fd)
        while process.poll() is None:
            if select.select([conversation], [], [], 0.02)[0]:  # who asked is gone
                process.terminate()
                process.wait()
        with suppress(OSError):
            conversation.sendall(b"%d" % (process.returncode % 256))


def as_typed(line: str, document: str) -> str:
    """A line of a block with the words that a reader fills in, and his consent."""
    if not line.startswith("swapdesk "):
        return line.replace("--speed 30", "--speed 600")
    try:
        words = shlex.split(line)[1:]
    except ValueError:  # goes on in the next line
        return line
    takes = options_of(command_of(words)[0])
    if not document.endswith(("scripter.md", "developer.md")) and "--yes" in takes:
        line = line if {"--yes", "--dry-run"} & set(words) else f"{line} --yes"
    for word, filled in WORDS.items():
        line = re.sub(rf"\b{word}\b", lambda _, filled=filled: filled, line)
    return line.replace("--speed 30", "--speed 600")


def script(document: str) -> str:
    """The blocks as one script; the output of each goes into a file named by its line."""
    parts = [PRELUDE, BEFORE.get(document, "")]
    for block in blocks(document):
        name = block.marker.removeprefix("file: ") if block.marker.startswith("file: ") else ""
        runs = block.language in RUN and not does_not_run(block) and block.marker != "prints"
        lines = [as_typed(line, document) for line in block.body.splitlines()]
        if name:
            parts += [f"cat > {name} <<'END-OF-FILE'", *lines, "END-OF-FILE"]
        if runs:
            if name:
                lines = [f'"$PYTHON" -u {name}']
            pairs = (pair for words, pair in AROUND.items() if words in block.body)
            first, behind = next(pairs, ("", ""))
            lines[-1] += behind
            parts += [f"echo {block.line} > reached", first]
            parts += [f"exec > {block.line}.out 2> {block.line}.err", *lines]
    return "\n".join(parts)


def run_blocks(document: str, tmp_path: Path) -> None:
    if missing := [tool for tool in TOOLS if tool in script(document) and not shutil.which(tool)]:
        pytest.skip(f"a reader of this page has {', '.join(missing)}; this machine does not")
    home, work = tmp_path / "home", tmp_path / "work"
    furnish(home, wallet=True)
    (work / ".venv" / "bin").mkdir(parents=True)
    (work / ".venv" / "bin" / "activate").touch()
    (work / "script").write_text(script(document))
    with swapdesk_command(tmp_path / "bin") as place:
        env = environment(home, PYTHON=sys.executable)
        env["PATH"] = f"{place}{os.pathsep}{env['PATH']}"
        shell = subprocess.Popen(
            ["bash", "script"], cwd=work, env=env, stdin=subprocess.DEVNULL, start_new_session=True
        )
        try:
            code = shell.wait(PATIENCE)
        finally:
            shell.terminate()
            shell.wait()
    line = (work / "reached").read_text().strip()
    output = {end: (work / f"{line}.{end}").read_text() for end in ("out", "err")}
    assert code == 0, f"{document}, line {line}: {code}\n{output['out']}\n{output['err']}"
    for ran, shown in shown_output(document):
        printed = (work / f"{ran.line}.out").read_text()
        wanted = ".*?".join(map(re.escape, shown.body.strip().split("…")))
        assert re.fullmatch(wanted, printed.strip(), re.DOTALL), f"line {shown.line}: {printed}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_runs(document: str, tmp_path: Path) -> None:
    run_blocks(document, tmp_path)


@pytest.mark.parametrize("recipes", RECIPES)
def test_the_recipes_of_an_earlier_release_run(recipes: str, tmp_path: Path) -> None:
    """Where today's guide still has all of them, in their order, it runs them itself."""
    blocks_of_today = map(as_written, blocks(SCRIPTER))
    typed = [block for block in blocks(recipes) if block.marker or block.language in RUN]
    if any(as_written(block) not in blocks_of_today for block in typed):
        run_blocks(recipes, tmp_path)


def as_written(block: Block) -> tuple[str, str, str]:
    """The block, wherever it stands."""
    return block.marker, block.language, block.body


def shown_output(document: str) -> Iterator[tuple[Block, Block]]:
    """Blocks whose output the page shows, each with what it shows."""
    for ran, shown in pairwise(blocks(document)):
        if shown.marker == "prints":
            yield ran, shown


def test_few_blocks_do_not_run() -> None:
    left_out = [
        (document, block.line, block.marker)
        for document in DOCUMENTS
        for block in blocks(document)
        if block.language in RUN and does_not_run(block)
    ]
    assert len(left_out) <= FEW, left_out


AMOUNT = Decimal("1234567890123456.123456789012345678")
COMPARED = {"percent", "used"}
"""Numbers that are shown and compared, and passed on to nobody."""


def number_members() -> set[str]:
    """Names of all members of documents that are numbers and may have a point."""

    def found(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for name, member in value.get("properties", {}).items():
                kinds = [
                    member.get("type"),
                    *(choice.get("type") for choice in member.get("anyOf", ())),
                ]
                if "number" in kinds:
                    yield name
        for inner in value.values() if isinstance(value, dict) else value:
            if isinstance(inner, (dict, list)):
                yield from found(inner)

    return set(found(json.loads(text("docs/reference/schemas.json")))) - COMPARED


def test_no_recipe_passes_on_a_rounded_amount(tmp_path: Path) -> None:
    """``jq`` reads numbers as floats: an amount reaches it as a text."""
    lines = [
        line for name in DOCUMENTS for block in blocks(name) for line in block.body.split("\n")
    ]
    amounts = number_members()
    assert {"amount", "net", "leastOut", "pendingCommissions"} <= amounts
    recipes = [
        line for line in lines if "jq " in line and amounts & set(re.findall(r"\.(\w+)", line))
    ]
    assert len(recipes) >= 6
    assert [line for line in recipes if not re.search(r"exact( < \S+)? \| jq ", line)] == []
    if missing := [tool for tool in ("bash", "jq", "python3") if not shutil.which(tool)]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    (exact,) = [line for line in lines if line.startswith("exact()")]
    (recipe,) = [line for line in recipes if ".deposit | [.amount" in line]
    deposit = {"amount": AMOUNT, "symbol": "ETH", "chain": "base", "address": "0x", "memo": None}
    (tmp_path / "order.json").write_bytes(encode_json({"deposit": {**deposit, "expires": None}}))
    ran = subprocess.run(
        ["bash", "-c", f"{exact}\n{recipe}"], cwd=tmp_path, capture_output=True, check=True
    )
    assert ran.stdout.decode().split("\t")[0] == str(AMOUNT)
