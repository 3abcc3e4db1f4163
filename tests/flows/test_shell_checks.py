"""What a shell does not find is found after the command that is told."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from patience import PATIENCE
from swapdesk.flows.doctor.home_checks import Finding
from swapdesk.flows.doctor.shell_checks import check_shell

MAN = """#!/bin/sh
# As man looks for pages of the commands in ~/.local/bin.
page="$HOME/.local/share/man/man1/$2.1"
test -e "$page" && echo "$page"
"""


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An environment as an installer leaves it, in a place with a blank."""
    made = tmp_path / "an environment"
    for name in ("bin/swapdesk", "share/man/man1/swapdesk.1"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text("#!/bin/sh\necho '# a script'\n")
        (made / name).chmod(0o700)
    return made


def shell_of(tmp_path: Path, name: str) -> dict[str, str]:
    home = tmp_path / "home"
    system = tmp_path / "system"
    for made in (home, home / ".config" / "fish", system):
        made.mkdir(parents=True, exist_ok=True)
    for tool in ("sh", "mkdir", "ln"):
        (system / tool).symlink_to(str(shutil.which(tool)))
    (system / "man").write_text(MAN)
    (system / "man").chmod(0o700)
    path = f"{home / '.local' / 'bin'}{os.pathsep}{system}"
    return {"HOME": str(home), "PATH": path, "SHELL": f"/bin/{name}"}


def looked(environ: dict[str, str], prefix: Path) -> dict[str, Finding]:
    return {one.check: one for one in check_shell(environ, prefix=prefix)}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_is_not_found_comes_with_the_command_that_has_it_found(
    tmp_path: Path, prefix: Path, shell: str
) -> None:
    environ = shell_of(tmp_path, shell)
    found = looked(environ, prefix)
    assert {one.state for one in found.values()} == {"ok"}
    assert list(found) == ["command", "manual", "completion"]
    for one in found.values():
        assert one.mend, one
        subprocess.run(["sh", "-c", one.mend], env=environ, check=True, timeout=PATIENCE)
    found = looked(environ, prefix)
    assert [one.mend for one in found.values()] == ["", "", ""]
    assert [one.state for one in found.values()] == ["ok", "ok", "ok"]


@pytest.mark.parametrize(
    ("file", "command"),
    [("uv-receipt.toml", "uv tool update-shell"), ("pipx_metadata.json", "pipx ensurepath")],
)
def test_an_installer_puts_its_own_folder_on_the_path(
    tmp_path: Path, prefix: Path, file: str, command: str
) -> None:
    (prefix / file).write_text("")
    assert looked(shell_of(tmp_path, "bash"), prefix)["command"].mend == command


def test_another_command_of_the_name_is_said(tmp_path: Path, prefix: Path) -> None:
    environ = shell_of(tmp_path, "bash")
    other = tmp_path / "system" / "swapdesk"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o700)
    said = looked(environ, prefix)["command"].said
    assert str(other) in said
    assert str(prefix / "bin" / "swapdesk") in said


def test_where_nothing_can_be_found_nothing_is_told_to_be_done(tmp_path: Path) -> None:
    """No path, no home, no shell that is known, and a program that was never installed."""
    for environ in ({}, {"SHELL": "/bin/tcsh", "HOME": str(tmp_path)}):
        found = looked(environ, tmp_path)
        assert {one.state for one in found.values()} == {"unchecked"}
        assert not any(one.mend for one in found.values())
