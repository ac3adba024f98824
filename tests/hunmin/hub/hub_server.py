"""A server that speaks what huggingface_hub calls when it uploads and loads models, and fails as it is told to.

By the hub's documented HTTP interface (https://huggingface.co/docs/hub/api) and the Git LFS batch protocol, "basic".
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

TOKEN = "hf_" + "t" * 34
LARGE = 1000
"""Bytes from which a file goes by LFS."""


@dataclass
class Repository:
    private: bool
    commits: dict[str, dict[str, bytes]] = field(default_factory=lambda: {"0" * 40: {}})
    head: str = "0" * 40
    tags: dict[str, str] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    """Beside main."""
    messages: list[str] = field(default_factory=list)

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[self.head]

    def at(self, revision: str) -> str:
        return {"main": self.head, **self.branches, **self.tags}.get(revision, revision)


@dataclass
class Fault:
    """What the server does instead of its work: a status, or nothing but closing the connection."""

    path: str
    """Part of the path that it waits for."""
    status: int | None
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    method: str = ""
    content: Any = field(default_factory=lambda: {"error": "as the test asks"})
    after: int = 0
    """Calls that it lets pass first."""
    works: bool = False
    """Whether the first call that it meets is done, and its answer alone is lost."""


class Hub:
    """A model hub in this process; a context."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        """By name; of data sets `datasets/OWNER/NAME`."""
        self.objects: dict[str, bytes] = {}
        """LFS objects by their SHA-256."""
        self.faults: list[Fault] = []
        self.calls: list[str] = []
        hub = self

        class Handler(_Handler):
            server_hub = hub

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Hub:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def fault(self, method: str, path: str) -> Fault | None:
        for fault in self.faults:
            if fault.times and fault.path in path and fault.method in ("", method):
                if fault.after:
                    fault.after -= 1
                    continue
                fault.times -= 1
                return fault
        return None


class _Handler(BaseHTTPRequestHandler):
    server_hub: Hub
    protocol_version = "HTTP/1.1"
    lost = False
    """Whether the answer to this call is lost."""

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        hub, path = self.server_hub, unquote(self.path.partition("?")[0])
        length = int(self.headers.get("Content-Length") or 0)
        chunked = "chunked" in self.headers.get("Transfer-Encoding", "")
        fault = hub.fault(self.command, path)
        hub.calls.append(f"{self.command} {path}")
        broken = fault is not None and self.command == "PUT" and not chunked  # half of a file has come
        body = self._chunks() if chunked else self.rfile.read(length // 2 if broken else length)
        if fault and fault.works:
            fault.works = False
            self.lost = True
        elif fault:
            return self._fail(fault)
        if not path.startswith("/objects/") and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._answer(401, {"error": "Invalid username or password."})
        routes: list[tuple[str, Callable[[str, bytes], None]]] = [
            ("/api/repos/create", self._create),
            ("/api/validate-yaml", lambda *_: self._answer(200, {"errors": [], "warnings": []})),
            ("/preupload/", self._preupload),
            ("/info/lfs/objects/batch", self._batch),
            ("/objects/", self._store),
            ("/commit/", self._commit),
            ("/refs", self._refs),
            ("/tag/", self._tag),
            ("/branch/", self._branch),
            ("/resolve/", self._resolve),
            ("/api/models/", self._info),
            ("/api/datasets/", self._info),
        ]
        for part, answer in routes:
            if part in path:
                return answer(path, body)
        return self._answer(404, {"error": f"no such thing: {path}"})

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET

    def _chunks(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline().strip(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _fail(self, fault: Fault) -> None:
        self.close_connection = True
        if fault.status is None:
            self.connection.close()
        else:
            self._answer(fault.status, fault.content, {"Connection": "close", **fault.headers})

    def _answer(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        if self.lost:
            self.close_connection = True
            return self.connection.close()
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _name(self, path: str) -> str:
        parts = path.removeprefix("/api/models").removeprefix("/api").strip("/").split("/")
        return "/".join(parts[: 3 if parts[0] == "datasets" else 2]).removesuffix(".git")

    def _create(self, _: str, body: bytes) -> None:
        asked = json.loads(body)
        name = f"{asked.get('organization') or 'me'}/{asked['name']}"
        there = name in self.server_hub.repositories
        if not there:
            private = asked.get("private") or asked.get("visibility") == "private"
            self.server_hub.repositories[name] = Repository(bool(private))
        url = f"{self.server_hub.url}/{name}"
        self._answer(409 if there else 200, {"url": url, "error": "You already created this model repo"})

    def _info(self, path: str, _: bytes) -> None:
        name = self._name(path)
        if name not in self.server_hub.repositories:
            return self._answer(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
        found = self.server_hub.repositories[name]
        revision = found.at(path.partition("/revision/")[2] or "main")
        siblings = [{"rfilename": file} for file in found.commits.get(revision, {})]
        if "/tree/" in path:
            revision = found.at(path.partition("/tree/")[2].partition("/")[0])
            listed = [
                {"type": "file", "path": file, "size": len(content), "oid": _git_oid(content)}
                for file, content in found.commits.get(revision, {}).items()
            ]
            return self._answer(200, listed)
        return self._answer(200, {"id": name, "private": found.private, "sha": revision, "siblings": siblings})

    def _preupload(self, path: str, body: bytes) -> None:
        found = self.server_hub.repositories[self._name(path)]
        there = found.commits[found.at(path.partition("/preupload/")[2])]
        files = []
        for file in json.loads(body)["files"]:
            mode = "lfs" if file["size"] >= LARGE else "regular"
            entry = {"path": file["path"], "uploadMode": mode, "shouldIgnore": False}
            if file["path"] in there:
                content = there[file["path"]]
                entry["oid"] = hashlib.sha256(content).hexdigest() if mode == "lfs" else _git_oid(content)
            files.append(entry)
        self._answer(200, {"files": files})

    def _batch(self, _: str, body: bytes) -> None:
        objects = []
        for each in json.loads(body)["objects"]:
            entry: dict[str, Any] = {"oid": each["oid"], "size": each["size"]}
            if each["oid"] not in self.server_hub.objects:
                entry["actions"] = {"upload": {"href": f"{self.server_hub.url}/objects/{each['oid']}", "header": {}}}
            objects.append(entry)
        self._answer(200, {"transfer": "basic", "objects": objects}, {"Content-Type": "application/vnd.git-lfs+json"})

    def _store(self, path: str, body: bytes) -> None:
        oid = path.rpartition("/")[2]
        if hashlib.sha256(body).hexdigest() != oid:
            return self._answer(400, {"error": "not what was announced"})
        self.server_hub.objects[oid] = body
        return self._answer(200, {})

    def _commit(self, path: str, body: bytes) -> None:
        found = self.server_hub.repositories[self._name(path)]
        revision = path.partition("/commit/")[2]
        parent = found.at(revision)
        files, message = dict(found.commits[parent]), ""
        for line in body.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "header":
                message = value["summary"]
            elif entry["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif entry["key"] == "lfsFile":
                if value["oid"] not in self.server_hub.objects:
                    return self._answer(400, {"error": f"{value['path']} was not uploaded"})
                files[value["path"]] = self.server_hub.objects[value["oid"]]
            elif entry["key"] == "deletedFile":
                del files[value["path"]]
        oid = hashlib.sha1(body + parent.encode()).hexdigest()
        found.commits[oid] = files
        if revision == "main":
            found.head = oid
        else:
            found.branches[revision] = oid
        found.messages.append(message)
        url = f"{self.server_hub.url}/{self._name(path)}/commit/{oid}"
        return self._answer(200, {"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""})

    def _refs(self, path: str, _: bytes) -> None:
        if self._name(path) not in self.server_hub.repositories:
            return self._answer(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
        found = self.server_hub.repositories[self._name(path)]

        def refs(kind: str, names: dict[str, str]) -> list[dict[str, str]]:
            return [{"name": n, "ref": f"refs/{kind}/{n}", "targetCommit": oid} for n, oid in names.items()]

        answer = {
            "branches": refs("heads", {"main": found.head, **found.branches}),
            "tags": refs("tags", found.tags),
            "converts": [],
        }
        self._answer(200, answer)

    def _tag(self, path: str, body: bytes) -> None:
        found, revision = self.server_hub.repositories[self._name(path)], path.partition("/tag/")[2]
        if self.command == "DELETE":
            del found.tags[revision]
            return self._answer(200, {})
        name = json.loads(body)["tag"]
        if name in found.tags:
            return self._answer(409, {"error": "Tag exists already"})
        found.tags[name] = found.at(revision)
        return self._answer(201, {})

    def _branch(self, path: str, body: bytes) -> None:
        found, name = self.server_hub.repositories[self._name(path)], path.partition("/branch/")[2]
        if self.command == "DELETE":
            del found.branches[name]
            return self._answer(200, {})
        if name in found.branches:
            return self._answer(409, {"error": "Reference already exists"})
        found.branches[name] = found.at(json.loads(body or b"{}").get("startingPoint", "main"))
        return self._answer(201, {})

    def _resolve(self, path: str, _: bytes) -> None:
        name, _, rest = path.strip("/").partition("/resolve/")
        revision, _, file = rest.partition("/")
        found = self.server_hub.repositories[name]
        commit = found.at(revision)
        if file not in found.commits.get(commit, {}):
            return self._answer(
                404, {"error": "Entry not found"}, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}
            )
        content = found.commits[commit][file]
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        return self._answer(200, content, {"ETag": etag, "X-Repo-Commit": commit, "Accept-Ranges": "none"})


def _git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
