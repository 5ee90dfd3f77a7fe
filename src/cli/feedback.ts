import { type Command, Option } from "commander";
import type { FeedbackRow } from "../maintenance/feedback.ts";
import { wholeNumber } from "./client-options.ts";
import { addConfigOption, type ConfigOption } from "./config-option.ts";
import { operate, printJsonLines } from "./operator.ts";
import { table } from "./terminal-text.ts";

/** `pgrcp feedback`: what callers say of hits. */
export function registerFeedback(program: Command): void {
  const feedback = program.command("feedback").description("list what callers say of hits");
  addConfigOption(feedback.command("list"))
    .description("list hits by how many callers suspect them; a caller counts once for each hit")
    .argument("<tenant>", "the owner")
    .addOption(new Option("--limit <n>", "at most so many").default(100).argParser(wholeNumber(1, 1_000_000_000)))
    .option("--json", "one JSON object a line")
    .action(list);
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
