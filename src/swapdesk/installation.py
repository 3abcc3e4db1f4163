"""Finds out how swapdesk was installed, and returns the shell commands that add missing parts in
the same way.

Packages that other tools add to an environment of ``uv tool`` or pipx are lost at the next upgrade.
A package index may have no package, or a different one, under this name.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path
from string import ascii_letters, digits
from urllib.parse import unquote, urlsplit

NAME = "swapdesk"
_RECEIPT, _PIPX = "uv-receipt.toml", "pipx_metadata.json"
_PLAIN = frozenset(f"{ascii_letters}{digits}/._-".encode())

PACKAGES = {
    "wallet": ("eth_account", "solders", "coincurve"),
    "sandbox": ("starlette", "uvicorn", "uvloop", "httptools", "eth", "coincurve"),
    "postgres": ("asyncpg",),
    "service": ("prometheus_client",),
}
"""By extra (an optional part of the installation), the modules that it needs."""


def missing(extra: str) -> tuple[str, ...]:
    """Returns the modules of an extra that are not installed; empty if the whole extra is
    installed."""
    return tuple(name for name in PACKAGES[extra] if find_spec(name) is None)


def extra_of(module: str) -> str:
    """Returns the extra that installs a module; empty if no extra does."""
    top = module.partition(".")[0]
    return next((extra for extra, names in PACKAGES.items() if top in names), "")


def install(extra: str = "", *, prefix: Path | None = None) -> str:
    """Returns the shell command that adds an extra to swapdesk, for the installer that was used.
    ``prefix`` is the Python environment; None means the running one."""
    place = Path(sys.prefix) if prefix is None else prefix
    python = shell_word(sys.executable if prefix is None else prefix / "bin" / "python")
    paths = sys.path if prefix is None else [*map(str, prefix.glob("lib/python*/site-packages"))]
    installed = _installed(paths)
    editable, source = _source(installed)
    wanted = _wanted(source, extra)
    if (place / _RECEIPT).is_file():
        # What it is asked for now is all it has then.
        extras, beside, chosen = _asked_before(place / _RECEIPT)
        wanted = _wanted(source, ",".join(sorted({*extras, *filter(None, [extra])})))
        also = f"--python {shell_word(chosen)} " if chosen else ""
        also += "".join(f"--with {shell_word(package)} " for package in beside)
        return f"uv tool install {also}{'--editable ' if editable else ''}{wanted}"
    if (place / _PIPX).is_file():
        option = "--editable " if editable else ""
        return f"pipx inject --force {option}{shell_word(place.name)} {wanted}"
    option = "-e " if editable else ""
    if _installer(installed) == "uv":
        return f"uv pip install --python {python} {option}{wanted}"
    pip = f"{python} -m pip install {option}{wanted}"
    if not any(Path(path, "pip").is_dir() for path in paths):
        return f"{python} -m ensurepip && {pip}"
    return pip


def put_on_path(prefix: Path) -> str:
    """Returns the shell command that puts the program ``swapdesk`` of the Python environment
    ``prefix`` on the shell's path."""
    if (prefix / _RECEIPT).is_file():
        return "uv tool update-shell"
    if (prefix / _PIPX).is_file():
        return "pipx ensurepath"
    return f"mkdir -p ~/.local/bin && ln -s {shell_word(prefix / 'bin' / NAME)} ~/.local/bin/"


def _asked_before(receipt: Path) -> tuple[set[str], list[str], str]:
    extras: set[str] = set()
    beside: list[str] = []
    try:
        tool = tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"]
        for requirement in tool["requirements"]:
            if requirement["name"] == NAME:
                extras.update(requirement.get("extras", ()))
            else:
                beside.append(requirement["name"] + requirement.get("specifier", ""))
        return extras, beside, str(tool.get("python", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set(), [], ""


def _installed(paths: Iterable[str]) -> Distribution | None:
    installed = distributions(name=NAME, path=[*paths])
    return next((distribution for distribution in installed if _installer(distribution)), None)


def _installer(installed: Distribution | None) -> str:
    return ((installed and installed.read_text("INSTALLER")) or "").strip()


def _source(installed: Distribution | None) -> tuple[bool, str]:
    text = installed and installed.read_text("direct_url.json")
    if not text:
        return False, ""
    try:
        description = json.loads(text)
        url = str(description["url"])
        if (version := description.get("vcs_info")) is not None:
            return False, f"{version['vcs']}+{url}@{version['commit_id']}"
        editable = bool(description.get("dir_info", {}).get("editable"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return False, ""
    address = urlsplit(url)
    if address.scheme != "file":
        return False, url
    path = unquote(address.path)
    return (editable, path) if Path(path).exists() else (False, "")


def _wanted(source: str, extra: str) -> str:
    more = f"[{extra}]" if extra else ""
    if not source:
        return shell_word(f"{NAME}{more}")
    return shell_word(f"{source}{more}" if source.startswith("/") else f"{NAME}{more} @ {source}")


def shell_word(text: str | Path) -> str:
    """Returns the text as one word for bash and zsh that executes nothing and is safe to show."""
    word = str(text)
    if word.isprintable():
        return shlex.quote(word)
    raw = os.fsencode(word)
    return "$'" + "".join(chr(b) if b in _PLAIN else f"\\x{b:02x}" for b in raw) + "'"
