/**
 * The steps of ../example.yaml. It keeps a ledger of its effects, in place of a real database server.
 *
 *     openssl rand -hex 32 > acme.secret
 *     node example.mts --secret-file acme.secret --data .
 */

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Fail, FileStore, Service, done, readSecret, skip, wait } from "./provision_engine_steps.mts";

interface Params {
  team: string;
  size?: "small" | "large";
  password?: string;
  broken?: boolean;
}

type Effect = "made" | "removed";

/** What exists, in a file with a line for each effect. A line is on the disk before an effect counts as made. */
class Ledger {
  readonly #state = new Map<string, Effect>();
  readonly #file: number;

  constructor(path: string) {
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    for (const line of whole.split("\n").slice(0, -1)) {
      const { key, effect } = JSON.parse(line) as { key: string; effect: Effect };
      this.#state.set(key, effect);
    }
    closeSync(openSync(path, "a"));
    truncateSync(path, Buffer.byteLength(whole)); // a kill in the middle of a write: this effect never counted
    this.#file = openSync(path, "a");
  }

  make(kind: string, key: string, team: string): void {
    if (this.#state.get(key) === "removed") throw new Fail("removed before");
    if (!this.#state.has(key)) this.#append("made", kind, key, team);
  }

  /** Whether there was something to remove. The key stays blocked: a late call must not make it again. */
  remove(kind: string, key: string, team: string): boolean {
    const wasMade = this.#state.get(key) === "made";
    if (wasMade) this.#append("removed", kind, key, team);
    this.#state.set(key, "removed");
    return wasMade;
  }

  #append(effect: Effect, kind: string, key: string, team: string): void {
    writeSync(this.#file, `${JSON.stringify({ effect, kind, key, team })}\n`);
    fsyncSync(this.#file);
    this.#state.set(key, effect);
  }
}

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "8780" },
    "secret-file": { type: "string", default: "acme.secret" },
    data: { type: "string", default: "." },
  },
});
const data = values.data ?? ".";
const ledger = new Ledger(join(data, "ledger.jsonl"));

const service = new Service<Params>(
  "acme.database",
  readSecret(values["secret-file"] ?? "acme.secret"),
  {
    reserve: {
      run(call) {
        ledger.make("name", call.key, call.params.team);
        return done({ name: `${call.params.team}-db` });
      },
      undo(call) {
        return ledger.remove("name", call.key, call.params.team) ? done() : skip("there is no reservation");
      },
    },
    approve(call) {
      if (call.signal === null) {
        return wait({ signal: "approved", within: "1d", reason: "waiting for an approval", progress: "0 of 1 approvals" });
      }
      const payload = (call.signal.payload ?? {}) as { approve?: boolean; by?: string };
      if (payload.approve === false) throw new Fail("the approval was refused");
      return done({ by: payload.by ?? "unknown" });
    },
    create: {
      run(call) {
        ledger.make("database", call.key, call.params.team);
        return done({ host: `${call.facts["reserve"]?.["name"]}.example` }, { password: call.params.password ?? "generated" });
      },
      undo(call) {
        return ledger.remove("database", call.key, call.params.team) ? done() : skip("there is no database");
      },
    },
    check(call) {
      if (call.params.broken) throw new Fail("the database does not answer");
    },
  },
  { store: new FileStore(join(data, "answers.jsonl")) },
);

await service.serve({ port: Number(values.port) });
