import { z } from "zod";
import type { Config } from "../config/config.ts";
import type { OperatorDatabase } from "../db/database.ts";
import { listAudit } from "../maintenance/audit.ts";
import { collect } from "../maintenance/collect.ts";
import type { WithModel } from "../maintenance/configured-model.ts";
import { createCorpus, listCorpora, setLanguage } from "../maintenance/corpora.ts";
import { exportDocuments, listDocuments, showDocument } from "../maintenance/documents.ts";
import { explainRetrieve } from "../maintenance/explain-retrieve.ts";
import { listFeedback } from "../maintenance/feedback.ts";
import { purgeDocuments } from "../maintenance/purge.ts";
import { quarantineDocuments, quarantineSuspected, releaseDocuments } from "../maintenance/quarantine.ts";
import { listSources, restoreSource, revokeSource } from "../maintenance/sources.ts";
import { createTenant, listTenants, setQuotas } from "../maintenance/tenants.ts";
import { filterFields } from "../plan/filter-fields.ts";
import { hasNul, isWellFormed } from "../protocol/text.ts";
import { CommandFailure, ExitCode } from "./exit.ts";

/** Operator commands as data, so that the same ones run in a command's own process and, over the control socket, in the server's. */

export interface OperatorContext {
  readonly database: OperatorDatabase;
  readonly config: Config;
  readonly withModel: WithModel;
}

/** What a command gives: plain JSON values, one at a time. */
export type OperatorRows = AsyncIterable<object>;

interface OperatorCommand {
  run(context: OperatorContext, args: unknown): OperatorRows;
}

function command<Shape extends z.ZodType>(
  shape: Shape,
  run: (context: OperatorContext, args: z.infer<Shape>) => OperatorRows,
): OperatorCommand {
  return {
    run(context, args) {
      const parsed = shape.safeParse(args);
      if (parsed.success) return run(context, parsed.data);
      const [issue] = parsed.error.issues;
      const place = issue?.path.join(".");
      const why = issue?.code === "custom" ? ` ${issue.message}` : "";
      throw new CommandFailure(
        ExitCode.usage,
        `the arguments of this command do not hold${place ? `: ${place}${why}` : ""}`,
        "use the pgrcp of the same version as the server",
      );
    },
  };
}

async function* rowsOf(load: Promise<readonly object[]>): OperatorRows {
  yield* await load;
}

/** What Postgres can compare: it takes no U+0000, and half a surrogate pair would become another character on its way. */
const text = z
  .string()
  .min(1)
  .refine((value) => !hasNul(value) && isWellFormed(value), "must be well-formed text without U+0000");
const address = z.strictObject({ tenant: text, corpus: text });
const byIds = address.extend({ ids: z.array(text).min(1) });
const amount = z.int().min(0).nullable();
/** Null for those of the configuration. */
const quotas = z.strictObject({ documents: amount, textBytes: amount }).nullable();
const ofSource = z.strictObject({ tenant: text, source: text });

const COMMANDS: ReadonlyMap<string, OperatorCommand> = new Map([
  [
    "tenants.create",
    command(z.strictObject({ tenant: text }), async function* ({ database, config }, { tenant }) {
      yield { tenant, created: await createTenant(database, config, tenant) };
    }),
  ],
  [
    "tenants.quota",
    command(z.strictObject({ tenant: text, quotas }), async function* ({ database }, { tenant, quotas }) {
      await setQuotas(database, tenant, quotas);
      yield { tenant, ownQuotas: quotas };
    }),
  ],
  ["tenants.list", command(z.strictObject({}), ({ database }) => rowsOf(listTenants(database)))],
  [
    "corpora.create",
    command(
      z.strictObject({
        tenant: text,
        corpus: text,
        language: text.optional(),
        screening: z.enum(["flag", "quarantine", "refuse"]).optional(),
      }),
      async function* ({ database, config, withModel }, settings) {
        yield await createCorpus(database, config, settings, () => withModel(({ space }) => space));
      },
    ),
  ],
  [
    "corpora.language",
    command(address.extend({ language: text }), async function* ({ database }, settings) {
      yield await setLanguage(database, settings);
    }),
  ],
  [
    "corpora.list",
    command(z.strictObject({ tenant: text.optional() }), ({ database }, { tenant }) =>
      rowsOf(listCorpora(database, tenant)),
    ),
  ],
  [
    "explain",
    command(
      address.extend({ query: text, filter: z.unknown().optional() }),
      async function* ({ database, config, withModel }, question) {
        yield await explainRetrieve(database, config, question, withModel);
      },
    ),
  ],
  [
    "documents.list",
    command(
      address.extend({
        source: text.optional(),
        quarantined: z.boolean().optional(),
        suspected: z.boolean().optional(),
        unfit: text.optional(),
        limit: z.int().min(1).optional(),
      }),
      ({ database }, listing) => listDocuments(database, listing),
    ),
  ],
  [
    "documents.show",
    command(address.extend({ id: text }), async function* ({ database }, { id, ...corpus }) {
      yield await showDocument(database, corpus, id);
    }),
  ],
  [
    "documents.quarantine",
    command(byIds, async function* ({ database }, { ids, ...corpus }) {
      yield await quarantineDocuments(database, corpus, ids);
    }),
  ],
  [
    "documents.release",
    command(byIds, async function* ({ database, config, withModel }, { ids, ...corpus }) {
      const fields = filterFields(config.filter.fields);
      yield await releaseDocuments(database, corpus, ids, { indexing: config.indexing, fields, withModel });
    }),
  ],
  ["versions.collect", command(z.strictObject({}), ({ database, config }) => collect(database, config.retention))],
  [
    "feedback.list",
    command(z.strictObject({ tenant: text, limit: z.int().min(1) }), ({ database }, { tenant, limit }) =>
      rowsOf(listFeedback(database, tenant, limit)),
    ),
  ],
  [
    "feedback.quarantine",
    command(z.strictObject({ tenant: text.optional(), dryRun: z.boolean() }), ({ database, config }, options) =>
      quarantineSuspected(database, config.feedback.quarantineAfter, options),
    ),
  ],
  [
    "sources.list",
    command(z.strictObject({ tenant: text, corpus: text.optional() }), ({ database }, { tenant, corpus }) =>
      rowsOf(listSources(database, tenant, corpus)),
    ),
  ],
  ["sources.revoke", command(ofSource, ({ database }, { tenant, source }) => revokeSource(database, tenant, source))],
  ["sources.restore", command(ofSource, ({ database }, { tenant, source }) => restoreSource(database, tenant, source))],
  [
    "purge",
    command(byIds, async function* ({ database }, { ids, ...corpus }) {
      yield await purgeDocuments(database, corpus, ids);
    }),
  ],
  [
    "audit",
    command(z.strictObject({ tenant: text, since: z.iso.datetime() }), ({ database }, { tenant, since }) =>
      listAudit(database, tenant, since),
    ),
  ],
  ["documents.export", command(address, ({ database }, corpus) => exportDocuments(database, corpus))],
]);

/** @throws CommandFailure for an unknown command or arguments of another shape; what the command itself throws, while it is read */
export function runOperatorCommand(context: OperatorContext, name: string, args: unknown): OperatorRows {
  const found = COMMANDS.get(name);
  if (found !== undefined) return found.run(context, args);
  throw new CommandFailure(
    ExitCode.usage,
    "the server knows no such operator command",
    "use the pgrcp of the same version as the server",
  );
}
