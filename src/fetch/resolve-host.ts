import { Resolver } from "node:dns/promises";
import { FetchRefusal } from "./refusal.ts";

/** All addresses of a name; none when there is no such name. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

const NO_ANSWER: ReadonlySet<unknown> = new Set(["ENODATA", "ENOTFOUND"]);

const noneIfUnknown = (error: unknown): string[] => {
  if (error instanceof Error && "code" in error && NO_ANSWER.has(error.code)) return [];
  throw error;
};

/**
 * Asks the name servers themselves: no hosts file, no search domains, and none of the threads that files are read by.
 *
 * @param servers such as `127.0.0.1:53`; the machine's own by default
 */
export function dnsResolver(servers?: readonly string[]): Resolve {
  return async (name, signal) => {
    signal.throwIfAborted();
    const resolver = new Resolver({ timeout: 2_000, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const answers = [resolver.resolve4(name), resolver.resolve6(name)].map((one) => one.catch(noneIfUnknown));
      return (await Promise.all(answers)).flat();
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  };
}

/**
 * The addresses of a name, of which every one may be dialled.
 *
 * The name is asked twice and the first answer is the one that is dialled, so the second changes no address: it tells a name that
 * answers differently each time (DNS rebinding), which is refused as a whole.
 *
 * @throws FetchRefusal
 */
export async function acceptedAddresses(
  name: string,
  resolve: Resolve,
  isAccepted: (address: string) => boolean,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const ask = async () => {
    const addresses = await resolve(name, signal).catch((cause: unknown) => {
      throw new FetchRefusal("dns", { cause });
    });
    if (addresses.length === 0) throw new FetchRefusal("dns");
    if (!addresses.every(isAccepted)) throw new FetchRefusal("address");
    return addresses;
  };
  const addresses = await ask();
  await ask();
  return addresses;
}
