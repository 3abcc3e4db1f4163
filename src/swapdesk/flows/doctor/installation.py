"""How swapdesk was installed, by what lies on the disk, and the command that adds to it.

``uv tool`` and pipx keep an environment without pip, and forget at the next upgrade whatever was
put into it behind their back. What came from a directory, a file or a repository comes from there
again: an index may have nothing of this name, or something else.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path
from urllib.parse import unquote, urlsplit

from swapdesk.flows.doctor.finding import shell_word

NAME = "swapdesk"
_RECEIPT = "uv-receipt.toml"


def install(extra: str = "", *, prefix: Path | None = None) -> str:
    """Adds what this swapdesk lacks, in the way it was installed itself. ``prefix``: of another
    environment than the one that runs."""
    place = Path(sys.prefix) if prefix is None else prefix
    python = shell_word(sys.executable if prefix is None else prefix / "bin" / "python")
    paths = sys.path if prefix is None else [*map(str, prefix.glob("lib/python*/site-packages"))]
    installed = _installed(paths)
    editable, source = _source(installed)
    wanted = _wanted(source, extra)
    if (place / _RECEIPT).is_file():
        # What it is asked for now is all it has then.
        extras, beside = _asked_before(place / _RECEIPT)
        wanted = _wanted(source, ",".join(sorted({*extras, *filter(None, [extra])})))
        also = "".join(f"--with {shell_word(one)} " for one in beside)
        return f"uv tool install {also}{'--editable ' if editable else ''}{wanted}"
    if (place / "pipx_metadata.json").is_file():
        option = "--editable " if editable else ""
        return f"pipx inject --force {option}{shell_word(place.name)} {wanted}"
    option = "-e " if editable else ""
    if _installer(installed) == "uv":
        return f"uv pip install --python {python} {option}{wanted}"
    pip = f"{python} -m pip install {option}{wanted}"
    if not any(Path(one, "pip").is_dir() for one in paths):
        return f"{python} -m ensurepip && {pip}"
    return pip


def _asked_before(receipt: Path) -> tuple[set[str], list[str]]:
    """The extras that ``uv tool`` was asked for, and the packages beside."""
    extras: set[str] = set()
    beside: list[str] = []
    try:
        for one in tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"]["requirements"]:
            if one["name"] == NAME:
                extras.update(one.get("extras", ()))
            else:
                beside.append(one["name"] + one.get("specifier", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set(), []
    return extras, beside


def _installed(paths: Iterable[str]) -> Distribution | None:
    """What an installer wrote; a directory of sources has a description as well."""
    found = distributions(name=NAME, path=[*paths])
    return next((one for one in found if _installer(one)), None)


def _installer(installed: Distribution | None) -> str:
    return ((installed and installed.read_text("INSTALLER")) or "").strip()


def _source(installed: Distribution | None) -> tuple[bool, str]:
    """Whether it is worked on where it lies, and where it came from (PEP 610); empty for an index,
    and for what is not there any more."""
    text = installed and installed.read_text("direct_url.json")
    if not text:
        return False, ""
    try:
        told = json.loads(text)
        url = str(told["url"])
        if (version := told.get("vcs_info")) is not None:
            return False, f"{version['vcs']}+{url}@{version['commit_id']}"
        editable = bool(told.get("dir_info", {}).get("editable"))
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
