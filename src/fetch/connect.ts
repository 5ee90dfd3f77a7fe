import { once } from "node:events";
import { isIP, type LookupFunction, type Socket, connect as tcpConnect } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { FetchRefusal } from "./refusal.ts";

export interface Destination {
  /** A name, or one of the addresses. */
  readonly host: string;
  readonly port: number;
  /** Checked; nothing else is dialled. */
  readonly addresses: readonly string[];
}

/** Opens a TCP connection. */
export type Dial = (to: Destination, isAccepted: (address: string) => boolean, signal: AbortSignal) => Promise<Socket>;

/**
 * Dials the addresses that were checked, in their order until one answers; the name is not resolved again.
 *
 * @throws FetchRefusal
 */
export const dialChecked: Dial = async ({ host, port, addresses }, isAccepted, signal) => {
  const lookup: LookupFunction = (_host, _options, answer) =>
    answer(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    );
  const socket = tcpConnect({ host, port, lookup, autoSelectFamily: true });
  await opened(socket, "connect", signal);
  if (isAccepted(socket.remoteAddress ?? "")) return socket;
  socket.destroy();
  throw new FetchRefusal("connect");
};

/** The certificate must be good for the host; neither settings of the process nor the caller can change that. */
export async function secure(socket: Socket, host: string, signal: AbortSignal): Promise<Socket> {
  const encrypted = tlsConnect({
    socket,
    host,
    ...(isIP(host) === 0 && { servername: host }),
    ALPNProtocols: ["http/1.1"],
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
  });
  await opened(encrypted, "secureConnect", signal);
  return encrypted;
}

async function opened(socket: Socket, event: "connect" | "secureConnect", signal: AbortSignal): Promise<void> {
  socket.on("error", () => {}); // one that comes after an abort
  try {
    await once(socket, event, { signal });
  } catch (cause) {
    socket.destroy();
    throw new FetchRefusal("connect", { cause });
  }
}
