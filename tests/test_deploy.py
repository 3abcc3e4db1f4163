"""What is shipped to run a service with, held against the program: its commands, its file's keys,
and the names that the files of ``deploy`` have of each other."""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from swapdesk.cli.main import commands as programs
from swapdesk.sandbox.service_file import ServiceConfig, read_service_file
from swapdesk.service.router import PREFIX

PROJECT = Path(__file__).parent.parent
DEPLOY = PROJECT / "deploy"


def text(name: str) -> str:
    return (DEPLOY / name).read_text()


@pytest.fixture
def compose() -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load(text("compose.yaml"))
    return parsed


@pytest.fixture
def config(tmp_path: Path) -> ServiceConfig:
    """As a process of the compose file reads it, with a password of this machine."""
    password = tmp_path / "password"
    password.touch(0o600)
    password.write_text("a password")
    file = tmp_path / "service.toml"
    file.write_text(text("service.toml").replace("/run/secrets/store_password", str(password)))
    return read_service_file(file)


def images() -> dict[str, list[str]]:
    """The command of each image that the container file makes."""
    stages = re.split(r"^FROM \S+ AS (\w+)$", text("Containerfile"), flags=re.MULTILINE)
    found = dict(zip(stages[1::2], stages[2::2], strict=True))
    return {
        name: yaml.safe_load(entry)
        for name, stage in found.items()
        for entry in re.findall(r"^CMD (\[.*\])$", stage, re.MULTILINE)
    }


def commands() -> dict[str, list[str]]:
    """Every command of ours that a file runs."""
    parsed = yaml.safe_load(text("compose.yaml"))
    found = {
        f"compose {name}": service["command"]
        for name, service in parsed["services"].items()
        if service["image"] == "swapdesk"
    }
    found["Containerfile"] = images()["service"]
    for unit in sorted(DEPLOY.glob("*.service")):
        (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
        program, *words = shlex.split(line)
        assert Path(program).name == "swapdesk"
        found[unit.name] = words
    return found


@pytest.mark.parametrize("where", sorted(commands()))
def test_what_is_run_is_a_command_with_these_options(where: str, tmp_path: Path) -> None:
    name, *words = commands()[where]
    file = tmp_path / "service.toml"
    file.touch()
    words = [str(file) if word == "/etc/swapdesk/service.toml" else word for word in words]
    made = programs()[name].make_context(name, words)
    assert made.params["config_file"] == file


def test_the_files_mean_the_same_service(compose: dict[str, Any], config: ServiceConfig) -> None:
    services = compose["services"]
    api = {name for name, one in services.items() if "serve" in one.get("command", ())}
    workers = {name for name, one in services.items() if "worker" in one.get("command", ())}
    assert (len(api), len(workers)) == (2, 2)
    nginx = text("nginx.conf")
    upstream = set(re.findall(r"server (\S+?):(\d+) max_fails", nginx))
    assert upstream == {(name, str(config.port)) for name in api}
    assert f"location {config.http.prefix}/ {{" in nginx
    assert f"server_name {config.http.public_url.split('/')[2]};" in nginx
    (subnet,) = [one["subnet"] for one in compose["networks"]["inner"]["ipam"]["config"]]
    assert config.http.proxies == (ipaddress.ip_network(subnet),)
    ready = f"http://127.0.0.1:{config.port}{config.http.prefix}{PREFIX}/ready"
    assert ready in text("swapdesk-api.service")
    # Both units of a machine read this file.
    assert config.metrics is not None
    unit = text("swapdesk-worker.service")
    (beside,) = re.findall(r"worker --config \S+ --metrics-port (\d+)$", unit, re.MULTILINE)
    assert int(beside) not in (config.metrics.port, config.port)
    assert f"http://127.0.0.1:{beside}/ready" in unit
    assert config.store is not None
    assert "@database/swapdesk" in config.store.url
    assert services["database"]["environment"]["POSTGRES_DB"] == "swapdesk"


def test_a_sent_request_is_never_sent_again_and_nobody_names_an_address(
    compose: dict[str, Any],
) -> None:
    nginx = text("nginx.conf")
    assert re.findall(r"proxy_next_upstream ([^;]*);", nginx) == ["error timeout http_503"]
    # One that failed stays: with nobody left, what was never sent would be answered 502.
    assert re.findall(r"server \S+:\d+ (.*);", nginx) == ["max_fails=0"] * 2
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in nginx
    assert 'proxy_set_header Forwarded "";' in nginx
    for one in compose["services"].values():
        if one["image"] == "swapdesk":
            assert one["read_only"]
            assert one["cap_drop"] == ["ALL"]
    image = text("Containerfile").partition(" AS run\n")[2]
    assert re.search(r"^USER (?!0\b|root\b)\S+$", image, re.MULTILINE)


class Port(ThreadingHTTPServer):
    """What answers a unit's question whether its process is ready."""

    status = 200
    asked = 0


class Answer(BaseHTTPRequestHandler):
    server: Port

    def do_GET(self) -> None:
        self.server.asked += 1
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@pytest.fixture
def port() -> Iterator[Port]:
    with Port(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def gone() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


UNITS = ("swapdesk-api", "swapdesk-worker")


def started(unit: str, url: str, pid: int, path: Path) -> int:
    """What the unit's wait for its process ends with, whose pauses take no time."""
    pauses = path / "sleep"
    if not pauses.exists():
        pauses.symlink_to("/bin/true")
    (line,) = re.findall(r"^ExecStartPost=(.*)$", text(f"{unit}.service"), re.MULTILINE)
    # As systemd hands it on: of two dollars one is left.
    command = re.sub(r"http://\S+/ready", url, line.replace("$$", "$"))
    around = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "MAINPID": str(pid)}
    return subprocess.run(shlex.split(command), env=around, check=False).returncode


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_waits_for_its_process_and_not_for_what_that_needs(
    unit: str, port: Port, gone: int, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{port.server_port}/ready"
    assert started(unit, url, os.getpid(), tmp_path) == 0
    assert port.asked == 2
    port.status, port.asked = 503, 0
    assert started(unit, url, os.getpid(), tmp_path) == 0
    assert port.asked == 1 + 10
    # A process that ended is not waited for, though another one answers in its place.
    assert started(unit, url, gone, tmp_path) == 1
    assert started(unit, "http://127.0.0.1:1/ready", gone, tmp_path) == 1
    whole = text(f"{unit}.service")
    assert "StartLimitIntervalSec=0" in whole.partition("[Service]")[0]
    assert "TimeoutStartSec=infinity" in whole


def test_the_extras_of_the_image_are_there() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    (named,) = re.findall(r"'\.\[([a-z,]+)\]'", text("Containerfile"))
    assert set(named.split(",")) <= project["optional-dependencies"].keys()


def test_an_image_for_the_sandbox_and_one_for_a_service() -> None:
    """And the last is what is built where nobody names one."""
    assert list(images()) == ["sandbox", "service"]
    name, *words = images()["sandbox"]
    assert programs()[name].make_context(name, words).params["sandbox"]
    workflow = yaml.safe_load((PROJECT / ".github/workflows/release.yml").read_text())
    assert set(workflow["jobs"]["images"]["strategy"]["matrix"]["target"]) == images().keys()


def test_no_secret_of_the_service_is_built_into_an_image_or_a_package(
    compose: dict[str, Any],
) -> None:
    """They lie beside the files that the image is made of."""
    secrets = [one["file"] for one in compose["secrets"].values()]
    mounted = [one.partition(":")[0] for one in compose["services"]["nginx"]["volumes"]]
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    files = {Path(one).name for one in shipped if one.startswith("deploy/")}
    held = {Path(one).name for one in (*secrets, *mounted)} - files
    assert held == {"store_password", "tls"}
    assert files == {one.name for one in DEPLOY.iterdir()} - held
    for file in (".dockerignore", ".gitignore"):
        left_out = {one.rstrip("/") for one in (PROJECT / file).read_text().splitlines()}
        assert {f"deploy/{name}" for name in held} <= left_out, file
