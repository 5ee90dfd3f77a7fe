import pg from "pg";

/** What pg keeps of a connection, and what its wire can do, beyond what its types say. */
interface Keys {
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly sslNegotiation?: string;
}
interface Wire extends pg.Connection {
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
}

/**
 * Has the server stop what runs on a connection, by the protocol's own request over a connection of its own.
 *
 * A pooler in between passes it on to whichever backend works for the client now; the process id that it gave the client is made up,
 * so `pg_cancel_backend` of it would reach nobody, or somebody else.
 *
 * @returns when the request was delivered, or could not be within `timeoutMs`
 */
export function requestCancel(client: pg.PoolClient, timeoutMs: number): Promise<void> {
  const { host, port, ssl } = client;
  const { processID, secretKey, sslNegotiation } = client as unknown as Keys;
  if (processID === null || secretKey === null) return Promise.resolve();
  const wire = new pg.Connection({ ssl, sslNegotiation } as pg.ConnectionConfig) as Wire;
  const timer = setTimeout(() => wire.stream.destroy(), timeoutMs).unref();
  return new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const send = () => wire.cancel(processID, secretKey);
    wire.on("connect", () => {
      if (!ssl) send();
      else if (sslNegotiation !== "direct") wire.requestSsl();
    });
    wire.on("sslconnect", send);
    wire.on("error", done);
    // The server answers by closing.
    wire.on("end", done);
    if (host.startsWith("/")) wire.connect(`${host}/.s.PGSQL.${port}`);
    else wire.connect(port, host);
  });
}
