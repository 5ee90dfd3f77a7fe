import { onTestFinished } from "vitest";
import { answerBody } from "../../src/bridge/answer-body.ts";
import { Bridge } from "../../src/bridge/bridge.ts";
import type { Caller } from "../../src/bridge/running-call.ts";
import { createUpstream } from "../../src/bridge/upstream.ts";
import type { Place } from "../../src/protocol/envelope.ts";
import { TLS_CERT } from "../support/tls-pair.ts";
import { type Answer, type FakeServer, startFakeServer } from "./fake-server.ts";

/** A JSON-RPC message as a test reads it. */
export interface Frame {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Record<string, unknown> };
}

export interface OpenBridge {
  readonly bridge: Bridge;
  readonly server: FakeServer;
  /** What the bridge told a person. */
  readonly said: string[];
  /** Sends a call as a line of its own and gives the frame that answers it. */
  ask(method: string, params?: object, id?: string | number, caller?: Caller): Promise<Frame>;
  /** Sends any text. */
  send(text: string, caller?: Caller, place?: Place): Promise<string | undefined>;
  initialize(params?: object): Promise<Frame>;
}

export interface BridgeParts {
  readonly timeoutMs?: number;
  readonly token?: () => Promise<string | undefined>;
  /** False leaves it the system's certificates, which are not the server's. */
  readonly trustsServer?: boolean;
  /** Where the bridge goes, when not to the server. */
  readonly base?: URL;
}

/** A bridge to a server that answers as the test says. Both end with the test. */
export async function openBridge(answer: Answer, parts: BridgeParts = {}): Promise<OpenBridge> {
  const server = await startFakeServer(answer);
  const said: string[] = [];
  const say = (line: string) => void said.push(line);
  const { base = server.base, token = async () => "secret-token", trustsServer = true, timeoutMs = 10_000 } = parts;
  const upstream = createUpstream({ base, token, say, ...(trustsServer && { ca: Buffer.from(TLS_CERT) }) });
  const bridge = new Bridge({ upstream, timeoutMs, say });
  onTestFinished(async () => {
    upstream.close();
    await server.close();
  });
  const send: OpenBridge["send"] = (text, caller = {}, place = { kind: "line" }) =>
    answerBody(Buffer.from(text), place, bridge, caller);
  const ask: OpenBridge["ask"] = async (method, params = {}, id = 1, caller = {}) =>
    JSON.parse((await send(JSON.stringify({ jsonrpc: "2.0", id, method, params }), caller)) ?? "");
  return {
    bridge,
    server,
    said,
    ask,
    send,
    initialize: (params = {}) => ask("initialize", { protocolVersion: 1, client: { name: "test" }, ...params }, "init"),
  };
}
