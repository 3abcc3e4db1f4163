"""``swapdesk completion`` prints the script that lets a shell complete the commands of
``swapdesk``.

These scripts do more than the scripts that click generates: they work both in the shell's startup
file and in its folder of completions, complete the value in ``--option=value``, and change nothing
if no word fits. The bash script inserts every answer literally, while click's script lets the shell
expand it.
"""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete
from msgspec import Struct

from swapdesk.cli.cli_context import CliContext, Declared, Effect, desk_command
from swapdesk.cli.completion import VARIABLE

_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' rest=${COMP_LINE:0:COMP_POINT} at piece blank option='' breaks known lead
    local -a words=() answers=()
    # Readline breaks words at @, = and : as well; here @bob and --to=@bob are one word each.
    for ((at = 0; at <= COMP_CWORD; at++)); do
        blank=${rest%%%%[![:space:]]*}
        rest=${rest#"$blank"}
        piece=${COMP_WORDS[at]}
        ((at < COMP_CWORD)) || piece=$rest
        rest=${rest#"$piece"}
        if [[ $at == 0 || $blank ]]; then words+=("$piece"); else words[-1]+=$piece; fi
    done
    mapfile -t answers < <(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    COMPREPLY=()
    if [[ ${answers[0]} == file,* ]]; then
        compopt -o default
    elif [[ ${answers[0]} == dir,* ]]; then
        compopt -o dirnames
    elif [[ ${answers[0]} == plain,* ]]; then
        # Readline replaces what follows the last break, an @ with it, and breaks nothing behind a
        # quote.
        piece=${words[-1]}
        [[ $piece != --*=* ]] || option=${piece%%%%=*}=
        breaks=${COMP_WORDBREAKS//[^@=:]/}
        known=${piece%%%%[\\"\\']*}
        lead=
        [[ ! $breaks ]] || lead=${known%%"${known##*[$breaks]}"}
        lead=${lead%%@}
        if [[ $lead == "$option"* ]]; then
            COMPREPLY=("${answers[@]#plain,"${lead#"$option"}"}")
        else
            COMPREPLY=("${answers[@]/#plain,/$option}")
        fi
    fi
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

_ZSH = """\
#compdef %(prog_name)s

%(complete_func)s() {
    local type key descr
    local -a answers names described
    (( $+commands[%(prog_name)s] )) || return 1
    answers=("${(@f)$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) \
%(complete_var)s=zsh_complete %(prog_name)s 2>/dev/null)}")
    # Of --option=value the value is completed.
    [[ $words[CURRENT] != --*=* ]] || compset -P 1 '*='
    for type key descr in $answers; do
        if [[ $type == dir ]]; then
            _path_files -/
        elif [[ $type == file ]]; then
            _path_files -f
        elif [[ $descr == _ ]]; then
            names+=("$key")
        else
            described+=("$key:$descr")
        fi
    done
    (( ! $#described )) || _describe -V unsorted described
    (( ! $#names )) || compadd -V unsorted -a names
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    # From now on without this file, which is only the first time called so.
    compdef %(complete_func)s %(prog_name)s
    %(complete_func)s "$@"
elif (( $+functions[compdef] )); then
    compdef %(complete_func)s %(prog_name)s
else
    # A .zshrc may begin completion further down, and what was registered before would be lost.
    %(complete_func)s_begin() {
        add-zsh-hook -d precmd %(complete_func)s_begin
        (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
        compdef %(complete_func)s %(prog_name)s
    }
    autoload -Uz add-zsh-hook
    add-zsh-hook precmd %(complete_func)s_begin
fi
"""

_FISH = """\
function %(complete_func)s
    set -l word (commandline -ct)
    set -l lead (string match -r -- '^--[^=]*=' "$word")
    set -l answers (env COMP_WORDS=(commandline -cp | string collect) COMP_CWORD="$word" \\
%(complete_var)s=fish_complete %(prog_name)s 2>/dev/null)
    for answer in $answers
        set -l parts (string split -m 1 "," -- $answer)
        set -l names
        if test "$parts[1]" = dir
            set names (__fish_complete_directories $parts[2])
        else if test "$parts[1]" = file
            set names (__fish_complete_path $parts[2])
        else if test "$parts[1]" = plain
            set names $parts[2]
        end
        for name in $names
            echo "$lead$name"
        end
    end
end
complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


class CompletionDocument(Struct, frozen=True):
    """The script of a shell; ``script`` is the text that the shell runs."""

    shell: str
    script: str


SHELLS: dict[str, tuple[type[ShellComplete], str]] = {
    "bash": (BashComplete, _BASH),
    "zsh": (ZshComplete, _ZSH),
    "fish": (FishComplete, _FISH),
}


@click.command()
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
@desk_command(
    Declared(Effect.ONLY_READS, reading=True, prints=("completion_command:CompletionDocument",))
)
def completion(call: CliContext, shell: str) -> None:
    """Print the script with which SHELL completes commands, options and names.

    Names are tokens, chains, @names, open orders, accounts, profiles and themes. They are read
    from the files of the profile; no service is asked.
    """
    script = script_of(shell)
    call.output.file(script.encode(), document=CompletionDocument(shell, script))


def script_of(shell: str) -> str:
    from swapdesk.cli.main import swapdesk

    kind, template = SHELLS[shell]
    # Not ``source()``: it would ask which bash there is.
    names = kind(swapdesk, {}, "swapdesk", VARIABLE).source_vars()
    return f"{(template % names).strip()}\n"
