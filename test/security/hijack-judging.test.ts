import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { Lab } from "../../src/hijack/lab.ts";
import { runTricks } from "../../src/hijack/run-tricks.ts";
import { TRICKS } from "../../src/hijack/tricks.ts";

/** What `pgrcp hijack-test` makes of answers that this server never gives. */

interface Asked {
  readonly path: string;
  readonly token: string;
  readonly params: Readonly<Record<string, unknown>>;
}
type Reply = { readonly status?: number; readonly result?: object; readonly error?: object };

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function lab(reply: (asked: Asked) => Reply): Promise<Lab> {
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const text = Buffer.concat(pieces).toString();
    const { params = {} } = text === "" ? {} : JSON.parse(text);
    const token = (request.headers.authorization ?? "").replace("Bearer ", "");
    const { status = 200, ...body } = reply({ path: request.url ?? "", token, params });
    response.writeHead(status).end(JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/rcp`;
  const made = new Lab({
    url,
    token: "ours",
    otherTenant: "theirs",
    otherToken: "theirs",
    query: "q",
    timeoutMs: 60_000,
  });
  closing.push(
    () => made.close(),
    () => server.close(),
  );
  return made;
}

const hitsOf = (tenant: unknown): Reply => ({ result: { hits: [{ id: "1", text: `of ${tenant}`, meta: {} }] } });
const refused: Reply = { error: { code: -32602 } };
const absent: Reply = { status: 404 };
const isRetrieve = ({ path }: Asked) => path.startsWith("/rcp/retrieve");

async function verdictOf(made: Lab, door: string, trick: string): Promise<string | undefined> {
  const tricks = TRICKS.filter((one) => one.door === door && one.name === trick);
  const [finding] = await runTricks(tricks, made);
  return finding?.verdict;
}

describe("a wrong server does not pass", () => {
  test("that refuses most names and believes one", async () => {
    const made = await lab((asked) => {
      if (!isRetrieve(asked)) return absent;
      const { query: _, k: __, tenantId = "ours", ...others } = asked.params;
      return Object.keys(others).length > 0 ? refused : hitsOf(tenantId);
    });
    expect(await verdictOf(made, "rcp", "params")).toBe("hijacked");
  });

  test("whose filter chooses the tenant", async () => {
    const made = await lab((asked) => (isRetrieve(asked) ? hitsOf(asked.params.filter ? "theirs" : "ours") : absent));
    expect(await verdictOf(made, "rcp", "filter by tenantId")).toBe("hijacked");
  });

  test("whose door for MCP believes an argument, and answers in text alone", async () => {
    const made = await lab(({ path, params }) => {
      if (path.startsWith("/rcp")) return hitsOf("ours");
      if (path !== "/mcp") return absent;
      const { arguments: given } = params as { arguments?: { tenantId?: string } };
      const text = `of ${given?.tenantId ?? "ours"}`;
      return { result: { tools: [{ name: "search" }], content: [{ type: "text", text }] } };
    });
    expect(await verdictOf(made, "mcp", "arguments")).toBe("hijacked");
  });
});

describe("nothing is held", () => {
  test("by a server that has stopped answering its own tenant", async () => {
    let left = 1;
    const made = await lab(() => (left-- > 0 ? hitsOf("ours") : { status: 401, error: { code: -32012 } }));
    expect(await verdictOf(made, "rcp", "params")).toBe("no answer");
  });

  test("or does not apply, where the other tenant's token or a door's answer cannot be had", async () => {
    const made = await lab((asked) => {
      if (asked.token === "theirs") return { status: 401 };
      return isRetrieve(asked) ? hitsOf("ours") : { status: 500 };
    });
    for (const [door, trick] of [
      ["rcp", "passages"],
      ["rcp", "cursor, stolen"],
      ["rest", "no tenantId"],
      ["mcp", "arguments"],
    ] as const)
      expect([trick, await verdictOf(made, door, trick)]).toEqual([trick, "no answer"]);
  });
});
