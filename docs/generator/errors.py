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
            "\n".join(f"- `{retry}`: {plain(again[retry.name])}" for retry in Retry),
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
    for error_code in error_codes():
        status = f"status {error_code.status}, " if error_code.status is not None else ""
        family = (
            f"\n- Family `{error_code.family}`, noun {error_code.noun}" if error_code.noun else ""
        )
        yield section(
            error_code.code,
            sentence(error_code.means),
            f"- Money: {sentence(error_code.money)}\n- Next: {sentence(error_code.next)}\n"
            f"- Exit {' or '.join(map(str, error_code.exits))}, {status}again:"
            f" `{error_code.retry}`{family}",
            level=3,
        )


def _rules() -> Iterator[tuple[str, ...]]:
    """Every rule by its code, with the name of its check and what its docstring adds."""
    rules = []
    for _, tree in modules("agent/gate/rules"):
        for node in ast.walk(tree):
            for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                made = ast.unparse(decorator.func) if isinstance(decorator, ast.Call) else ""
                if made in ("refuses", "warns"):
                    assert isinstance(decorator, ast.Call)
                    assert isinstance(node, ast.FunctionDef)
                    name = str(ast.literal_eval(decorator.args[0]))
                    more = plain((ast.get_docstring(node) or "").split("\n\n")[0])
                    at = anchor(f"rule-{name.lower()}")
                    rules.append((at + code(name), made, sentence(RULES[name]), more))
    yield from sorted(rules)


def _findings() -> Iterator[tuple[str, str, str]]:
    levels = ("problem", "consent", "look")
    places: dict[tuple[str, str], str] = {}
    for path, tree in modules("flows/batch", *levels):
        for name, call, within in calls(tree):
            if name in levels:
                for code_name in codes_in(call.args[0], within, path):
                    meaning = said_at(call.args[2:], call, within)
                    places[code_name, name] = places.get((code_name, name), "") or meaning
    before = ""
    for (code_name, level), meaning in sorted(places.items()):
        # Of several levels the first is linked to.
        at = anchor(f"finding-{code_name.lower()}") if code_name != before else ""
        before = code_name
        yield at + code(code_name), level, meaning
