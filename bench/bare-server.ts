import http from "node:http";
import pg from "pg";
import type { Corpus } from "../src/catalog/corpus.ts";
import { denseSql } from "./dense-sql.ts";

/**
 * The least that a server over HTTP is: `node:http` and the driver, which sends the SQL of a dense retrieve for one known question
 * and answers with the rows of its hits. No token, no route, no plan.
 */

const [connectionString, corpus, vector, byGraph] = process.argv.slice(2, 6);
const pool = new pg.Pool({ connectionString, max: 8 });
const send = denseSql(JSON.parse(corpus ?? "") as Corpus, Float32Array.from(JSON.parse(vector ?? "")), {
  byGraph: byGraph === "true",
});

async function answer(body: Buffer, response: http.ServerResponse): Promise<void> {
  const { id } = JSON.parse(body.toString("utf8")) as { readonly id: number };
  const client = await pool.connect();
  const hits = await send(client).finally(() => client.release());
  const text = JSON.stringify({ jsonrpc: "2.0", id, result: { hits } });
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(text);
}

const server = http.createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => void answer(Buffer.concat(pieces), response));
});
server.listen(0, "127.0.0.1", () => console.log(`ready ${JSON.stringify(server.address())}`));
