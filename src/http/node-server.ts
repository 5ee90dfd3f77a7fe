import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";
import { createSecureContext } from "node:tls";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { type Connections, closeGently } from "./connections.ts";

/** How often Node looks for requests that take too long to arrive. */
const TIMEOUT_CHECK_MS = 500;

/** The HTTP or HTTPS server that Fastify listens to, with every limit that belongs to the connection. */
export function createNodeServer(config: Config["server"]): http.Server {
  const options: http.ServerOptions = {
    maxHeaderSize: config.maxHeaderBytes,
    requestTimeout: config.receiveTimeoutMs,
    // Node refuses to wait longer for the headers than for the whole request.
    headersTimeout: Math.min(config.headersTimeoutMs, config.receiveTimeoutMs),
    keepAliveTimeout: config.keepAliveTimeoutMs,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
  };
  const server =
    config.tls === undefined
      ? http.createServer(options)
      : createTlsServer({ ...options, handshakeTimeout: config.headersTimeoutMs }, config.tls);
  // Node by itself would invite every body, wanted or not. Who waits for that may never send what is refused, so the connection,
  // whose next byte could be either, ends; readBody takes that back.
  server.on("checkContinue", (request, response) => {
    response.setHeader("connection", "close");
    closeGently(request.socket);
    server.emit("request", request, response);
  });
  server.maxConnections = config.maxConnections;
  // Bounded by bytes, not by number: headers past a number limit would vanish without a word.
  server.maxHeadersCount = 0;
  // A connection that nothing happens on; longer than any answer takes to make. How long an answer waits is for its route.
  server.timeout = Math.max(config.requestTimeoutMs, config.writeTimeoutMs) + config.receiveTimeoutMs;
  return server;
}

type TlsFiles = NonNullable<Config["server"]["tls"]>;

/** With a CA for clients, a connection without a certificate that it vouches for ends before anything of HTTP is read. */
function createTlsServer(options: https.ServerOptions, files: TlsFiles): https.Server {
  const isOptional = files.clientCertificate === "optional";
  const server = https.createServer({
    ...options,
    ...readTls(files),
    requestCert: files.clientCaFile !== undefined,
    rejectUnauthorized: !isOptional,
  });
  if (isOptional) {
    // A bad certificate is not as good as none: whoever sent it believes that it counts.
    server.on("secureConnection", (socket) => {
      if (!socket.authorized && socket.getPeerX509Certificate() !== undefined) socket.destroy();
    });
  }
  return server;
}

/**
 * A certificate chain and its key, checked against each other, and who vouches for clients.
 *
 * @throws ConfigError that names the setting, when a file cannot be read or is not what it should be
 */
export function readTls(files: Pick<TlsFiles, "certFile" | "keyFile" | "clientCaFile">): {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
} {
  const read = (name: keyof typeof files, file: string) => {
    try {
      return readFileSync(file);
    } catch (cause) {
      throw new ConfigError([`server.tls.${name}: the file cannot be read; name one that this user may read`], {
        cause,
      });
    }
  };
  const pair = { cert: read("certFile", files.certFile), key: read("keyFile", files.keyFile) };
  try {
    createSecureContext(pair);
  } catch (cause) {
    throw new ConfigError(["server.tls: certFile and keyFile must be a certificate chain and its own key, in PEM"], {
      cause,
    });
  }
  if (files.clientCaFile === undefined) return pair;
  const ca = read("clientCaFile", files.clientCaFile);
  try {
    new X509Certificate(ca);
  } catch (cause) {
    throw new ConfigError(["server.tls.clientCaFile: must hold certificates, in PEM"], { cause });
  }
  return { ...pair, ca };
}

const STATUS: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

/** Answers what is not HTTP, or comes too slowly, with a bare status; the connection is then closed. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex, connections: Connections): void {
  // Before the end of its handshake a TLS socket is writable, and never done with what is written.
  const isGone = error.code === "ECONNRESET" || error.code === "ERR_TLS_HANDSHAKE_TIMEOUT" || !socket.writable;
  if (isGone || connections.isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const status = STATUS[error.code ?? ""] ?? "400 Bad Request";
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
}
