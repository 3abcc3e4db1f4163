"""Keys of every page of the desk, from the verbs that the page lists."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from operator import itemgetter

from generator.markdown import code, page, plain, section, table
from generator.source import defined, imports, modules, path_of
from swapdesk.tui.base_screen import STILL_SECONDS
from swapdesk.tui.commands import all_commands, everywhere_commands
from swapdesk.tui.commands.command import Verb
from swapdesk.tui.commands.key_names import FORBIDDEN, TAKEN, shown_key, split_keys

Verbs = list[Verb]
SCREENS = "tui/screens"
OPTIONS = "tui/screens/quote_options.py"
HEADS = ("Key", "Verb", "Does", "Name in `[keys]`", "Money")


def keys_page() -> str:
    pages = sorted(pages_of_the_desk(), key=itemgetter(0))
    left = (
        set(all_commands())
        - {verb for *_, verbs in pages for verb in verbs}
        - set(everywhere_commands())
    )
    assert not left, f"on no page: {sorted(verb.id for verb in left)}"
    return page(
        "Keys of the desk",
        "Every key by page, from the commands that the page lists. `?` shows those that work at"
        " the moment. A key that is marked under Money counts only when the screen has been still"
        f" for {STILL_SECONDS * 1000:g} ms and the step did not change.",
        section("Everywhere", "Outside text fields.", _table(everywhere_commands())),
        *(section(title, about, _table(verbs)) for title, about, verbs in pages),
        section("Options of quotes", "", _hints()),
        section(
            "Other keys",
            "`[keys]` of `config.toml` gives a command other keys, by the name in the tables:"
            ' `orders = "z"` or `refresh = ["ctrl+r", "f5"]`. A name stands for the verb on every'
            " page that has it. These keys cannot be taken, except by a command that has one"
            " already:",
            table(("Key", "Needed by"), _taken()),
            "A terminal sends these keys as another one, so they are refused:",
            table(("Key", "Arrives as"), ((code(shown_key(k)), v) for k, v in FORBIDDEN.items())),
        ),
    )


def pages_of_the_desk() -> Iterator[tuple[str, str, Verbs]]:
    """Of every page: its title, the first sentence of its docstring, and its verbs."""
    for path, tree in modules(SCREENS):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and (listed := _listed(node)) is not None:
                title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", node.name.removesuffix("Screen"))
                about = plain((ast.get_docstring(node) or "").split("\n\n")[0])
                yield title[:1] + title[1:].lower(), about, list(_verbs(path, listed))


def _listed(node: ast.ClassDef) -> ast.expr | None:
    """What is assigned to ``VERBS`` in a class."""
    for statement in node.body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(statement, ast.AnnAssign):
            target = statement.target
        if isinstance(target, ast.Name) and target.id == "VERBS":
            assert isinstance(statement, (ast.Assign, ast.AnnAssign))
            return statement.value
    return None


def _verbs(path: str, listed: ast.expr) -> Iterator[Verb]:
    """The verbs that a tuple names, also over the names of other tuples."""
    if isinstance(listed, ast.Starred):
        listed = listed.value
    if isinstance(listed, ast.Tuple):
        for element in listed.elts:
            yield from _verbs(path, element)
    elif isinstance(listed, ast.BinOp):
        yield from _verbs(path, listed.left)
        yield from _verbs(path, listed.right)
    elif isinstance(listed, ast.Attribute) and isinstance(listed.value, ast.Name):
        place, name = imports(path)[listed.value.id]
        place = f"{place.removesuffix('/__init__.py')}/{name}.py"
        yield from _named(place, listed.attr)
    else:
        assert isinstance(listed, ast.Name), ast.dump(listed)
        yield from _named(path, listed.id)


def _named(path: str, name: str) -> Iterator[Verb]:
    value = defined(path, name)
    if isinstance(value, ast.Call):
        yield getattr(importlib.import_module(_module(path)), name)
    elif isinstance(value, ast.expr):
        yield from _verbs(path, value)
    else:
        place, there = imports(path)[name]
        yield from _named(place, there)


def _module(path: str) -> str:
    module = f"swapdesk.{path.removesuffix('.py').replace('/', '.')}"
    assert path_of(module) == path
    return module


def _table(verbs: Iterable[Verb]) -> str:
    return table(
        HEADS,
        (
            (_keys(verb), verb.words, verb.help(), code(verb.id), "yes" if verb.money else "")
            for verb in verbs
        ),
    )


def _keys(verb: Verb) -> str:
    shown = [code(shown_key(key)) for key in split_keys(verb.key)]
    return ", ".join(dict.fromkeys(shown))


def _hints() -> str:
    """The keys of the form, which has verbs of its own."""
    hints = defined(OPTIONS, "HINTS")
    assert hints is not None
    rows = []
    for node in ast.walk(hints):
        if isinstance(node, ast.Call) and len(node.args) == 2:
            rows.append([str(ast.literal_eval(argument)) for argument in node.args])
    assert rows
    return table(("Key", "Verb"), ((code(key), verb) for key, verb in rows))


def _taken() -> list[tuple[str, str]]:
    by_place: dict[str, list[str]] = {}
    for key, place in TAKEN.items():
        by_place.setdefault(place, []).append(code(shown_key(key)))
    return [(", ".join(keys), place) for place, keys in by_place.items()]
