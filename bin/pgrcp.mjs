#!/usr/bin/env node
// Plain JavaScript that old versions of Node can parse, so that they can say what is needed instead of failing on syntax.
import { existsSync } from "node:fs";

const EXIT_ENVIRONMENT = 6; // ExitCode.environment in src/protocol/failure.ts

// A checkout runs its TypeScript as it is (Node strips the types); an installed package has only what was built.
const source = new URL("../src/cli/main.ts", import.meta.url);
const built = new URL("../dist/cli/main.js", import.meta.url);
const fromSource = existsSync(source);

function fail(message, remedy) {
  process.stderr.write(`error: ${message}\nremedy: ${remedy}\n`);
  process.exit(EXIT_ENVIRONMENT);
}

const version = process.versions.node.split(".").map(Number);
const atLeast = (major, minor) => version[0] > major || (version[0] === major && version[1] >= minor);

if (fromSource) {
  // Types are stripped without a flag from 22.18 in the 22 line and from 23.6 on.
  if (!atLeast(22, 18) || (version[0] === 23 && !atLeast(23, 6))) {
    fail(
      `pgrcp in a checkout needs Node 22.18 or newer; this is Node ${process.versions.node}`,
      "run it through npm, which brings its own Node 24: npm install, then npm run -s pgrcp -- <command>",
    );
  }
} else if (!atLeast(22, 0)) {
  fail(
    `pgrcp needs Node 22 or newer; this is Node ${process.versions.node}`,
    "install Node 24 and run the same command again",
  );
}
if (!fromSource && !existsSync(built)) {
  fail("this copy of pgrcp has neither src nor dist", "install the package again");
}

import(fromSource ? source.href : built.href)
  .then((cli) => cli.main(process.argv.slice(2)))
  .catch((error) => {
    if (
      error &&
      error.code === "ERR_MODULE_NOT_FOUND" &&
      !existsSync(new URL("../node_modules/commander", import.meta.url)) &&
      fromSource
    ) {
      fail("the dependencies are not installed", "npm install");
    }
    throw error;
  });
