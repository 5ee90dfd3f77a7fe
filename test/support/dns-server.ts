import { createSocket, type RemoteInfo } from "node:dgram";
import { once } from "node:events";
import { isIP } from "node:net";

/** A name server on loopback that answers as a test says (RFC 1035, RFC 3596). */

export interface Question {
  readonly name: string;
  readonly type: "A" | "AAAA";
}

/** A record of the answer; its owner is the question's name unless it says otherwise. */
export type DnsRecord =
  | { readonly address: string; readonly owner?: string }
  | { readonly alias: string; readonly owner?: string };

/** How a question is answered: records (none: the name has none of that type), a failure, or not at all. */
export type DnsAnswer = readonly DnsRecord[] | "NXDOMAIN" | "SERVFAIL" | "REFUSED" | "silence";

export interface DnsServer {
  /** As name servers are named: `address:port`. */
  readonly server: string;
  /** In the order they came. */
  readonly questions: Question[];
  close(): void;
}

const TYPES = { A: 1, AAAA: 28, CNAME: 5 } as const;
const CODES = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
const HEADER_BYTES = 12;
const INTERNET = 1;

export async function startDnsServer(answerTo: (question: Question) => DnsAnswer): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const questions: Question[] = [];
  socket.on("message", (message: Buffer, from: RemoteInfo) => {
    const { question, bytes } = readQuestion(message);
    questions.push(question);
    const answer = answerTo(question);
    if (answer !== "silence") socket.send(reply(message, bytes, question, answer), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { server: `127.0.0.1:${socket.address().port}`, questions, close: () => socket.close() };
}

function readQuestion(message: Buffer): { question: Question; bytes: Buffer } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = message.readUInt16BE(at + 1) === TYPES.AAAA ? "AAAA" : "A";
  return { question: { name: labels.join("."), type }, bytes: message.subarray(HEADER_BYTES, at + 5) };
}

function reply(asked: Buffer, question: Buffer, { name }: Question, answer: Exclude<DnsAnswer, "silence">): Buffer {
  const [code, records] = typeof answer === "string" ? [CODES[answer], []] : [0, answer];
  const header = Buffer.alloc(HEADER_BYTES);
  asked.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | code, 2); // an answer, recursion desired and available
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question, ...records.map((record) => recordBytes(record, name))]);
}

function recordBytes(record: DnsRecord, name: string): Buffer {
  const data = "alias" in record ? nameBytes(record.alias) : addressBytes(record.address);
  const type = "alias" in record ? TYPES.CNAME : isIP(record.address) === 6 ? TYPES.AAAA : TYPES.A;
  const fields = Buffer.alloc(10); // type, class, a lifetime of 0 seconds, length
  fields.writeUInt16BE(type, 0);
  fields.writeUInt16BE(INTERNET, 2);
  fields.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameBytes(record.owner ?? name), fields, data]);
}

const nameBytes = (name: string): Buffer =>
  Buffer.concat([...name.split("."), ""].map((label) => Buffer.from([label.length, ...Buffer.from(label, "latin1")])));

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail = ""] = address.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16)));
  const [first, last] = [groups(head), groups(tail)];
  const all = [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
