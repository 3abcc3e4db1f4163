"""No module needs itself: imports form no circle, not even those that only name a type."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import swapdesk

SOURCES = Path(swapdesk.__file__).parent


IMPORT = re.compile(r"^ *(?:from ([\w.]+) import (\([^)]*\)|.*)|import ([\w.]+))", re.MULTILINE)
"""As the formatter writes them; parsing each module takes ten times as long."""


ASIDE = re.compile(r"#.*| as \w+")


def imports(sources: Path) -> dict[str, set[str]]:
    """Modules of the package below ``sources`` by name, each with those that it imports
    anywhere in its text; a name that is taken from a package is the package's."""
    files = {}
    for path in sources.rglob("*.py"):
        parts = path.relative_to(sources.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    found = {}
    for name, path in files.items():
        wanted = set()
        for module, names, whole in IMPORT.findall(path.read_text()):
            inner = [f"{module}.{one}" for one in re.findall(r"\w+", ASIDE.sub("", names))]
            wanted |= {one if one in files else module for one in inner} | {whole}
        found[name] = (wanted & files.keys()) - {name}
    return found


def circle(graph: dict[str, set[str]]) -> list[str]:
    """One circle, from a module back to itself; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_imports_form_no_circle() -> None:
    graph = imports(SOURCES)
    assert "swapdesk.flows.desk" in graph["swapdesk.tui.session"], "types alone count, too"
    assert circle(graph) == []


def test_a_circle_of_types_is_seen(tmp_path: Path) -> None:
    package = tmp_path / "desk"
    (package / "rooms").mkdir(parents=True)
    (package / "rooms" / "__init__.py").write_text("from desk.rooms.one import One\n")
    (package / "rooms" / "one.py").write_text("def work():\n    import desk.rooms.other\n")
    other = "if TYPE_CHECKING:\n    from desk.rooms import one\n"
    (package / "rooms" / "other.py").write_text(other)
    assert set(circle(imports(package))) == {"desk.rooms.one", "desk.rooms.other"}
