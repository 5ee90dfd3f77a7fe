import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";

let latest: Socket | undefined;
subscribe("http.server.request.start", (message) => {
  latest = (message as { readonly socket: Socket }).socket;
});

/** The server's end of the connection over which the latest request came to a server of this process: it tells when it is closed. */
export function servedSocket(): Socket {
  if (latest === undefined) throw new Error("no request has come yet");
  return latest;
}
