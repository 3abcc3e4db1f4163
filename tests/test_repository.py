"""The files around the code: checks before a commit, forms, what everything is built on."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from swapdesk.agent.keys.key_file import Scrypt
from swapdesk.wallet.accounts import AUTO_LOCK_SECONDS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "swapdesk"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DEPENDENCIES = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_hooks_before_a_commit_are_the_checks_of_ci() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    body = re.search(r"^checks\(\) \{\n(.*?)^\}", script, re.MULTILINE | re.DOTALL)
    assert body is not None
    checks = re.findall(r"^ *run (.+)$", body[1], re.MULTILINE)
    [own] = loaded(ROOT / ".pre-commit-config.yaml")["repos"]
    assert own["repo"] == "local"
    assert [hook["entry"] for hook in own["hooks"]] == checks
    assert all(
        hook["language"] == "system" and hook["pass_filenames"] is False for hook in own["hooks"]
    )


FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
KINDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


@pytest.mark.parametrize(
    "form", [path for path in FORMS if path.stem != "config"], ids=lambda path: path.stem
)
def test_a_form_is_one_and_warns_of_what_is_never_pasted(form: Path) -> None:
    """GitHub leaves out a form that it cannot read, and says so to nobody."""
    content = loaded(form)
    assert (
        {"name", "description", "body"} <= set(content) <= {"name", "description", "labels", "body"}
    )
    fields = [field for field in content["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in content["body"]} <= KINDS
    assert len({field["id"] for field in fields}) == len(fields)
    assert len({field["attributes"]["label"] for field in fields}) == len(fields)
    warning = content["body"][0]["attributes"]["value"]
    for secret in ("seed phrase", "private key", "pass phrase", "API key"):
        assert secret in warning
    assert "`swapdesk doctor --json`" in form.read_text(encoding="utf-8")


def test_an_order_is_told_by_its_case_file_and_no_issue_without_a_form() -> None:
    fields = {field.get("id"): field for field in loaded(FORMS[-1])["body"]}
    assert (
        "swapdesk support bundle ORDER --out case.json"
        in fields["case"]["attributes"]["description"]
    )
    assert fields["case"]["validations"]["required"]
    assert loaded(FORMS[0])["blank_issues_enabled"] is False


def test_the_security_page_has_the_figures_of_the_code() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    scrypt = Scrypt(b"")
    assert f"(n = 2^{scrypt.n.bit_length() - 1}, r = {scrypt.r})" in page
    assert f"after {AUTO_LOCK_SECONDS / 60:g} minutes" in page


# what it is built on


def rows(heading: str) -> Iterator[list[str]]:
    """Cells of the tables under a heading, without their heads."""
    _, _, rest = DEPENDENCIES.partition(f"\n## {heading}\n")
    for line in rest.partition("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] not in ("Package", "Licence"):
            yield cells


def names(requirements: Iterable[str]) -> set[str]:
    packages = {canonicalize_name(Requirement(requirement).name) for requirement in requirements}
    return packages - {"swapdesk"}


EXTRAS: Mapping[str, list[str]] = PROJECT["project"]["optional-dependencies"]
GROUPS: Mapping[str, list[str]] = PROJECT["dependency-groups"]
BASE: list[str] = PROJECT["project"]["dependencies"]
SHIPPED = [*BASE, *(requirement for some in EXTRAS.values() for requirement in some)]


@pytest.mark.parametrize(
    ("heading", "requirements"),
    [
        ("The desk", BASE),
        ("Extras", [requirement for some in EXTRAS.values() for requirement in some]),
        ("Tests and checks", [*GROUPS["dev"], *GROUPS["browser"]]),
        ("Releases and site", [*GROUPS["release"], *GROUPS["site"]]),
    ],
)
def test_every_dependency_has_its_reason_its_keeper_and_what_replaces_it(
    heading: str, requirements: list[str]
) -> None:
    listed = list(rows(heading))
    elsewhere = {"hatchling"} if heading == "Releases and site" else set()
    assert {cells[0] for cells in listed} == names(requirements) - elsewhere
    assert all(len(cells) == 4 and all(cells) for cells in listed)


def brought(requirements: Iterable[str]) -> set[str]:
    """What is installed with them, through all that they need here."""
    installed: set[tuple[str, str]] = set()
    waiting = [Requirement(requirement) for requirement in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name == "swapdesk" or (
            requirement.marker and not requirement.marker.evaluate({"extra": ""})
        ):
            continue
        for extra in {"", *requirement.extras} - {
            what for which, what in installed if which == name
        }:
            installed.add((name, extra))
            for text in metadata.requires(name) or ():
                inner = Requirement(text)
                if inner.marker is None or inner.marker.evaluate({"extra": extra}):
                    inner.marker = None
                    waiting.append(inner)
    return {name for name, _ in installed}


LICENCES = {
    "MIT": r"\bMIT\b",
    "BSD": r"\bBSD\b",
    "Apache": r"\bApache\b",
    "PSF": r"\bPSF\b",
    "CNRI": r"\bCNRI\b",
    "public domain": r"(?i)\bpublic domain\b",
}


def licences(text: str) -> set[str]:
    return {name for name, pattern in LICENCES.items() if re.search(pattern, text)}


def stated(package: str) -> set[str]:
    """The licences that a package names in its metadata, else by the first lines of its text."""
    about = metadata.metadata(package)
    if about.get("License-Expression"):
        return licences(about["License-Expression"])
    words = [word for word in about.get_all("Classifier") or () if word.startswith("License")]
    words.append((about.get("License") or "")[:100])
    texts = [file for file in metadata.files(package) or () if file.name == "LICENSE"]
    return licences(" ".join(words)) or licences(
        " ".join(" ".join(text.read_text()[:200].split()) for text in texts)
    )


def test_the_licence_of_everything_that_is_shipped_is_told() -> None:
    listed = {
        name.partition(" (")[0]: licence
        for licence, packages in rows("Licences of what is shipped")
        for name in packages.split(", ")
    }
    here = brought(SHIPPED)
    assert here <= listed.keys()
    # What another system or Python brings is locked all the same.
    locked = (ROOT / "requirements" / "ci.txt").read_text(encoding="utf-8")
    assert [package for package in listed.keys() - here if f"\n{package}==" not in locked] == []
    assert {package: licences(listed[package]) for package in here} == {
        package: stated(package) for package in here
    }


# what the source holds


def parsed(folder: str, word: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node of the modules below ``folder`` whose text has ``word``, with the module's path
    in the package."""
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if word in source else ():
            yield path.relative_to(PACKAGE).as_posix(), node


def modules_that_name(name: str) -> set[str]:
    return {
        path
        for path, node in parsed("", name)
        if name in (getattr(node, "id", ""), getattr(node, "attr", ""))
        or (isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names])
    }


def test_modules_are_imported_by_name_in_a_few_places_only() -> None:
    """Whoever reads the code finds what uses a module by its name."""
    assert modules_that_name("import_module") == {
        "agent/process/wallet_session.py",
        "chain/unused_curve.py",
        "cli/cli_context.py",
        "tui/commands/__init__.py",
        "tui/controllers/navigation.py",
        "tui/session.py",
        "wire/operation.py",
    }


def test_every_overlay_is_an_overlay_of_the_desk() -> None:
    """With its keys, its place above the money line and its short updates."""
    assert modules_that_name("ModalScreen") == {"tui/widgets/overlay.py"}


def test_no_screen_rounds_or_writes_an_amount_by_itself() -> None:
    """``flows/notation`` does, which never makes more of what arrives and less of what is paid. A
    tape has no amounts but seconds."""
    nodes = [(path, node) for path, node in parsed("tui") if not path.startswith("tui/tapes/")]
    calls = [node.func for _, node in nodes if isinstance(node, ast.Call)]
    assert {"float", "quantize"}.isdisjoint(getattr(func, "id", "") for func in calls)
    assert {"float", "quantize"}.isdisjoint(getattr(func, "attr", "") for func in calls)
    digits = {
        (path, ast.unparse(node.value))
        for path, node in nodes
        if isinstance(node, ast.FormattedValue)
        and node.format_spec is not None
        and re.search(r"[efgn%]'$", ast.unparse(node.format_spec), re.IGNORECASE)
    }
    assert digits == {("tui/screens/quotes.py", "asking")}, "seconds, and nothing else"
