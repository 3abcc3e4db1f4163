"""``completion``: the script that lets a shell complete the commands of ``swapdesk``.

The scripts are click's. Only that of bash is another one: it takes every answer as it is, where
click's lets the shell expand it, and it takes 20,000 answers at once.
"""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete
from msgspec import Struct

from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.completion import VARIABLE

_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' answers
    mapfile -t answers < <(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    COMPREPLY=()
    if [[ ${answers[0]} == file,* ]]; then
        compopt -o default
    elif [[ ${answers[0]} == dir,* ]]; then
        compopt -o dirnames
    else
        COMPREPLY=("${answers[@]#plain,}")
    fi
}
# A name of the address book begins with it, and is one word.
COMP_WORDBREAKS=${COMP_WORDBREAKS//@/}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class Bash(BashComplete):
    source_template = _BASH

    def source(self) -> str:
        # Without asking which bash there is.
        return self.source_template % self.source_vars()


class CompletionDocument(Struct, frozen=True):
    """``script`` is what the shell runs."""

    shell: str
    script: str


SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
@desk_command
def completion(call: CliContext, shell: str) -> None:
    """Print the script with which SHELL completes commands, options and names.

    Names are tokens, chains, @names, open orders, accounts, profiles and themes. They are read
    from the files of the profile; no service is asked.
    """
    script = script_of(shell)
    if call.output.json:
        call.output.document(CompletionDocument(shell, script))
    else:
        call.output.file(script.encode())


def script_of(shell: str) -> str:
    from swapdesk.cli.main import swapdesk

    return f"{SHELLS[shell](swapdesk, {}, 'swapdesk', VARIABLE).source().strip()}\n"
