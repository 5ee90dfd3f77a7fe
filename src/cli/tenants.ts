import { type Command, Option } from "commander";
import { quotasText, type TenantRow } from "../maintenance/tenants.ts";
import { wholeNumber } from "./client-options.ts";
import { addConfigOption, type ConfigOption } from "./config-option.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { operate, printJsonLines } from "./operator.ts";
import { table } from "./terminal-text.ts";

/** `pgrcp tenants`: who owns documents here. */
export function registerTenants(program: Command): void {
  const tenants = program.command("tenants").description("create and list tenants, and set their quotas");
  addConfigOption(tenants.command("create"))
    .description("create a tenant; no error when it is there already")
    .argument("<id>", "as tokens carry it")
    .action(create);
  addConfigOption(tenants.command("quota"))
    .description(
      "give a tenant quotas of its own instead of both that are configured; one that is not named has no limit",
    )
    .argument("<id>", "the tenant")
    .addOption(amountOption("--documents <n>", "documents that it may keep"))
    .addOption(amountOption("--text-bytes <n>", "bytes of text that they may have"))
    .addOption(new Option("--none", "no limit at all").conflicts(["documents", "textBytes", "configured"]))
    .addOption(new Option("--configured", "those of the configuration again").conflicts(["documents", "textBytes"]))
    .action(quota);
  addConfigOption(tenants.command("list"))
    .description("list tenants with their counts")
    .option("--json", "one JSON object a line")
    .action(list);
}

async function create(id: string, options: ConfigOption): Promise<void> {
  for await (const row of operate(options, "tenants.create", { tenant: id })) {
    const { created } = row as { readonly created: boolean };
    process.stdout.write(created ? "created\n" : "was there already\n");
  }
}

interface QuotaOptions extends ConfigOption {
  readonly documents?: number;
  readonly textBytes?: number;
  readonly none?: boolean;
  readonly configured?: boolean;
}

const amountOption = (flags: string, description: string) =>
  new Option(flags, description).argParser(wholeNumber(0, Number.MAX_SAFE_INTEGER));

async function quota(id: string, options: QuotaOptions): Promise<void> {
  const { documents = null, textBytes = null, none, configured } = options;
  if (documents === null && textBytes === null && none !== true && configured !== true) {
    const remedy = "pass --documents, --text-bytes or both, --none or --configured";
    throw new CommandFailure(ExitCode.usage, "no quota is named", remedy);
  }
  const quotas = configured === true ? null : { documents, textBytes };
  for await (const _ of operate(options, "tenants.quota", { tenant: id, quotas }));
  process.stdout.write(`${quotasText(quotas)}\n`);
}

async function list(options: ConfigOption & { readonly json?: boolean }): Promise<void> {
  const rows = operate(options, "tenants.list", {});
  if (options.json === true) return void (await printJsonLines(rows));
  const found = (await Array.fromAsync(rows)) as readonly TenantRow[];
  process.stdout.write(
    table([
      ["tenant", "corpora", "documents", "text bytes", "chunks", "quotas", "created"],
      ...found.map((row) => [
        ...[row.tenant, row.corpora, row.documents, row.textBytes, row.chunks],
        ...[quotasText(row.ownQuotas), row.createdAt],
      ]),
    ]),
  );
}
