import { readFile } from "node:fs/promises";
import { RcpClient } from "../src/client/index.ts"; // "pgrcp/client" where it is installed

/** Where `npm start` listens, and the token that it leaves for reading; other servers by PGRCP_URL and PGRCP_TOKEN_FILE. */
export const url = process.env.PGRCP_URL ?? "http://127.0.0.1:8787/rcp";
export const token = (await readFile(process.env.PGRCP_TOKEN_FILE ?? ".pgrcp/dev/read.token", "utf8")).trim();

/** What the host has verified of who is asking: from its own session, never from the model. */
export const verified = { tenant: "demo" };

export const client = new RcpClient({ url, token });
