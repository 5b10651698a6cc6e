#!/usr/bin/env python3
"""The steps of ../example.yaml. It keeps a ledger of its effects, in place of a real database server.

    openssl rand -hex 32 > acme.secret
    python3 example.py --secret-file acme.secret --data .
"""

import argparse
import json
import logging
import os
import threading
from pathlib import Path

from provision_engine_steps import Fail, Service, SqliteStore, done, read_secret, skip, wait


class Ledger:
    """What exists, in a file with a line for each effect. A line is on the disk before an effect counts as made."""

    def __init__(self, path: Path):
        self._lock = threading.Lock()
        self._state = {}
        whole, _, torn = path.read_bytes().rpartition(b"\n") if path.exists() else (b"", b"", b"")
        for line in whole.splitlines():
            entry = json.loads(line)
            self._state[entry["key"]] = entry["effect"]
        self._file = path.open("ab")
        if torn:  # a kill in the middle of a write: this effect never counted
            self._file.truncate(self._file.tell() - len(torn))

    def make(self, kind: str, key: str, team: str) -> None:
        with self._lock:
            if self._state.get(key) == "removed":
                raise Fail("removed before")
            if key not in self._state:
                self._append("made", kind, key, team)

    def remove(self, kind: str, key: str, team: str) -> bool:
        """Whether there was something to remove. The key stays blocked: a late call must not make it again."""
        with self._lock:
            before = self._state.get(key)
            if before == "made":
                self._append("removed", kind, key, team)
            self._state[key] = "removed"
            return before == "made"

    def _append(self, effect: str, kind: str, key: str, team: str) -> None:
        entry = {"effect": effect, "kind": kind, "key": key, "team": team}
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._state[key] = effect


def database_service(secret: bytes, data: Path) -> Service:
    service = Service("acme.database", secret, store=SqliteStore(data / "answers.db"))
    ledger = Ledger(data / "ledger.jsonl")

    @service.step("reserve")
    def reserve(call):
        ledger.make("name", call.key, call.params["team"])
        return done(facts={"name": f"{call.params['team']}-db"})

    @service.undo("reserve")
    def release(call):
        if not ledger.remove("name", call.key, call.params["team"]):
            return skip("there is no reservation")

    @service.step("approve")
    def approve(call):
        if call.signal is None:
            return wait(signal="approved", within="1d", reason="waiting for an approval", progress="0 of 1 approvals")
        payload = call.signal.payload or {}
        if payload.get("approve", True) is not True:
            raise Fail("the approval was refused")
        return done(facts={"by": payload.get("by", "unknown")})

    @service.step("create")
    def create(call):
        ledger.make("database", call.key, call.params["team"])
        return done(
            facts={"host": f"{call.facts['reserve']['name']}.example"},
            secrets={"password": call.params.get("password", "generated")},
        )

    @service.undo("create")
    def drop(call):
        if not ledger.remove("database", call.key, call.params["team"]):
            return skip("there is no database")

    @service.step("check")
    def check(call):
        if call.params.get("broken"):
            raise Fail("the database does not answer")

    return service


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8780, help="0 takes any free port")
    parser.add_argument("--secret-file", type=Path, default=Path("acme.secret"))
    parser.add_argument("--data", type=Path, default=Path("."), help="the directory of ledger.jsonl and answers.db")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    database_service(read_secret(options.secret_file), options.data).serve(port=options.port)


if __name__ == "__main__":
    main()
