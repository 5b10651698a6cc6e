/** The steps of {{name}}. Files in data/ stand for a real system: replace `make` and `remove` by calls of yours. */
import { existsSync, mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fail, FileStore, Service, done, readSecret, skip, wait } from "./provision_engine_steps.mjs";
/** A directory with a file for each thing that exists. */
class Files {
    #data;
    constructor(data) {
        this.#data = data;
    }
    /** Creates something once for the key of the call, however often and whenever the process dies. */
    make(kind, call) {
        const path = this.#path(kind, call);
        if (existsSync(path)) {
            if (keyOf(path) !== call.key)
                throw new Fail(`the ${kind} of team ${call.params.team} exists already`);
            return;
        }
        writeFileSync(`${path}.${call.key}.new`, JSON.stringify({ key: call.key, operation: call.operation.id }));
        renameSync(`${path}.${call.key}.new`, path);
    }
    /** Removes what `make` created with the same key. To find nothing is success. */
    remove(kind, call) {
        const path = this.#path(kind, call);
        if (!existsSync(path) || keyOf(path) !== call.key)
            return skip(`there is no ${kind} to remove`);
        unlinkSync(path);
        return done();
    }
    #path(kind, call) {
        return join(this.#data, `${kind}-${call.params.team}.json`);
    }
}
function keyOf(path) {
    return JSON.parse(readFileSync(path, "utf8")).key;
}
export function databaseService(secret, data, options = {}) {
    const files = new Files(data);
    return new Service("{{name}}", secret, {
        reserve: {
            run(call) {
                files.make("name", call);
                return done({ name: `${call.params.team}-db` });
            },
            undo: (call) => files.remove("name", call),
        },
        approve(call) {
            if (call.signal === null)
                return wait({ signal: "approved", within: "1d", reason: "waiting for an approval" });
            const { by = "unknown" } = (call.signal.payload ?? {});
            return done({ by });
        },
        create: {
            run(call) {
                files.make("database", call);
                return done({ host: `${call.facts["reserve"]?.["name"]}.example` }, { password: "made up" });
            },
            undo: (call) => files.remove("database", call),
        },
        check(call) {
            if (call.params.broken)
                throw new Fail("the database does not answer");
        },
    }, options);
}
export async function start() {
    mkdirSync("data", { recursive: true });
    const store = new FileStore(join("data", "answers.jsonl"));
    await databaseService(readSecret("{{name}}.secret"), "data", { store }).serve({ port: 8780 });
}
