"""Checks that the user's shell finds the command, its manual page and its completion script.

Installers differ: pip installs into its environment only, ``uv tool`` and pipx also link the
command into the path, and pipx also links the manual page. The desk works without these links. A
missing link is therefore no error; its finding has the command that adds the link.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from swapdesk.flows.doctor.home_checks import Finding, ok, unchecked
from swapdesk.installation import NAME, put_on_path, shell_word

MAN_SECONDS = 5.0
_RC_LIMIT = 1 << 20


def check_shell(environ: Mapping[str, str], *, prefix: Path | None = None) -> Iterator[Finding]:
    """Checks that a shell finds the command, its manual page and its completion. ``prefix`` is the
    Python environment to check, by default the running one."""
    place = Path(sys.prefix) if prefix is None else prefix
    yield _command(environ, place)
    yield _manual(environ, place)
    yield _completion(environ)


def _command(environ: Mapping[str, str], prefix: Path) -> Finding:
    ours = prefix / "bin" / NAME
    found = shutil.which(NAME, path=environ.get("PATH", ""))
    if not ours.exists():
        return unchecked("command", f"No command was installed as {ours}.")
    if found is None:
        sentence = f"The shell does not find {NAME} by its name alone."
        return ok("command", sentence, put_on_path(prefix))
    if not os.path.samefile(found, ours):
        return ok("command", f"The shell finds another {NAME}, {found}, and this is {ours}.")
    return ok("command", f"The shell finds {NAME}.")


def _manual(environ: Mapping[str, str], prefix: Path) -> Finding:
    page = Path("share", "man", "man1", f"{NAME}.1")
    man = shutil.which("man", path=environ.get("PATH", ""))
    if man is None:
        return unchecked("manual", f"There is no man here. {NAME} COMMAND -h says the same.")
    if not (prefix / page).is_file():
        return unchecked("manual", "No manual page was installed.")
    try:
        asked = subprocess.run(
            [man, "-w", NAME],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=MAN_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return unchecked("manual", "man does not answer.")
    if asked.returncode == 0 and os.path.isfile(asked.stdout.decode(errors="replace").strip()):
        return ok("manual", f"man {NAME} finds its page.")
    beside = f"~/.local/{page}"
    link = f"mkdir -p {os.path.dirname(beside)} && ln -sf {shell_word(prefix / page)} {beside}"
    sentence = f"man {NAME} does not find its page, which is {prefix / page}."
    return ok("manual", sentence, link)


_COMPLETED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "bash": (".bashrc", (".local/share/bash-completion/completions/swapdesk",), ""),
    "zsh": (".zshrc", (), ""),
    "fish": (
        ".config/fish/config.fish",
        (".config/fish/completions/swapdesk.fish",),
        "mkdir -p ~/.config/fish/completions"
        f" && {NAME} completion fish > ~/.config/fish/completions/{NAME}.fish",
    ),
}
"""For each shell: its startup file, where it loads completions from, and the command that writes
such a file, or empty."""


def _completion(environ: Mapping[str, str]) -> Finding:
    shell, home = os.path.basename(environ.get("SHELL", "")), environ.get("HOME", "")
    if shell not in _COMPLETED or not home:
        names = ", ".join(_COMPLETED)
        return unchecked("completion", f"{NAME} completion has scripts for {names}.")
    begin, files, write = _COMPLETED[shell]
    asked = f"{NAME} completion {shell}"
    if any(Path(home, file).is_file() for file in files) or asked in _text(Path(home, begin)):
        return ok("completion", f"{shell} completes commands, options and names.")
    line = shell_word(f"source <({asked})")
    sentence = f"Nothing in ~/{begin} has {shell} complete commands, options and names."
    return ok("completion", sentence, write or f"echo {line} >> ~/{begin}")


def _text(file: Path) -> str:
    try:
        with file.open("rb") as held:
            return held.read(_RC_LIMIT).decode(errors="replace")
    except OSError:
        return ""
