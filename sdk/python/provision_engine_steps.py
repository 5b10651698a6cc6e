"""Serves the steps of a declared workflow of provision-engine. One file, no dependencies, Python 3.9 or later.

    from provision_engine_steps import Fail, Service, SqliteStore, done, read_secret, wait

    service = Service("acme.database", read_secret("acme.secret"), store=SqliteStore("answers.db"))

    @service.step("create")
    def create(call):
        if call.params["team"] == "guest":
            raise Fail("guests get no database")             # no further call helps: the engine begins to undo
        database = create_database(name=call.key)           # the same key in every attempt: create it once
        if not database.is_ready:
            return wait(after="30s", reason="the database starts", facts={"id": database.id})
        return done(facts={"id": database.id}, secrets={"password": database.password})

    @service.undo("create")
    def remove(call):
        delete_database(name=call.key, missing_ok=True)     # also called when it is unknown whether run did anything

    service.serve(port=8780)

A function gets a `Call` and returns `done`, `skip`, `wait`, `retry` or `fail`; nothing means `done()`. `Fail` and its
subclasses become `fail`, `Retry` becomes `retry`. Any other exception becomes `retry` with the name of its class; its
message and its traceback go only to the log (logger `provision_engine_steps`), because they may hold secrets.

The service refuses a call with a wrong or missing signature, one whose timestamp is more than five minutes away, and
one that it received before. It keeps the answers of finished steps by idempotency key, so a repeated call gets the
same answer and the function is not called again. After a crash in the middle the function is called again: use
`call.key` as the name or label of what you create.

To serve it with another HTTP server, call `service.handle(timestamp, signature, body)` in your own route.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import inspect
import io
import json
import logging
import re
import signal
import socket
import sqlite3
import threading
import time
import unicodedata
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple, Optional, Union

__all__ = [
    "Answer", "Call", "Fail", "InvalidAnswer", "InvalidCall", "MemoryStore", "Operation", "Response", "Retry", "Service",
    "Signal", "SqliteStore", "done", "duration", "fail", "read_secret", "retry", "sign", "skip", "verify", "wait",
]

CALL_VERSION = 2
AGE_SECONDS_MAX = 300  # of a timestamp, before or after our clock
BODY_BYTES_MAX = 1024 * 1024  # of a call
ANSWER_BYTES_MAX = 256 * 1024  # what the engine reads
REASON_CHARS_MAX = 1000
KEY_CHARS_MAX = 253  # of the name of a fact, a secret or a signal
DEPTH_MAX = 32  # of the values of facts
SECRET_BYTES_MIN = 32
SIGNATURES_MAX = 8  # in one header; more than one only while a secret is replaced
READ_SECONDS_MAX = 10  # from the first byte of a request to its last
IDLE_SECONDS_MAX = 120  # of a kept connection; longer than the engine keeps one, so that it never finds one cut
CONNECTIONS_MAX = 256
STOP_SECONDS_MAX = 10  # for calls that run when the service is told to stop
KEPT_MAX = 10_000  # answers of a MemoryStore
KEPT_SECONDS = 30 * 86_400  # answers of a SqliteStore

UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
DURATION = re.compile(r"([0-9]{1,20})(ms|s|m|h|d)", re.ASCII)
TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)
SIGNATURE = re.compile(r"v1=([0-9a-f]{64})", re.ASCII)

log = logging.getLogger("provision_engine_steps")


# The answer of a step ---------------------------------------------------------------------------------------------


class Fail(Exception):
    """Raise it, or a subclass, when no further call can help. People read the message: put no secret into it."""


class Retry(Exception):
    """Raise it when the same call may work later. It spends the retry budget of the step."""

    def __init__(self, reason: str, after: Union[str, timedelta, None] = None):
        super().__init__(reason)
        self.after = after


class InvalidAnswer(ValueError):
    """The answer of a function breaks the contract. The message names the field and repeats no value."""


class Answer(dict):
    """What goes over the wire. Make it with `done`, `skip`, `wait`, `retry` or `fail`."""

    def __repr__(self) -> str:  # facts are no secrets, but secrets are
        return f"Answer({self.get('outcome')})"


def done(facts: Optional[Mapping[str, Any]] = None, secrets: Optional[Mapping[str, str]] = None) -> Answer:
    """The step is finished. Later steps see `facts`; only this step gets `secrets` back, for undo."""
    return _answer("done", facts=facts, secrets=secrets)


def skip(reason: Optional[str] = None) -> Answer:
    """There is nothing to do."""
    return _answer("skip", reason=reason)


def wait(
    after: Union[str, timedelta, None] = None,
    signal: Optional[str] = None,
    within: Union[str, timedelta, None] = None,
    reason: Optional[str] = None,
    facts: Optional[Mapping[str, Any]] = None,
    progress: Union[int, float, str, None] = None,
) -> Answer:
    """All is well: call again after a time, or when the signal arrives, at most `within`. It costs nothing."""
    return _answer("wait", after=duration(after), signal=signal, within=duration(within), reason=reason, facts=facts,
                   progress=progress)


def retry(reason: str, after: Union[str, timedelta, None] = None) -> Answer:
    """Something broke that may heal. It spends the retry budget of the step."""
    return _answer("retry", reason=reason, after=duration(after))


def fail(reason: str) -> Answer:
    """No further call can help: the engine begins to undo."""
    return _answer("fail", reason=reason)


def duration(value: Union[str, timedelta, None]) -> Optional[str]:
    """The text of a duration: a whole number and one of the units ms, s, m, h, d."""
    if not isinstance(value, timedelta):
        return value
    millis = round(value.total_seconds() * 1000)
    if millis < 0:
        raise InvalidAnswer("a duration must not be negative")
    unit = next(unit for unit in ("d", "h", "m", "s", "ms") if millis % UNITS_MS[unit] == 0) if millis else "s"
    return f"{millis // UNITS_MS[unit]}{unit}"


FIELDS = {
    "done": {"facts", "secrets"},
    "skip": {"reason"},
    "wait": {"after", "signal", "within", "reason", "facts", "progress"},
    "retry": {"reason", "after"},
    "fail": {"reason"},
}


def _answer(outcome: str, **fields: Any) -> Answer:
    answer = Answer(outcome=outcome, **{name: value for name, value in fields.items() if value is not None})
    check_answer(answer)
    return answer


def check_answer(answer: Any) -> None:
    """Raises `InvalidAnswer` for what the engine would not accept."""
    if not isinstance(answer, dict):
        raise InvalidAnswer("the answer must be an object with the field outcome")
    outcome = answer.get("outcome")
    if not isinstance(outcome, str) or outcome not in FIELDS:
        raise InvalidAnswer("outcome must be done, skip, wait, retry or fail")
    for name in answer:
        if name != "outcome" and name not in FIELDS[outcome]:
            raise InvalidAnswer(f"{outcome} has no field {str(name)[:100]}")
    if "reason" in answer and not (isinstance(answer["reason"], str) and answer["reason"]):
        raise InvalidAnswer("reason must be a text that is not empty")
    if outcome in ("retry", "fail") and "reason" not in answer:
        raise InvalidAnswer(f"{outcome} needs a reason")
    for name in ("after", "within"):
        if name in answer:
            _check_duration(name, answer[name])
    if outcome == "wait":
        _check_wait(answer)
    _check_values(answer)


def _check_duration(name: str, value: Any) -> None:
    match = DURATION.fullmatch(value) if isinstance(value, str) else None
    if not match or int(match[1]) * UNITS_MS[match[2]] >= 2**64:
        raise InvalidAnswer(f"{name} must be a whole number and a unit, such as 250ms, 10s, 5m, 24h or 90d")


def _check_wait(answer: dict) -> None:
    if ("after" in answer) == ("signal" in answer):
        raise InvalidAnswer("wait needs after or signal, and not both")
    if "signal" in answer:
        _check_key("signal", answer["signal"])
    elif "within" in answer:
        raise InvalidAnswer("within needs signal")
    progress = answer.get("progress", 0)
    is_number = isinstance(progress, (int, float)) and not isinstance(progress, bool)
    if not (isinstance(progress, str) and progress or is_number and 0 <= progress <= 100):
        raise InvalidAnswer("progress must be a number from 0 to 100 or a text")


def _check_values(answer: dict) -> None:
    for name in ("facts", "secrets"):
        values = answer.get(name, {})
        if not isinstance(values, Mapping):
            raise InvalidAnswer(f"{name} must be an object")
        for key in values:
            _check_key(f"a key of {name}", key)
    if any(_is_deeper(value, DEPTH_MAX) for value in answer.get("facts", {}).values()):
        raise InvalidAnswer(f"facts may be nested {DEPTH_MAX} times and not more")
    if not all(isinstance(value, str) for value in answer.get("secrets", {}).values()):
        raise InvalidAnswer("the values of secrets must be texts")


def _check_key(what: str, key: Any) -> None:
    if not isinstance(key, str) or not 0 < len(key) <= KEY_CHARS_MAX or any(unicodedata.category(one) == "Cc" for one in key):
        raise InvalidAnswer(f"{what} must have 1 to {KEY_CHARS_MAX} characters that can be read")


def _is_deeper(value: Any, than: int) -> bool:
    if not isinstance(value, (dict, list, tuple)):
        return False
    items = value.values() if isinstance(value, dict) else value
    return than == 0 or any(_is_deeper(item, than - 1) for item in items)


def _encode(answer: Any) -> "tuple[str, bytes]":
    """The outcome of an answer, and the answer as it goes over the wire."""
    check_answer(answer)
    if len(answer.get("reason", "")) > REASON_CHARS_MAX:
        answer = Answer(answer, reason=answer["reason"][: REASON_CHARS_MAX - 1] + "…")
    try:
        body = json.dumps(answer, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise InvalidAnswer("facts must be JSON") from None
    if len(body) > ANSWER_BYTES_MAX:
        raise InvalidAnswer(f"the answer is longer than {ANSWER_BYTES_MAX} bytes")
    return answer["outcome"], body


# The call ---------------------------------------------------------------------------------------------------------


class InvalidCall(ValueError):
    """The body of a request is no call. The message names the field and repeats no value."""


@dataclass(frozen=True)
class Operation:
    """The operation that the step belongs to."""

    id: str
    workflow: str
    workflow_version: int
    tenant: Optional[str] = None
    resource: Optional[str] = None
    created_at: Optional[str] = None
    deadline_at: Optional[str] = None


class Signal(NamedTuple):
    """The signal that ended the wait of this step."""

    key: str
    payload: Any


@dataclass(frozen=True)
class Call:
    """One call of the engine. `key` is the idempotency key: the same for every attempt, and for the undo of this run."""

    action: str  # "run" or "undo"
    step: str
    attempt: int
    operation: Operation
    key: str
    params: dict = field(default_factory=dict, repr=False)
    facts: dict = field(default_factory=dict, repr=False)  # of the steps before, by the name of the step
    own_facts: dict = field(default_factory=dict, repr=False)  # what this step answered before
    own_secrets: dict = field(default_factory=dict, repr=False)
    signal: Optional[Signal] = field(default=None, repr=False)
    signal_url: Optional[str] = None  # POST {signal_url}{key} with signal_token as bearer token sends a signal
    signal_token: Optional[str] = field(default=None, repr=False)

    @classmethod
    def parse(cls, body: bytes) -> "Call":
        """Reads the body of a request. Fields that are not known are ignored."""
        try:
            call = json.loads(body)
        except (ValueError, RecursionError):
            raise InvalidCall("the body is not JSON") from None
        if not isinstance(call, dict):
            raise InvalidCall("the body is not a JSON object")
        if _get(call, "version", int) != CALL_VERSION:
            raise InvalidCall(f"version must be {CALL_VERSION}")
        action, attempt, operation = _get(call, "action", str), _get(call, "attempt", int), _get(call, "operation", dict)
        if action not in ("run", "undo"):
            raise InvalidCall("action must be run or undo")
        if attempt < 1:
            raise InvalidCall("attempt must be 1 or more")
        facts, own, signal = _get(call, "facts", dict, {}), _get(call, "own", dict, {}), _get(call, "signal", dict, None)
        if not all(isinstance(value, dict) for value in facts.values()):
            raise InvalidCall("facts must have an object for each step")
        secrets = _get(own, "secrets", dict, {}, "own.")
        if not all(isinstance(value, str) for value in secrets.values()):
            raise InvalidCall("own.secrets must have texts")
        return cls(
            action=action, step=_get(call, "step", str), attempt=attempt, key=_get(call, "idempotency_key", str),
            operation=_operation(operation), params=_get(call, "params", dict, {}), facts=facts,
            own_facts=_get(own, "facts", dict, {}, "own."), own_secrets=secrets,
            signal=None if signal is None else Signal(_get(signal, "key", str, path="signal."), signal.get("payload")),
            signal_url=_get(call, "signal_url", str, None), signal_token=_get(call, "signal_token", str, None),
        )


def _operation(operation: dict) -> Operation:
    names = ("tenant", "resource", "created_at", "deadline_at")
    return Operation(
        id=_get(operation, "id", str, path="operation."),
        workflow=_get(operation, "workflow", str, path="operation."),
        workflow_version=_get(operation, "workflow_version", int, path="operation."),
        **{name: _get(operation, name, str, None, "operation.") for name in names},
    )


_REQUIRED = object()
_KINDS = {str: "a text", int: "a whole number", dict: "an object"}


def _get(values: dict, name: str, kind: type, default: Any = _REQUIRED, path: str = "") -> Any:
    value = values.get(name)
    if value is None and default is not _REQUIRED:
        return default
    is_required_text = kind is str and default is _REQUIRED
    if not isinstance(value, kind) or isinstance(value, bool) or is_required_text and not value:
        raise InvalidCall(f"{path}{name} must be {_KINDS[kind]}")
    return value


# The signature ----------------------------------------------------------------------------------------------------


def read_secret(path: Union[str, Path]) -> bytes:
    """The secret in a file, without the line end."""
    return Path(path).read_bytes().rstrip(b"\r\n")


def sign(secret: bytes, timestamp: str, body: bytes) -> str:
    """The header `Provision-Engine-Signature` for a body."""
    return "v1=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def verify(secrets: "list[bytes]", timestamp: Optional[str], signature: Optional[str], body: bytes, now: float) -> Optional[str]:
    """What is wrong with the signature of a request, or None. `signature` may list several, separated by commas."""
    if not timestamp or not signature:
        return "the headers Provision-Engine-Timestamp and Provision-Engine-Signature are needed"
    if not TIMESTAMP.fullmatch(timestamp):
        return "Provision-Engine-Timestamp must be seconds since 1970"
    listed = [SIGNATURE.fullmatch(one.strip()) for one in signature.split(",")[:SIGNATURES_MAX]]
    candidates = [one[0] for one in listed if one]
    if not candidates:
        return "Provision-Engine-Signature must be v1= and 64 hexadecimal digits"
    is_right = False
    for expected in (sign(secret, timestamp, body) for secret in secrets):
        for candidate in candidates:
            is_right |= hmac.compare_digest(expected, candidate)
    if not is_right:
        return "the signature is wrong: engine and service must have the same secret"
    if abs(now - int(timestamp)) > AGE_SECONDS_MAX:
        return "the timestamp is more than 5 minutes away: compare the clocks of engine and service"
    return None


# Stores -----------------------------------------------------------------------------------------------------------


class MemoryStore:
    """Keeps answers in memory, the newest 10,000. Write a class with these three methods to keep them elsewhere."""

    def __init__(self, kept_max: int = KEPT_MAX):
        self._answers: "OrderedDict[str, str]" = OrderedDict()
        self._signatures: "OrderedDict[str, float]" = OrderedDict()
        self._kept_max = kept_max
        self._lock = threading.Lock()

    def get(self, key: str) -> Optional[str]:
        """What was put under the key, or None."""
        with self._lock:
            return self._answers.get(key)

    def put(self, key: str, answer: str) -> None:
        """Keeps an answer. It must survive a crash once this returns, if anything is to survive."""
        with self._lock:
            self._answers[key] = answer
            if len(self._answers) > self._kept_max:
                self._answers.popitem(last=False)

    def is_first(self, signature: str, now: float, until: float) -> bool:
        """Whether this signature was not seen before. It is remembered until a time. Must be atomic."""
        with self._lock:
            while self._signatures and next(iter(self._signatures.values())) < now:
                self._signatures.popitem(last=False)
            is_first = signature not in self._signatures
            self._signatures[signature] = until
            return is_first


class SqliteStore:
    """Keeps answers in an SQLite file for 30 days. Several processes on one machine may share it."""

    def __init__(self, path: Union[str, Path], kept_seconds: float = KEPT_SECONDS):
        Path(path).touch(mode=0o600)  # answers may hold secrets
        self._db = sqlite3.connect(str(path), timeout=10, isolation_level=None, check_same_thread=False)
        self._kept_seconds = kept_seconds
        self._lock = threading.Lock()
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, answer TEXT, until REAL NOT NULL) WITHOUT ROWID")
        self._db.execute("CREATE INDEX IF NOT EXISTS kept_until ON kept (until)")

    def close(self) -> None:
        self._db.close()

    def get(self, key: str) -> Optional[str]:
        with self._lock:
            row = self._db.execute("SELECT answer FROM kept WHERE key = ?", (key,)).fetchone()
        return row and row[0]

    def put(self, key: str, answer: str) -> None:
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", (key, answer, time.time() + self._kept_seconds))

    def is_first(self, signature: str, now: float, until: float) -> bool:
        with self._lock:
            self._db.execute("DELETE FROM kept WHERE until < ?", (now,))
            return self._db.execute("INSERT OR IGNORE INTO kept VALUES (?, NULL, ?)", (signature, until)).rowcount == 1


# The service ------------------------------------------------------------------------------------------------------

StepFunction = Callable[[Call], Optional[Answer]]


class Response(NamedTuple):
    """What to send back: always JSON."""

    status: int
    body: bytes


class Service:
    """The steps of one workflow. `secret` may be a list while a secret is replaced: each of them is accepted."""

    def __init__(self, workflow: str, secret: Union[bytes, str, list], store: Any = None):
        secrets = [one.encode() if isinstance(one, str) else one for one in (secret if isinstance(secret, list) else [secret])]
        if not secrets or any(len(one) < SECRET_BYTES_MIN for one in secrets):
            raise ValueError(f"the secret must have {SECRET_BYTES_MIN} characters or more, such as those of: openssl rand -hex 32")
        self.workflow = workflow
        self.store = MemoryStore() if store is None else store
        self._secrets = secrets
        self._functions: "dict[tuple[str, str], StepFunction]" = {}
        self._busy: "set[str]" = set()
        self._lock = threading.Lock()

    def step(self, name: str) -> Callable[[StepFunction], StepFunction]:
        """The function below runs the step."""
        return self._register("run", name)

    def undo(self, name: str) -> Callable[[StepFunction], StepFunction]:
        """The function below undoes the step. To find nothing to undo is success."""
        return self._register("undo", name)

    def _register(self, action: str, name: str) -> Callable[[StepFunction], StepFunction]:
        def register(function: StepFunction) -> StepFunction:
            if (action, name) in self._functions:
                raise ValueError(f"{action} of the step {name} has two functions")
            self._functions[action, name] = function
            return function

        return register

    def handle(self, timestamp: Optional[str], signature: Optional[str], body: bytes, now: Optional[float] = None) -> Response:
        """Answers one request: its two headers and its body as it arrived. Safe to call from several threads."""
        now = time.time() if now is None else now
        if len(body) > BODY_BYTES_MAX:
            return _refuse(413, f"the body is longer than {BODY_BYTES_MAX} bytes")
        wrong = verify(self._secrets, timestamp, signature, body, now)
        if wrong:
            return _refuse(401, wrong)
        own = sign(self._secrets[0], timestamp, body)
        if not self.store.is_first(own, now, int(timestamp) + AGE_SECONDS_MAX + 1):
            return _refuse(425, "this request was received before")
        try:
            call = Call.parse(body)
        except InvalidCall as error:
            return _refuse(400, str(error))
        began = time.monotonic()
        outcome, answer = self._answer(call)
        log.info("%s %s attempt %d of operation %s: %s in %.0f ms", call.action, call.step, call.attempt, call.operation.id,
                 outcome, (time.monotonic() - began) * 1000)
        return Response(200, answer)

    def try_step(self, step: str, params: Optional[dict] = None, **more: Any) -> dict:
        """Calls a step without HTTP and signature, for tests. `more` is fields of the call, such as `action="undo"`."""
        operation = {"id": "test", "workflow": self.workflow, "workflow_version": 1}
        call = {"version": CALL_VERSION, "action": "run", "step": step, "attempt": 1, "operation": operation}
        body = json.dumps({**call, "idempotency_key": f"test-{step}", "params": params or {}, **more}).encode()
        return json.loads(self._answer(Call.parse(body))[1])

    def _answer(self, call: Call) -> "tuple[str, bytes]":
        if call.operation.workflow != self.workflow:
            return _encode(retry(f"this service has the steps of {self.workflow} and of no other workflow"))
        function = self._functions.get((call.action, call.step))
        if function is None:
            return _encode(retry(f"this service has no function for {call.action} of the step {call.step}"))
        with self._lock:
            if call.key in self._busy:
                return _encode(wait(after="1s", reason="an earlier call of this step is still running"))
            self._busy.add(call.key)
        try:
            return self._once(call, function)
        finally:
            with self._lock:
                self._busy.discard(call.key)

    def _once(self, call: Call, function: StepFunction) -> "tuple[str, bytes]":
        """The answer that is kept for the key, or a new one."""
        undo_begun, kept = f"{call.key}/undo-begun", f"{call.key}/{call.action}"
        if call.action == "run" and self.store.get(undo_begun) is not None:
            return _encode(fail("this step was undone before; the call is too late"))
        known = self.store.get(kept)
        if known is not None:
            return "the answer before", known.encode()
        if call.action == "undo":
            self.store.put(undo_begun, "{}")
        outcome, answer = _call(function, call)
        if outcome in ("done", "skip"):
            self.store.put(kept, answer.decode())
        return outcome, answer

    def serve(self, host: str = "127.0.0.1", port: int = 8780) -> None:
        """Serves until SIGTERM or SIGINT, then lets the calls that run finish. Prints its address. 0 is any free port."""
        server = self.server(host, port)
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        print(f"{self.workflow}: http://{host}:{server.server_port}/", flush=True)
        stop.wait()
        server.stop()

    def server(self, host: str = "127.0.0.1", port: int = 0) -> "Server":
        """A server for `serve_forever` in a thread of your own; `stop` ends it."""
        return Server((host, port), self)


def _call(function: StepFunction, call: Call) -> "tuple[str, bytes]":
    try:
        answer = function(call)
        if inspect.isawaitable(answer):
            answer = asyncio.run(_awaited(answer))
        return _encode(done() if answer is None else answer)
    except Fail as error:
        return _encode(fail(str(error) or type(error).__name__))
    except Retry as error:
        return _encode(retry(str(error) or type(error).__name__, after=error.after))
    except InvalidAnswer as error:
        log.error("%s %s: the answer is not valid: %s", call.action, call.step, error)
        return _encode(retry(f"the answer of the service is not valid: {error}"))
    except Exception as error:  # whatever it is, the same call may work later
        log.exception("%s %s attempt %d of operation %s", call.action, call.step, call.attempt, call.operation.id)
        return _encode(retry(f"{type(error).__name__} in {call.action} of {call.step}; the log of the service has more"))


async def _awaited(answer: Any) -> Any:
    return await answer


def _refuse(status: int, reason: str) -> Response:
    log.warning("refused with %d: %s", status, reason)
    return Response(status, json.dumps({"reason": reason}).encode())


# The local server -------------------------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """A thread for each connection, and a limit for their number."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: "tuple[str, int]", service: Service):
        self.service = service
        self.is_stopping = False
        self._free = threading.BoundedSemaphore(CONNECTIONS_MAX)
        self._running = 0
        self._changed = threading.Condition()
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        while not self._free.acquire(timeout=0.1):
            if self.is_stopping:
                self.shutdown_request(request)
                return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("connection of %s broke", client_address, exc_info=True)

    def count(self, change: int) -> None:
        with self._changed:
            self._running += change
            self._changed.notify_all()

    def stop(self, within_seconds: float = STOP_SECONDS_MAX) -> None:
        """Accepts nothing more, and gives the calls that run some time to finish."""
        self.is_stopping = True
        self.shutdown()
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0, within_seconds)
        self.server_close()


class _DeadlineReader(io.RawIOBase):
    """Reads from a socket. A client that sends a byte now and then does not keep a thread for longer than that."""

    def __init__(self, connection: socket.socket):
        self.connection = connection
        self.end = 0.0

    def limit(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.end - time.monotonic()
        if left <= 0:
            raise socket.timeout("the request took too long")
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "provision-engine-steps", ""
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024  # headers and body in one packet

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.raw = _DeadlineReader(self.connection)
        self.rfile = io.BufferedReader(self.raw)

    def handle_one_request(self) -> None:
        self.raw.limit(IDLE_SECONDS_MAX)
        try:
            is_there = self.rfile.peek(1)
        except OSError:
            is_there = b""
        if not is_there:
            self.close_connection = True
            return
        self.raw.limit(READ_SECONDS_MAX)
        self.server.count(1)
        try:
            super().handle_one_request()
        finally:
            self.server.count(-1)
            self.close_connection |= self.server.is_stopping

    def do_GET(self) -> None:
        if self.path == "/health":
            return self._send(Response(200, b'{"status": "ok"}'))
        return self._send(Response(404, b'{"reason": "steps are called with POST"}'))

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,10}", length) or self.headers.get("Transfer-Encoding"):
            return self._end(_refuse(411, "the header Content-Length is needed"))
        if int(length) > BODY_BYTES_MAX:
            return self._end(_refuse(413, f"the body is longer than {BODY_BYTES_MAX} bytes"))
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            return None
        self.connection.settimeout(READ_SECONDS_MAX)  # for the answer
        signatures = ",".join(self.headers.get_all("Provision-Engine-Signature", []))
        return self._send(self.server.service.handle(self.headers.get("Provision-Engine-Timestamp"), signatures, body))

    def _end(self, response: Response) -> None:
        self.close_connection = True
        self._send(response)

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(response.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(response.body)

    def log_message(self, format: str, *arguments: Any) -> None:
        log.debug(format, *arguments)
