import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Credential } from "../../src/auth/principal.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { embeddedDeployment } from "../support/crash/embedded-deployment.ts";
import { type EmbeddingServer, startEmbeddingServer } from "../support/crash/embedding-server.ts";
import { type ServerProcess, startServer } from "../support/crash/server-process.ts";
import { openTestDatabase } from "../support/database.ts";
import { type TestIssuer, testIssuer } from "../support/test-issuer.ts";
import { TLS_CERT, TLS_KEY } from "../support/tls-pair.ts";

const repository = process.env.PGRCP_TEST_RCP_REPOSITORY;
const isEmbedded = process.env.PGRCP_TEST_DATABASE_URL === undefined;
const LAUNCHER = fileURLToPath(new URL("../../bin/pgrcp.mjs", import.meta.url));
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const run = promisify(execFile);
const MINUTE = 60_000;

let folder: string;
let database: { readonly settings: object; close(): Promise<void> };
let embedding: EmbeddingServer;
let issuer: TestIssuer;
let server: ServerProcess;
let url: string;
const bridges: ChildProcess[] = [];

const in_ = (name: string) => join(folder, name);
const tokenFile = async (name: string, credentials: readonly Credential[], expiresIn = 3_600) => {
  await writeFile(in_(name), await issuer.mint({ credentials, expiresIn }));
};

const FIELDS = { year: "int" } as const;

async function postgres(): Promise<typeof database> {
  const { config, close } = await openTestDatabase({ fields: filterFields(FIELDS) });
  const { url, reader, adder, deleter, state, operator } = config.database;
  return { settings: { url, reader, adder, deleter, state, operator }, close };
}

/** A server with TLS and JWT, where every gated call needs a session. */
beforeAll(async () => {
  if (repository === undefined) return;
  folder = await mkdtemp(join(tmpdir(), "pgrcp-public-"));
  database = isEmbedded ? await embeddedDeployment(folder) : await postgres();
  embedding = await startEmbeddingServer();
  issuer = await testIssuer();
  const config = {
    server: { port: 0, drainMs: 0, tls: { certFile: in_("cert.pem"), keyFile: in_("key.pem") } },
    database: database.settings,
    auth: {
      combinedTokens: true,
      issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks, algorithms: ["ES256"] }],
    },
    sessions: { mode: "required" },
    rateLimit: { enabled: false },
    filter: { fields: FIELDS },
    models: { embedding: embedding.settings },
    log: { level: "warn" },
  };
  await Promise.all([
    writeFile(in_("cert.pem"), TLS_CERT),
    writeFile(in_("key.pem"), TLS_KEY),
    writeFile(in_("config.yaml"), JSON.stringify(config)),
    tokenFile("all", ["read", "add", "delete"]),
    tokenFile("read", ["read"]),
    tokenFile("expired", ["read"], -300),
  ]);
  server = startServer(in_("config.yaml"), folder, {});
  url = await server.ready;
}, 2 * MINUTE);

afterAll(async () => {
  if (repository === undefined) return;
  for (const bridge of bridges) bridge.kill();
  server?.kill("SIGTERM");
  await server?.ended;
  await Promise.all([embedding.close(), database.close()]);
  await rm(folder, { recursive: true });
}, MINUTE);

const pgrcp = (...args: string[]) => run(process.execPath, [LAUNCHER, ...args], { cwd: folder });

/** The command line of a bridge to a server. */
const connect = (token: string, to = url): string[] => [
  process.execPath,
  LAUNCHER,
  "connect",
  "--url",
  to,
  "--ca-file",
  in_("cert.pem"),
  "--token-file",
  in_(token),
];

/** A bridge on loopback http. @returns its base URL */
function listen(token: string, to = url): Promise<string> {
  const [command = "", ...args] = connect(token, to);
  const child = spawn(command, [...args, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "pipe"] });
  bridges.push(child);
  return new Promise((resolve, reject) => {
    let output = "";
    child.once("close", () => reject(new Error(output)));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        const found = /http:\/\/127\.0\.0\.1:\d+\/rcp/.exec(output)?.[0];
        if (found !== undefined) resolve(found);
      });
    }
  });
}

interface Report {
  readonly certifiedLevel: string;
  readonly declaredLevel: string;
  readonly declarationHonest: boolean;
  readonly failed: number;
}

async function check(args: readonly string[]): Promise<Report & { readonly text: string }> {
  const script = join(repository ?? "", "conformance/check.py");
  const { stdout } = await run("python3", [script, "--json", ...args]);
  const report: Report = JSON.parse(stdout.slice(stdout.indexOf("\n{")));
  return { ...report, text: stdout };
}

const STEPS = ["handshake", "add", "retrieve with a filter", "page", "embed", "feedback", "delete", "shutdown"];
const python = {
  env: { ...process.env, PYTHONPATH: join(repository ?? "", "sdk/python"), PGRCP: `${process.execPath} ${LAUNCHER}` },
};
const nodeSdk = join(repository ?? "", "sdk/node/src/index.js");

/** What a client's script prints, line by line. */
async function session(sdk: "python" | "node", kind: "stdio" | "http", target: string[] | string, ...rest: string[]) {
  const command = sdk === "python" ? "python3" : process.execPath;
  const goal = typeof target === "string" ? target : sdk === "python" ? target.join(" ") : JSON.stringify(target);
  const args = sdk === "python" ? [here("python_session.py")] : [here("node_session.mjs"), nodeSdk];
  const { stdout } = await run(command, [...args, kind, goal, ...rest], python);
  return stdout.trimEnd().split("\n");
}

describe.runIf(repository !== undefined)("the public checker", { timeout: 2 * MINUTE }, () => {
  test.each(["all", "read"])("certifies L2 over stdio with a token for %s", async (token) => {
    const report = await check(["--", ...connect(token)]);
    console.info(report.text);
    expect(report).toMatchObject({ certifiedLevel: "L2", declaredLevel: "L2", declarationHonest: true });
  });

  test.each(["all", "read"])("certifies L2 over loopback http with a token for %s", async (token) => {
    const report = await check(["--http", await listen(token)]);
    console.info(report.text);
    expect(report).toMatchObject({ certifiedLevel: "L2", declaredLevel: "L2", declarationHonest: true });
  });
});

describe.runIf(repository !== undefined).each(["python", "node"] as const)(
  "the public %s SDK",
  { timeout: MINUTE },
  (sdk) => {
    test("does a day's work over stdio, each step within 5 s", async () => {
      expect(await session(sdk, "stdio", connect("all"))).toEqual(STEPS);
    });

    test("does it over loopback http", async () => {
      expect(await session(sdk, "http", await listen("all"))).toEqual(STEPS);
    });

    test.each(["stdio", "http"] as const)("is told over %s that its token has expired", async (kind) => {
      const target = kind === "stdio" ? connect("expired") : await listen("expired");
      expect(await session(sdk, kind, target, "refused", "-32012")).toEqual(["refused"]);
    });

    test.each(["stdio", "http"] as const)("is told over %s that the server is dead", async (kind) => {
      const dead = "https://127.0.0.1:1/rcp";
      const target = kind === "stdio" ? connect("all", dead) : await listen("all", dead);
      expect(await session(sdk, kind, target, "refused", "-32010")).toEqual(["refused"]);
    });
  },
);

test.runIf(repository !== undefined)(
  "thirty lines fuse two corpora with the Python SDK's own fusion",
  async () => {
    await pgrcp("corpora", "create", "acme", "other", "--config", in_("config.yaml")).catch(async () => {
      await pgrcp("tenants", "create", "acme", "--config", in_("config.yaml"));
      await pgrcp("corpora", "create", "acme", "other", "--config", in_("config.yaml"));
    });
    for (const corpus of ["default", "other"]) {
      const lines = ["amber", "basalt"].map((word) =>
        JSON.stringify({ id: `${corpus}-${word}`, text: `${word} in ${corpus}` }),
      );
      await writeFile(in_(`${corpus}.jsonl`), lines.join("\n"));
      await run(
        process.execPath,
        [LAUNCHER, "import", in_(`${corpus}.jsonl`), "--url", url, "--token-file", in_("all"), "--corpus", corpus],
        { cwd: folder, env: { ...process.env, NODE_EXTRA_CA_CERTS: in_("cert.pem") } },
      );
    }

    const { stdout } = await run(
      "python3",
      [here("fuse_corpora.py"), url, in_("cert.pem"), in_("read"), "amber"],
      python,
    );

    expect(stdout.trimEnd().split("\n").slice(0, 2)).toEqual(["default default-amber", "other other-amber"]);
    expect(stdout.trimEnd().split("\n")).toHaveLength(4);
  },
  2 * MINUTE,
);
