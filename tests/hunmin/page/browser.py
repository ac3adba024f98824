"""A headless Chromium that is spoken to over a pipe, by its DevTools protocol: nothing else needs to be installed."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FIRST_FREE = 10
"""Descriptors from here on are ours: the browser reads commands from 3 and answers on 4."""


def find_browser() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A browser with one page; a context that ends it. What it says meanwhile is kept in `messages` and `requests`."""

    def __init__(self, program: str, seconds: float = 120.0) -> None:
        self._seconds, self._number, self._buffer = seconds, 0, b""
        self._profile = tempfile.mkdtemp(prefix="browser-")
        self.messages: list[str] = []
        """Console messages, uncaught errors, and what the browser's own log says (of the security policy, say)."""
        self.requests: list[str] = []
        """Addresses that were asked for."""
        pairs = [os.pipe(), os.pipe()]
        (reads, self._write), (self._read, writes) = (
            tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE) for end in pair) for pair in pairs
        )
        for pair in pairs:
            os.close(pair[0])
            os.close(pair[1])
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                   "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={self._profile}"]  # fmt: skip
        with open(os.devnull, "w") as nothing:  # noqa: PTH123
            moves = [(os.POSIX_SPAWN_DUP2, reads, 3), (os.POSIX_SPAWN_DUP2, writes, 4)]
            moves += [(os.POSIX_SPAWN_DUP2, nothing.fileno(), end) for end in (1, 2)]
            self._process = os.posix_spawn(
                program, [program, *options], dict(os.environ), file_actions=moves, setpgroup=0
            )
        os.close(reads)
        os.close(writes)
        target = self._ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._write)
        os.close(self._read)
        os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        shutil.rmtree(self._profile, ignore_errors=True)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return what the page answers to a command of the protocol."""
        return self._ask(method, parameters, self._session)

    def open(self, path: Path, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Open a file and wait until it is loaded; what was said of an earlier one is forgotten.

        Args:
            path: HTML file.
            width: of the window, in CSS pixels.
            height: of the window.
            scheme: "light" or "dark", which the reader prefers.
        """
        self.messages.clear()
        self.requests.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=width < 600)  # fmt: skip
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url=path.resolve().as_uri())
        end = time.monotonic() + self._seconds
        while self.run("document.readyState") != "complete" or self.run("location.href") == "about:blank":
            assert time.monotonic() < end, "the page does not load"
            time.sleep(0.1)

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press a key and let go of it: "Tab", 9; "Enter", 13; " ", 32."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        common = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def _ask(self, method: str, parameters: dict[str, Any], session: str = "") -> dict[str, Any]:
        self._number += 1
        call = {"id": self._number, "method": method, "params": parameters}
        if session:
            call["sessionId"] = session
        os.write(self._write, json.dumps(call).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + self._seconds
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            piece = os.read(self._read, 1 << 16) if ready else b""
            assert piece, "the browser says nothing"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        match event.get("method"):
            case "Runtime.consoleAPICalled":
                self.messages.append(str(event["params"]["args"]))
            case "Runtime.exceptionThrown":
                self.messages.append(str(event["params"]["exceptionDetails"]))
            case "Log.entryAdded":
                self.messages.append(event["params"]["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(event["params"]["request"]["url"])
