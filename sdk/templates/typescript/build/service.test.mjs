import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { databaseService } from "./service.mjs";
const red = { team: "red" };
function service(context) {
    const data = mkdtempSync(join(tmpdir(), "steps-"));
    context.after(() => rmSync(data, { recursive: true, force: true }));
    return { data, steps: databaseService("a secret that is used by this test only", data) };
}
test("what is created can be undone", async (context) => {
    const { data, steps } = service(context);
    assert.deepEqual(await steps.tryStep("reserve", red), { outcome: "done", facts: { name: "red-db" } });
    const created = await steps.tryStep("create", red, { facts: { reserve: { name: "red-db" } } });
    assert.deepEqual(created.facts, { host: "red-db.example" });
    assert.equal(readdirSync(data).length, 2);
    for (const step of ["create", "reserve"])
        assert.equal((await steps.tryStep(step, red, { action: "undo" })).outcome, "done");
    assert.deepEqual(readdirSync(data), []);
});
test("a name that is taken fails", async (context) => {
    const { steps } = service(context);
    await steps.tryStep("reserve", red);
    assert.equal((await steps.tryStep("reserve", red, { idempotency_key: "another" })).outcome, "fail");
});
test("approval is a signal", async (context) => {
    const { steps } = service(context);
    assert.equal((await steps.tryStep("approve", red)).signal, "approved");
    const signal = { key: "approved", payload: { by: "ann" } };
    assert.deepEqual((await steps.tryStep("approve", red, { signal })).facts, { by: "ann" });
});
