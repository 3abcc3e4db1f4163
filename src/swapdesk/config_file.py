"""Reads and changes ``config.toml``. Checks which keys exist and reports wrong ones with their
line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
from msgspec import field

from swapdesk.paths import PROFILE_NAME, make_directories, without_mark, write_private
from swapdesk.toml_document import ConfigProblem, TomlDocument, nearest, read_document

__all__ = ["CONFIG_LIMIT", "ConfigFile", "ConfigProblem", "nearest", "read_config"]

CONFIG_LIMIT = 256 * 1024

_ANYWHERE: dict[str, str] = {
    "theme": "text",
    "glyphs": "glyphs",
    "notify": "notify",
    "read_only": "truth",
    "output_tolerance": "percent",
}
SANDBOX_KEYS: dict[str, str] = {**_ANYWHERE, "pay": "pay"}
TOP_KEYS: dict[str, str] = {
    "profile": "text",
    **_ANYWHERE,
    "ca_file": "text",
    "keys": "keys",
    "profiles": "table",
}
PROFILE_KEYS: dict[str, str] = {
    "url": "text",
    "key": "text",
    "secret_file": "text",
    "partner_id": "text",
    "rpc": "texts",
    "ca_file": "text",
    **SANDBOX_KEYS,
}
GLYPHS = ("auto", "unicode", "ascii")
NOTIFY = ("away", "always", "off")
PAY = ("x402",)
_CHOICES = {"glyphs": GLYPHS, "notify": NOTIFY, "pay": PAY}
_SAID = {
    "text": "must be a text",
    "table": "must be a table",
    "texts": "must be a table of texts",
    "keys": "must be a table of command = key",
    "glyphs": "must be auto, unicode or ascii",
    "notify": "must be away, always or off",
    "truth": "must be true or false",
    "pay": "must be x402",
    "percent": "must be a number from 0 to 100",
}


class ConfigFile(TomlDocument):
    """The content of ``config.toml``. ``top``, ``profiles`` and ``keys`` have the accepted values
    of its tables; ``problems`` has the refused ones."""

    top: dict[str, Any] = field(default_factory=dict)
    profiles: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    """The keyboard keys for each command, separated by commas. The command names are unchecked."""

    def check(
        self, table: Mapping[str, Any], kinds: Mapping[str, str], where: tuple[str, ...]
    ) -> dict[str, Any]:
        accepted: dict[str, Any] = {}
        for name, value in table.items():
            if name not in kinds:
                self.refuse((*where, name), "is unknown", nearest(name, kinds))
            elif not _fits(kinds[name], value):
                # [profile.NAME] is a slip for [profiles.NAME].
                near = f"{name}s" if isinstance(value, dict) and f"{name}s" in kinds else None
                if kinds[name] in _CHOICES and isinstance(value, str):
                    near = nearest(value, _CHOICES[kinds[name]])
                self.refuse((*where, name), _SAID[kinds[name]], near)
            else:
                accepted[name] = Decimal(value) if kinds[name] == "percent" else value
        return accepted

    def check_keys(self, table: Mapping[str, Any]) -> None:
        """Reads the table ``[keys]`` into ``keys``. A value that is neither a key nor a list of
        keys is added to ``problems``."""
        for name, value in table.items():
            keys = [value] if isinstance(value, str) else value
            if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
                self.refuse(("keys", name), "must be a key or a list of keys")
            elif not keys or not all(key.strip() for key in keys):
                self.refuse(("keys", name), "must name a key")
            else:
                # A comma alone is the key; between keys it separates them.
                self.keys[name] = ",".join("comma" if key == "," else key for key in keys)


def read_config(file: Path) -> ConfigFile:
    """Reads the configuration file. If the file is missing, there are no values. If it is broken or
    other users may write it, there are no values and one problem."""
    document = read_document(file, CONFIG_LIMIT, trusted=True)
    config = ConfigFile(file, document.lines, document.content, document.problems)
    accepted = config.check(document.content, TOP_KEYS, ())
    tables = accepted.pop("profiles", {})
    config.check_keys(accepted.pop("keys", {}))
    config.top = accepted
    for name, table in tables.items():
        if not isinstance(table, dict):
            config.refuse(("profiles", name), _SAID["table"])
        elif PROFILE_NAME.fullmatch(name) is None:
            config.refuse(("profiles", name), "is no profile name")
        elif name == "sandbox":
            # The sandbox brings its own address and keys.
            config.profiles[name] = config.check(table, SANDBOX_KEYS, ("profiles", name))
        else:
            config.profiles[name] = config.check(table, PROFILE_KEYS, ("profiles", name))
    return config


def keep_theme(file: Path, theme: str, profile: str) -> None:
    """Writes the chosen theme into the table of ``profile`` if that table has a theme, otherwise at
    the top of ``file``. Raises OSError like :func:`keep_choice`."""
    keep_choice(file, "theme", theme, profile)


def keep_choice(file: Path, key: str, value: str, profile: str | None = None) -> None:
    """Writes ``key = value`` into the table of ``profile`` if that table has the key, otherwise at
    the top of ``file``. Raises OSError, with a message for the user, if the file cannot be
    changed."""
    place = re.compile(rf"(\s*{key}\s*=\s*)(\"[^\"]*\"|'[^']*')(.*)", re.DOTALL)
    file = file.resolve()
    document = read_document(file, CONFIG_LIMIT, trusted=True)
    if document.problems:
        raise OSError(0, str(document.problems[0]))
    profiles = document.content.get("profiles")
    table = profiles.get(profile) if profile is not None and isinstance(profiles, dict) else None
    own = isinstance(table, dict) and key in table
    wanted = deepcopy(document.content)
    (wanted["profiles"][profile] if own else wanted)[key] = value
    text = msgspec.json.encode(value).decode()
    content = file.read_bytes() if document.lines else b""
    lines = without_mark(content).decode().splitlines(keepends=True)
    mark = content[: len(content) - len(without_mark(content))]
    written = [at for at, line in enumerate(lines) if place.fullmatch(line)]
    candidates = [
        [*lines[:at], place.sub(rf"\g<1>{text}\g<3>", lines[at]), *lines[at + 1 :]]
        for at in written
    ]
    if not own and key not in document.content:
        candidates = [[f"{key} = {text}\n", *lines]]
    for candidate in candidates:
        whole = "".join(candidate)
        with suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(whole, parse_float=Decimal) == wanted:
                make_directories(file.parent)
                write_private(file, mark + whole.encode(), replace=True)
                return
    raise OSError(0, f"{file.name} cannot be changed by itself")


def _fits(kind: str, value: Any) -> bool:
    if kind == "text":
        return isinstance(value, str) and bool(value)
    if kind in _CHOICES:
        return value in _CHOICES[kind]
    if kind == "truth":
        return isinstance(value, bool)
    if kind in ("table", "keys"):
        return isinstance(value, dict)
    if kind == "texts":
        return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return False
    return Decimal(value).is_finite() and 0 <= value <= 100
