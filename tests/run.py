#!/usr/bin/env python3
"""The parts of ./test.

    tests/run.py build               compiles program and tests with clippy as the compiler
    tests/run.py run --counts DIR    runs the suites that were built, and the example's, and prints a table of them
    tests/run.py doc                 checks the documentation of the crates that were built

Words after --skip are handed to every suite, as `cargo test -- --skip WORD` does.
"""

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
BUILT = TARGET / "test-suites.json"
LIBRARIES = TARGET / "test-libraries.json"
# A workspace of its own, which depends on the crates of this one by path.
EXAMPLE = ROOT / "examples" / "own-product"
# Suites that run at the same time, and tests of one suite. With more of them they wait longer than they allow for.
LANES = 3
THREADS = 3
# A suite that takes longer than this is ended.
LIMIT_SECONDS = 1200
# The longest first, so that the lanes end together. A suite that is not named here comes after them.
LONGEST = [
    "provision-engine/kills", "provision-engine/cli", "provision-engine/browser", "engine/it", "provision-engine/workflows", "bench/figures",
    "conformance/it", "provision-engine/api", "kafka/it", "client-tests/it",
]
# The tests of this program whose names have the word run as a suite of their own, beside the others.
APART = {"provision-engine/cli": "kills"}
SLOWEST = 10

TEST_LINE = re.compile(r"^test (?P<name>\S+)(?: - should panic)? \.\.\. (?P<end>\w+).*<(?P<seconds>[0-9.]+)s>", re.M)
RESULT_LINE = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.M)


@dataclass
class Suite:
    """One test program."""

    name: str
    program: str
    directory: str
    has_harness: bool
    only: list[str] = field(default_factory=list)
    skip: list[str] = field(default_factory=list)
    passed: int = 0
    failed: int = 0
    ignored: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    code: int | None = None
    output: str = ""
    tests: list[tuple[float, str]] = field(default_factory=list)

    @property
    def is_ok(self) -> bool:
        return self.code == 0 and self.failed == 0 and self.ignored == 0

    def command(self, skip: list[str]) -> list[str]:
        if not self.has_harness:
            return [self.program]
        words = [word for one in [*self.skip, *skip] for word in ("--skip", one)]
        return [self.program, "-Zunstable-options", "--report-time", f"--test-threads={THREADS}", *self.only, *words]

    def split(self) -> list["Suite"]:
        word = APART.get(self.name)
        if word is None:
            return [self]
        apart = replace(self, name=f"{self.name.partition('/')[0]}/{word}", only=[word])
        return [apart, replace(self, skip=[word])]

    def count(self) -> None:
        for passed, failed, ignored in RESULT_LINE.findall(self.output):
            self.passed, self.failed, self.ignored = int(passed), int(failed), int(ignored)

    def run(self, skip: list[str]) -> None:
        # The harness reports times only to those who say that they know it may change.
        environment = {**os.environ, "RUSTC_BOOTSTRAP": "1", "CARGO_MANIFEST_DIR": self.directory}
        log = TARGET / "test-logs" / f"{self.name.replace('/', '-')}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        with log.open("w+b") as out:
            process = subprocess.Popen(
                self.command(skip), cwd=self.directory, env=environment, stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )
            alarm = threading.Timer(LIMIT_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
            alarm.start()
            _, status, usage = os.wait4(process.pid, 0)
            alarm.cancel()
            process.returncode = self.code = os.waitstatus_to_exitcode(status)
            out.seek(0)
            self.output = out.read().decode(errors="replace")
        self.seconds = time.monotonic() - began
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        self.count()
        self.tests = [(float(one["seconds"]), one["name"]) for one in TEST_LINE.finditer(self.output)]


@dataclass
class SdkSuite(Suite):
    """The tests of an SDK, which the tool of its language runs. `words` counts those that passed, failed and did not run."""

    arguments: list[str] = field(default_factory=list)
    words: tuple[str, str, str] = ("", "", "")

    @property
    def is_ok(self) -> bool:
        return super().is_ok and self.passed > 0

    def command(self, skip: list[str]) -> list[str]:
        return [self.program, *self.arguments]

    def count(self) -> None:
        # A number where the tool sums them up, or the lines where it has one for each.
        found = [re.findall(word, self.output, re.M) for word in self.words]
        self.passed, self.failed, self.ignored = (sum(int(one) if one.isdigit() else 1 for one in each) for each in found)


def sdk_suites() -> list[Suite]:
    """The SDKs in `sdk/`. ./test installs what they need."""
    packages = Path(os.environ.get("PROVISION_ENGINE_TYPESCRIPT", TARGET / "typescript" / "node_modules"))
    built = TARGET / "typescript" / "out"
    compile_and_run = (
        f"rm -rf '{built}' && '{packages}/.bin/tsc' -p . --typeRoots '{packages}/@types' --outDir '{built}' && "
        f"exec node --test --test-reporter=tap '{built}/provision_engine_steps.test.mjs'"
    )
    unittest = ["-m", "unittest", "-v"]
    of_python = (r"^.* \.\.\. ok$", r"^.* \.\.\. (?:FAIL|ERROR)$", r"^.* \.\.\. skipped.*$")
    of_node = (r"^# pass (\d+)", r"^# fail (\d+)", r"^# (?:skipped|cancelled|todo) (\d+)")
    of_go = (r"^--- PASS", r"^--- FAIL", r"^--- SKIP")
    place = ROOT / "sdk"
    return [
        SdkSuite("sdk/python", sys.executable, str(place / "python"), False, arguments=unittest, words=of_python),
        SdkSuite("sdk/typescript", "sh", str(place / "typescript"), False, arguments=["-c", compile_and_run], words=of_node),
        SdkSuite("sdk/go", "go", str(place / "go"), False, arguments=["test", "-count=1", "-v", "./..."], words=of_go),
        SdkSuite("sdk/templates", sys.executable, str(place / "templates"), False, arguments=unittest, words=of_python),
    ]


def build() -> None:
    began = time.monotonic()
    suites, libraries = build_workspace(ROOT)
    BUILT.write_text(json.dumps([asdict(suite) for suite in suites]))
    LIBRARIES.write_text(json.dumps(libraries))
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_seconds = usage.ru_utime + usage.ru_stime
    print(f"built and linted in {time.monotonic() - began:.0f} seconds, {cpu_seconds:.0f} of CPU")


def build_workspace(workspace: Path, nice: int = 0, words: tuple[str, ...] = ()) -> tuple[list[Suite], dict[str, dict]]:
    """Compiles a workspace once: with clippy as the compiler its lints need no second pass over the dependencies. Returns
    its suites, and where its libraries are."""
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(TARGET),
        "RUSTC_WORKSPACE_WRAPPER": "clippy-driver",
        # What `cargo clippy -- -D warnings` hands on.
        "CLIPPY_ARGS": "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
    }
    command = ["cargo", "test", "--workspace", "--locked", "--no-run", "--message-format=json-render-diagnostics"]
    cargo = subprocess.Popen(
        ["nice", "-n", str(nice), *command, *words], cwd=workspace, env=environment, stdout=subprocess.PIPE, text=True,
    )
    suites, libraries = [], {}
    for line in cargo.stdout:
        message = json.loads(line)
        note_library(message, libraries)
        if not (message.get("executable") and message.get("profile", {}).get("test")):
            continue
        manifest, target = Path(message["manifest_path"]), message["target"]
        kind = target["name"] if target["kind"] == ["test"] else "unit"
        has_harness = not harness_is_off(manifest, target["name"])
        suites.append(Suite(f"{manifest.parent.name}/{kind}", message["executable"], str(manifest.parent), has_harness))
    if cargo.wait() != 0:
        sys.exit("the build failed, or clippy found something")
    return suites, libraries


def note_library(message: dict, libraries: dict[str, dict]) -> None:
    """Keeps where the library of a package is. What a build script uses may be there with fewer features, too."""
    if message["reason"] != "compiler-artifact" or message["profile"]["test"]:
        return
    files = [file for file in message["filenames"] if file.endswith((".rlib", ".so"))]
    known = libraries.get(message["package_id"])
    if files and (known is None or len(known["features"]) < len(message["features"])):
        libraries[message["package_id"]] = {"file": files[0], "features": message["features"]}


def harness_is_off(manifest: Path, name: str) -> bool:
    sections = manifest.read_text().split("[[test]]")[1:]
    return any(f'name = "{name}"' in section and "harness = false" in section for section in sections)


def doc() -> bool:
    """Lets rustdoc check our crates. `cargo doc` would check all dependencies first; the libraries are there already."""
    began = time.monotonic()
    # The build has fetched the packages of this platform, and no others.
    host = re.search(r"^host: (.*)$", subprocess.check_output(["rustc", "-vV"], text=True), re.M)[1]
    metadata = json.loads(subprocess.check_output(
        ["cargo", "metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", host], cwd=ROOT,
    ))
    libraries = json.loads(LIBRARIES.read_text())
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    commands = [
        rustdoc(packages[member], target, nodes[member], libraries)
        for member in metadata["workspace_members"]
        for target in documented(packages[member])
    ]
    with ThreadPoolExecutor(LANES) as lanes:
        codes = list(lanes.map(lambda one: subprocess.run(one[0], env=one[1], check=False).returncode, commands))
    print(f"checked the documentation of {len(commands)} crates in {time.monotonic() - began:.0f} seconds")
    return not any(codes)


def documented(package: dict) -> list[dict]:
    """The library of a package, or its program where it has none."""
    of_kind = {kind: [target for target in package["targets"] if target["kind"] == [kind]] for kind in ("lib", "bin")}
    return of_kind["lib"] or of_kind["bin"]


def rustdoc(package: dict, target: dict, node: dict, libraries: dict[str, dict]) -> tuple[list[str], dict[str, str]]:
    externs = [
        f"{dependency['name']}={libraries[dependency['pkg']]['file']}"
        for dependency in node["deps"]
        if dependency["pkg"] in libraries and any(kind["kind"] is None for kind in dependency["dep_kinds"])
    ]
    command = [
        "rustdoc", target["src_path"], "-Zunstable-options", "--check", "--crate-name", target["name"].replace("-", "_"),
        "--crate-type", target["kind"][0], "--edition", target["edition"], "-D", "warnings",
        "-L", f"dependency={TARGET / 'debug' / 'deps'}",
        *[word for extern in externs for word in ("--extern", extern)],
        *(["--document-private-items"] if any(one["kind"] == ["bin"] for one in package["targets"]) else []),
    ]
    environment = {
        **os.environ,
        # Checking without writing pages is for those who say that they know it may change.
        "RUSTC_BOOTSTRAP": "1",
        "CARGO_MANIFEST_DIR": str(Path(package["manifest_path"]).parent),
        "CARGO_PKG_NAME": package["name"],
        "CARGO_PKG_VERSION": package["version"],
    }
    return command, environment


def run_all(suites: list[Suite], skip: list[str]) -> list[Suite]:
    """Runs these, and the suites of the example, which is compiled meanwhile with what they leave of the processor."""
    place = {name: number for number, name in enumerate(LONGEST)}
    in_order = sorted(suites, key=lambda suite: place.get(suite.name, len(place)))
    with ThreadPoolExecutor(LANES) as lanes, ThreadPoolExecutor(1) as beside:
        running = {lanes.submit(suite.run, skip): suite for suite in in_order}
        building = beside.submit(build_workspace, EXAMPLE, nice=19, words=("--quiet",))
        waiting = {building, *running}
        while waiting:
            ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for one in ended - {building}:
                one.result()
                report(running[one])
            if building in ended:
                example, _ = building.result()
                added = {lanes.submit(suite.run, skip): suite for suite in example}
                running |= added
                waiting |= set(added)
    return list(running.values())


def report(suite: Suite) -> None:
    word = "ok" if suite.is_ok else "FAILED"
    print(f"{word:6} {suite.name:32} {suite.passed:5} tests {suite.seconds:7.1f} s", flush=True)
    if not suite.is_ok:
        _, _, failures = suite.output.partition("\nfailures:\n")
        print(failures or "\n".join(suite.output.splitlines()[-100:]))
        if suite.code not in (0, 101):
            print(f"{suite.name} ended with {suite.code}" + (" (time limit)" if suite.code == -9 else ""))


def print_table(suites: list[Suite]) -> None:
    print(f"\n{'suite':34}{'tests':>7}{'seconds':>10}{'CPU s':>8}")
    for suite in sorted(suites, key=lambda suite: -suite.seconds):
        if suite.passed or suite.seconds >= 1:
            print(f"{suite.name:34}{suite.passed:7}{suite.seconds:10.1f}{suite.cpu_seconds:8.0f}")
    slowest = sorted((test + (suite.name,) for suite in suites for test in suite.tests), reverse=True)[:SLOWEST]
    print("\nthe slowest tests, in seconds")
    for seconds, name, suite_name in slowest:
        print(f"{seconds:7.1f}  {suite_name}: {name}")


def run(counts: Path, skip: list[str]) -> bool:
    built = [Suite(**suite) for suite in json.loads(BUILT.read_text())]
    suites = [part for suite in built for part in suite.split() if not set(part.only) & set(skip)] + sdk_suites()
    began = time.monotonic()
    suites = run_all(suites, skip)
    print_table(suites)
    print(f"\n{time.monotonic() - began:.0f} seconds for all suites")

    (counts / "output").write_text("".join(suite.output for suite in suites))
    for name, number in {
        "passed": sum(suite.passed for suite in suites),
        "failed": sum(max(suite.failed, int(not suite.is_ok)) for suite in suites),
        "browser": sum(suite.passed for suite in suites if suite.name.endswith("/browser")),
    }.items():
        (counts / name).write_text(f"{number}\n")
    return all(suite.is_ok for suite in suites)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["build", "run", "doc"])
    parser.add_argument("--skip", action="append", default=[], metavar="WORD")
    parser.add_argument("--counts", type=Path, metavar="DIR", help="for counts, and for what the suites print")
    options = parser.parse_args()
    if options.part == "build":
        build()
    elif not (doc() if options.part == "doc" else run(options.counts, options.skip)):
        sys.exit(1)


main()
