import type { ServerResponse } from "node:http";
import { type RcpServer, type ReceivedCall, sendError, sendResult, startRcpServer } from "../client/rcp-server.ts";

/** A server that takes documents, with the checks and limits that an import meets, and with faults on demand. */

export interface SentDocument {
  readonly id: string;
  readonly text: string;
  readonly meta?: Readonly<Record<string, unknown>>;
}

export interface FakeIndex extends RcpServer {
  readonly stored: Map<string, SentDocument>;
  /** Document ids of each accepted `index/add`. */
  readonly batches: string[][];
}

export interface FakeIndexOptions {
  readonly writable?: boolean;
  /** Answers the call itself and returns true, or leaves it to the usual answer. */
  readonly before?: (call: ReceivedCall, response: ServerResponse, index: FakeIndex) => boolean | Promise<boolean>;
}

export const documentsOf = (call: ReceivedCall): readonly SentDocument[] =>
  call.body.params.documents as readonly SentDocument[];

/** Refuses a year that is not a number, as a server does with a typed field. */
export async function startFakeIndex({ writable = true, before }: FakeIndexOptions = {}): Promise<FakeIndex> {
  const stored = new Map<string, SentDocument>();
  const batches: string[][] = [];
  const server = await startRcpServer(async (call, response) => {
    if (await before?.(call, response, index)) return;
    if (call.body.method === "info") {
      const capabilities = { index: { writable, chunking: true } };
      return sendResult(call, response, { protocolVersion: 1, server: { name: "fake", version: "1" }, capabilities });
    }
    const documents = documentsOf(call);
    const wrong = documents.findIndex(({ meta }) => meta?.year !== undefined && typeof meta.year !== "number");
    if (wrong !== -1) {
      return sendError(call, response, -32602, {
        field: `documents[${wrong}].meta.year`,
        detail: "year is an integer",
      });
    }
    for (const document of documents) stored.set(document.id, document);
    batches.push(documents.map((document) => document.id));
    sendResult(call, response, { ids: documents.map((document) => document.id), chunks: documents.length });
  });
  const index = { ...server, stored, batches };
  return index;
}
