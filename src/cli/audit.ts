import { type Command, InvalidArgumentError, Option } from "commander";
import type { AuditRow } from "../maintenance/audit.ts";
import { parseDate } from "../plan/parse-date.ts";
import { addConfigOption, type ConfigOption } from "./config-option.ts";
import { operate, printJsonLines } from "./operator.ts";
import { stillAtWork } from "./still-at-work.ts";
import { table } from "./terminal-text.ts";

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 7;

/** `pgrcp audit`: who wrote, was refused, revoked and purged. */
export function registerAudit(program: Command): void {
  addConfigOption(program.command("audit"))
    .description("list who wrote, was refused, revoked and purged")
    .argument("<tenant>", "whose documents it was about")
    .addOption(
      new Option(
        "--since <when>",
        `a date, a time with its offset, or days back such as 30d (default: ${DEFAULT_DAYS}d)`,
      ).argParser(instant),
    )
    .option("--json", "one JSON object a line")
    .action(audit);
}

interface AuditOptions extends ConfigOption {
  readonly since?: Date;
  readonly json?: boolean;
}

async function audit(tenant: string, options: AuditOptions): Promise<void> {
  const since = options.since ?? daysBack(DEFAULT_DAYS);
  const rows = operate(options, "audit", { tenant, since: since.toISOString() });
  if (options.json === true) return void (await printJsonLines(rows));
  const found = (await stillAtWork("reading", Array.fromAsync(rows))) as readonly AuditRow[];
  process.stdout.write(
    table([
      ["at", "action", "corpus", "version", "count", "method", "subject", "issuer", "client", "token", "detail"],
      ...found.map((row) => [
        row.at,
        row.action,
        row.corpus ?? "",
        row.version?.toString() ?? "",
        row.count,
        row.method ?? "",
        row.subject,
        row.issuer,
        row.client ?? "",
        row.tokenId ?? "",
        row.detail ?? "",
      ]),
    ]),
  );
}

const daysBack = (days: number): Date => new Date(Date.now() - days * DAY_MS);

function instant(text: string): Date {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  if (days !== undefined) return daysBack(Number(days));
  const at = parseDate(text);
  if (at !== undefined) return new Date(at);
  throw new InvalidArgumentError("say a date such as 2026-01-31, a time with its offset, or days back such as 30d");
}
