import type { Handler } from "../../src/methods/handler.ts";
import { info } from "../../src/methods/info.ts";
import { initialize } from "../../src/methods/initialize.ts";
import { ping } from "../../src/methods/ping.ts";
import { shutdown } from "../../src/methods/shutdown.ts";
import { planAdd } from "../../src/plan/plan-add.ts";
import { planDelete } from "../../src/plan/plan-delete.ts";
import { planRetrieval } from "../../src/plan/plan-retrieval.ts";
import type { MethodName } from "../../src/protocol/methods.ts";

/** The core methods, and the others as far as their plan: what can be refused is refused, then an empty corpus answers. */
export const PLAN_ONLY_HANDLERS = {
  initialize,
  info,
  ping,
  shutdown,
  async retrieve(params, _call, { offer }) {
    planRetrieval(params, offer.retrieval);
    return { hits: [], usage: { candidates: 0, reranked: 0, latencyMs: 0 } };
  },
  async "index/add"(params, _call, { offer }) {
    planAdd(params, offer.add);
    return { ids: [], chunks: 0 };
  },
  async "index/delete"(params, _call, { offer }) {
    planDelete(params, offer.delete);
    return { deleted: 0 };
  },
} as const satisfies Partial<Record<MethodName, Handler>>;
