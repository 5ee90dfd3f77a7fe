/** Rejects at once when the signal aborts; the promise itself goes on, and its outcome is not missed. */
export function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  promise.catch(() => {});
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    const off = () => signal.removeEventListener("abort", abort);
    promise.then(
      (value) => {
        off();
        resolve(value);
      },
      (error: unknown) => {
        off();
        reject(error);
      },
    );
  });
}
