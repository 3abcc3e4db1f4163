"""What shells offer: commands, options and names of files, and nothing that a shell would run."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest

from cached_catalog import cache_catalog
from cli.desks import run_here
from cli.test_doctor import tree
from harness import environment
from patience import PATIENCE
from rows import each_row
from swapdesk.cli.completion import VARIABLE
from swapdesk.cli.completion_command import SHELLS, script_of
from swapdesk.cli.main import COMMANDS, swapdesk
from swapdesk.clock import SystemClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.paths import Home
from swapdesk.sandbox.world import build_chains, build_tokens
from tui.terminal_window import TerminalWindow

HOSTILE = (
    "{}$(touch gone)",
    "{}`touch gone`",
    "{};touch gone",
    "{}\nplain,{}evil",
    "{}*",
    "{} x",
    "{}'",
    '{}"',
    "{}\\",
    "{}\x1b[2J",
    "{}\u202e",
    "{}!!",
    "{}~",
    "{}{{a,b}}",
)
"""What a text of a service or a file may add to a name, given how that begins."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two of everything that has a name, and hostile ones beside them."""
    home = tmp_path_factory.mktemp("completed")
    places = Home.at(home).profile("sandbox")
    now = datetime(2026, 11, 20, tzinfo=UTC)
    chains = build_chains()
    tokens = [
        token
        for token in build_tokens(chains, now)
        if token.symbol in ("USDC", "ETH") and token.chain_data.short_name in ("base", "bsc")
    ]
    model = next(token for token in tokens if token.symbol == "USDC")
    for number, form in enumerate(HOSTILE):
        worse = {"symbol": form.format("us", "us"), "id": f"{number:024x}"}
        tokens.append(model.model_copy(update=worse))
    tokens.append(model.model_copy(update={"symbol": "USOFF", "enabled": False, "id": "f" * 24}))
    cache_catalog(places.catalog, now, chains, tokens)
    Journal.open(places.journal, SystemClock()).close()
    ids = [(form.format("665", "665"), 0) for form in HOSTILE]
    with closing(sqlite3.connect(places.journal)) as db, db:
        for name, ended in (("6650ab", 0), ("6651cd", 0), ("6652ef", 1), *ids):
            db.execute(
                "INSERT INTO orders (service_id, last, ended, standing, first_seen, seen_at,"
                " source) VALUES (?, '{}', ?, 'released', '', '', 'list')",
                (name, ended),
            )
    names = ["bob", "bill", *(form.format("b", "b") for form in HOSTILE)]
    book = "".join(f"[{json.dumps(name)}]\naddress = 'x'\n" for name in names)
    places.address_book.write_text(book.replace("\x1b", "\\u001b"))
    places.keys.mkdir(mode=0o700)
    accounts = {"0x01": "trading", "0x02": "two words"}
    accounts |= {f"0x1{at:x}": form.format("t", "t") for at, form in enumerate(HOSTILE)}
    (places.keys / "names.json").touch(0o600)
    (places.keys / "names.json").write_text(json.dumps(accounts))
    (home / "config.toml").write_text(
        '[profiles.main]\nurl = "https://a.example"\n[profiles."a b"]\n[profiles."m$(id)"]\n'
    )
    return home


def offered(home: Path, *words: str) -> list[str]:
    """What click offers for the last word."""
    with mock.patch.dict(os.environ, environment(home), clear=True):
        shell = SHELLS["bash"][0](swapdesk, {}, "swapdesk", VARIABLE)
        return [one.value for one in shell.get_completions(list(words[:-1]), words[-1])]


OFFERED = [
    (("",), list(COMMANDS)),
    (("or",), ["orders"]),
    (("orders", "s"), ["show"]),
    (("swap", "--wai"), ["--waive-memo"]),
    (("quote", "1", "btc", "eth", "--type", "p"), ["private"]),
    (("swap", "1", "us"), ["usdc.base", "usdc.bsc"]),
    (("swap", "1", "USDC.B"), ["USDC.Base", "USDC.Bsc"]),
    (("quote", "1", "usdc.base", "eth.ba"), ["eth.base"]),
    (("send", "1", "usdc.bs"), ["usdc.bsc"]),
    (("tokens", "--chain", "bas"), ["base"]),
    (("wallet", "withdraw", "--chain", "bs"), ["bsc"]),
    (("swap", "1", "usdc.base", "eth.base", "--to", "@b"), ["@bob", "@bill"]),
    (("swap", "1", "usdc.base", "eth.base", "--refund", "@bi"), ["@bill"]),
    (("orders", "show", ""), ["6651cd", "6650ab"]),
    (("fund", "6650"), ["6650ab"]),
    (("why", "6651"), ["6651cd"]),
    (("fund", "6650ab", "--wallet", "t"), ["trading"]),
    (("wallet", "export", "0x02"), ["0x02"]),
    (("--profile", "m"), ["main"]),
    (("--theme", "ir"), ["iris"]),
    (("orders", "list", "--profile", "main", "--sort", "l"), ["late"]),
    # Another profile has other files, and a profile that is not there has none.
    (("swap", "--profile", "main", "1", "us"), []),
    (("swap", "--profile", "nobody", "1", "us"), []),
    (("nothing", "such"), []),
]


@each_row(("words", "names"), OFFERED, ids=lambda one: " ".join(one) or "nothing")
def test_what_is_offered(words: tuple[str, ...], names: list[str], home: Path) -> None:
    before = tree(home)
    assert offered(home, *words) == names
    assert tree(home) == before


BROKEN = {
    "catalog.db": ("swap", "1", "us"),
    "journal.db": ("orders", "show", ""),
    "address_book.toml": ("swap", "1", "a", "b", "--to", "@b"),
    "keys/names.json": ("wallet", "export", "t"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("content", [b"", b"\xff broken", b"[1]", None])
def test_nothing_is_offered_of_a_broken_file(
    name: str, content: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "profiles" / "sandbox" / name
    path.parent.mkdir(parents=True)
    if content is not None:
        path.write_bytes(content)
        path.chmod(0o600)
    before = tree(tmp_path)
    assert offered(tmp_path, *BROKEN[name]) == []
    assert tree(tmp_path) == before


# Real shells


def shell_environment(home: Path) -> dict[str, str]:
    bin_ = Path(sys.executable).parent
    return environment(home, PATH=f"{bin_}{os.pathsep}{os.environ['PATH']}")


_IN_BASH = """
source <(swapdesk completion bash)
cd "$1"
COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2)) COMP_LINE="${*:2}" COMP_POINT=1000
_swapdesk_completion swapdesk
printf '%s\\0' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("swap", "1", "us"), ["usdc.base", "usdc.bsc"]),
        (("orders", "show", ""), ["6651cd", "6650ab"]),
        (("swap", "1", "a", "b", "--to", "@b"), ["@bob", "@bill"]),
        (("fund", "$(touch gone)"), [""]),
        (("nothing", "`touch gone`", ""), [""]),
    ],
)
def test_bash_takes_names_and_runs_nothing(
    words: tuple[str, ...], names: list[str], home: Path, tmp_path: Path
) -> None:
    # A star that is expanded would offer these.
    for name in ("us1", "6653", "plain,us2"):
        (tmp_path / name).touch()
    ended = subprocess.run(
        ["bash", "--norc", "-c", _IN_BASH, "bash", str(tmp_path), "swapdesk", *words],
        env=shell_environment(home),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.stderr == b""
    assert ended.stdout.decode().removesuffix("\0").split("\0") == names
    assert not (tmp_path / "gone").exists()


_FOLDER_OF_BASH = """
begin() { . ~/.local/share/bash-completion/completions/"$1"; return 124; }
complete -D -F begin
"""
"""As the completion package of bash loads a file when its command is completed first."""
_IN_FRONT = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""A shell wants to be told which terminal is its own."""
PLACES: dict[str, tuple[list[str], dict[str, str]]] = {
    "bash in .bashrc": (
        ["bash", "--noprofile", "-i"],
        {".bashrc": "source <(swapdesk completion bash)\nPS1='> '\n"},
    ),
    "bash in a folder": (
        ["bash", "--noprofile", "-i"],
        {
            ".bashrc": f"{_FOLDER_OF_BASH}PS1='> '\n",
            ".local/share/bash-completion/completions/swapdesk": "bash",
        },
    ),
    "zsh in .zshrc, with completion begun after it": (
        ["zsh", "-d", "-i"],
        {
            ".zshrc": "source <(swapdesk completion zsh)\nautoload -Uz compinit; compinit -u -D\n"
            "PS1='> '\n"
        },
    ),
    "zsh in .zshrc, without completion": (
        ["zsh", "-d", "-i"],
        {".zshrc": "source <(swapdesk completion zsh)\nPS1='> '\n"},
    ),
    "zsh in a folder": (
        ["zsh", "-d", "-i"],
        {
            ".zshrc": "fpath=(~/own $fpath); autoload -Uz compinit; compinit -u -D\nPS1='> '\n",
            "own/_swapdesk": "zsh",
        },
    ),
    "fish in config.fish": (
        ["fish", "-i"],
        {".config/fish/config.fish": "swapdesk completion fish | source\n"},
    ),
    "fish in a folder": (["fish", "-i"], {".config/fish/completions/swapdesk.fish": "fish"}),
}
"""By where the script is: the shell, and files of the home; the name of a shell stands for the
script of it."""


@pytest.mark.parametrize("place", PLACES)
def test_at_a_prompt_names_are_completed_wherever_the_script_is(
    place: str, home: Path, tmp_path: Path
) -> None:
    command, files = PLACES[place]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(script_of(content) if content in SHELLS else content)
    seen = {**shell_environment(home), "HOME": str(tmp_path), "TERM": "vt100"}
    window = TerminalWindow([sys.executable, "-c", _IN_FRONT, *command], seen, 120, 30)
    try:
        window.press("echo rea''dy\n", sees="\nready")
        # Nothing fits, and the line stays as it is.
        window.press("swapdesk xyz\t!", sees="swapdesk xyz!")
        window.press("\x15")
        window.press("swapdesk swap 1 usdc.ba\t", sees="swapdesk swap 1 usdc.base")
        window.press("eth.base --to @bo\t", sees="eth.base --to @bob")
        window.press("--refund=@bi\t", sees="@bob --refund=@bill")
        window.press("--to '@bo\t", sees="--refund=@bill --to '@bob'")
    finally:
        # It does not end by a kind word.
        window.kill()
        window.close()


def test_the_command_prints_a_script_for_each_shell(tmp_path: Path) -> None:
    for shell in SHELLS:
        said = run_here("completion", shell, home=tmp_path)
        assert said.code == 0
        assert "_swapdesk_completion" in said.stdout
        assert f"{VARIABLE}={shell}_complete" in said.stdout
        told = run_here("completion", shell, "--json", home=tmp_path).document
        assert told == {"shell": shell, "script": said.stdout}
    refused = run_here("completion", "csh", home=tmp_path)
    assert refused.code == 2
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in refused.stderr
