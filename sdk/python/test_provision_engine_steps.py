"""Tests of the SDK: the shared vectors, then a fake engine against a real server."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from datetime import timedelta
from pathlib import Path

import provision_engine_steps as sdk
from provision_engine_steps import Call, Fail, MemoryStore, Retry, Service, SqliteStore, done, fail, retry, sign, skip, wait

SECRET = b"0123456789abcdef0123456789abcdef"
VECTORS = Path(__file__).resolve().parent.parent / "vectors"
HERE = Path(__file__).resolve().parent


def vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text())


def call(step="create", action="run", key="k-1", attempt=1, **more):
    operation = {"id": "o-1", "workflow": "acme.database", "workflow_version": 1}
    body = {"version": 2, "action": action, "step": step, "attempt": attempt, "operation": operation, "idempotency_key": key}
    return {**body, "params": {"team": "red"}, **more}


class Engine:
    """Signs calls and hands them to a service, as the engine does."""

    def __init__(self, service):
        self.service = service
        self.now = 1_700_000_000

    def send(self, body):
        raw = json.dumps(body).encode()
        self.now += 1
        timestamp = str(self.now)
        response = self.service.handle(timestamp, sign(SECRET, timestamp, raw), raw, now=self.now)
        return response.status, json.loads(response.body)

    def answer(self, *arguments, **more):
        status, answer = self.send(call(*arguments, **more))
        assert status == 200, answer
        return answer


def service_with(function, store=None, undo=None):
    service = Service("acme.database", SECRET, store=store)
    service.step("create")(function)
    if undo:
        service.undo("create")(undo)
    return service


class Vectors(unittest.TestCase):
    def test_signatures(self):
        for vector in vectors("signatures"):
            with self.subTest(vector["name"]):
                secrets = [secret.encode() for secret in vector["secrets"]]
                body = vector["body"].encode()
                wrong = sdk.verify(secrets, vector["timestamp"], vector["signature"], body, vector["now"])
                self.assertEqual(wrong is None, vector["valid"], wrong)

    def test_calls(self):
        for vector in vectors("calls"):
            with self.subTest(vector["name"]):
                body = vector["body"].encode()
                if not vector["valid"]:
                    with self.assertRaises(sdk.InvalidCall) as caught:
                        Call.parse(body)
                    self.assertIn(vector["names"], str(caught.exception))
                    continue
                parsed = Call.parse(body)
                reads = vector["reads"]
                for name in ("action", "step", "attempt", "key", "params", "facts", "own_facts", "own_secrets", "signal_url", "signal_token"):
                    self.assertEqual(getattr(parsed, name), reads[name], name)
                self.assertEqual(vars(parsed.operation), reads["operation"])
                self.assertEqual(parsed.signal and parsed.signal._asdict(), reads["signal"])

    def test_answers(self):
        for vector in vectors("answers"):
            with self.subTest(vector["name"]):
                if vector["valid"]:
                    outcome, body = sdk._encode(vector["answer"])
                    self.assertEqual((outcome, json.loads(body)), (vector["answer"]["outcome"], vector["answer"]))
                    continue
                with self.assertRaises(sdk.InvalidAnswer) as caught:
                    sdk._encode(vector["answer"])
                self.assertIn(vector["names"], str(caught.exception))

    def test_what_is_wrong_is_told_without_values(self):
        for vector in vectors("calls"):
            if not vector["valid"]:
                with self.assertRaises(sdk.InvalidCall) as caught:
                    Call.parse(vector["body"].encode())
                for value in ("s3cret", "r00t", "red-1"):
                    self.assertNotIn(value, str(caught.exception))


class Answers(unittest.TestCase):
    def answer(self, function, **more):
        return Engine(service_with(function)).answer(**more)

    def test_every_outcome_arrives(self):
        for make, expected in [
            (lambda: None, {"outcome": "done"}),
            (lambda: done(facts={"id": 7}, secrets={"root": "x"}), {"outcome": "done", "facts": {"id": 7}, "secrets": {"root": "x"}}),
            (lambda: skip("exists"), {"outcome": "skip", "reason": "exists"}),
            (lambda: wait(after=timedelta(seconds=90), progress=40), {"outcome": "wait", "after": "90s", "progress": 40}),
            (lambda: wait(signal="ok", within="7d"), {"outcome": "wait", "signal": "ok", "within": "7d"}),
            (lambda: retry("later", after="1m"), {"outcome": "retry", "reason": "later", "after": "1m"}),
            (lambda: fail("no"), {"outcome": "fail", "reason": "no"}),
        ]:
            self.assertEqual(self.answer(lambda _, make=make: make()), expected)

    def test_durations_are_written_with_the_longest_unit(self):
        for value, text in [(timedelta(0), "0s"), (timedelta(days=2), "2d"), (timedelta(minutes=90), "90m"), (timedelta(milliseconds=1), "1ms")]:
            self.assertEqual(sdk.duration(value), text)
        with self.assertRaises(sdk.InvalidAnswer):
            sdk.duration(timedelta(seconds=-1))

    def test_a_declared_error_fails_and_its_subclass_too(self):
        class OverQuota(Fail):
            pass

        def function(_):
            raise OverQuota("the quota of the team is used up")

        self.assertEqual(self.answer(function), {"outcome": "fail", "reason": "the quota of the team is used up"})

    def test_a_retry_error_retries_after_its_time(self):
        def function(_):
            raise Retry("the server restarts", after="15s")

        self.assertEqual(self.answer(function), {"outcome": "retry", "reason": "the server restarts", "after": "15s"})

    def test_any_other_exception_retries_and_its_message_stays_here(self):
        def function(_):
            raise ConnectionError("postgres://root:s3cret@db")

        with self.assertLogs("provision_engine_steps", "ERROR") as logs:
            answer = self.answer(function)
        self.assertEqual(answer["outcome"], "retry")
        self.assertIn("ConnectionError in run of create", answer["reason"])
        self.assertNotIn("s3cret", json.dumps(answer))
        self.assertNotIn("Traceback", json.dumps(answer))
        self.assertIn("s3cret", logs.output[0], "the log has what is needed to find the fault")

    def test_an_answer_that_breaks_the_contract_retries_and_names_the_field(self):
        for made, part in [
            ({"outcome": "done", "fact": {}}, "fact"),
            ({"outcome": "done", "facts": {"a": object()}}, "facts must be JSON"),
            ({"outcome": "done", "facts": {"a": float("nan")}}, "facts must be JSON"),
            ({"outcome": "done", "facts": {"a": "x" * 300_000}}, "longer than"),
            ("done", "object"),
            (7, "object"),
        ]:
            with self.assertLogs("provision_engine_steps", "ERROR"):
                answer = self.answer(lambda _, made=made: made)
            self.assertEqual(answer["outcome"], "retry")
            self.assertIn(part, answer["reason"])

    def test_a_long_reason_is_cut(self):
        self.assertEqual(len(self.answer(lambda _: fail("x" * 5000))["reason"]), 1000)

    def test_functions_may_be_async(self):
        async def function(call):
            return done(facts={"team": call.params["team"]})

        self.assertEqual(self.answer(function)["facts"], {"team": "red"})

    def test_representations_hide_what_may_be_secret(self):
        parsed = Call.parse(json.dumps(call(params={"password": "s3cret"}, own={"secrets": {"root": "r00t"}})).encode())
        shown = repr(parsed) + repr(done(secrets={"a": "hidden"}))
        for value in ("s3cret", "r00t", "hidden"):
            self.assertNotIn(value, shown)


class Keys(unittest.TestCase):
    """One effect for each key, with both stores."""

    def stores(self):
        yield "memory", MemoryStore()
        with tempfile.TemporaryDirectory() as folder:
            yield "sqlite", SqliteStore(Path(folder) / "answers.db")

    def test_a_finished_key_gets_its_answer_again_and_the_function_is_not_called(self):
        for name, store in self.stores():
            with self.subTest(name):
                calls = []
                engine = Engine(service_with(lambda call: calls.append(call.attempt) or done(facts={"n": len(calls)}), store))
                first = engine.answer()
                self.assertEqual(engine.answer(attempt=2), first)
                self.assertEqual(engine.answer(key="k-2"), {"outcome": "done", "facts": {"n": 2}})
                self.assertEqual(calls, [1, 1])

    def test_what_is_not_finished_is_called_again(self):
        answers = [wait(after="1s"), retry("busy"), fail("no"), done()]
        engine = Engine(service_with(lambda call: answers[call.attempt - 1]))
        self.assertEqual([engine.answer(attempt=n)["outcome"] for n in (1, 2, 3, 4)], ["wait", "retry", "fail", "done"])

    def test_a_run_that_comes_after_its_undo_has_no_effect(self):
        for name, store in self.stores():
            with self.subTest(name):
                calls = []
                engine = Engine(service_with(lambda call: calls.append("run"), store, lambda call: calls.append("undo")))
                self.assertEqual(engine.answer(action="undo")["outcome"], "done")
                self.assertEqual(engine.answer(action="undo", attempt=2)["outcome"], "done")
                self.assertEqual(engine.answer()["outcome"], "fail")
                self.assertEqual(engine.answer(key="k-2")["outcome"], "done")
                self.assertEqual(calls, ["undo", "run"])

    def test_an_undo_that_failed_blocks_the_run_and_is_tried_again(self):
        outcomes = iter([Retry("busy"), None])

        def undo(_):
            outcome = next(outcomes)
            if outcome:
                raise outcome

        engine = Engine(service_with(lambda _: done(), undo=undo))
        self.assertEqual(engine.answer(action="undo")["outcome"], "retry")
        self.assertEqual(engine.answer()["outcome"], "fail")
        self.assertEqual(engine.answer(action="undo", attempt=2)["outcome"], "done")

    def test_a_second_call_while_the_first_still_runs_waits(self):
        entered, leave = threading.Event(), threading.Event()

        def function(_):
            entered.set()
            leave.wait(10)
            return done()

        engine = Engine(service_with(function, undo=lambda _: done()))
        thread = threading.Thread(target=engine.answer)
        thread.start()
        self.assertTrue(entered.wait(10))
        self.assertEqual(engine.answer(attempt=2)["outcome"], "wait")
        self.assertEqual(engine.answer(action="undo")["outcome"], "wait")
        leave.set()
        thread.join()
        self.assertEqual(engine.answer(attempt=3)["outcome"], "done")

    def test_sqlite_remembers_over_a_restart_and_forgets_in_time(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "answers.db"
            SqliteStore(path).put("k", "{}")
            store = SqliteStore(path, kept_seconds=-1)
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            self.assertEqual(store.get("k"), "{}")
            self.assertTrue(store.is_first("v1=1", 100, 400))
            self.assertFalse(SqliteStore(path).is_first("v1=1", 200, 400))
            store.put("old", "{}")
            self.assertTrue(store.is_first("v1=2", time.time(), time.time() + 1))
            self.assertIsNone(store.get("old"))

    def test_memory_keeps_the_newest(self):
        store = MemoryStore(kept_max=2)
        for key in "abc":
            store.put(key, key)
        self.assertEqual([store.get(key) for key in "abc"], [None, "b", "c"])
        self.assertTrue(store.is_first("v1=1", 100, 400))
        self.assertFalse(store.is_first("v1=1", 400, 400))
        self.assertTrue(store.is_first("v1=1", 401, 700))


class Refusals(unittest.TestCase):
    def setUp(self):
        self.calls = []
        self.service = service_with(lambda call: self.calls.append(call))
        self.body = json.dumps(call()).encode()

    def send(self, timestamp, signature, body, now=1_700_000_000):
        with self.assertLogs("provision_engine_steps", "WARNING"):
            response = self.service.handle(timestamp, signature, body, now=now)
        return response.status, json.loads(response.body)["reason"]

    def test_forged_late_and_unsigned_calls_do_nothing(self):
        signature = sign(SECRET, "1700000000", self.body)
        for timestamp, sent, body, now in [
            ("1700000000", sign(b"x" * 32, "1700000000", self.body), self.body, 1_700_000_000),
            ("1700000000", signature, self.body.replace(b"red", b"blu"), 1_700_000_000),
            ("1700000000", signature, self.body, 1_700_000_301),
            ("1700000000", signature, self.body, 1_699_999_699),
            ("1700000000", None, self.body, 1_700_000_000),
            (None, signature, self.body, 1_700_000_000),
        ]:
            self.assertEqual(self.send(timestamp, sent, body, now)[0], 401)
        self.assertEqual(self.calls, [])

    def test_a_replayed_call_is_refused_also_where_the_step_is_not_finished(self):
        self.service = service_with(lambda call: self.calls.append(call) or retry("busy"))
        signature = sign(SECRET, "1700000000", self.body)
        self.assertEqual(self.service.handle("1700000000", signature, self.body, now=1_700_000_000).status, 200)
        for sent in (signature, "v0=1," + signature):
            self.assertEqual(self.send("1700000000", sent, self.body), (425, "this request was received before"))
        self.assertEqual(len(self.calls), 1)

    def test_a_long_body_and_nonsense_are_refused(self):
        self.assertEqual(self.send("1700000000", "", b"x" * (1024 * 1024 + 1))[0], 413)
        signature = sign(SECRET, "1700000000", b"{")
        self.assertEqual(self.send("1700000000", signature, b"{"), (400, "the body is not JSON"))

    def test_a_step_or_workflow_of_others_is_retried(self):
        engine = Engine(self.service)
        self.assertIn("no function for run of the step drop", engine.answer(step="drop")["reason"])
        self.assertIn("no function for undo", engine.answer(action="undo")["reason"])
        operation = {"id": "o", "workflow": "acme.other", "workflow_version": 1}
        answer = engine.answer(operation=operation)
        self.assertEqual(answer["outcome"], "retry")
        self.assertIn("acme.database", answer["reason"])
        self.assertEqual(self.calls, [])

    def test_weak_secrets_and_double_functions_are_refused_at_start(self):
        for secret in (b"short", "", [], [SECRET, "short"]):
            with self.assertRaisesRegex(ValueError, "32 characters"):
                Service("acme.database", secret)
        with self.assertRaisesRegex(ValueError, "two functions"):
            self.service.step("create")(lambda _: None)


class Http(unittest.TestCase):
    """A real server."""

    def start(self, function=lambda call: done(facts={"team": call.params["team"]})):
        server = service_with(function).server()
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def connect(self, server):
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
        self.addCleanup(connection.close)
        return connection

    def post(self, connection, body, **headers):
        timestamp = str(int(time.time()))
        signature = sign(SECRET, timestamp, body)
        sent = {"Provision-Engine-Timestamp": timestamp, "Provision-Engine-Signature": signature, **headers}
        connection.request("POST", "/create", body, sent)
        response = connection.getresponse()
        return response.status, json.loads(response.read())

    def test_calls_on_a_kept_connection(self):
        connection = self.connect(self.start())
        for attempt in range(3):
            status, answer = self.post(connection, json.dumps(call(key=f"k-{attempt}")).encode())
            self.assertEqual((status, answer), (200, {"outcome": "done", "facts": {"team": "red"}}))
            used = connection.sock
            self.assertIsNotNone(used)

    def test_health_and_other_paths(self):
        connection = self.connect(self.start())
        for path, status in [("/health", 200), ("/", 404)]:
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
            self.assertEqual(response.status, status)

    def test_a_forged_request_is_refused_over_http(self):
        with self.assertLogs("provision_engine_steps", "WARNING"):
            status, _ = self.post(self.connect(self.start()), json.dumps(call()).encode(), **{"Provision-Engine-Signature": "v1=" + "0" * 64})
        self.assertEqual(status, 401)

    def test_a_length_that_is_too_large_or_missing_is_refused_before_it_is_read(self):
        server = self.start()
        for header, status in [("Content-Length: 99999999", b" 413 "), ("Transfer-Encoding: chunked", b" 411 "), ("Content-Length: -1", b" 411 ")]:
            with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as raw:
                with self.assertLogs("provision_engine_steps", "WARNING"):
                    raw.sendall(f"POST / HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n".encode())
                    self.assertIn(status, raw.makefile("rb").readline())

    def test_a_client_that_sends_slowly_is_cut_off(self):
        before, sdk.READ_SECONDS_MAX = sdk.READ_SECONDS_MAX, 0.3
        self.addCleanup(setattr, sdk, "READ_SECONDS_MAX", before)
        server = self.start()
        for part in (b"POST / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"):
            with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as raw:
                raw.sendall(part)
                self.assertEqual(raw.recv(1), b"", "the server closes the connection")

    def test_stop_works_while_idle_connections_take_every_place(self):
        before, sdk.CONNECTIONS_MAX = sdk.CONNECTIONS_MAX, 2
        self.addCleanup(setattr, sdk, "CONNECTIONS_MAX", before)
        server = self.start()
        for _ in range(2):
            connection = self.connect(server)
            connection.request("GET", "/health")
            connection.getresponse().read()
        self.connect(server).connect()
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        stopping.join(20)
        self.assertFalse(stopping.is_alive())

    def test_stop_lets_a_running_call_finish(self):
        entered, leave = threading.Event(), threading.Event()

        def function(_):
            entered.set()
            leave.wait(10)
            return done()

        server = self.start(function)
        answers = []
        connection = self.connect(server)
        client = threading.Thread(target=lambda: answers.append(self.post(connection, json.dumps(call()).encode())))
        client.start()
        self.assertTrue(entered.wait(10))
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        stopping.join(0.3)
        self.assertTrue(stopping.is_alive(), "it waits for the call")
        leave.set()
        stopping.join(20)
        client.join(20)
        self.assertEqual(answers, [(200, {"outcome": "done"})])


class Example(unittest.TestCase):
    """example.py in a process of its own, killed and started again."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "acme.secret").write_bytes(SECRET + b"\n")
        self.clock = int(time.time())

    def start(self):
        command = [sys.executable, str(HERE / "example.py"), "--port", "0", "--secret-file", str(self.folder / "acme.secret"), "--data", str(self.folder)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        line = process.stdout.readline()
        return process, int(line.rsplit(":", 1)[1].strip().rstrip("/"))

    def answer(self, port, **more):
        body = json.dumps(call(**more)).encode()
        self.clock += 1
        timestamp = str(self.clock)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("POST", "/", body, {"Provision-Engine-Timestamp": timestamp, "Provision-Engine-Signature": sign(SECRET, timestamp, body)})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def ledger(self):
        return [(line["effect"], line["kind"]) for line in map(json.loads, (self.folder / "ledger.jsonl").read_text().splitlines())]

    def test_a_killed_service_makes_everything_once(self):
        facts = {"reserve": {"name": "red-db"}}
        process, port = self.start()
        first = self.answer(port, step="reserve", key="k-1")
        self.assertEqual(first, {"outcome": "done", "facts": {"name": "red-db"}})
        self.assertEqual(self.answer(port, step="approve", key="k-2")["signal"], "approved")
        process.kill()
        process.wait()
        with (self.folder / "ledger.jsonl").open("a") as file:
            file.write('{"effect": "made", "ki')  # a write that the kill cut
        process, port = self.start()
        self.assertEqual(self.answer(port, step="reserve", key="k-1", attempt=2), first)
        approved = {"key": "approved", "payload": {"by": "ann"}}
        self.assertEqual(self.answer(port, step="approve", key="k-2", signal=approved)["facts"], {"by": "ann"})
        self.assertEqual(self.answer(port, step="create", key="k-3", facts=facts)["outcome"], "done")
        self.assertEqual(self.answer(port, step="check", key="k-4", params={"team": "red", "broken": True})["outcome"], "fail")
        self.assertEqual(self.ledger(), [("made", "name"), ("made", "database")])
        for attempt in (1, 2):
            self.assertEqual(self.answer(port, step="create", action="undo", key="k-3", attempt=attempt), {"outcome": "done"})
            self.assertEqual(self.answer(port, step="reserve", action="undo", key="k-1", attempt=attempt), {"outcome": "done"})
        self.assertEqual(self.answer(port, step="create", key="k-3", facts=facts, attempt=2)["outcome"], "fail")
        self.assertEqual(self.ledger(), [("made", "name"), ("made", "database"), ("removed", "database"), ("removed", "name")])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 0)

    def test_every_kind_of_stop_signal_ends_it_well(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process, _ = self.start()
            os.kill(process.pid, number)
            self.assertEqual(process.wait(20), 0)


if __name__ == "__main__":
    unittest.main()
