#!/usr/bin/env node
// Makes the secrets that docker-compose.yml mounts: `make-secrets.mjs [directory]`, by default /secrets.
//
// A file that exists is kept, so this may run at every start, and a secret of your own may be put in place beforehand.
//   superuser/  password, url    Postgres and `pgrcp migrate`
//   logins/     one file each    the four logins that the server uses; `pgrcp migrate` sets them
//   operator/   password         the login of operator commands
//   signing/    private.json     the key that tokens are signed with; never mounted into the server
//   public/     jwks.json        its public half
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PGRCP = fileURLToPath(new URL("../bin/pgrcp.mjs", import.meta.url));
const root = process.argv[2] ?? "/secrets";

function fail(message, remedy) {
  process.stderr.write(`error: ${message}\nremedy: ${remedy}\n`);
  process.exit(1);
}

function folder(name, mode) {
  const path = join(root, name);
  mkdirSync(path, { recursive: true, mode });
  return path;
}

/** A whole file or none: a start that is cut short leaves nothing half-written for the next one to keep. */
function once(path, text) {
  if (existsSync(path)) return;
  const temporary = `${path}.tmp`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, text(), { mode: 0o600, flush: true });
  renameSync(temporary, path);
  process.stdout.write(`made ${path}\n`);
}

const password = () => randomBytes(32).toString("base64url");

function databaseSecrets() {
  const superuser = folder("superuser", 0o700);
  once(join(superuser, "password"), password);
  const secret = readFileSync(join(superuser, "password"), "utf8").trim();
  once(join(superuser, "url"), () => `postgres://postgres:${encodeURIComponent(secret)}@database:5432/pgrcp`);
  const logins = folder("logins", 0o700);
  for (const name of ["reader", "adder", "deleter", "state"]) once(join(logins, name), password);
  once(join(folder("operator", 0o700), "password"), password);
}

function tokenKeys() {
  const privateKey = join(folder("signing", 0o700), "private.json");
  const jwks = join(folder("public", 0o755), "jwks.json");
  if (existsSync(privateKey)) {
    if (existsSync(jwks)) return;
    fail(`${jwks} is gone, but its private key is there`, `restore it, or remove ${privateKey} to begin with new keys`);
  }
  const temporary = `${privateKey}.tmp`;
  rmSync(temporary, { force: true });
  execFileSync(process.execPath, [PGRCP, "token", "keygen", "--private", temporary, "--jwks", jwks], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  renameSync(temporary, privateKey);
  process.stdout.write(`made ${privateKey} and ${jwks}\n`);
}

try {
  databaseSecrets();
  tokenKeys();
} catch (error) {
  if (error.code !== "EACCES" && error.code !== "EROFS") throw error;
  fail(
    `${error.path} cannot be written by user ${process.getuid()}`,
    "give that user the folder, or remove the volume",
  );
}
