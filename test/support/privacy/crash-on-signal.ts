/**
 * Loaded into a server by `--import`: what a bug would do, told what to hold by the environment. Nothing of it is in the product.
 *
 * SIGUSR2 throws an error, or rejects a promise, that nobody catches and that holds `PLANTED_CRASH` wherever an error can hold
 * something. `PLANTED_LEAK` is printed at once: a search that does not find it finds nothing.
 */
const { PLANTED_CRASH: crash = "", PLANTED_AS: as, PLANTED_LEAK: leak } = process.env;

if (leak !== undefined) console.error(`a line of debugging that somebody forgot: ${leak}`);

process.on("SIGUSR2", () => {
  const cause = Object.assign(new TypeError(`cause ${crash}`), { input: crash });
  const error = Object.assign(new Error(`${crash}\n    at ${crash}`, { cause }), { detail: crash, code: crash });
  if (as === "rejection") void Promise.reject(crash);
  else if (as === "rejected error") void Promise.reject(error);
  else
    setImmediate(() => {
      throw error;
    });
});
