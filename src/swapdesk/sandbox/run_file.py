"""The ready line of a running sandbox, and finding one by its file (interfaces 2 and 3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict

from swapdesk.paths import read_private, write_private

RUN_FILE = "run.json"
TOKEN_HEADER = "sandbox-token"
LINE_VERSION = 1
"""``schemaVersion`` of ready lines: members may be added, but none changes or goes."""
_LIMIT = 64 * 1024


class ReadyLine(Struct, frozen=True):
    """What a sandbox says once it is ready. ``partners`` have partnerId, apiKey, apiSecret,
    tier, name, scope and state; ``chains`` shortName, kind, chainId and rpc; ``makers``
    provider, chain and key; ``pid`` is the supervisor's. ``putAside`` says what became of the data
    of an earlier world, at the one start that put it aside."""

    url: str
    control: str
    controlToken: str  # noqa: N815 (the names of the line)
    partners: list[dict[str, str]]
    pid: int
    chains: list[dict[str, Any]] = field(default_factory=list)
    makers: list[dict[str, str]] = field(default_factory=list)
    putAside: str = ""  # noqa: N815

    def as_mapping(self) -> dict[str, Any]:
        """Under the names of the line."""
        return {"schemaVersion": LINE_VERSION, **asdict(self)}

    def as_line(self) -> str:
        return json.dumps(self.as_mapping())

    @classmethod
    def from_line(cls, line: str | bytes) -> ReadyLine:
        """Reads a line, ignoring names it does not know. Raises ValueError."""
        return msgspec.json.decode(line, type=cls)


def write_run_file(directory: Path, ready: ReadyLine) -> Path:
    """Writes ``run.json`` with mode 0600, all of it or nothing."""
    path = directory / RUN_FILE
    write_private(path, ready.as_line().encode() + b"\n", replace=True)
    return path


def read_run_file(directory: Path) -> ReadyLine | None:
    """Returns what the file says, whether or not a sandbox runs; None for no file of ours."""
    try:
        return ReadyLine.from_line(read_private(directory / RUN_FILE, _LIMIT))
    except (OSError, ValueError):
        return None


def find_running(directory: Path, *, seconds: float = 2.0) -> ReadyLine | None:
    """Returns the sandbox of a data directory if it runs and is the one its file names.

    The probe carries the control token, so another program on the same port is not mistaken for it.
    ``seconds`` bounds each of the probe's steps.
    """
    ready = read_run_file(directory)
    if ready is None:
        return None
    # On use: who only starts a sandbox needs no client.
    import httpx2

    from swapdesk.certificates import certificates

    try:
        answer = httpx2.get(
            f"{ready.control}/state",
            headers={TOKEN_HEADER: ready.controlToken},
            timeout=seconds,
            verify=certificates(httpx2.URL(ready.control)),
            trust_env=False,
        )
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return None
    return ready if answer.status_code == 200 else None
