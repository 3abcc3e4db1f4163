"""How commands end: exit codes, and every code with what it says, the money and who acts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from generator.markdown import code, codes, page, plain, section, sentence, table
from generator.source import assigned, assignments, calls, constant, modules, said_of, words
from swapdesk.cli.command_error import CommandError, of_client_error
from swapdesk.cli.exit_codes import MEANINGS, NOT_CREATED, Exit, exit_of_refused_create
from swapdesk.cli.wallet_session import of_wallet_error
from swapdesk.client import errors as client
from swapdesk.flows import failure_messages
from swapdesk.flows.failure_messages import FAILURES, Failure
from swapdesk.wallet.errors import AgentGone, AgentMissing, Refused
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.transactions import TransactionState
from swapdesk.wire.errors import STATUS_OF

CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
RAISED = {
    "bad_input": Exit.BAD_INPUT,
    "own_refusal": Exit.OWN_REFUSAL,
    "not_confirmed": Exit.INTERRUPTED,
    "CommandError": None,
}
"""What commands end with, and the exit that is meant by each; None: it is an argument."""
ENDED = {
    "NotSettled": "batch",
    "Stopped": "batch, swap --type dex",
    "Ending": "batch",
    "NotPaid": "fund",
    "PaymentOpen": "fund",
    "SwapEnded": "swap --type dex",
    "SwapOpen": "swap --type dex",
    "end": "swap --type dex",
    "open": "swap --type dex",
    "NotCreated": "swap, send",
    "JournalRefused": "every command with a journal",
}
"""Ends of work that several commands share, and the commands that tell them."""
LEAST = 10
"""Letters of a message that says something without what is filled in."""
OPEN = ("PaymentOpen", "SwapOpen", "open")
"""Ends after which something is still on its way: exit 8."""


def errors_page() -> str:
    return page(
        "Errors",
        "How a command ends, from the tables and calls that end it. `money` says where the money"
        " is and `next` who acts. In a message, `…` stands for what is filled in. Codes are stable;"
        " messages are not. The set of codes is open.",
        section(
            "Exit codes",
            table(("Exit", "Means", "More"), _exits()),
        ),
        section(
            "Errors as JSON",
            "With `--json` an error is one object on standard error:",
            f'`{{"error": {{{", ".join(_fields())}}}}}`',
            "`status` and `requestId` are null where no service answered. `fields` has a `message`"
            " for each input that is wrong, some have more.",
        ),
        section(
            "Codes of the service",
            "What a refused call means. A code that is not known is read by its HTTP status.",
            table(("Code", "Status", "Exit", "Cause", "Money", "Next"), _of_service()),
        ),
        section(
            "Codes of calls",
            "Codes of the desk for a call without a usable answer.",
            table(("Code", "Exit", "Cause", "Money", "Next"), _of_calls()),
        ),
        section(
            "Codes of commands",
            "Codes that a command ends with by itself. Of several messages of a code one is shown.",
            table(("Code", "Exit", "Message"), _of_commands()),
        ),
        section(
            "Codes of creating and paying",
            "Ends of the work of `swap`, `send`, `fund` and `batch`. While something of a batch is"
            " on its way the exit is 8, whatever the code. `fund` also ends with the state of its"
            f" transaction as a code, as {codes(_states())}: exit 9.",
            table(("Code", "Exit", "Told by", "Message"), _of_work()),
        ),
        section(
            "Codes of the wallet",
            table(("Code", "Exit", "Means", "Money", "Next"), _of_wallet()),
        ),
        section(
            "Rules of the gate",
            "The wallet's own checks of what is to be signed. A rule that refuses ends with `GATE`"
            " and exit 9, and the message names it; a rule that warns is shown.",
            table(("Rule", "Does", "Holds", "More"), _rules()),
        ),
        section(
            "Files of batches",
            "Exit 2: the file is no batch.",
            table(("Code", "Message", "Do"), _of_files()),
        ),
        section(
            "Findings of batches",
            "Findings of single rows. A `problem` keeps its row from being created, and the command"
            " ends with `BATCH_PROBLEMS`; `look` never does.",
            table(("Code", "Level", "Message"), _findings()),
        ),
    )


def _states() -> list[str]:
    """States in which a transaction pays nothing any more."""
    ends = (TransactionState.FAILED, TransactionState.REPLACED, TransactionState.LOST)
    return [one.value.upper() for one in ends]


def _exits() -> Iterator[tuple[str, str, str]]:
    more = said_of(Exit)
    for end, said in MEANINGS.items():
        yield str(end.value), sentence(said), plain(more.get(end.name, ""))


def _fields() -> list[str]:
    error = CommandError(Exit.BAD_INPUT, "", "").as_json()["error"]
    return [f'"{name}"' for name in error]


def _of_service() -> Iterator[tuple[str, ...]]:
    for name, status in STATUS_OF.items():
        error = client.api_error(client.Refusal(status, name))
        told = of_client_error(error)
        known = "" if name in FAILURES else " (by its status)"
        yield (
            code(name),
            str(status),
            str(told.exit.value),
            told.message + known,
            sentence(told.money),
            sentence(told.next),
        )


def _of_calls() -> Iterator[tuple[str, ...]]:
    """Told of one error of each kind; the reasons of answers are those that the client gives."""
    refused = [
        client.AnswerRefused("", reason, client.Answered(200)) for reason in sorted(_reasons())
    ]
    unknown = client.OutcomeUnknown("", client.NoAnswer(""))
    for error in (client.RequestRefused(""), client.Unreachable(""), client.NoAnswer("")):
        yield _row_of(of_client_error(error))
    yield _row_of(of_client_error(unknown))
    for answer in refused:
        yield _row_of(of_client_error(answer))


def _reasons() -> set[str]:
    """The second argument of every refused answer."""
    named = {
        str(ast.literal_eval(one.args[1]))
        for _, tree in modules("client")
        for name, one, _ in calls(tree)
        if name == "AnswerRefused" and len(one.args) > 1 and isinstance(one.args[1], ast.Constant)
    }
    doc = client.AnswerRefused.__doc__ or ""
    told = re.search(r"``reason`` is one of ([\w, ]+)\.", doc)
    assert told is not None
    listed = set(told[1].split(", "))
    assert named <= listed, f"not told: {sorted(named - listed)}"
    return listed


def _row_of(error: CommandError) -> tuple[str, ...]:
    said = error.message.replace(" .", "").strip()
    return (
        code(error.code),
        str(error.exit.value),
        "" if said == "." else said,
        sentence(error.money),
        sentence(error.next),
    )


def _of_commands() -> Iterator[tuple[str, ...]]:
    found: dict[tuple[str, str], list[str]] = {}
    for path, tree in modules("cli", *RAISED):
        for name, call, within in calls(tree):
            if name in RAISED and getattr(within, "name", "") != "of_client_error":
                at = _place_of_code(call, within, path)
                if at is None:
                    continue
                for raised in _codes(call.args[at], within, path):
                    ends = found.setdefault((raised, _exit(name, call, within)), [])
                    said = _said(call.args[at + 1 :], call, within)
                    if said and said not in ends:
                        ends.append(said)
    for (raised, end), messages in sorted(found.items()):
        yield code(raised), end, messages[0] if messages else ""


def _exit(name: str, call: ast.Call, within: ast.AST) -> str:
    end = RAISED[name]
    found = [end] if end is not None else _exits_of(call.args[0], within)
    return " or ".join(str(value) for value in sorted(set(found)))


def _exits_of(node: ast.expr | None, within: ast.AST) -> Iterator[Exit]:
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Exit":
        yield Exit[node.attr]
    elif isinstance(node, ast.IfExp):
        yield from _exits_of(node.body, within)
        yield from _exits_of(node.orelse, within)
    elif isinstance(node, ast.Name):
        yield from _exits_of(assigned(node, within), within)


def _of_work() -> Iterator[tuple[str, ...]]:
    found: dict[str, tuple[set[int], list[str], set[str]]] = {}
    for path, tree in modules("flows", *ENDED):
        for name, call, within in calls(tree):
            if name not in ENDED or (name in ("end", "open") and "/dex/" not in f"/{path}"):
                continue
            at = _place_of_code(call, within, path)
            for ended in _codes(call.args[at], within, path) if at is not None else ():
                ends, said, by = found.setdefault(ended, (set(), [], set()))
                rest = [one for n, one in enumerate(call.args) if n != at]
                told = _said(rest, call, within) or _failure(rest)
                said += [told] if told and told not in said else []
                by |= {"batch" if "/batch/" in path else ENDED[name]}
                ends.add(_end_of_work(name, ended, call, path))
    for ended, (ends, said, by) in sorted(found.items()):
        text = next((one for one in said if one.strip("… ")), "")
        shown = " or ".join(str(end) for end in sorted(ends))
        yield code(ended), shown, ", ".join(sorted(by)), text


def _end_of_work(name: str, ended: str, call: ast.Call, path: str) -> int:
    """What a command ends with, by the rule of the commands that tell such an end."""
    if "/batch/" in path:
        fails = any(one.arg == "error" for one in call.keywords)
        return _ends_of_batch().get(ended, NOT_CREATED[ended] if fails else Exit.OWN_REFUSAL).value
    if name in OPEN:
        return Exit.UNKNOWN.value
    if name == "NotCreated":
        return exit_of_refused_create(ended, None).value
    if name in ("SwapEnded", "end"):
        return NOT_CREATED.get(ended, Exit.OWN_REFUSAL).value
    return Exit.OWN_REFUSAL.value


def _ends_of_batch() -> dict[str, Exit]:
    from swapdesk.cli.batch_paying import _ENDS

    return _ENDS


def _place_of_code(call: ast.Call, within: ast.AST, path: str) -> int | None:
    """Which argument of a call is the code."""
    return next((n for n, one in enumerate(call.args) if _codes(one, within, path)), None)


def _codes(node: ast.AST | None, within: ast.AST, path: str) -> list[str]:
    """Every code that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value] if CODE.fullmatch(node.value) else []
    if isinstance(node, ast.IfExp):
        return [*_codes(node.body, within, path), *_codes(node.orelse, within, path)]
    if isinstance(node, ast.Name):
        local = assignments(node.id, within)
        if not local:
            known = constant(path, node.id)
            return _codes(known, within, path) if isinstance(known, ast.Constant) else []
        return [code for one in local for code in _codes(one, within, path)]
    return []


def _said(rest: Iterable[ast.expr], call: ast.Call, within: ast.AST) -> str:
    """The first text behind the code, else the one that is named as the message."""
    named = [one.value for one in call.keywords if one.arg in ("message", "reason", "cause")]
    for node in [*list(rest)[:1], *named]:
        text = words(node, within)
        if len(re.findall("[a-z]", text)) > LEAST:
            return sentence(text)
    return ""


def _failure(rest: Iterable[ast.expr]) -> str:
    """The cause of a failure of the wording that is named."""
    for node in rest:
        known = getattr(failure_messages, node.id, None) if isinstance(node, ast.Name) else None
        if isinstance(known, Failure):
            return known.cause
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            known = getattr(failure_messages, node.value.id, None)
            if isinstance(known, Failure):
                return known.cause
    return ""


def _of_wallet() -> Iterator[tuple[str, ...]]:
    more = said_of(RefusalCode)
    for one in RefusalCode:
        assert one.name in more, f"{one} has no line"
        told = of_wallet_error(Refused(one, ""))
        yield (
            code(told.code),
            str(told.exit.value),
            plain(more[one.name]),
            sentence(told.money),
            sentence(told.next),
        )
    for error in (AgentMissing, AgentGone):
        told = of_wallet_error(error(""))
        said = plain((error.__doc__ or "").split(". ")[0])
        yield (
            code(told.code),
            str(told.exit.value),
            sentence(said),
            sentence(told.money),
            sentence(told.next),
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
                    found.append((code(name), made, code(node.name.strip("_")), more))
    yield from sorted(found)


def _of_files() -> Iterator[tuple[str, str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for path, tree in modules("flows/batch", "UnreadableFile"):
        for name, call, within in calls(tree):
            if name == "UnreadableFile":
                for one in _codes(call.args[0], within, path):
                    said, do = (words(node, within) for node in call.args[1:3])
                    found.setdefault(one, (said, do))
    for one, (said, do) in sorted(found.items()):
        yield code(one), said, do


def _findings() -> Iterator[tuple[str, str, str]]:
    found: dict[tuple[str, str], str] = {}
    for path, tree in modules("flows/batch", "problem", "look"):
        for name, call, within in calls(tree):
            if name in ("problem", "look"):
                for one in _codes(call.args[0], within, path):
                    said = _said(call.args[2:], call, within)
                    found[one, name] = found.get((one, name), "") or said
    for (one, level), said in sorted(found.items()):
        yield code(one), level, said
