import { type Command, Option } from "commander";
import type { FeedbackRow } from "../maintenance/feedback.ts";
import type { Quarantined } from "../maintenance/quarantine.ts";
import { wholeNumber } from "./client-options.ts";
import { addConfigOption, type ConfigOption } from "./config-option.ts";
import { operate, printJsonLines } from "./operator.ts";
import { stillAtWork } from "./still-at-work.ts";
import { table } from "./terminal-text.ts";

/** `pgrcp feedback`: what callers say of hits, and acting on it. */
export function registerFeedback(program: Command): void {
  const feedback = program.command("feedback").description("list what callers say of hits, and act on it");
  addConfigOption(feedback.command("list"))
    .description("list hits by how many callers suspect them; a caller counts once for each hit")
    .argument("<tenant>", "the owner")
    .addOption(new Option("--limit <n>", "at most so many").default(100).argParser(wholeNumber(1, 1_000_000_000)))
    .option("--json", "one JSON object a line")
    .action(list);
  addConfigOption(feedback.command("quarantine"))
    .description("quarantine what feedback.quarantineAfter callers suspect of poisoning: kept, but in no answer")
    .argument("[tenant]", "the owner (default: all)")
    .option("--dry-run", "only look")
    .option("--json", "one JSON object a line")
    .action(quarantine);
}

interface ListOptions extends ConfigOption {
  readonly limit: number;
  readonly json?: boolean;
}

async function list(tenant: string, options: ListOptions): Promise<void> {
  const rows = operate(options, "feedback.list", { tenant, limit: options.limit });
  if (options.json === true) return void (await printJsonLines(rows));
  const found = (await Array.fromAsync(rows)) as readonly FeedbackRow[];
  process.stdout.write(
    table([
      ["corpus", "hit", "poison", "injection", "used", "cited", "helpful", "unhelpful", "reward", "callers", "last"],
      ...found.map((row) => [
        row.corpus,
        row.hitId,
        row.poisonSuspected,
        row.injectionSuspected,
        row.used,
        row.cited,
        row.helpful,
        row.unhelpful,
        row.reward?.toFixed(2) ?? "",
        row.callers,
        row.lastAt,
      ]),
    ]),
  );
}

async function quarantine(
  tenant: string | undefined,
  options: ConfigOption & { readonly dryRun?: boolean; readonly json?: boolean },
): Promise<void> {
  const dryRun = options.dryRun === true;
  const rows = operate(options, "feedback.quarantine", { dryRun, ...(tenant !== undefined && { tenant }) });
  if (options.json === true) return void (await stillAtWork("quarantining", printJsonLines(rows)));
  const found = (await stillAtWork("quarantining", Array.fromAsync(rows))) as readonly Quarantined[];
  process.stdout.write(
    table([
      ["tenant", "corpus", "document", "callers"],
      ...found.flatMap((row) => row.documents.map(({ id, callers }) => [row.tenant, row.corpus, id, callers])),
    ]),
  );
  const sum = (of: (row: Quarantined) => number) => found.reduce((total, row) => total + of(row), 0);
  const documents = sum((row) => row.documents.length);
  const done = `quarantined: ${documents}; chunks: ${sum((row) => row.done?.chunks ?? 0)}; versions withdrawn: ${sum((row) => row.done?.versions ?? 0)}`;
  process.stderr.write(`${dryRun ? `would be quarantined: ${documents}; nothing was changed` : done}\n`);
}
