#!/usr/bin/env python3
"""The steps of {{name}}. Files in data/ stand for a real system: replace `make` and `remove` by calls of yours."""

import json
import logging
import os
from pathlib import Path

from provision_engine_steps import Fail, MemoryStore, Service, SqliteStore, done, read_secret, skip, wait

HERE = Path(__file__).resolve().parent


def make(data, kind, call):
    """Creates something once for the key of the call, however often and whenever the process dies."""
    path = data / f"{kind}-{call.params['team']}.json"
    if path.exists():
        if json.loads(path.read_text())["key"] != call.key:
            raise Fail(f"the {kind} of team {call.params['team']} exists already")
        return
    new = path.with_suffix(f".{call.key}.new")
    new.write_text(json.dumps({"key": call.key, "operation": call.operation.id}))
    os.replace(new, path)


def remove(data, kind, call):
    """Removes what `make` created with the same key. To find nothing is success."""
    path = data / f"{kind}-{call.params['team']}.json"
    if not path.exists() or json.loads(path.read_text())["key"] != call.key:
        return skip(f"there is no {kind} to remove")
    path.unlink()
    return done()


def database_service(secret, data, store=None):
    data.mkdir(parents=True, exist_ok=True)
    service = Service("{{name}}", secret, store=store or MemoryStore())

    @service.step("reserve")
    def reserve(call):
        make(data, "name", call)
        return done(facts={"name": f"{call.params['team']}-db"})

    @service.undo("reserve")
    def release(call):
        return remove(data, "name", call)

    @service.step("approve")
    def approve(call):
        if call.signal is None:
            return wait(signal="approved", within="1d", reason="waiting for an approval")
        return done(facts={"by": (call.signal.payload or {}).get("by", "unknown")})

    @service.step("create")
    def create(call):
        make(data, "database", call)
        return done(facts={"host": f"{call.facts['reserve']['name']}.example"}, secrets={"password": "made up"})

    @service.undo("create")
    def drop(call):
        return remove(data, "database", call)

    @service.step("check")
    def check(call):
        if call.params.get("broken"):
            raise Fail("the database does not answer")

    return service


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    data = HERE / "data"
    data.mkdir(exist_ok=True)
    secret = read_secret(HERE / "{{name}}.secret")
    database_service(secret, data, SqliteStore(data / "answers.db")).serve(port=8780)
