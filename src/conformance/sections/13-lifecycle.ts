import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../protocol/params.ts";
import { type Client, INITIALIZE } from "../client.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section, untried } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";
import { GATED, validParams } from "./07-methods.ts";

const NOT_INITIALIZED = -32001;
const VERSION_MISMATCH = -32002;
const INVALID_REQUEST = -32600;

/** A method that is advertised, with params that it takes; any defined one will do where none is. */
async function gatedMethod(server: ServerUnderTest): Promise<readonly [string, object]> {
  const advertised = await server.capabilities();
  const [method, key] = GATED.find(
    ([name, capability]) => Object.hasOwn(advertised, capability) && !name.startsWith("index/"),
  ) ?? ["retrieve", "retrieve"];
  const value = advertised[key];
  return [method, validParams(method, isObject(value) ? value : {})];
}

const codeOf = (response: { readonly error?: unknown }): unknown =>
  isObject(response.error) ? response.error.code : undefined;

/** Whether the server keeps a lifecycle for a client that has not initialized. Over HTTP it need not (§5.2). */
async function needsInitialize(server: ServerUnderTest, client: Client): Promise<boolean> {
  const response = await client.call(...(await gatedMethod(server)));
  if (codeOf(response) === NOT_INITIALIZED) return true;
  ensure(
    client.kind === "http",
    `a method before initialize must be refused with ${NOT_INITIALIZED}, not answered with ${show(response.result ?? response.error)}`,
  );
  return false;
}

/** A client that has initialized as the only one of its session. @throws Skipped where there are no sessions */
async function lifecycleClient(server: ServerUnderTest): Promise<Client> {
  const client = await server.session();
  need(client.initialized !== undefined, "this server has initialized already, for all its callers");
  const meta = client.initialized._meta;
  need(
    client.kind === "stdio" || (isObject(meta) && typeof meta.session === "string"),
    "the server gives no sessions, so every request is initialized (§5.2)",
  );
  return client;
}

export const lifecycle = section(
  "13",
  "Session lifecycle",
  [
    rule("gate", "MUST", "refuse every request before initialize with -32001"),
    rule("exempt", "MUST", "answer info, ping and shutdown at any time"),
    rule("failed-initialize", "MUST", "stay uninitialized after an initialize that failed"),
    rule("retry-initialize", "MUST", "take initialize again until one succeeds"),
    rule("second-initialize", "MUST", "refuse a second initialize after a successful one with -32600"),
    rule("own-session", "MUST", "keep each connection's lifecycle to itself: one client's initialize is nobody else's"),
  ],
  [
    check("gate", "before initialize, methods are refused with -32001", async (server) => {
      const client = server.open();
      const isGated = await needsInitialize(server, client);
      need(isGated, "the server takes requests without a session as initialized (§5.2)");
    }),
    check("exempt 14.1/before-initialize", "before initialize, info and ping are answered", async (server) => {
      const client = server.open();
      const { capabilities } = await client.result("info");
      ensure(isObject(capabilities), "info before initialize has no capabilities");
      const { nonce } = await client.result("ping", { nonce: "early" });
      ensure(nonce === "early", "ping before initialize did not echo its nonce");
    }),
    check(
      "failed-initialize retry-initialize",
      "after a version that is refused, methods are still refused with -32001, and initialize is taken",
      async (server) => {
        const client = server.open();
        const before = await needsInitialize(server, client);
        const refused = await client.initialize({ ...INITIALIZE, protocolVersion: 0 });
        need(
          codeOf(refused) === VERSION_MISMATCH,
          `version 0 was answered with ${show(refused.error ?? refused.result)}, which §7.1 reports`,
        );
        if (before) await needsInitialize(server, client);
        const taken = await client.initialize();
        ensure(
          client.initialized !== undefined,
          `initialize after a refused one was answered with ${show(taken.error)}`,
        );
        const response = await client.call(...(await gatedMethod(server)));
        ensure(codeOf(response) !== NOT_INITIALIZED, "a method after initialize is still refused with -32001");
      },
    ),
    check(
      "failed-initialize",
      "after an initialize with malformed params, methods are still refused with -32001",
      async (server) => {
        const client = server.open();
        const before = await needsInitialize(server, client);
        need(before, "the server takes requests without a session as initialized (§5.2)");
        await client.call("initialize", { protocolVersion: "one" });
        ensure(await needsInitialize(server, client), "a malformed initialize has initialized");
      },
    ),
    check(
      "second-initialize",
      "a second initialize is refused with -32600, and the session goes on",
      async (server) => {
        const client = await lifecycleClient(server);
        await client.refusal("initialize", INITIALIZE, INVALID_REQUEST);
        const response = await client.call(...(await gatedMethod(server)));
        ensure(codeOf(response) !== NOT_INITIALIZED, "a refused second initialize has ended the session");
      },
    ),
    check("own-session", "what one client initializes stays uninitialized for another", async (server) => {
      const early = server.open();
      const isGated = await needsInitialize(server, early);
      const other = await server.session();
      ensure(
        other.initialized !== undefined,
        "a second client's initialize was refused because another client had initialized: one lifecycle is kept for all callers",
      );
      if (!isGated) return;
      ensure(
        await needsInitialize(server, early),
        "one client's initialize has initialized another: one lifecycle is kept for all callers",
      );
    }),
    check("own-session", "what one client shuts down goes on for another", async (server) => {
      const [first, second] = [await lifecycleClient(server), await lifecycleClient(server)];
      await first.result("shutdown");
      const response = await second.call(...(await gatedMethod(server)));
      ensure(codeOf(response) !== NOT_INITIALIZED, "one client's shutdown has ended another's session");
    }),
  ],
);

export const deadlines = section(
  "13.1",
  "Deadlines and the end of a transport",
  [
    rule("deadline", "SHOULD", "apply a deadline and answer -32014 when it is over"),
    rule("once", "MUST", "answer every request exactly once"),
    clientRule("own-deadline", "SHOULD", "apply a deadline of its own"),
    clientRule("late", "MUST", "match a late response and drop it"),
    clientRule("fail-locally", "MUST", "fail what was in flight when the transport ends"),
    rule("idempotent-writes", "SHOULD", "make index/add and index/delete idempotent; tried in §7.10"),
    rule("stop-reading", "SHOULD", "stop reading after shutdown, and exit"),
    rule("after-shutdown", "MUST NOT", "begin a request that came after the response to shutdown"),
  ],
  [
    check(
      "deadline 16.2/deadline-ms",
      "a request with _meta.deadlineMs of 1 is answered at once, with -32014 or in time",
      async (server) => {
        const [method, params] = await gatedMethod(server);
        const client = await server.shared();
        const startedAt = performance.now();
        const response = await client.call(method, { ...params, _meta: { deadlineMs: 1 } });
        const tookMs = Math.round(performance.now() - startedAt);
        const code = codeOf(response);
        ensure(code === undefined || code === -32014, `a deadline of 1 ms was answered with ${show(response.error)}`);
        ensure(tookMs < 2_000, `a deadline of 1 ms was answered after ${tookMs} ms`);
      },
    ),
    check("deadline", "a generous _meta.deadlineMs changes nothing", async (server) => {
      const [method, params] = await gatedMethod(server);
      const client = await server.shared();
      for (const deadlineMs of [60_000, 1e15]) {
        const response = await client.call(method, { ...params, _meta: { deadlineMs } });
        ensure(
          response.error === undefined,
          `a deadline of ${deadlineMs} ms was answered with ${show(response.error)}`,
        );
      }
    }),
    check("once", "many requests at once, good and bad, are answered once each", async (server) => {
      const client = await server.session();
      const [method, params] = await gatedMethod(server);
      const messages = Array.from({ length: 24 }, (_, index) => {
        const id = `once-${index}`;
        if (index % 4 === 0) return client.request(method, params, id);
        if (index % 4 === 1) return client.request("rcp-conformance", {}, id);
        return client.request("ping", { nonce: index }, id);
      });
      const { frames } = await client.exchange(messages, messages.length);
      const ids = frames.map(({ value }) => (isObject(value) ? value.id : undefined));
      ensure(
        new Set(ids).size === messages.length && ids.length === messages.length,
        `${messages.length} requests have ${ids.length} answers under ${new Set(ids).size} ids`,
      );
      await client.tell({ jsonrpc: "2.0", method: "notifications/rcp-conformance" });
    }),
    check(
      "after-shutdown stop-reading",
      "after shutdown, the session's requests are not answered",
      async (server) => {
        const client = await lifecycleClient(server);
        await client.result("shutdown");
        const response = await client.call(...(await gatedMethod(server)));
        ensure(
          codeOf(response) === NOT_INITIALIZED,
          `a request of a session that was shut down was answered with ${show(response.result ?? response.error)}`,
        );
      },
      { transport: "http" },
    ),
    check(
      "after-shutdown stop-reading",
      "after shutdown, nothing is answered and the process exits",
      async (server) => {
        const client = server.openProcess();
        await client.initialize();
        await client.result("shutdown");
        const before = client.process.frames.length;
        client.process.write(`${JSON.stringify(client.request("ping", {}, "too-late"))}\n`);
        await sleep(200);
        ensure(client.process.frames.length === before, "a request after shutdown was answered");
        client.process.endInput();
        ensure((await client.process.exit()) !== undefined, "the process still runs long after shutdown");
      },
      { transport: "stdio" },
    ),
    check(
      "stop-reading",
      "after shutdown, the process exits while its standard input is still open",
      async (server) => {
        const client = server.openProcess();
        await client.result("shutdown");
        ensure((await client.process.exit()) !== undefined, "the process still runs long after shutdown");
      },
      { transport: "stdio" },
    ),
  ],
);

export const stability = section(
  "13.2",
  "Capability stability",
  [
    rule("fixed", "MUST NOT", "add, remove or narrow a capability within a session"),
    untried(
      "keep-advertising",
      "MUST",
      "keep a capability whose backend is gone, and fail calls with -32010",
      "a backend cannot be taken away from outside",
    ),
    untried(
      "close-to-change",
      "MUST",
      "close the connection to change its capabilities",
      "what a server needs is not seen from outside",
    ),
    rule("info", "MUST", "report in info what the session's initialize did"),
  ],
  [
    check("fixed info", "info has the capabilities of initialize after a session's work", async (server) => {
      const client = await server.session();
      const initial = client.initialized?.capabilities;
      need(initial !== undefined, "this server has initialized already, for all its callers");
      for (let turn = 0; turn < 3; turn += 1) {
        await client.call(...(await gatedMethod(server)));
        const { capabilities } = await client.result("info");
        ensure(isDeepStrictEqual(capabilities, initial), "info has other capabilities than initialize had");
      }
    }),
    check(
      "fixed",
      "what another client says in its initialize does not change this one's capabilities",
      async (server) => {
        const client = await server.session();
        const initial = client.initialized?.capabilities;
        need(initial !== undefined, "this server has initialized already, for all its callers");
        await server.session("read", { ...INITIALIZE, capabilities: { streaming: {}, log: {} } });
        const { capabilities } = await client.result("info");
        ensure(isDeepStrictEqual(capabilities, initial), "info has other capabilities than initialize had");
      },
    ),
  ],
);
