"""A service between the desk and the sandbox that changes what it passes on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from patience import PATIENCE
from plain_http import PLAIN

Change = Callable[[str, str, Any], Any]
"""Method, path and decoded answer in, the answer to give out."""


@contextmanager
def lying_service(url: str, change: Change) -> Iterator[str]:
    """The address of a service that answers as the one at ``url`` does, changed."""
    origin = url.removesuffix("/v2")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._pass_on("GET", None)

        def do_POST(self) -> None:
            self._pass_on("POST", self.rfile.read(int(self.headers["content-length"])))

        def _pass_on(self, method: str, body: bytes | None) -> None:
            kept = ("authorization", "content-type", "accept")
            answer = httpx.request(
                method,
                origin + self.path,
                content=body,
                headers={name: v for name in kept if (v := self.headers.get(name))},
                trust_env=False,
                timeout=PATIENCE,
                verify=PLAIN,
            )
            content = answer.content
            if answer.status_code == 200:
                content = json.dumps(change(method, self.path, answer.json())).encode()
            self.send_response_only(answer.status_code)
            for name in ("content-type", "x-request-id"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            # A live service has the time of this machine, however far the sandbox's was moved.
            self.send_header("date", self.date_time_string())
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            """Quiet: what a command prints is what is tested."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v2"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
