import type { Command } from "commander";
import type { TenantRow } from "../maintenance/tenants.ts";
import { addConfigOption, type ConfigOption } from "./config-option.ts";
import { operate, printJsonLines } from "./operator.ts";
import { table } from "./terminal-text.ts";

/** `pgrcp tenants`: who owns documents here. */
export function registerTenants(program: Command): void {
  const tenants = program.command("tenants").description("create and list tenants");
  addConfigOption(tenants.command("create"))
    .description("create a tenant; no error when it is there already")
    .argument("<id>", "as tokens carry it")
    .action(create);
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

async function list(options: ConfigOption & { readonly json?: boolean }): Promise<void> {
  const rows = operate(options, "tenants.list", {});
  if (options.json === true) return void (await printJsonLines(rows));
  const found = (await Array.fromAsync(rows)) as readonly TenantRow[];
  process.stdout.write(
    table([
      ["tenant", "corpora", "documents", "chunks", "created"],
      ...found.map((row) => [row.tenant, row.corpora, row.documents, row.chunks, row.createdAt]),
    ]),
  );
}
