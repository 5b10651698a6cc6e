/**
 * Serves the steps of a declared workflow of provision-engine. One file, no dependencies, Node 18 or later.
 *
 *     import { Fail, FileStore, Service, done, readSecret, wait } from "./provision_engine_steps.mts";
 *
 *     interface Params { team: string; size: "small" | "large" }
 *
 *     const service = new Service<Params>("acme.database", readSecret("acme.secret"), {
 *       create: {
 *         async run(call) {
 *           if (call.params.team === "guest") throw new Fail("guests get no database"); // the engine begins to undo
 *           const database = await createDatabase({ name: call.key }); // the same key in every attempt: create it once
 *           if (!database.isReady) return wait({ after: "30s", reason: "the database starts", facts: { id: database.id } });
 *           return done({ id: database.id }, { password: database.password });
 *         },
 *         // Also called when it is unknown whether run did anything.
 *         async undo(call) { await deleteDatabase({ name: call.key, missingOk: true }); },
 *       },
 *     }, { store: new FileStore("answers.jsonl") });
 *     await service.serve({ port: 8780 });
 *
 * A function gets a `Call` and returns `done`, `skip`, `wait`, `retry` or `fail`; nothing means `done()`. A step that
 * has nothing to undo may be a function alone. `Fail` and its subclasses become `fail`, `Retry` becomes `retry`. Any
 * other error becomes `retry` with the name of its class; its message and its stack go only to the log, because they
 * may hold secrets.
 *
 * The service refuses a call with a wrong or missing signature, one whose timestamp is more than five minutes away, and
 * one that it received before. It keeps the answers of finished steps by idempotency key, so a repeated call gets the
 * same answer and the function is not called again. After a crash in the middle the function is called again: use
 * `call.key` as the name or label of what you create.
 *
 * To serve it with another HTTP server, call `service.handle(timestamp, signature, body)` in your own route.
 *
 * Node 22.18 and later runs this file as it is. For an older Node, use the same file as built by `tsc`, with `.mjs`.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { createServer } from "node:http";
const CALL_VERSION = 2;
const AGE_SECONDS_MAX = 300; // of a timestamp, before or after our clock
const BODY_BYTES_MAX = 1024 * 1024; // of a call
const ANSWER_BYTES_MAX = 256 * 1024; // what the engine reads
const REASON_CHARS_MAX = 1000;
const KEY_CHARS_MAX = 253; // of the name of a fact, a secret or a signal
const DEPTH_MAX = 32; // of the values of facts
const SECRET_BYTES_MIN = 32;
const SIGNATURES_MAX = 8; // in one header; more than one only while a secret is replaced
const READ_MS_MAX = 10_000; // from the first byte of a request to its last
const IDLE_MS_MAX = 120_000; // of a kept connection; longer than the engine keeps one, so that it never finds one cut
const CONNECTIONS_MAX = 256;
const STOP_MS_MAX = 10_000; // for calls that run when the service is told to stop
const KEPT_MAX = 10_000; // answers of a MemoryStore
const KEPT_SECONDS = 30 * 86_400; // answers of a FileStore
const UNITS_MS = { ms: 1n, s: 1000n, m: 60000n, h: 3600000n, d: 86400000n };
/** The step is finished. Later steps see `facts`; only this step gets `secrets` back, for undo. */
export function done(facts, secrets) {
    return checked({ outcome: "done", facts, secrets });
}
/** There is nothing to do. */
export function skip(reason) {
    return checked({ outcome: "skip", reason });
}
/** All is well: call again after a time, or when the signal arrives, at most `within`. It costs nothing. */
export function wait(until) {
    return checked({ outcome: "wait", ...until });
}
/** Something broke that may heal. It spends the retry budget of the step. */
export function retry(reason, after) {
    return checked({ outcome: "retry", reason, after });
}
/** No further call can help: the engine begins to undo. */
export function fail(reason) {
    return checked({ outcome: "fail", reason });
}
/** Throw it, or a subclass, when no further call can help. People read the message: put no secret into it. */
export class Fail extends Error {
}
/** Throw it when the same call may work later. It spends the retry budget of the step. */
export class Retry extends Error {
    after;
    constructor(reason, after) {
        super(reason);
        this.after = after;
    }
}
/** The answer of a function breaks the contract. The message names the field and repeats no value. */
export class InvalidAnswer extends Error {
}
const FIELDS = {
    done: ["facts", "secrets"],
    skip: ["reason"],
    wait: ["after", "signal", "within", "reason", "facts", "progress"],
    retry: ["reason", "after"],
    fail: ["reason"],
};
function checked(answer) {
    const given = Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== undefined));
    checkAnswer(given);
    return given;
}
/** Throws `InvalidAnswer` for what the engine would not accept. */
export function checkAnswer(answer) {
    if (!isObject(answer))
        throw new InvalidAnswer("the answer must be an object with the field outcome");
    const { outcome } = answer;
    if (typeof outcome !== "string" || !Object.hasOwn(FIELDS, outcome)) {
        throw new InvalidAnswer("outcome must be done, skip, wait, retry or fail");
    }
    const fields = FIELDS[outcome] ?? [];
    for (const name of Object.keys(answer)) {
        if (name !== "outcome" && !fields.includes(name))
            throw new InvalidAnswer(`${outcome} has no field ${name.slice(0, 100)}`);
    }
    if ("reason" in answer && (typeof answer.reason !== "string" || answer.reason === "")) {
        throw new InvalidAnswer("reason must be a text that is not empty");
    }
    if ((outcome === "retry" || outcome === "fail") && !("reason" in answer))
        throw new InvalidAnswer(`${outcome} needs a reason`);
    for (const name of ["after", "within"])
        if (name in answer)
            checkDuration(name, answer[name]);
    if (outcome === "wait")
        checkWait(answer);
    checkValues(answer);
}
function checkDuration(name, value) {
    const match = typeof value === "string" ? /^([0-9]{1,20})(ms|s|m|h|d)$/.exec(value) : null;
    const scale = UNITS_MS[match?.[2] ?? ""];
    if (!match || value !== match[0] || scale === undefined || BigInt(match[1] ?? "") * scale >= 2n ** 64n) {
        throw new InvalidAnswer(`${name} must be a whole number and a unit, such as 250ms, 10s, 5m, 24h or 90d`);
    }
}
function checkWait(answer) {
    if ("after" in answer === "signal" in answer)
        throw new InvalidAnswer("wait needs after or signal, and not both");
    if ("signal" in answer)
        checkKey("signal", answer["signal"]);
    else if ("within" in answer)
        throw new InvalidAnswer("within needs signal");
    const { progress = 0 } = answer;
    const isShare = typeof progress === "number" && progress >= 0 && progress <= 100;
    if (!isShare && (typeof progress !== "string" || progress === "")) {
        throw new InvalidAnswer("progress must be a number from 0 to 100 or a text");
    }
}
function checkValues(answer) {
    for (const name of ["facts", "secrets"]) {
        const values = name in answer ? answer[name] : {};
        if (!isObject(values))
            throw new InvalidAnswer(`${name} must be an object`);
        for (const [key, value] of Object.entries(values)) {
            checkKey(`a key of ${name}`, key);
            if (name === "secrets" && typeof value !== "string")
                throw new InvalidAnswer("the values of secrets must be texts");
            checkJson(value, DEPTH_MAX);
        }
    }
}
function checkKey(what, key) {
    const length = typeof key === "string" ? [...key].length : 0;
    if (length === 0 || length > KEY_CHARS_MAX || /\p{Cc}/u.test(key)) {
        throw new InvalidAnswer(`${what} must have 1 to ${KEY_CHARS_MAX} characters that can be read`);
    }
}
/** JSON.stringify would change or leave out what is not JSON. */
function checkJson(value, depth) {
    if (value === null || ["boolean", "string"].includes(typeof value) || Number.isFinite(value))
        return;
    if (!Array.isArray(value) && !isObject(value))
        throw new InvalidAnswer("facts must be JSON");
    if (depth === 0)
        throw new InvalidAnswer(`facts may be nested ${DEPTH_MAX} times and not more`);
    for (const item of Object.values(value))
        checkJson(item, depth - 1);
}
function isObject(value) {
    if (typeof value !== "object" || value === null)
        return false;
    const kind = Object.getPrototypeOf(value);
    return kind === Object.prototype || kind === null;
}
function encode(answer) {
    checkAnswer(answer);
    const reason = answer.reason ?? "";
    const isLong = reason.length > REASON_CHARS_MAX;
    const body = JSON.stringify(isLong ? { ...answer, reason: `${reason.slice(0, REASON_CHARS_MAX - 1)}…` } : answer);
    if (Buffer.byteLength(body) > ANSWER_BYTES_MAX)
        throw new InvalidAnswer(`the answer is longer than ${ANSWER_BYTES_MAX} bytes`);
    return [answer.outcome, body];
}
/** The body of a request is no call. The message names the field and repeats no value. */
export class InvalidCall extends Error {
}
/** Reads the body of a request. Fields that are not known are ignored. */
export function parseCall(body) {
    let call;
    try {
        call = JSON.parse(body);
    }
    catch {
        throw new InvalidCall("the body is not JSON");
    }
    if (!isObject(call))
        throw new InvalidCall("the body is not a JSON object");
    if (call["version"] !== CALL_VERSION)
        throw new InvalidCall(`version must be ${CALL_VERSION}`);
    const action = text(call, "action");
    if (action !== "run" && action !== "undo")
        throw new InvalidCall("action must be run or undo");
    const attempt = whole(call, "attempt");
    if (attempt < 1)
        throw new InvalidCall("attempt must be 1 or more");
    const operation = object(call, "operation");
    if (operation === null)
        throw new InvalidCall("operation must be an object");
    const own = object(call, "own") ?? {};
    const signal = object(call, "signal");
    return {
        action,
        step: text(call, "step"),
        attempt,
        operation: {
            id: text(operation, "id", "operation."),
            workflow: text(operation, "workflow", "operation."),
            workflowVersion: whole(operation, "workflow_version", "operation."),
            tenant: textOrNull(operation, "tenant", "operation."),
            resource: textOrNull(operation, "resource", "operation."),
            createdAt: textOrNull(operation, "created_at", "operation."),
            deadlineAt: textOrNull(operation, "deadline_at", "operation."),
        },
        key: text(call, "idempotency_key"),
        params: (object(call, "params") ?? {}),
        facts: each(object(call, "facts") ?? {}, isObject, "facts must have an object for each step"),
        own: {
            facts: (object(own, "facts", "own.") ?? {}),
            secrets: each(object(own, "secrets", "own.") ?? {}, (one) => typeof one === "string", "own.secrets must have texts"),
        },
        signal: signal && { key: text(signal, "key", "signal."), payload: (signal["payload"] ?? null) },
        signalUrl: textOrNull(call, "signal_url"),
        signalToken: textOrNull(call, "signal_token"),
    };
}
function text(values, name, path = "") {
    const value = values[name];
    if (typeof value !== "string" || value === "")
        throw new InvalidCall(`${path}${name} must be a text`);
    return value;
}
function textOrNull(values, name, path = "") {
    const value = values[name] ?? null;
    if (value !== null && typeof value !== "string")
        throw new InvalidCall(`${path}${name} must be a text`);
    return value;
}
function whole(values, name, path = "") {
    const value = values[name];
    if (!Number.isSafeInteger(value))
        throw new InvalidCall(`${path}${name} must be a whole number`);
    return value;
}
function object(values, name, path = "") {
    const value = values[name] ?? null;
    if (value !== null && !isObject(value))
        throw new InvalidCall(`${path}${name} must be an object`);
    return value;
}
function each(values, is, wrong) {
    if (!Object.values(values).every(is))
        throw new InvalidCall(wrong);
    return values;
}
// The signature -------------------------------------------------------------------------------------------------------
/** The secret in a file, without the line end. */
export function readSecret(path) {
    return readFileSync(path, "utf8").replace(/[\r\n]+$/, "");
}
/** The header `Provision-Engine-Signature` for a body. */
export function sign(secret, timestamp, body) {
    return `v1=${createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex")}`;
}
/** What is wrong with the signature of a request, or null. `signature` may list several, separated by commas. */
export function verify(secrets, timestamp, signature, body, nowSeconds) {
    if (!timestamp || !signature)
        return "the headers Provision-Engine-Timestamp and Provision-Engine-Signature are needed";
    if (!/^[0-9]{1,12}$/.test(timestamp))
        return "Provision-Engine-Timestamp must be seconds since 1970";
    const listed = signature.split(",", SIGNATURES_MAX).map((one) => one.trim());
    const candidates = listed.filter((one) => /^v1=[0-9a-f]{64}$/.test(one)).map((one) => Buffer.from(one));
    if (candidates.length === 0)
        return "Provision-Engine-Signature must be v1= and 64 hexadecimal digits";
    let isRight = false;
    for (const secret of secrets) {
        const expected = Buffer.from(sign(secret, timestamp, body));
        for (const candidate of candidates)
            isRight = timingSafeEqual(expected, candidate) || isRight;
    }
    if (!isRight)
        return "the signature is wrong: engine and service must have the same secret";
    if (Math.abs(nowSeconds - Number(timestamp)) > AGE_SECONDS_MAX) {
        return "the timestamp is more than 5 minutes away: compare the clocks of engine and service";
    }
    return null;
}
/** Keeps answers in memory, the newest 10,000. */
export class MemoryStore {
    #answers = new Map();
    #signatures = new Map();
    #keptMax;
    constructor(keptMax = KEPT_MAX) {
        this.#keptMax = keptMax;
    }
    get(key) {
        return this.#answers.get(key) ?? null;
    }
    put(key, answer) {
        this.#answers.set(key, answer);
        if (this.#answers.size > this.#keptMax) {
            for (const oldest of this.#answers.keys()) {
                this.#answers.delete(oldest);
                break;
            }
        }
    }
    isFirst(signature, nowSeconds, untilSeconds) {
        for (const [oldest, until] of this.#signatures) {
            if (until >= nowSeconds)
                break;
            this.#signatures.delete(oldest);
        }
        const isFirst = !this.#signatures.has(signature);
        this.#signatures.set(signature, untilSeconds);
        return isFirst;
    }
}
/** Keeps answers for 30 days in a file with a line for each, for one process. What is older leaves it at a start. */
export class FileStore {
    #memory = new MemoryStore(Number.POSITIVE_INFINITY);
    #file;
    constructor(path, nowSeconds = Date.now() / 1000) {
        const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : []; // a cut last line never counted
        const kept = lines.filter((line) => this.#restore(line, nowSeconds));
        const rewritten = openSync(`${path}.new`, "w", 0o600); // answers may hold secrets
        writeSync(rewritten, kept.map((line) => `${line}\n`).join(""));
        fsyncSync(rewritten);
        closeSync(rewritten);
        renameSync(`${path}.new`, path);
        this.#file = openSync(path, "a", 0o600);
    }
    get(key) {
        return this.#memory.get(key);
    }
    put(key, answer) {
        this.#append({ key, answer, until: Date.now() / 1000 + KEPT_SECONDS });
        fsyncSync(this.#file);
        this.#memory.put(key, answer);
    }
    isFirst(signature, nowSeconds, untilSeconds) {
        const isFirst = this.#memory.isFirst(signature, nowSeconds, untilSeconds);
        if (isFirst)
            this.#append({ key: signature, until: untilSeconds });
        return isFirst;
    }
    #append(entry) {
        writeSync(this.#file, `${JSON.stringify(entry)}\n`);
    }
    #restore(line, nowSeconds) {
        const { key, answer, until } = JSON.parse(line);
        if (until < nowSeconds)
            return false;
        if (answer === undefined)
            this.#memory.isFirst(key, nowSeconds, until);
        else
            this.#memory.put(key, answer);
        return true;
    }
}
/** The steps of one workflow. `secret` may be a list while a secret is replaced: each of them is accepted. */
export class Service {
    workflow;
    #secrets;
    #steps;
    #store;
    #log;
    #busy = new Set();
    constructor(workflow, secret, steps, options = {}) {
        this.workflow = workflow;
        this.#secrets = [secret].flat();
        if (this.#secrets.length === 0 || this.#secrets.some((one) => Buffer.byteLength(one) < SECRET_BYTES_MIN)) {
            throw new Error(`the secret must have ${SECRET_BYTES_MIN} characters or more, such as those of: openssl rand -hex 32`);
        }
        this.#steps = new Map(Object.entries(steps));
        this.#store = options.store ?? new MemoryStore();
        this.#log = options.log ?? console.error;
    }
    /** Answers one request: its two headers and its body as it arrived. */
    async handle(timestamp, signature, body, nowSeconds = Date.now() / 1000) {
        if (body.byteLength > BODY_BYTES_MAX)
            return this.#refuse(413, `the body is longer than ${BODY_BYTES_MAX} bytes`);
        const wrong = verify(this.#secrets, timestamp, signature, body, nowSeconds);
        if (wrong !== null || timestamp === undefined)
            return this.#refuse(401, wrong ?? "");
        const own = sign(this.#secrets[0] ?? "", timestamp, body);
        if (!(await this.#store.isFirst(own, nowSeconds, Number(timestamp) + AGE_SECONDS_MAX + 1))) {
            return this.#refuse(425, "this request was received before");
        }
        let call;
        try {
            call = parseCall(Buffer.from(body).toString("utf8"));
        }
        catch (error) {
            return this.#refuse(400, error.message);
        }
        const began = performance.now();
        const [outcome, answer] = await this.#answer(call);
        const spent = Math.round(performance.now() - began);
        this.#log(`${call.action} ${call.step} attempt ${call.attempt} of operation ${call.operation.id}: ${outcome} in ${spent} ms`);
        return { status: 200, body: answer };
    }
    /** Calls a step without HTTP and signature, for tests. `more` is fields of the call, such as `{ action: "undo" }`. */
    async tryStep(step, params, more = {}) {
        const operation = { id: "test", workflow: this.workflow, workflow_version: 1 };
        const call = { version: CALL_VERSION, action: "run", step, attempt: 1, operation, idempotency_key: `test-${step}`, params };
        const [, answer] = await this.#answer(parseCall(JSON.stringify({ ...call, ...more })));
        return JSON.parse(answer);
    }
    async #answer(call) {
        if (call.operation.workflow !== this.workflow) {
            return encode(retry(`this service has the steps of ${this.workflow} and of no other workflow`));
        }
        const step = this.#steps.get(call.step);
        const run = typeof step === "function" ? step : step?.run;
        const chosen = call.action === "run" ? run : typeof step === "function" ? undefined : step?.undo;
        if (chosen === undefined) {
            return encode(retry(`this service has no function for ${call.action} of the step ${call.step}`));
        }
        if (this.#busy.has(call.key))
            return encode(wait({ after: "1s", reason: "an earlier call of this step is still running" }));
        this.#busy.add(call.key);
        try {
            return await this.#once(call, chosen);
        }
        finally {
            this.#busy.delete(call.key);
        }
    }
    /** The answer that is kept for the key, or a new one. */
    async #once(call, chosen) {
        const undoBegun = `${call.key}/undo-begun`;
        const kept = `${call.key}/${call.action}`;
        if (call.action === "run" && (await this.#store.get(undoBegun)) !== null) {
            return encode(fail("this step was undone before; the call is too late"));
        }
        const known = await this.#store.get(kept);
        if (known !== null)
            return ["the answer before", known];
        if (call.action === "undo")
            await this.#store.put(undoBegun, "{}");
        const [outcome, answer] = await this.#call(chosen, call);
        if (outcome === "done" || outcome === "skip")
            await this.#store.put(kept, answer);
        return [outcome, answer];
    }
    async #call(chosen, call) {
        try {
            return encode((await chosen(call)) ?? done());
        }
        catch (error) {
            const name = error instanceof Error ? error.constructor.name : typeof error;
            if (error instanceof Fail)
                return encode(fail(error.message || name));
            if (error instanceof Retry)
                return encode(retry(error.message || name, isDuration(error.after) ? error.after : undefined));
            this.#log(`${call.action} ${call.step} attempt ${call.attempt} of operation ${call.operation.id}: ${stackOf(error)}`);
            if (error instanceof InvalidAnswer)
                return encode(retry(`the answer of the service is not valid: ${error.message}`));
            return encode(retry(`${name} in ${call.action} of ${call.step}; the log of the service has more`));
        }
    }
    #refuse(status, reason) {
        this.#log(`refused with ${status}: ${reason}`);
        return { status, body: JSON.stringify({ reason }) };
    }
    /** Serves until SIGTERM or SIGINT, then lets the calls that run finish. Prints its address. 0 is any free port. */
    async serve({ host = "127.0.0.1", port = 8780 } = {}) {
        const server = await this.listen({ host, port });
        console.log(`${this.workflow}: http://${host}:${server.address().port}/`);
        await new Promise((resolve) => {
            for (const name of ["SIGTERM", "SIGINT"])
                process.once(name, resolve);
        });
        await stop(server);
    }
    /** A server that listens; `stop` ends it. */
    async listen({ host = "127.0.0.1", port = 0, readMs = READ_MS_MAX } = {}) {
        const limits = { requestTimeout: readMs, headersTimeout: readMs, keepAliveTimeout: IDLE_MS_MAX, connectionsCheckingInterval: 500 };
        const server = createServer({ ...limits, noDelay: true }, (request, response) => void this.#respond(request, response));
        server.maxConnections = CONNECTIONS_MAX;
        await new Promise((resolve, reject) => server.once("error", reject).listen(port, host, resolve));
        return server;
    }
    async #respond(request, response) {
        try {
            const { status, body } = await this.#route(request);
            response.writeHead(status, {
                "Content-Type": "application/json",
                "Content-Length": Buffer.byteLength(body),
                ...(request.complete ? {} : { Connection: "close" }), // the rest of a body that is too long is not read
            });
            response.end(body);
        }
        catch (error) {
            this.#log(`cannot answer: ${stackOf(error)}`); // a store that is broken, or a client that left
            if (response.headersSent)
                response.destroy();
            else
                response.writeHead(503, { "Content-Type": "application/json" }).end('{"reason": "the log of the service has more"}');
        }
    }
    async #route(request) {
        if (request.method === "GET" && request.url === "/health")
            return { status: 200, body: '{"status": "ok"}' };
        if (request.method !== "POST")
            return { status: 404, body: '{"reason": "steps are called with POST"}' };
        const body = await readBody(request);
        if (body === null)
            return this.#refuse(413, `the body is longer than ${BODY_BYTES_MAX} bytes`);
        const header = (name) => [request.headers[name] ?? []].flat().join(",") || undefined;
        return this.handle(header("provision-engine-timestamp"), header("provision-engine-signature"), body);
    }
}
/** Accepts nothing more, and gives the calls that run some time to finish. */
export async function stop(server, withinMs = STOP_MS_MAX) {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeIdleConnections();
    const late = setTimeout(() => server.closeAllConnections(), withinMs);
    const idle = setInterval(() => server.closeIdleConnections(), 50); // kept connections whose call has ended
    await closed;
    clearTimeout(late);
    clearInterval(idle);
}
async function readBody(request) {
    if (Number(request.headers["content-length"] ?? 0) > BODY_BYTES_MAX)
        return null;
    const chunks = [];
    let length = 0;
    for await (const chunk of request) {
        length += chunk.byteLength;
        if (length > BODY_BYTES_MAX)
            return null;
        chunks.push(chunk);
    }
    return Buffer.concat(chunks);
}
function isDuration(value) {
    try {
        checkDuration("after", value);
        return true;
    }
    catch {
        return false;
    }
}
function stackOf(error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
