import { once } from "node:events";
import net, { type AddressInfo, type Socket } from "node:net";
import { createSecureContext, TLSSocket } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { PostgresDatabase } from "../../src/db/postgres-database.ts";
import { selfTest } from "../../src/db/self-test.ts";
import { ErrorCode } from "../../src/protocol/errors.ts";
import { sql } from "../../src/sql/sql.ts";
import { accessTo } from "../support/access.ts";
import { selfSigned } from "../support/self-signed.ts";
import { limits, run } from "./rows.ts";

/** What listens where a Postgres should, once it is asked for TLS. */
const ANSWERS: Readonly<Record<string, (socket: Socket) => void>> = {
  "has no TLS": (socket) => socket.write("N"),
  "knows no such question": (socket) => socket.write("X"),
  "speaks no TLS after all": (socket) => socket.write("Sbut nothing that follows is a handshake"),
  "shows a certificate that nobody vouches for": (socket) => {
    socket.write("S");
    new TLSSocket(socket, { isServer: true, secureContext: createSecureContext(selfSigned()) }).on("error", () => {});
  },
};

async function databaseThat(answer: (socket: Socket) => void): Promise<PostgresDatabase> {
  const listener = net.createServer((socket) => socket.on("error", () => {}).once("data", () => answer(socket)));
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const url = `postgres://127.0.0.1:${(listener.address() as AddressInfo).port}/docs?sslmode=verify-full`;
  const database = new PostgresDatabase(url, configSchema.parse({ database: { url } }), () => {});
  onTestFinished(async () => {
    await database.close();
    listener.close();
  });
  return database;
}

describe.each(Object.entries(ANSWERS))("a database that %s", (_, answer) => {
  test("is out of reach to a caller, who may try again", async () => {
    const database = await databaseThat(answer);

    const reading = database.read("reader", accessTo("a"), [run(sql`select 1`)], limits());

    await expect(reading).rejects.toMatchObject({
      code: ErrorCode.BackendUnavailable,
      data: { retryable: true, detail: "the database is out of reach" },
    });
  });

  test("stops a start with one line and one remedy", async () => {
    const database = await databaseThat(answer);

    await expect(selfTest(database, new Map(), () => {})).rejects.toMatchObject({
      line: expect.stringMatching(
        /^no connection to the database at 127\.0\.0\.1:\d+\/docs can be opened( \([A-Z_]+\))?$/,
      ),
      remedy: "correct database.url; with TLS, its sslmode and sslrootcert",
      exitCode: 4,
    });
  });
});
