"""How commands end: exit codes, and every code with what it means, the money and who acts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from generator.markdown import anchor, code, page, plain, section, sentence, table
from generator.raised_codes import codes_in, said_at
from generator.source import calls, modules, said_of
from swapdesk.cli.command_error import CommandError, Exit, Retry
from swapdesk.cli.contract_commands import error_codes
from swapdesk.wallet.rule_codes import RULES


def errors_page() -> str:
    again = said_of(Retry)
    return page(
        "Errors",
        "How a command ends, from the tables of the program; `swapdesk errors --json` prints the"
        " same. `money` says where the money is and `next` who acts; of the case at hand a command"
        " may say more. Codes are stable; messages are not. Codes that differ in the noun"
        " alone share a `family`, and `noun` tells them apart. A service may have codes of its own:"
        " they are read by their HTTP status, `HTTP_418` where there is none.",
        section(
            "Exit codes",
            table(("Exit", "Means", "More"), _exits()),
        ),
        section(
            "Errors as JSON",
            "With `--json` an error is one object on standard error:",
            f'`{{"schemaVersion", "error": {{{", ".join(_fields())}}}}}`',
            "`status` and `requestId` are null where no service answered. `fields` has a `message`"
            " for each input that is wrong, some have more.",
        ),
        section(
            "Codes",
            "Whether the same command helps when it is given again:",
            "\n".join(f"- `{one}`: {plain(again[one.name])}" for one in Retry),
            *_codes(),
        ),
        section(
            "Rules of the gate",
            "The wallet's own checks of what is to be signed. A rule that refuses ends a command"
            " with its code, or with `GATE`, and exit 9; a rule that warns is shown.",
            table(("Rule", "Does", "Holds", "More"), _rules()),
        ),
        section(
            "Findings of batches",
            "Findings of single rows. A `problem` keeps its row from being created, and the command"
            " ends with `BATCH_PROBLEMS`; `consent` until it is agreed to; `look` never does.",
            table(("Code", "Level", "Message"), _findings()),
        ),
    )


def _exits() -> Iterator[tuple[str, str, str]]:
    more = said_of(Exit)
    for end in Exit:
        yield str(end.value), sentence(end.means), plain(more.get(end.name, ""))


def _fields() -> list[str]:
    return [f'"{name}"' for name in CommandError.PRINTED]


def _codes() -> Iterator[str]:
    """A section each, which is what a link and a search lead to."""
    for one in error_codes():
        status = f"status {one.status}, " if one.status is not None else ""
        family = f"\n- Family `{one.family}`, noun {one.noun}" if one.noun else ""
        yield section(
            one.code,
            sentence(one.means),
            f"- Money: {sentence(one.money)}\n- Next: {sentence(one.next)}\n"
            f"- Exit {' or '.join(map(str, one.exits))}, {status}again: `{one.retry}`{family}",
            level=3,
        )


def _rules() -> Iterator[tuple[str, ...]]:
    """Every rule by its code, with the name of its check and what its docstring adds."""
    found = []
    for _, tree in modules("agent/gate/rules"):
        for node in ast.walk(tree):
            for one in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                made = ast.unparse(one.func) if isinstance(one, ast.Call) else ""
                if made in ("refuses", "warns"):
                    assert isinstance(one, ast.Call)
                    assert isinstance(node, ast.FunctionDef)
                    name = str(ast.literal_eval(one.args[0]))
                    more = plain((ast.get_docstring(node) or "").split("\n\n")[0])
                    at = anchor(f"rule-{name.lower()}")
                    found.append((at + code(name), made, sentence(RULES[name]), more))
    yield from sorted(found)


def _findings() -> Iterator[tuple[str, str, str]]:
    levels = ("problem", "consent", "look")
    found: dict[tuple[str, str], str] = {}
    for path, tree in modules("flows/batch", *levels):
        for name, call, within in calls(tree):
            if name in levels:
                for one in codes_in(call.args[0], within, path):
                    said = said_at(call.args[2:], call, within)
                    found[one, name] = found.get((one, name), "") or said
    before = ""
    for (one, level), said in sorted(found.items()):
        # Of several levels the first is linked to.
        at = anchor(f"finding-{one.lower()}") if one != before else ""
        before = one
        yield at + code(one), level, said
