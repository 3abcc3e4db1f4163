"""``config.toml``: which keys exist, and where the wrong ones stand."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from swapdesk.paths import PROFILE_NAME

CONFIG_LIMIT = 256 * 1024

_ANYWHERE: dict[str, str] = {"theme": "text", "output_tolerance": "percent"}
TOP_KEYS: dict[str, str] = {"profile": "text", **_ANYWHERE, "profiles": "table"}
PROFILE_KEYS: dict[str, str] = {
    "url": "text",
    "key": "text",
    "secret_file": "text",
    "partner_id": "text",
    "rpc": "texts",
    **_ANYWHERE,
}
_SAID = {
    "text": "must be a text",
    "table": "must be a table",
    "texts": "must be a table of texts",
    "percent": "must be a number from 0 to 100",
}

_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(r"\s*([A-Za-z0-9_\-.\"' ]+?)\s*=")
_TOML_LINE = re.compile(r" ?\(at (?:line (\d+), column \d+|end of document)\)")


@dataclass(frozen=True)
class ConfigProblem:
    """One thing that is wrong: ``file`` is None when it stands in the environment."""

    file: Path | None
    line: int | None
    key: str
    message: str
    nearest: str | None = None

    def __str__(self) -> str:
        where = "environment" if self.file is None else str(self.file)
        line = f":{self.line}" if self.line is not None else ""
        hint = f"; did you mean {self.nearest}?" if self.nearest else ""
        subject = f"{self.key} " if self.key else ""
        return f"{where}{line}: {subject}{self.message}{hint}"


@dataclass
class ConfigFile:
    """The accepted values, by table; what was refused stands in ``problems``."""

    file: Path
    lines: list[str] = field(default_factory=list)
    top: dict[str, Any] = field(default_factory=dict)
    profiles: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: list[ConfigProblem] = field(default_factory=list)

    def line_of(self, *path: str) -> int | None:
        """The line of a key or table; a path of one name finds it in any table."""
        table: tuple[str, ...] = ()
        for number, text in enumerate(self.lines, start=1):
            header = _HEADER.match(text)
            if header is not None:
                table = _split(header[1])
                if table[: len(path)] == path:
                    return number
                continue
            assignment = _ASSIGNMENT.match(text)
            if assignment is None:
                continue
            here = (*table, *_split(assignment[1]))
            if here == path or (len(path) == 1 and here[-1] == path[0]):
                return number
        # A key of an inline table stands on the line of its table.
        return self.line_of(*path[:-1]) if len(path) > 1 else None

    def refuse(self, path: tuple[str, ...], message: str, near: str | None = None) -> None:
        line = self.line_of(*path)
        self.problems.append(ConfigProblem(self.file, line, ".".join(path), message, near))

    def check(
        self, found: Mapping[str, Any], known: Mapping[str, str], where: tuple[str, ...]
    ) -> dict[str, Any]:
        accepted: dict[str, Any] = {}
        for name, value in found.items():
            if name not in known:
                self.refuse((*where, name), "is unknown", nearest(name, known))
            elif not _fits(known[name], value):
                # [profile.NAME] is a slip for [profiles.NAME].
                near = f"{name}s" if isinstance(value, dict) and f"{name}s" in known else None
                self.refuse((*where, name), _SAID[known[name]], near)
            else:
                accepted[name] = Decimal(value) if known[name] == "percent" else value
        return accepted


def read_config(file: Path) -> ConfigFile:
    """Read the file; a missing one is empty, a broken one is one problem and no values."""
    config = ConfigFile(file)
    try:
        with file.open("rb") as stream:
            content = stream.read(CONFIG_LIMIT + 1)
    except FileNotFoundError:
        return config
    except OSError as error:
        config.problems.append(ConfigProblem(file, None, "", error.strerror or "is unreadable"))
        return config
    if len(content) > CONFIG_LIMIT:
        config.problems.append(ConfigProblem(file, None, "", f"exceeds {CONFIG_LIMIT} bytes"))
        return config
    try:
        text = content.decode("utf-8")
        document = tomllib.loads(text, parse_float=Decimal)
    except UnicodeDecodeError:
        config.problems.append(ConfigProblem(file, None, "", "is not UTF-8"))
        return config
    except tomllib.TOMLDecodeError as error:
        at = _TOML_LINE.search(str(error))
        line = int(at[1]) if at is not None and at[1] else content.count(b"\n") + 1
        message = f"is no TOML: {_TOML_LINE.sub('', str(error))}"
        config.problems.append(ConfigProblem(file, line, "", message))
        return config
    except (RecursionError, ValueError):
        config.problems.append(ConfigProblem(file, None, "", "is no TOML: nested too deep"))
        return config
    config.lines = text.splitlines()
    accepted = config.check(document, TOP_KEYS, ())
    tables = accepted.pop("profiles", {})
    config.top = accepted
    for name, table in tables.items():
        if not isinstance(table, dict):
            config.refuse(("profiles", name), _SAID["table"])
        elif PROFILE_NAME.fullmatch(name) is None:
            config.refuse(("profiles", name), "is no profile name")
        elif name == "sandbox":
            # The sandbox brings its own address and keys.
            config.profiles[name] = config.check(table, _ANYWHERE, ("profiles", name))
        else:
            config.profiles[name] = config.check(table, PROFILE_KEYS, ("profiles", name))
    return config


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like ``name``, when one is like it at all."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return close[0] if close else None


def _split(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _fits(kind: str, value: Any) -> bool:
    if kind == "text":
        return isinstance(value, str) and bool(value)
    if kind == "table":
        return isinstance(value, dict)
    if kind == "texts":
        return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return False
    return Decimal(value).is_finite() and 0 <= value <= 100
