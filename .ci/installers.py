"""What a user gets from the wheel in ``dist/packages``: by each installer, with each extra, in an
empty home. What is missing comes with a command; that command is run, and nothing is missing.

Needs the tools of requirements/release.txt in .venv-release; prints what it took.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / ".venv-release" / "bin"
LOCK = ROOT / "requirements" / "ci.txt"
PASSED_ON = ("SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_CERT", "PIP_INDEX_URL", "UV_DEFAULT_INDEX")
"""Of the environment: how this network is trusted, and where packages are."""
TOLD = {
    "pip": " -m pip install ",
    "uv": "uv tool install ",
    "pipx": "pipx inject ",
}
PROFILE = """
[profiles.main]
url = "https://api.example.invalid"
[profiles.main.rpc]
base = "https://node.example.invalid"
"""
WITH_KEYS = frozenset({"wallet", "sandbox"})


class Home:
    """An empty one, and commands in it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()
        path = (place / ".local" / "bin", TOOLS, "/usr/local/bin", "/usr/bin", "/bin")
        self.environ = {
            "HOME": str(place),
            "PATH": os.pathsep.join(map(str, path)),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_CONSTRAINT": str(LOCK),
            "UV_SYSTEM_CERTS": "1",
            **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
        }

    def run(self, *command: str | Path, given: str = "", code: int = 0) -> str:
        ended = subprocess.run(
            list(map(str, command)),
            env=self.environ,
            cwd="/",
            input=given,
            capture_output=True,
            text=True,
            timeout=300,
        )
        if ended.returncode != code:
            sys.exit(f"{command} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
        return ended.stdout if code == 0 else ended.stderr

    def findings(self, code: int) -> dict[str, dict[str, str]]:
        ended = subprocess.run(
            ["swapdesk", "doctor", "--json"],
            env=self.environ,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
        )
        if ended.returncode != code:
            sys.exit(f"doctor ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
        return {one["check"]: one for one in json.loads(ended.stdout)["findings"]}

    def pip(self, wanted: str) -> None:
        environment = self.place / "environment"
        self.run(sys.executable, "-m", "venv", environment)
        self.run(environment / "bin" / "python", "-m", "pip", "install", "-q", wanted)
        self.link(environment)

    def uv(self, wanted: str) -> None:
        self.run("uv", "tool", "install", "-q", "--python", sys.executable, wanted)

    def pipx(self, wanted: str) -> None:
        self.run("pipx", "install", "-q", "--python", sys.executable, wanted)

    def link(self, environment: Path) -> None:
        command = self.place / ".local" / "bin" / "swapdesk"
        command.parent.mkdir(parents=True)
        command.symlink_to(environment / "bin" / "swapdesk")


def check_installer(home: Home, name: str, wheel: Path) -> None:
    getattr(home, name)(str(wheel))
    home.run("swapdesk", "--version")
    home.run("swapdesk", "completion", "bash")
    missing = home.findings(9)["packages"]
    assert TOLD[name] in missing["mend"], missing
    assert missing["mend"] in home.run("swapdesk", "quote", "1", "btc", "eth", code=2)
    home.run("sh", "-c", missing["mend"])
    for one in home.findings(0).values():
        if one["mend"]:
            home.run("sh", "-c", one["mend"])
    left = [one for one in home.findings(0).values() if one["mend"]]
    assert left == [], left


def check_extra(home: Home, extra: str, wheel: Path) -> None:
    environment = home.place / "environment"
    home.run("uv", "venv", "-q", "--python", sys.executable, environment)
    wanted = f"{wheel}[{extra}]"
    home.run("uv", "pip", "install", "-q", "--python", environment / "bin" / "python", wanted)
    home.link(environment)
    found = home.findings(0 if extra == "sandbox" else 9)["packages"]
    assert (found["state"] == "ok") is (extra == "sandbox"), found
    config = home.place / ".config" / "swapdesk" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(PROFILE)
    made = ("swapdesk", "wallet", "new", "--profile", "main", "--passphrase-fd", "0")
    said = home.run(*made, given="correct horse battery\n", code=0 if extra in WITH_KEYS else 2)
    assert extra in WITH_KEYS or "uv pip install" in said, said


def main() -> None:
    (wheel,) = (ROOT / "dist" / "packages").glob("*.whl")
    with TemporaryDirectory() as place:
        for name in TOLD:
            began = time.monotonic()
            check_installer(Home(Path(place, name)), name, wheel)
            sys.stdout.write(f"{name}: {time.monotonic() - began:.1f} s\n")
        for extra in ("wallet", "service", "postgres", "sandbox"):
            began = time.monotonic()
            check_extra(Home(Path(place, f"with-{extra}")), extra, wheel)
            sys.stdout.write(f"[{extra}]: {time.monotonic() - began:.1f} s\n")


if __name__ == "__main__":
    main()
