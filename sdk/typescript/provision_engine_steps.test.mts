/** Tests of the SDK: the shared vectors, then a fake engine against a real server. Run in sdk/typescript. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  type Answer, Fail, FileStore, InvalidAnswer, InvalidCall, MemoryStore, Retry, Service, type Step, type StepFunction, type Store,
  checkAnswer, done, fail, parseCall, retry, sign, skip, stop, verify, wait,
} from "./provision_engine_steps.mts";

const SECRET = "0123456789abcdef0123456789abcdef";
interface Params {
  team: string;
}
type Body = Record<string, unknown>;

function vectors<T>(name: string): T[] {
  return JSON.parse(readFileSync(join("..", "vectors", `${name}.json`), "utf8")) as T[];
}

function call(more: Body = {}): Body {
  const operation = { id: "o-1", workflow: "acme.database", workflow_version: 1 };
  const base = { version: 2, action: "run", step: "create", attempt: 1, operation, idempotency_key: "k-1" };
  return { ...base, params: { team: "red" }, ...more };
}

/** Signs calls and hands them to a service, as the engine does. */
class Engine {
  readonly log: string[] = [];
  readonly service: Service<Params>;
  #now = 1_700_000_000;

  constructor(create: Step<Params>, store?: Store) {
    const log = (line: string): void => void this.log.push(line);
    this.service = new Service<Params>("acme.database", SECRET, { create }, store ? { store, log } : { log });
  }

  async answer(more: Body = {}): Promise<Answer> {
    const body = Buffer.from(JSON.stringify(call(more)));
    this.#now += 1;
    const timestamp = String(this.#now);
    const response = await this.service.handle(timestamp, sign(SECRET, timestamp, body), body, this.#now);
    assert.equal(response.status, 200, response.body);
    return JSON.parse(response.body) as Answer;
  }
}

function folder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "steps-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test("vectors: signatures", () => {
  type Vector = { name: string; valid: boolean; secrets: string[]; now: number; timestamp: string | null; signature: string | null; body: string };
  for (const vector of vectors<Vector>("signatures")) {
    const [timestamp, signature] = [vector.timestamp ?? undefined, vector.signature ?? undefined];
    const wrong = verify(vector.secrets, timestamp, signature, Buffer.from(vector.body), vector.now);
    assert.equal(wrong === null, vector.valid, `${vector.name}: ${wrong}`);
  }
});

test("vectors: calls", () => {
  type Reads = Body & { operation: Body; own_facts: Body; own_secrets: Body };
  type Vector = { name: string; body: string } & ({ valid: true; reads: Reads } | { valid: false; names: string });
  for (const vector of vectors<Vector>("calls")) {
    if (!vector.valid) {
      assert.throws(
        () => parseCall(vector.body),
        (error: Error) => {
          assert.ok(error instanceof InvalidCall, vector.name);
          assert.ok(error.message.includes(vector.names), `${vector.name}: ${error.message}`);
          assert.doesNotMatch(error.message, /s3cret|r00t|red-1/);
          return true;
        },
      );
      continue;
    }
    const { operation, own_facts, own_secrets, signal_url, signal_token, ...rest } = vector.reads;
    const { workflow_version: workflowVersion, created_at: createdAt, deadline_at: deadlineAt, ...others } = operation;
    assert.deepEqual(
      parseCall(vector.body),
      {
        ...rest,
        operation: { ...others, workflowVersion, createdAt, deadlineAt },
        own: { facts: own_facts, secrets: own_secrets },
        signalUrl: signal_url,
        signalToken: signal_token,
      },
      vector.name,
    );
  }
});

test("vectors: answers", async () => {
  type Vector = { name: string; answer: Answer } & ({ valid: true } | { valid: false; names: string });
  for (const vector of vectors<Vector>("answers")) {
    if (vector.valid) {
      assert.deepEqual(await new Engine(() => vector.answer).answer(), vector.answer, vector.name);
      continue;
    }
    assert.throws(
      () => checkAnswer(vector.answer),
      (error: Error) => {
        assert.ok(error instanceof InvalidAnswer && error.message.includes(vector.names), `${vector.name}: ${error.message}`);
        return true;
      },
    );
  }
});

test("every outcome arrives", async () => {
  const cases: [StepFunction<Params>, Answer][] = [
    [() => undefined, { outcome: "done" }],
    [() => done({ id: 7 }, { root: "x" }), { outcome: "done", facts: { id: 7 }, secrets: { root: "x" } }],
    [() => skip("exists"), { outcome: "skip", reason: "exists" }],
    [() => wait({ after: "90s", progress: 40 }), { outcome: "wait", after: "90s", progress: 40 }],
    [() => wait({ signal: "ok", within: "7d" }), { outcome: "wait", signal: "ok", within: "7d" }],
    [async () => retry("later", "1m"), { outcome: "retry", reason: "later", after: "1m" }],
    [async () => fail("no"), { outcome: "fail", reason: "no" }],
  ];
  for (const [made, expected] of cases) assert.deepEqual(await new Engine(made).answer(), expected);
});

test("a declared error fails, and its subclass too; a retry error retries after its time", async () => {
  class OverQuota extends Fail {}
  const over = new Engine(() => {
    throw new OverQuota("the quota is used up");
  });
  assert.deepEqual(await over.answer(), { outcome: "fail", reason: "the quota is used up" });
  const restarts = new Engine(() => {
    throw new Retry("it restarts", "15s");
  });
  assert.deepEqual(await restarts.answer(), { outcome: "retry", reason: "it restarts", after: "15s" });
});

test("any other error retries, and its message stays here", async () => {
  class ConnectionLost extends Error {}
  const engine = new Engine(async () => {
    throw new ConnectionLost("postgres://root:s3cret@db");
  });
  const answer = await engine.answer();
  assert.equal(answer.outcome, "retry");
  assert.match(answer.reason ?? "", /ConnectionLost in run of create/);
  assert.doesNotMatch(JSON.stringify(answer), /s3cret|at /);
  assert.match(engine.log.join("\n"), /s3cret/, "the log has what is needed to find the fault");
});

test("an answer that breaks the contract retries and names the field", async () => {
  const cases: [unknown, RegExp][] = [
    [{ outcome: "done", fact: {} }, /no field fact/],
    [{ outcome: "done", facts: { a: () => 1 } }, /facts must be JSON/],
    [{ outcome: "done", facts: { a: Number.NaN } }, /facts must be JSON/],
    [{ outcome: "done", facts: { a: new Date() } }, /facts must be JSON/],
    [{ outcome: "done", facts: { a: "x".repeat(300_000) } }, /longer than/],
    ["done", /object/],
    [[], /object/],
  ];
  for (const [made, part] of cases) {
    const answer = await new Engine(() => made as Answer).answer();
    assert.equal(answer.outcome, "retry");
    assert.match(answer.reason ?? "", part);
  }
  assert.equal((await new Engine(() => fail("x".repeat(5000))).answer()).reason?.length, 1000);
});

test("a finished key gets its answer again and the function is not called, with both stores", async (context) => {
  for (const store of [new MemoryStore(), new FileStore(join(folder(context), "answers.jsonl"))]) {
    let calls = 0;
    const engine = new Engine(() => done({ n: ++calls }), store);
    assert.deepEqual(await engine.answer(), { outcome: "done", facts: { n: 1 } });
    assert.deepEqual(await engine.answer({ attempt: 2 }), { outcome: "done", facts: { n: 1 } });
    assert.deepEqual(await engine.answer({ idempotency_key: "k-2" }), { outcome: "done", facts: { n: 2 } });
  }
});

test("what is not finished is called again", async () => {
  const answers = [wait({ after: "1s" }), retry("busy"), fail("no"), done()];
  const engine = new Engine((call) => answers[call.attempt - 1]);
  for (const [index, expected] of answers.entries()) assert.deepEqual(await engine.answer({ attempt: index + 1 }), expected);
});

test("a run that comes after its undo has no effect", async (context) => {
  for (const store of [new MemoryStore(), new FileStore(join(folder(context), "answers.jsonl"))]) {
    const calls: string[] = [];
    const undone = [retry("busy"), done()];
    const undo: StepFunction<Params> = (call) => (calls.push("undo"), undone[call.attempt - 1]);
    const engine = new Engine({ run: () => void calls.push("run"), undo }, store);
    assert.equal((await engine.answer({ action: "undo" })).outcome, "retry");
    assert.equal((await engine.answer()).outcome, "fail");
    assert.equal((await engine.answer({ action: "undo", attempt: 2 })).outcome, "done");
    assert.equal((await engine.answer({ action: "undo", attempt: 3 })).outcome, "done");
    assert.equal((await engine.answer()).outcome, "fail");
    assert.equal((await engine.answer({ idempotency_key: "k-2" })).outcome, "done");
    assert.deepEqual(calls, ["undo", "undo", "run"]);
  }
});

test("a second call while the first still runs waits", async () => {
  let leave = (): void => {};
  const entered = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const engine = new Engine({ run: async () => (await entered, done()), undo: () => done() });
  const first = engine.answer();
  assert.equal((await engine.answer({ attempt: 2 })).outcome, "wait");
  assert.equal((await engine.answer({ action: "undo" })).outcome, "wait");
  leave();
  assert.equal((await first).outcome, "done");
  assert.equal((await engine.answer({ attempt: 3 })).outcome, "done");
});

test("a file remembers over a restart, forgets in time and drops a cut line", (context) => {
  const path = join(folder(context), "answers.jsonl");
  const now = Date.now() / 1000;
  const store = new FileStore(path);
  store.put("k", "{}");
  assert.equal(store.isFirst("v1=1", now, now + 300), true);
  appendFileSync(path, '{"key": "cut');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const again = new FileStore(path);
  assert.equal(again.get("k"), "{}");
  assert.equal(again.isFirst("v1=1", now, now + 300), false);
  assert.equal(new FileStore(path, now + 301).isFirst("v1=1", now + 301, now + 601), true);
  assert.equal(new FileStore(path, now + 31 * 86_400).get("k"), null);
});

test("memory keeps the newest", () => {
  const store = new MemoryStore(2);
  for (const key of ["a", "b", "c"]) store.put(key, key);
  assert.deepEqual(["a", "b", "c"].map((key) => store.get(key)), [null, "b", "c"]);
  assert.deepEqual([store.isFirst("1", 100, 400), store.isFirst("1", 400, 400), store.isFirst("1", 401, 700)], [true, false, true]);
});

test("forged, replayed, late, long and unsigned requests do nothing", async () => {
  let calls = 0;
  const { service } = new Engine(() => (calls++, retry("busy")));
  const now = 1_700_000_000;
  const body = Buffer.from(JSON.stringify(call()));
  const signature = sign(SECRET, String(now), body);
  const status = async (...given: [string | undefined, string | undefined, Buffer, number]): Promise<number> =>
    (await service.handle(...given)).status;
  assert.equal(await status(String(now), sign("x".repeat(32), String(now), body), body, now), 401);
  assert.equal(await status(String(now), signature, Buffer.from(body.toString().replace("red", "blu")), now), 401);
  assert.equal(await status(String(now), signature, body, now + 301), 401);
  assert.equal(await status(String(now), signature, body, now - 301), 401);
  assert.equal(await status(String(now), undefined, body, now), 401);
  assert.equal(await status(undefined, signature, body, now), 401);
  assert.equal(await status(String(now), signature, Buffer.alloc(1024 * 1024 + 1), now), 413);
  assert.equal(await status(String(now), sign(SECRET, String(now), Buffer.from("{")), Buffer.from("{"), now), 400);
  assert.equal(calls, 0);
  assert.equal(await status(String(now), signature, body, now), 200);
  assert.equal(await status(String(now), signature, body, now), 425);
  assert.equal(await status(String(now), `v0=1,${signature}`, body, now), 425);
  assert.equal(calls, 1);
});

test("a step or workflow of others is retried, and a weak secret is refused at start", async () => {
  const engine = new Engine(() => done());
  assert.match((await engine.answer({ step: "drop" })).reason ?? "", /no function for run of the step drop/);
  assert.match((await engine.answer({ step: "constructor" })).reason ?? "", /no function/);
  assert.match((await engine.answer({ action: "undo" })).reason ?? "", /no function for undo/);
  const other = await engine.answer({ operation: { id: "o", workflow: "acme.other", workflow_version: 1 } });
  assert.match(`${other.outcome}: ${other.reason}`, /retry: .*acme\.database/);
  for (const secret of ["short", "", [], [SECRET, "short"]]) assert.throws(() => new Service("acme.database", secret, {}), /32 characters/);
});

interface Reply {
  status: number;
  answer: Body;
}

function send(port: number, options: { method?: string; path?: string; body?: Buffer; headers?: Record<string, string>; agent?: Agent }): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { method = "POST", path = "/create", body, headers = {}, agent } = options;
    const sent = request({ port, host: "127.0.0.1", method, path, headers, ...(agent ? { agent } : {}) }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, answer: JSON.parse(Buffer.concat(chunks).toString()) as Body }));
    });
    sent.on("error", reject).end(body);
  });
}

let clock = Math.floor(Date.now() / 1000) - 100;

function post(port: number, more: Body = {}, agent?: Agent): Promise<Reply> {
  const body = Buffer.from(JSON.stringify(call(more)));
  const timestamp = String(++clock);
  const headers = { "Provision-Engine-Timestamp": timestamp, "Provision-Engine-Signature": sign(SECRET, timestamp, body) };
  return send(port, { body, headers, ...(agent ? { agent } : {}) });
}

test("http: calls on a kept connection, health, other paths, and a forged request", async (context) => {
  const engine = new Engine((call) => done({ team: call.params.team }));
  const server = await engine.service.listen();
  context.after(() => stop(server, 0));
  const { port } = server.address() as AddressInfo;
  let connections = 0;
  server.on("connection", () => connections++);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  context.after(() => agent.destroy());
  for (const key of ["k-1", "k-2", "k-3"]) {
    assert.deepEqual(await post(port, { idempotency_key: key }, agent), { status: 200, answer: { outcome: "done", facts: { team: "red" } } });
  }
  assert.equal(connections, 1);
  assert.equal((await send(port, { method: "GET", path: "/health" })).status, 200);
  assert.equal((await send(port, { method: "GET", path: "/" })).status, 404);
  assert.equal((await send(port, { body: Buffer.from("{}") })).status, 401);
  assert.equal((await send(port, { body: Buffer.alloc(1024 * 1024 + 1) })).status, 413);
});

test("http: a client that sends slowly is cut off", async (context) => {
  const server = await new Engine(() => done()).service.listen({ readMs: 100 });
  context.after(() => stop(server, 0));
  for (const part of ["POST / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"]) {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(part);
    socket.resume();
    await once(socket, "close");
  }
});

test("http: stop lets a running call finish", async () => {
  let [enter, leave] = [(): void => {}, (): void => {}];
  const entered = new Promise<void>((resolve) => (enter = resolve));
  const left = new Promise<void>((resolve) => (leave = resolve));
  const server = await new Engine(async () => (enter(), await left, done())).service.listen();
  const reply = post((server.address() as AddressInfo).port);
  await entered;
  const stopped = stop(server);
  leave();
  assert.deepEqual(await reply, { status: 200, answer: { outcome: "done" } });
  await stopped;
});

/** The example in a process of its own. */
async function start(context: TestContext, data: string): Promise<[ChildProcess, number]> {
  const extension = import.meta.url.endsWith(".mts") ? "mts" : "mjs";
  const script = fileURLToPath(new URL(`./example.${extension}`, import.meta.url));
  const parameters = ["--port", "0", "--secret-file", join(data, "acme.secret"), "--data", data];
  const child = spawn(process.execPath, [script, ...parameters], { stdio: ["ignore", "pipe", "ignore"] });
  context.after(() => child.kill("SIGKILL"));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return [child, Number(/:(\d+)\/$/.exec(line)?.[1])];
}

test("example: a killed service makes everything once", async (context) => {
  const data = folder(context);
  writeFileSync(join(data, "acme.secret"), `${SECRET}\n`);
  const ledger = (): string[] => {
    const lines = readFileSync(join(data, "ledger.jsonl"), "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as { effect: string; kind: string }).map(({ effect, kind }) => `${effect} ${kind}`);
  };
  let [child, port] = await start(context, data);
  const answer = async (more: Body): Promise<Body> => (await post(port, more)).answer;
  const first = await answer({ step: "reserve", idempotency_key: "k-1" });
  assert.deepEqual(first, { outcome: "done", facts: { name: "red-db" } });
  assert.equal((await answer({ step: "approve", idempotency_key: "k-2" }))["signal"], "approved");
  child.kill("SIGKILL");
  await once(child, "exit");
  appendFileSync(join(data, "ledger.jsonl"), '{"effect": "made", "ki');
  [child, port] = await start(context, data);
  assert.deepEqual(await answer({ step: "reserve", idempotency_key: "k-1", attempt: 2 }), first);
  const signal = { key: "approved", payload: { by: "ann" } };
  assert.deepEqual((await answer({ step: "approve", idempotency_key: "k-2", signal }))["facts"], { by: "ann" });
  const facts = { reserve: { name: "red-db" } };
  assert.equal((await answer({ step: "create", idempotency_key: "k-3", facts }))["outcome"], "done");
  assert.equal((await answer({ step: "check", idempotency_key: "k-4", params: { team: "red", broken: true } }))["outcome"], "fail");
  for (const attempt of [1, 2]) {
    for (const [step, key] of [["create", "k-3"], ["reserve", "k-1"]]) {
      assert.deepEqual(await answer({ action: "undo", step, idempotency_key: key, attempt }), { outcome: "done" });
    }
  }
  assert.equal((await answer({ step: "create", idempotency_key: "k-3", facts, attempt: 2 }))["outcome"], "fail");
  assert.deepEqual(ledger(), ["made name", "made database", "removed database", "removed name"]);
  child.kill("SIGTERM");
  assert.deepEqual(await once(child, "exit"), [0, null]);
});
