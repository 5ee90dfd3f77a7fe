import { setTimeout as sleep } from "node:timers/promises";
import { configSchema } from "../../src/config/config.ts";
import type { EmbeddingModel } from "../../src/models/embedding.ts";
import { loadEmbeddingModel } from "../../src/models/load-embedding-model.ts";
import type { Deployment } from "../support/isolation/deployment.ts";
import type { ComposeStack } from "./compose-stack.ts";

/** Looks at the database, and how long they are apart. A request that was cut off ends within moments of its connection. */
const QUIET_LOOKS = 3;
const LOOK_EVERY_MS = 300;

const BUSY =
  "select count(*)::int as n from pg_stat_activity where datname = current_database() and usename like 'pgrcp\\_%' and state <> 'idle'";

export interface ComposeDeployment extends Deployment {
  /** Lets the model go; the stack stays. */
  close(): Promise<void>;
}

/** The stack as its clients and its operator reach it: through the TLS ingress, and by the services `token` and `operator`. */
export async function composeDeployment(stack: ComposeStack): Promise<ComposeDeployment> {
  const model = await loadEmbeddingModel(configSchema.parse({}).models.embedding);
  const operator = (...args: readonly string[]) => stack.compose("run", "--rm", "-T", "operator", ...args);
  const rows: Deployment["rows"] = async (text, values) => {
    const found = await stack.psql(`select json_agg(found) from (${text}) found ${bindings(values)} \\g\n`);
    return JSON.parse(found || "[]");
  };
  return {
    url: `https://localhost:${stack.tlsPort}`,
    authority: await stack.authority(),
    embedding: remembering(model),
    token: (tenant, credential) => stack.token(credential, tenant),
    async createTenant(tenant, corpus) {
      await operator("tenants", "create", tenant);
      await operator("corpora", "create", tenant, corpus);
    },
    async rest() {
      for (let quiet = 0; quiet < QUIET_LOOKS; ) {
        await sleep(LOOK_EVERY_MS);
        const [busy] = await rows(BUSY, []);
        quiet = busy?.n === 0 ? quiet + 1 : 0;
      }
    },
    rows,
    close: () => model.close(),
  };
}

/** psql's own parameters, for names without a quote in them. */
const bindings = (values: readonly string[]) =>
  values.length === 0 ? "" : `\\bind ${values.map((value) => `'${value}'`).join(" ")}`;

/** The model with every vector kept: the same few texts are asked for all the time, and their vectors are the same bits. */
function remembering(model: EmbeddingModel): EmbeddingModel {
  const known = new Map<string, Float32Array>();
  return {
    ...model,
    async embed(texts, kind, signal) {
      const keyOf = (text: string) => `${kind} ${text}`;
      const unknown = texts.filter((text) => !known.has(keyOf(text)));
      const vectors = await model.embed(unknown, kind, signal);
      for (const [index, text] of unknown.entries()) known.set(keyOf(text), vectors[index] ?? new Float32Array());
      return texts.map((text) => known.get(keyOf(text)) ?? new Float32Array());
    },
  };
}
