"""The ready line of a running sandbox, the file that holds it, and the search for a running sandbox
(interfaces 2 and 3)."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict

from swapdesk.paths import read_private, write_private

RUN_FILE = "run.json"
TOKEN_HEADER = "sandbox-token"
LINE_VERSION = 1
"""``schemaVersion`` of ready lines. Members may be added; no member changes or is removed."""
_LIMIT = 64 * 1024


class ReadyLine(Struct, frozen=True):
    """The line that a sandbox prints once it is ready.

    Each of ``partners`` has partnerId, apiKey, apiSecret, tier, name, scope and state; each of
    ``chains`` has shortName, kind, chainId and rpc; each of ``makers`` has provider, chain and key.
    ``pid`` is the supervisor's process id. If earlier data could not be used, ``putAside`` is its
    new path; otherwise ``putAside`` is empty.
    """

    url: str
    control: str
    controlToken: str  # noqa: N815 (the names of the line)
    partners: list[dict[str, str]]
    pid: int
    chains: list[dict[str, Any]] = field(default_factory=list)
    makers: list[dict[str, str]] = field(default_factory=list)
    putAside: str = ""  # noqa: N815

    def as_mapping(self) -> dict[str, Any]:
        """Returns the fields by the names that the ready line uses, with ``schemaVersion``."""
        return {"schemaVersion": LINE_VERSION, **asdict(self)}

    def as_line(self) -> str:
        return json.dumps(self.as_mapping())

    @classmethod
    def from_line(cls, line: str | bytes) -> ReadyLine:
        """Reads a ready line; unknown members are ignored. Raises ValueError if the line is
        malformed."""
        return msgspec.json.decode(line, type=cls)


def write_run_file(directory: Path, ready: ReadyLine) -> Path:
    """Writes ``run.json`` with mode 0600, completely or not at all; returns its path."""
    path = directory / RUN_FILE
    write_private(path, ready.as_line().encode() + b"\n", replace=True)
    return path


def read_run_file(directory: Path) -> ReadyLine | None:
    """Returns the ready line in the run file, even of a sandbox that has ended; None if the file is
    missing or invalid."""
    try:
        return ReadyLine.from_line(read_private(directory / RUN_FILE, _LIMIT))
    except (OSError, ValueError):
        return None


def find_running(directory: Path, *, seconds: float = 2.0) -> ReadyLine | None:
    """Returns the ready line of the sandbox that runs on a data directory; None if no sandbox
    answers. ``seconds`` is the time limit for each step of the request that asks it."""
    ready = read_run_file(directory)
    if ready is None:
        return None
    place = urlsplit(f"{ready.control}/state")
    connection = HTTPConnection(place.netloc, timeout=seconds)
    try:
        connection.request("GET", place.path, headers={TOKEN_HEADER: ready.controlToken})
        return ready if connection.getresponse().status == 200 else None
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()
