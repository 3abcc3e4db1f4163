"""The one way to start a desk or a service in tests: real processes, a home of their own.

Nothing of the machine leaks in: no proxy, no ``SWAPDESK_*`` variable, no configuration of
whoever runs the tests.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, AnyStr, TypeVar

import httpx2
from msgspec import Struct

from forked_processes import runs_module
from furnished_home import furnish
from patience import PATIENCE
from plain_http import PLAIN
from printed_documents import check_printed

T = TypeVar("T")


def environment(home: Path, **extra: str) -> dict[str, str]:
    """What a process of a test sees of the machine."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "SWAPDESK_HOME": str(home),
        **extra,
    }


def _read_document(line: str) -> Any:
    found = json.loads(line, parse_float=str)
    if isinstance(found, dict):
        found.pop("schemaVersion", None)
    return found


class Result(Struct, frozen=True):
    """How a command ended."""

    stdout: str
    stderr: str
    code: int

    @property
    def document(self) -> Any:
        """The one JSON document on standard output, without the version of its schema."""
        assert self.stdout.count("\n") == 1, self
        return _read_document(self.stdout)

    @property
    def documents(self) -> list[Any]:
        """One JSON object per line."""
        return [_read_document(line) for line in self.stdout.splitlines()]

    @property
    def error(self) -> dict[str, Any]:
        """The error object, which is the last line on standard error."""
        found = json.loads(self.stderr.splitlines()[-1])
        assert set(found) == {"schemaVersion", "error"}, self
        error: dict[str, Any] = found["error"]
        names = {"code", "message", "status", "requestId", "fields", "money", "next"}
        assert set(error) == {*names, "family", "noun"}
        return error


def start_command(
    *arguments: str, home: Path, env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[Any]:
    """A command that goes on running; the caller ends it."""
    return subprocess.Popen(
        [sys.executable, "-m", "swapdesk", *arguments],
        env=environment(home, **(env or {})),
        cwd=home,
        **options,
    )


def first_line(process: subprocess.Popen[AnyStr]) -> AnyStr | None:
    """What a process prints first; nothing where it ends before, or takes too long."""
    readable, _, _ = select.select([process.stdout], [], [], PATIENCE)
    return process.stdout.readline() if readable else None


def cli(
    *arguments: str,
    home: Path,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
) -> Result:
    """Run one command to its end, without a terminal."""
    ended = subprocess.run(
        [sys.executable, "-m", "swapdesk", *arguments],
        env=environment(home, **(env or {})),
        cwd=home,
        input=stdin.encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    result = Result(ended.stdout.decode(), ended.stderr.decode(), ended.returncode)
    check_printed(arguments, result.stdout, result.stderr)
    return result


class Sandbox(Struct):
    """A running sandbox of one home, which the commands of that home find and use."""

    home: Path
    ready: dict[str, Any]
    process: subprocess.Popen[bytes]

    def control(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One control operation, as ``control("POST", "/clock", {"advance": 60})``."""
        answer = httpx2.request(
            method,
            self.ready["control"] + path,
            headers={"sandbox-token": self.ready["controlToken"]},
            json=body,
            timeout=PATIENCE,
            trust_env=False,
            verify=PLAIN,
        )
        assert answer.status_code == 200, answer.text
        return answer.json() if answer.content else None

    def fault(self, fault: str, **selector: Any) -> None:
        """Put one fault in the way, as ``fault("http_500", operation="create_exchange")``."""
        self.control("POST", "/faults", {"fault": fault, **selector})

    def partner(self, tier: str = "PRO", place: int = 0) -> dict[str, str]:
        """Partner ``place`` of a tier; the desk itself is the first PRO one."""
        found = [p for p in self.ready["partners"] if p["tier"] == tier]
        partner: dict[str, str] = found[place]
        return partner

    def kill_service(self) -> None:
        """``kill -9`` of the service process; its supervisor starts it again."""
        module = "swapdesk.sandbox.service_process"
        (pid,) = (one for one in children(self.process.pid) if runs_module(one, module))
        os.kill(pid, signal.SIGKILL)

    def answers(self) -> bool:
        """Whether the service says it is well."""
        try:
            answer = httpx2.get(
                self.ready["url"] + "/health", timeout=PATIENCE, trust_env=False, verify=PLAIN
            )
        except httpx2.HTTPError:
            return False
        return answer.status_code == 200

    def rpc(self, chain: str) -> str:
        """Where a chain is asked."""
        return rpc_of(self.ready["chains"], chain)


def rpc_of(chains: Iterable[Mapping[str, Any]], name: str) -> str:
    """Where a chain of those a sandbox names is asked."""
    return next(str(chain["rpc"]) for chain in chains if chain["shortName"] == name)


def end(process: subprocess.Popen[Any]) -> None:
    """Ask a process to end; one that does not is killed."""
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def start_sandbox(
    home: Path, *, speed: float = 600, furnished: bool = True, wallet: bool = False
) -> Sandbox:
    """A sandbox on the data directory of ``home``; its state survives its end.

    On a new home it is one that was used before, unless it shall not be ``furnished``; with
    ``wallet`` the home has accounts with money, too."""
    if furnished and not (home / "sandbox").exists():
        furnish(home, wallet=wallet)
    said = home / "sandbox.stderr"
    home.mkdir(parents=True, exist_ok=True)
    with said.open("wb") as stderr:
        process = start_command(
            *("serve", "--sandbox", "--lifeline", "--data", str(home / "sandbox")),
            *("--speed", str(speed)),
            home=home,
            # The pipe ends the sandbox also when the test process is killed.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )
    line = first_line(process)
    if not line:
        process.kill()
        ended = process.wait()
        raise AssertionError(f"the sandbox did not become ready ({ended}): {said.read_text()}")
    return Sandbox(home, json.loads(line), process)


@contextmanager
def running_sandbox(home: Path, **options: Any) -> Iterator[Sandbox]:
    """:func:`start_sandbox`, ended with the block."""
    sandbox = start_sandbox(home, **options)
    try:
        yield sandbox
    finally:
        end(sandbox.process)


def home_of(sandbox: Sandbox, home: Path, *, place: int = 1, wallet: bool = True) -> Sandbox:
    """The same sandbox as the programs of another home find it, as its PRO partner ``place``.

    With ``wallet`` the home has the keys of the sandbox's own: the accounts are the same."""
    partners = sandbox.ready["partners"]
    mine = sandbox.partner("PRO", place)
    others = [partner for partner in partners if partner != mine]
    ready = {**sandbox.ready, "partners": [mine, *others]}
    (home / "sandbox").mkdir(parents=True, mode=0o700)
    run_file = home / "sandbox" / "run.json"
    run_file.touch(0o600)
    run_file.write_text(json.dumps(ready))
    if wallet:
        kept, profile = (at / "profiles" / "sandbox" for at in (sandbox.home, home))
        profile.mkdir(parents=True, mode=0o700)
        profile.parent.chmod(0o700)
        shutil.copytree(kept / "keys", profile / "keys")
        shutil.copy2(kept / "wallet.passphrase", profile / "wallet.passphrase")
    return Sandbox(home, ready, sandbox.process)


def wait_for(condition: Callable[[], T | None], what: str = "it") -> T:
    """The first true value of ``condition``, asked again and again until the time is over.

    What takes longer is asked for less often, and costs whom it waits for less.
    """
    begun = time.monotonic()
    while True:
        found = condition()
        if found:
            return found
        waited = time.monotonic() - begun
        assert waited < PATIENCE, f"waited for {what}"
        select.select([], [], [], min(max(0.02, waited / 8), 0.25))


def children(pid: int) -> list[int]:
    """The processes a process has started."""
    listed = list(Path(f"/proc/{pid}/task").glob("*/children"))
    if not listed:
        return [int(word) for word in _ps("pid=", "--ppid", str(pid)).split()]
    return [int(word) for one in listed for word in _read(one).split()]


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    if not Path("/proc/self/stat").exists():
        state = _ps("stat=", "-p", str(pid)).strip()
    else:
        # The name of the program, in brackets, may itself hold any character.
        state = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].strip()
    return bool(state) and not state.startswith("Z")


def _read(path: Path) -> str:
    """What the system says of a process; nothing of one that is gone."""
    try:
        return path.read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _ps(*words: str) -> str:
    """Where the system has no such files: a process for each question, which is much dearer."""
    return subprocess.run(["ps", "-o", *words], capture_output=True, text=True, check=False).stdout
