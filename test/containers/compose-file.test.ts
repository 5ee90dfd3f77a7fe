import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { configSchema } from "../../src/config/config.ts";
import { variableNames } from "../../src/config/environment.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { FIELDS } from "../support/isolation/sent-documents.ts";

/** What can be said of the deployment without a container engine. */

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
}

const fileOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const servicesOf = (name: string): (readonly [string, Service])[] =>
  Object.entries(parse(readFileSync(fileOf(name), "utf8"), { merge: true }).services);
const services = servicesOf("docker-compose.yml");
const isolation = servicesOf("test/containers/isolation.yml");

test("the server's configuration holds", async () => {
  const config = await loadConfig({ file: fileOf("deploy/config.yaml"), env: {} });

  expect(config.server).toMatchObject({ host: "0.0.0.0", port: 8787, behindTls: true });
  expect(config.auth.combinedTokens).toBe(false);
});

test("every variable is a setting, and those that hold a secret name its file", () => {
  const known = new Set(["PGRCP_CONFIG", ...variableNames(configSchema)]);
  const used = [...services, ...isolation].flatMap(([, { environment }]) => Object.keys(environment ?? {}));
  const ours = used.filter((name) => name.startsWith("PGRCP_"));

  expect(ours.filter((name) => !known.has(name))).toEqual([]);
  expect(used.filter((name) => /PASSWORD|URL/.test(name) && !/_FILE$|PUBLIC_URL$/.test(name))).toEqual([]);
});

test("the isolation suite's stack has the fields that its model of the answers knows", () => {
  const fields = isolation.map(([, { environment }]) => parse(environment?.PGRCP_FILTER__FIELDS ?? ""));

  expect(fields).toEqual([FIELDS, FIELDS, FIELDS]);
});

test("each service mounts the secrets that it needs and no others", () => {
  const groups = services.map(([name, { volumes }]) => [
    name,
    (volumes ?? []).filter((volume) => volume.includes(":/secrets/")).map((volume) => volume.split(":")[0]),
  ]);

  expect(Object.fromEntries(groups)).toEqual({
    secrets: ["superuser", "logins", "operator", "signing", "public"],
    database: ["superuser"],
    "database-ready": [],
    migrate: ["superuser", "logins", "operator", "public"],
    server: ["logins", "public"],
    maintain: ["operator", "public"],
    caddy: [],
    token: ["signing", "public"],
    operator: ["operator", "public"],
  });
});

test("only the service that makes the secrets can write them", () => {
  const others = services.filter(([name]) => name !== "secrets").flatMap(([, { volumes }]) => volumes ?? []);

  expect(others.filter((volume) => volume.includes(":/secrets/") && !volume.endsWith(":ro"))).toEqual([]);
});

test("no service keeps a capability it did not ask for, or gains one", () => {
  for (const [name, { cap_drop, security_opt }] of services) {
    expect([name, cap_drop]).toEqual([name, ["ALL"]]);
    expect([name, security_opt]).toEqual([name, ["no-new-privileges:true"]]);
  }
});

test("the server is published on the loopback address, Postgres not at all", () => {
  const published = services.map(([name, { ports }]) => [name, ports]).filter(([, ports]) => ports !== undefined);

  expect(published).toEqual([
    // biome-ignore lint/suspicious/noTemplateCurlyInString: docker compose fills these in
    ["server", ["127.0.0.1:${RCP_PORT:-8787}:8787"]],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: docker compose fills these in
    ["caddy", ["${RCP_HTTP_PORT:-80}:80", "${RCP_HTTPS_PORT:-443}:443"]],
  ]);
});
