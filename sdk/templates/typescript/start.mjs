// Runs service.mts: as it is where Node runs TypeScript (22.18 and later), and else what tsc built of it.
import { statSync } from "node:fs";

const [source, built] = ["./service.mts", "./build/service.mjs"].map((file) => new URL(file, import.meta.url));
const runsTypeScript = Boolean(process.features.typescript);
if (!runsTypeScript && statSync(source).mtimeMs > statSync(built).mtimeMs) {
  console.error("service.mts is newer than build/, which runs: use npx -p typescript@5.9 -p @types/node@20 tsc, or Node 22.18 or later");
}
const { start } = await import((runsTypeScript ? source : built).href);
await start();
