#!/usr/bin/env python3
"""Makes the database of an older release for tests/cli/upgrade.rs: operations of all products, killed in their middle.

    make.py PROGRAM OUT      PROGRAM is provision-engine of that release; OUT becomes OUT/data.tar.gz and OUT/operations.json
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from pathlib import Path

PROGRAM, OUT = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfrCIqZLfhKMHtpLzLFGcn13y1ZXq7S6R2cZ071aFEB ada@example\n"
AMI = "ami-0abc000000000001"
HOW = ["--source", "sandbox", "--type", "t3.small", "--key", "mine.pub"]
# What the server needs afterwards: no token, password or lock.
KEPT = ["engine.db", "keys.json"]

place = Path(tempfile.mkdtemp())
(place / "mine.pub").write_text(KEY)
(place / "first-boot").write_text("#!/bin/sh\ntrue\n")
environment = {
    "PATH": os.environ["PATH"],
    "HOME": str(place),
    "PROVISION_ENGINE_DATA_DIR": str(place / "data"),
    "PROVISION_ENGINE_PREFIX": str(place / "root"),
    "PROVISION_ENGINE_RUNTIME__POLL": "50ms",
    "PROVISION_ENGINE_SERVERLESS__POLL": "50ms",
    "PROVISION_ENGINE_LAUNCH__IMAGE__POLL_FIRST": "50ms",
    "PROVISION_ENGINE_LAUNCH__IMAGE__POLL_MAX": "100ms",
    "PROVISION_ENGINE_LAUNCH__INSTANCE_POLL": "50ms",
    "PROVISION_ENGINE_ONE_USER": "cognit",
    "PROVISION_ENGINE_ONE_PASSWORD": "cognitpass",
}
known: dict[str, str] = {}


def begin(*words: str) -> subprocess.Popen:
    return subprocess.Popen(
        [PROGRAM, *words], cwd=place, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=open(place / f"{words[0]}.log", "w"), text=True,
    )


def run(*words: str) -> str:
    ran = subprocess.run([PROGRAM, *words], cwd=place, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"{words}: {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout.strip()


def sandbox(method: str, path: str, body: dict | None = None) -> dict:
    request = urllib.request.Request(f"{url}{path}", method=method, data=json.dumps(body).encode() if body is not None else None)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
    return json.loads(text) if text else {}


def until(what: str, ask) -> None:
    for _ in range(1000):
        if ask():
            return
        time.sleep(0.02)
    sys.exit(f"{what} did not come")


def operations() -> list[dict]:
    return json.loads(run("operations", "list", "-o", "json"))["items"]


def note(name: str) -> None:
    """Keeps the newest operation under this name."""
    new = [one for one in operations() if one["id"] not in known and one["workflow"] != "notice.deliver"]
    if len(new) != 1:
        sys.exit(f"{name}: {len(new)} new operations: {[(one['workflow'], one['id']) for one in new]}")
    known[new[0]["id"]] = name


def held(system: str, about: str, name: str, *words: str) -> str:
    """Begins an operation whose call is held: the server dies between the intent and the answer."""
    sandbox("POST", "/faults", {"system": system, "kind": "hold", "about": about})
    out = run(*words)
    until(f"the call of {name}", lambda: sandbox("GET", "/faults")["faults"] == [])
    note(name)
    return out


def waiting(name: str, *words: str) -> str:
    out = run(*words)
    note(name)
    operation = next(id for id, one in known.items() if one == name)
    until(f"the wait of {name}", lambda: json.loads(run("operations", "show", operation, "-o", "json"))["phase"] == "waiting")
    return out


far = begin("sandbox", "--listen", "127.0.0.1:0")
url = far.stdout.readline().strip()
host, _, port = url.rpartition(":")
environment["PROVISION_ENGINE_SERVERLESS__ONED"] = f"{host}:{int(port) + 1}/RPC2"
environment["PROVISION_ENGINE_SERVERLESS__ONEFLOW"] = f"{host}:{int(port) + 2}"
server = begin("serve", "--listen", "127.0.0.1:0", "--sandbox-url", url)
until("the server", lambda: (place / "data" / "provision-engine.pid").exists())
try:
    hello = ["operations", "submit", "demo.hello", "-o", "name"]
    run(*hello, "--wait")
    note("hello: finished")
    waiting("hello: waits", *hello, "--param", "wait_ms=60000")
    paused = waiting("hello: paused", *hello, "--param", "wait_ms=60000")
    run("operations", "pause", paused)
    waiting("hello: busy", *hello, "--param", "wait_ms=60000", "--resource", "shared")
    run(*hello, "--resource", "shared", "--queue")
    note("hello: queued")
    held("greeter", "greetings", "hello: call", *hello)
    undone = waiting("hello: undoing", *hello, "--param", "wait_ms=60000")
    sandbox("POST", "/faults", {"system": "greeter", "kind": "hold", "method": "DELETE"})
    run("operations", "cancel", undone)
    until("the undo", lambda: sandbox("GET", "/faults")["faults"] == [])

    create = ["instances", "create", "--plan", "azure", "--param", "region=westeurope"]
    for name in ["ready", "gone"]:
        run(*create, name, "--param", f"name={name}", "--wait")
        note(f"runtime: {name}")
    held("provisioner", "upgradeShoot", "runtime: update", "instances", "update", "ready", "--param", "machineType=Standard_D16_v3")
    held("provisioner", "deprovisionRuntime", "runtime: delete", "instances", "delete", "gone", "--yes")
    held("provisioner", "provisionRuntime", "runtime: call", *create, "call", "--param", "name=call")
    sandbox("PUT", "/provisioner/script", {"provision_ms": 3600000})
    waiting("runtime: waits", *create, "waits", "--param", "name=waits")

    # Another OpenNebula counts from the beginning again: what is deleted has a number that it will not reach.
    for name in ["first", "second", "gone"]:
        made = run("serverless", "create", "--faas", "Function", "--name", name, "--wait")
        note(f"serverless: {name}")
    sandbox("POST", "/faults", {"system": "oneflow", "kind": "hold", "method": "DELETE"})
    begin("serverless", "delete", made, "--yes")
    until("the delete", lambda: sandbox("GET", "/faults")["faults"] == [])
    note("serverless: delete")
    for name, system, about in [("document", "oned", "one.document.allocate"), ("service", "oneflow", "instantiate")]:
        sandbox("POST", "/faults", {"system": system, "kind": "hold", "about": about})
        begin("serverless", "create", "--faas", "Function", "--name", name)
        until(name, lambda: sandbox("GET", "/faults")["faults"] == [])
        note(f"serverless: {name}")

    launch = ["launch", "-o", "name", "--no-wait"]
    run("launch", "-o", "name", "--wait", "--image", AMI, *HOW)
    note("launch: finished")
    instance = json.loads(run("inventory", "-o", "json"))["items"][0]["instance_id"]
    held("ec2", "TerminateInstances", "instance: terminate", "inventory", "terminate", instance, "--yes")
    held("image_builder", "compose", "launch: build", *launch, "--distribution", "rhel-9", *HOW)
    (place / "mine.pub").write_text(KEY.replace("FEB ada", "FEC eve"))
    held("ec2", "ImportKeyPair", "launch: key", *launch, "--image", AMI, *HOW)
    held("ec2", "UserData", "launch: instances", *launch, "--image", AMI, *HOW, "--user-data", "first-boot")
    waiting("launch: deferred", *launch, "--distribution", "rhel-9", "--source", "sandbox", "--deferred")
    until("the image", lambda: any(one.get("step") == "wait_for_parameters" for one in operations()))
    sandbox("POST", "/faults", {"system": "greeter", "kind": "error", "times": 0})
    waiting("hello: retries", *hello)

    shown = {one["id"]: one for one in operations()}
    notices = [id for id, one in shown.items() if one["workflow"] == "notice.deliver"]
    known |= {id: f"notice: {number}" for number, id in enumerate(sorted(notices), 1)}
    server.send_signal(signal.SIGKILL)
    server.wait()
finally:
    server.kill()
    far.kill()
# As the next start does, so that the log of the database need not be kept.
database = sqlite3.connect(place / "data" / "engine.db")
database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
database.close()
OUT.mkdir(exist_ok=True)
with tarfile.open(OUT / "data.tar.gz", "w:gz") as archive:
    for name in KEPT:
        archive.add(place / "data" / name, arcname=name)
(OUT / "operations.json").write_text(json.dumps({name: id for id, name in known.items()}, indent=2) + "\n")
for id, name in known.items():
    print(f"{name:22} {shown[id]['phase']:10} {shown[id].get('step')} {id}")
