import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { sendError, sendResult, sendText, withSessions } from "./fake-server.ts";
import { openBridge } from "./open-bridge.ts";

const echoing = () => withSessions((call, response) => sendResult(call, response, { method: call.body.method }));

describe("§13 before initialize", () => {
  test("every method but info, ping and shutdown is -32001 and never reaches the server", async () => {
    const { ask, server } = await openBridge(echoing());
    for (const method of ["retrieve", "index/add", "embed", "does/not/exist"])
      expect((await ask(method)).error?.code).toBe(-32001);
    expect((await ask("info")).result).toEqual({ method: "info" });
    expect((await ask("ping")).result).toEqual({ method: "ping" });
    expect(server.methods()).toEqual(["info", "ping"]);
    expect(server.calls[0]?.headers["rcp-session"]).toBeUndefined();
  });

  test("shutdown is answered and asks nothing of the server", async () => {
    const { ask, server, bridge } = await openBridge(echoing());
    expect((await ask("shutdown")).result).toEqual({});
    expect(bridge.isOpen).toBe(false);
    expect(server.calls).toEqual([]);
  });

  test("a version that does not match leaves it uninitialized, and initialize may be tried again", async () => {
    const echo = echoing();
    const { ask, initialize } = await openBridge((call, response, request) =>
      call.body.method === "initialize" && call.body.params.protocolVersion === 0
        ? sendError(call, response, -32002)
        : echo(call, response, request),
    );
    expect((await initialize({ protocolVersion: 0 })).error?.code).toBe(-32002);
    expect((await ask("retrieve")).error?.code).toBe(-32001);
    expect((await initialize()).result?.protocolVersion).toBe(1);
    expect((await ask("retrieve")).result).toEqual({ method: "retrieve" });
  });

  test("an initialize that the server did not answer leaves it uninitialized", async () => {
    let isBroken = true;
    const echo = echoing();
    const { ask, initialize } = await openBridge((call, response, request) =>
      isBroken ? sendText(response, 503, "") : echo(call, response, request),
    );
    expect((await initialize()).error?.code).toBe(-32010);
    expect((await ask("retrieve")).error?.code).toBe(-32001);
    isBroken = false;
    expect((await initialize()).error).toBeUndefined();
  });
});

describe("§13 after initialize", () => {
  test("a second one is -32600, whatever its version, and never reaches the server", async () => {
    const { initialize, ask, server } = await openBridge(echoing());
    await initialize();
    expect((await initialize()).error?.code).toBe(-32600);
    expect((await initialize({ protocolVersion: 0 })).error?.code).toBe(-32600);
    expect((await ask("retrieve")).error).toBeUndefined();
    expect(server.methods()).toEqual(["initialize", "retrieve"]);
  });

  test("what was sent without waiting for its answer is judged by it", async () => {
    const echo = echoing();
    const { initialize, ask } = await openBridge(async (call, response, request) => {
      if (call.body.method === "initialize") await pause(100);
      return echo(call, response, request);
    });
    const answers = await Promise.all([initialize(), ask("retrieve"), initialize()]);
    expect(answers.map(({ error }) => error?.code)).toEqual([undefined, undefined, -32600]);
  });

  test("§5.2 the session goes upstream as RCP-Session and never to the client", async () => {
    const { initialize, ask, server } = await openBridge(echoing());
    const { result } = await initialize();
    expect(result?._meta).toEqual({ conformance: "L1" });
    expect(result?.capabilities).toEqual({ retrieve: {} });
    await ask("retrieve");
    await ask("info");
    expect(server.calls.map(({ headers }) => headers["rcp-session"])).toEqual([undefined, "s1", "s1"]);
  });

  test("a server without sessions is sent none", async () => {
    const { initialize, ask, bridge, server } = await openBridge((call, response) =>
      sendResult(call, response, { protocolVersion: 1, capabilities: {} }),
    );
    await initialize();
    await ask("retrieve");
    await bridge.close(1_000);
    expect(server.methods()).toEqual(["initialize", "retrieve"]);
    expect(server.calls[1]?.headers["rcp-session"]).toBeUndefined();
  });
});

describe("§13.1 shutdown", () => {
  test("waits for what runs, ends the session, and nothing is started after it", async () => {
    const { initialize, ask, server, bridge } = await openBridge(
      withSessions(async (call, response) => {
        await pause(150);
        sendResult(call, response, { late: true });
      }),
    );
    await initialize();
    const order: string[] = [];
    const running = ask("retrieve", {}, "r").then((frame) => order.push(`retrieve ${frame.result?.late}`));
    const ending = ask("shutdown", {}, "s").then((frame) => order.push(`shutdown ${JSON.stringify(frame.result)}`));
    const late = await ask("retrieve", {}, "late");
    await Promise.all([running, ending]);

    expect(late.error).toMatchObject({ code: -32010, data: { retryable: false } });
    expect(order).toEqual(["retrieve true", "shutdown {}"]);
    expect(await bridge.ended).toBe("shutdown");
    expect(server.methods()).toEqual(["initialize", "retrieve", "shutdown"]);
    expect(server.calls.at(-1)?.headers["rcp-session"]).toBe("s1");
  });

  test("is answered when the server is gone", async () => {
    const { initialize, ask, server } = await openBridge(echoing());
    await initialize();
    await server.close();
    expect((await ask("shutdown")).result).toEqual({});
  });

  test("what outlives the wait is answered -32014", async () => {
    const { initialize, ask, bridge } = await openBridge(withSessions(() => {}));
    await initialize();
    const running = ask("retrieve");
    await bridge.close(50);
    expect((await running).error?.code).toBe(-32014);
  });
});

describe("§13.2 a session that the server no longer knows", () => {
  /** Knows the newest session only, and that one until `forget`. */
  function forgetful(capabilitiesOf: (opened: number) => object = () => ({ retrieve: {} })) {
    let opened = 0;
    let known = "";
    return {
      forget: () => {
        known = "";
      },
      answer: ((call, response, _request) => {
        if (call.body.method === "initialize") {
          opened += 1;
          known = `s${opened}`;
          const result = {
            protocolVersion: 1,
            server: {},
            capabilities: capabilitiesOf(opened),
            _meta: { session: known },
          };
          return sendResult(call, response, result);
        }
        return call.headers["rcp-session"] === known
          ? sendResult(call, response, { session: known })
          : sendError(call, response, -32001);
      }) satisfies Parameters<typeof openBridge>[0],
    };
  }

  test("is opened once more with the client's own params, and the call is repeated", async () => {
    const { answer, forget } = forgetful();
    const { initialize, ask, server } = await openBridge(answer);
    await initialize({ _meta: { logLevel: "info" } });
    forget();
    expect((await ask("retrieve", { query: "x" }, "mine")).result).toEqual({ session: "s2" });
    expect(server.methods()).toEqual(["initialize", "retrieve", "initialize", "retrieve"]);
    expect(server.calls[2]?.body.params).toEqual(server.calls[0]?.body.params);
  });

  test("is opened once for all the calls that find it gone", async () => {
    const { answer, forget } = forgetful();
    let isForgetting = false;
    const { promise: allAreLost, resolve } = Promise.withResolvers<void>();
    let lost = 0;
    const { initialize, ask, server } = await openBridge(async (call, response, request) => {
      if (isForgetting && call.headers["rcp-session"] === "s1") {
        lost += 1;
        if (lost === 4) resolve();
        await allAreLost;
      } else if (isForgetting && call.body.method === "initialize") await pause(100);
      answer(call, response, request);
    });
    await initialize();
    forget();
    isForgetting = true;
    const frames = await Promise.all(["a", "b", "c", "d"].map((id) => ask("retrieve", {}, id)));
    expect(frames.map(({ id, result }) => [id, result?.session])).toEqual(["a", "b", "c", "d"].map((id) => [id, "s2"]));
    expect(server.methods().filter((method) => method === "initialize")).toHaveLength(2);
  });

  test("with other capabilities is -32010, and the bridge takes no further call", async () => {
    const { answer, forget } = forgetful((opened) => (opened === 1 ? { retrieve: {} } : { retrieve: {}, rerank: {} }));
    const { initialize, ask, bridge, server } = await openBridge(answer);
    await initialize();
    forget();
    expect((await ask("retrieve")).error).toMatchObject({ code: -32010, data: { retryable: false } });
    expect(await bridge.ended).toBe("changed");
    expect((await ask("ping")).error?.code).toBe(-32010);
    await bridge.close(1_000);
    expect(server.methods()).toEqual(["initialize", "retrieve", "initialize", "shutdown"]);
  });

  test("with the same capabilities in another order is the same", async () => {
    const { answer, forget } = forgetful((opened) =>
      opened === 1 ? { a: {}, b: { x: 1, y: 2 } } : { b: { y: 2, x: 1 }, a: {} },
    );
    const { initialize, ask } = await openBridge(answer);
    await initialize();
    forget();
    expect((await ask("retrieve")).result).toEqual({ session: "s2" });
  });

  test("with another number of engines in its catalogue is the same, and without a catalogue is not", async () => {
    const { answer, forget } = forgetful((opened) =>
      opened < 3 ? { retrieve: {}, catalog: { engines: opened } } : { retrieve: {} },
    );
    const { initialize, ask, bridge } = await openBridge(answer);
    await initialize();
    forget();
    expect((await ask("retrieve")).result).toEqual({ session: "s2" });
    forget();
    expect((await ask("retrieve")).error).toMatchObject({ code: -32010, data: { retryable: false } });
    expect(await bridge.ended).toBe("changed");
  });

  test("that is lost again at once is -32010, never -32001: the client has done its part", async () => {
    const { initialize, ask, server } = await openBridge(
      withSessions((call, response) => sendError(call, response, -32001)),
    );
    await initialize();
    expect((await ask("retrieve")).error).toMatchObject({ code: -32010, data: { retryable: true } });
    expect(server.methods()).toEqual(["initialize", "retrieve", "initialize", "retrieve"]);
  });

  test("whose comparison fails is -32603, and the bridge goes on", async () => {
    const { ask, initialize, said } = await openBridge((call, response) => {
      if (call.body.method === "ping") return sendResult(call, response, {});
      if (call.body.method === "retrieve") return sendError(call, response, -32001);
      const capabilities = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;
      sendText(response, 200, `{"jsonrpc":"2.0","id":${call.body.id},"result":{"capabilities":${capabilities}}}`);
    });
    await initialize();
    expect(await ask("retrieve", {}, "mine")).toMatchObject({ id: "mine", error: { code: -32603 } });
    expect(said.at(-1)).toContain("unexpected");
    expect((await ask("ping")).result).toEqual({});
  });

  test("that cannot be opened now is what the server says of that", async () => {
    let isFull = false;
    const sessions = withSessions((call, response) => sendError(call, response, -32001));
    const { initialize, ask } = await openBridge((call, response, request) =>
      isFull && call.body.method === "initialize"
        ? sendError(call, response, -32011, { retryable: true, retryAfterMs: 5 })
        : sessions(call, response, request),
    );
    await initialize();
    isFull = true;
    expect((await ask("retrieve")).error).toMatchObject({ code: -32011, data: { retryAfterMs: 5 } });
  });
});
