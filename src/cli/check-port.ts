import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { get as httpGet, type IncomingMessage } from "node:http";
import { get as httpsGet } from "node:https";
import { createServer } from "node:net";
import { connect as tlsConnect } from "node:tls";
import type { Config } from "../config/config.ts";
import { type Finding, warning } from "../db/finding.ts";
import { listenFailure } from "./listen-failure.ts";

const ANSWER_MS = 2_000;

/**
 * Whether a server could listen now. That one answers there already is worth a warning only: it may be the one that is looked after.
 *
 * @throws CommandFailure when it could not
 */
export async function checkPort(server: Config["server"]): Promise<readonly Finding[]> {
  try {
    await tryListen(server);
    return [];
  } catch (error) {
    const failure = listenFailure(error, server);
    if (!isTaken(error) || !(await isAnswering(server))) throw failure;
    return [warning(`a pgrcp server answers on port ${server.port}`, "stop it before you start another one there")];
  }
}

const isTaken = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EADDRINUSE";

function tryListen({ host, port }: Config["server"]): Promise<void> {
  return new Promise((resolve, reject) => {
    const listener = createServer();
    listener.once("error", reject);
    listener.listen({ host, port }, () => listener.close(() => resolve()));
  });
}

/** Asks for `/healthz`, which needs no token and is given none, so whoever answers need not be trusted. */
function isAnswering({ host, port, tls }: Config["server"]): Promise<boolean> {
  const options = { host, port, path: "/healthz", timeout: ANSWER_MS, agent: false };
  if (tls?.clientCaFile !== undefined && tls.clientCertificate === "required")
    return hasCertificate(options, tls.certFile);
  return new Promise((resolve) => {
    const onAnswer = (response: IncomingMessage) => {
      const isHealth = (text: string) => response.statusCode === 200 && text === '{"status":"ok"}';
      firstPiece(response)
        .then(isHealth)
        .then(resolve, () => resolve(false));
    };
    const request =
      tls === undefined ? httpGet(options, onAnswer) : httpsGet({ ...options, rejectUnauthorized: false }, onAnswer);
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(false));
  });
}

/** Where only clients with a certificate are heard: whether who answers there shows the certificate that is configured. */
async function hasCertificate(
  { host, port, timeout }: { readonly host: string; readonly port: number; readonly timeout: number },
  certFile: string,
): Promise<boolean> {
  const own = new X509Certificate(await readFile(certFile)).fingerprint256;
  return await new Promise((resolve) => {
    const socket = tlsConnect({ host, port, timeout, rejectUnauthorized: false });
    const answer = (found: boolean) => {
      socket.destroy();
      resolve(found);
    };
    socket.once("secureConnect", () => answer(socket.getPeerX509Certificate()?.fingerprint256 === own));
    socket.once("timeout", () => answer(false));
    socket.once("error", () => answer(false));
  });
}

async function firstPiece(stream: AsyncIterable<Buffer>): Promise<string> {
  for await (const piece of stream) return piece.toString("utf8");
  return "";
}
