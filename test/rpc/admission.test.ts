import { describe, expect, test } from "vitest";
import type { TenantId } from "../../src/catalog/corpus.ts";
import { configSchema } from "../../src/config/config.ts";
import { createAdmission } from "../../src/rpc/admission.ts";

const flood = "flood" as TenantId;
const neighbour = "neighbour" as TenantId;
const signal = new AbortController().signal;

/** Two calls run at a time and four wait, one and two of them of one tenant. */
const admission = () => {
  const turns = { running: 2, waiting: 4 };
  return createAdmission(configSchema.parse({ load: { reads: turns, writes: turns } }));
};

describe.each([
  ["reads", "retrieve", "index/add"],
  ["writes", "index/delete", "embed"],
] as const)("%s", (kind, method, other) => {
  test("of a tenant that floods are refused with -32011 once its share of the waiting is full, and nobody else's", async () => {
    const { enter } = admission();
    const leave = await enter(method, flood, signal);
    const waiting = [enter(method, flood, signal), enter(method, flood, signal)];
    await expect(enter(method, flood, signal)).rejects.toMatchObject({
      code: -32011,
      data: { retryable: true, retryAfterMs: 1_000, detail: `too many ${kind} are waiting (load.${kind})` },
    });
    (await enter(method, neighbour, signal))();
    (await enter(other, flood, signal))();
    leave();
    for (const turn of waiting) (await turn)();
    (await enter(method, flood, signal))();
  });

  test("that were cancelled while they waited leave their room to others", async () => {
    const { enter } = admission();
    const leave = await enter(method, flood, signal);
    const controller = new AbortController();
    const cancelled = [1, 2].map(() => enter(method, flood, controller.signal));
    controller.abort("cancelled");
    for (const call of cancelled) await expect(call).rejects.toBe("cancelled");
    const next = enter(method, flood, signal);
    leave();
    (await next)();
  });
});

test("core methods run whatever waits", async () => {
  const { enter } = admission();
  await enter("retrieve", flood, signal);
  for (const method of ["ping", "info", "initialize", "shutdown"] as const) await enter(method, flood, signal);
});
