import { execFile } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { dialChecked } from "../../src/fetch/connect.ts";
import { createFetcher } from "../../src/fetch/fetch-text.ts";
import { acceptedAddresses } from "../../src/fetch/resolve-host.ts";
import { quickest } from "../support/quickest.ts";
import { type RawOrigin, startRawOrigin } from "../support/raw-origin.ts";

const never = new AbortController().signal;
let origin: RawOrigin;
beforeAll(async () => {
  const plain = (body: string) =>
    `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  origin = await startRawOrigin({ "/": plain("a text"), "/json": plain("a").replace("text/plain", "text/json") });
});
afterAll(() => origin.close());

describe("dialling", () => {
  test("the address that was checked is the one that is dialled, whatever the name resolves to", async () => {
    const socket = await dialChecked(
      { host: "docs.example.com", port: origin.port, addresses: ["127.0.0.1"] },
      () => true,
      never,
    );

    expect(socket.remoteAddress).toBe("127.0.0.1");
    socket.destroy();
  });

  test("an address is checked again once it is connected to", async () => {
    const dialling = dialChecked(
      { host: "docs.example.com", port: origin.port, addresses: ["127.0.0.1"] },
      (address) => address !== "127.0.0.1",
      never,
    );

    await expect(dialling).rejects.toMatchObject({ stage: "connect" });
  });

  test("an address of several that does not answer is passed over", async () => {
    const socket = await dialChecked(
      { host: "docs.example.com", port: origin.port, addresses: ["127.0.0.2", "127.0.0.1"] },
      () => true,
      never,
    );

    expect(socket.remoteAddress).toBe("127.0.0.1");
    socket.destroy();
  });
});

describe("names", () => {
  const isPublic = (address: string) => address.startsWith("93.");
  const answering = (...answers: readonly (readonly string[])[]) => {
    const left = [...answers];
    return async () => left.shift() ?? [];
  };

  test.each([
    ["one of several answers is private", [["93.0.0.1", "10.0.0.1"]], "address"],
    ["the second answer is another", [["93.0.0.1"], ["169.254.169.254"]], "address"],
    ["the second time there is none", [["93.0.0.1"], []], "dns"],
    ["there is none", [[]], "dns"],
  ])("refused: %s", async (_what, answers, stage) => {
    await expect(acceptedAddresses("a.example", answering(...answers), isPublic, never)).rejects.toMatchObject({
      stage,
    });
  });

  test("the first answer is the one that counts", async () => {
    const resolve = answering(["93.0.0.1"], ["93.0.0.2"]);

    expect(await acceptedAddresses("a.example", resolve, isPublic, never)).toEqual(["93.0.0.1"]);
  });
});

describe("an address of the operator's own network", () => {
  const settings = { enabled: true, schemes: ["http"], allowedHosts: ["127.0.0.1"], timeoutMs: 400 };
  const fetcherOf = (port: number, more: object = { allowPrivate: ["127.0.0.1/32"] }) =>
    createFetcher(configSchema.parse({ fetch: { ...settings, ports: [port], ...more } }));
  const elapsed = async (port: number, path: string) => {
    const begun = performance.now();
    const message = await fetcherOf(port)
      .fetch(`http://127.0.0.1:${port}${path}`, "text/plain", never)
      .then(
        () => "no failure",
        (error: Error) => error.message,
      );
    return { ms: performance.now() - begun, message };
  };

  test("is dialled where allowPrivate holds it, and not because its host is allowed", async () => {
    const uri = `http://127.0.0.1:${origin.port}/`;

    expect((await fetcherOf(origin.port).fetch(uri, "text/plain", never)).text).toBe("a text");
    await expect(fetcherOf(origin.port, {}).fetch(uri, "text/plain", never)).rejects.toMatchObject({
      stage: "address",
    });
  });

  test("fails the same and as slowly whether nothing listens, something is silent, or answers wrongly", async () => {
    const silent = createServer((socket) => void socket.on("error", () => {}));
    await once(silent.listen(0, "127.0.0.1"), "listening");
    const closed = createServer();
    await once(closed.listen(0, "127.0.0.1"), "listening");
    const nobody = (closed.address() as AddressInfo).port;
    closed.close();

    const messages = new Set<string>();
    for (const [port, path] of [
      [nobody, "/"],
      [(silent.address() as AddressInfo).port, "/"],
      [origin.port, "/json"],
      [origin.port, "/missing"],
    ] as const) {
      const least = await quickest(700, async () => {
        const { ms, message } = await elapsed(port, path);
        messages.add(message);
        expect(ms).toBeGreaterThan(390);
        return ms;
      });
      expect(least).toBeLessThan(700);
    }

    expect(messages.size).toBe(1);
    silent.close();
  });
});

test("the proxies of the environment are not asked", async () => {
  const source = new URL("../../src/", import.meta.url);
  const script = `
    const { configSchema } = await import("${source}config/config.ts");
    const { createFetcher } = await import("${source}fetch/fetch-text.ts");
    const fetch = { enabled: true, schemes: ["http"], ports: [${origin.port}], allowedHosts: ["127.0.0.1"], allowPrivate: ["127.0.0.1/32"] };
    const { text } = await createFetcher(configSchema.parse({ fetch }))
      .fetch("http://127.0.0.1:${origin.port}/", "text/plain", new AbortController().signal);
    console.log(text);`;
  const proxies = { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: "http://127.0.0.1:1", http_proxy: "http://127.0.0.1:1" };

  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
    env: { ...process.env, ...proxies, NO_PROXY: "", no_proxy: "" },
  });

  expect(stdout.trim()).toBe("a text");
});

test("connections do not outlive their fetch", async () => {
  let open = 0;
  const server = createServer((socket) => {
    open += 1;
    socket.on("close", () => {
      open -= 1;
    });
    socket.on("error", () => {});
    socket.resume();
    socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>never read to its end");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const fetcher = createFetcher(
    configSchema.parse({ fetch: { schemes: ["http"], ports: [80], allowedHosts: ["*"] } }),
    {
      resolve: async () => ["93.184.215.14"],
      dial: async () => {
        const socket = connect(port, "127.0.0.1");
        await once(socket, "connect");
        return socket;
      },
    },
  );

  await expect(fetcher.fetch("http://docs.example.com/", "text/plain", never)).rejects.toMatchObject({
    stage: "response",
  });
  await expect.poll(() => open).toBe(0);
  server.close();
});
