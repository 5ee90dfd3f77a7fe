import { type Command, Option } from "commander";
import type { Filter } from "../client/index.ts";
import type { Hit, RetrieveMode } from "../protocol/wire.ts";
import { addServerOptions, callFailure, connect, type ServerOptions, wholeNumber } from "./client-options.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { visible, visibleLine } from "./terminal-text.ts";

/** `pgrcp retrieve`: a question for people; ranked passages with where they come from and how far they are trusted. */

const TOKEN_FILE = ".pgrcp/dev/read.token";

interface RetrieveOptions extends ServerOptions {
  readonly k: number;
  readonly mode?: RetrieveMode;
  readonly filter?: Filter;
  readonly json?: boolean;
}

export function registerRetrieve(program: Command): void {
  const command = program
    .command("retrieve")
    .description("ask a running server a question and print the passages")
    .argument("<question>", "in words");
  addServerOptions(command, TOKEN_FILE)
    .addOption(new Option("-k, --k <n>", "passages").default(5).argParser(wholeNumber(1, 10_000)))
    .addOption(
      new Option("--mode <mode>", "how to retrieve (default: the server's own)").choices(["dense", "sparse", "hybrid"]),
    )
    .addOption(new Option("--filter <json>", 'such as {"field":"year","op":"gte","value":2024}').argParser(parseFilter))
    .option("--json", "print the server's result as it is")
    .action(retrieve);
}

function parseFilter(text: string): Filter {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Filter; // the server says what is wrong with it
  } catch {
    // said below, as for any other text that is no object
  }
  throw new CommandFailure(
    ExitCode.usage,
    "--filter is not a JSON object",
    'pass one such as {"field":"year","op":"gte","value":2024}',
  );
}

async function retrieve(question: string, options: RetrieveOptions): Promise<void> {
  const { client } = await connect(options, TOKEN_FILE, { retry: { retries: 1 } });
  const { k, mode, filter } = options;
  const params = { query: question, k, ...(mode && { mode }), ...(filter && { filter }) };
  const result = await client.retrieve(params).catch((error: unknown) => {
    throw callFailure(error, options);
  });
  if (options.json === true) process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
  else process.stdout.write(result.hits.length === 0 ? "no passage found\n" : result.hits.map(formatHit).join("\n"));
}

/** Every string of a hit was written by somebody else. */
export function formatHit(hit: Hit, index: number): string {
  const { citation, trust } = hit;
  const title = citation.title === undefined ? "" : `  ${visibleLine(citation.title)}`;
  const suspected = trust.injectionSuspected ? ", looks like instructions to a model" : "";
  const uri = citation.uri === undefined ? "" : `  ${visibleLine(citation.uri)}`;
  return [
    `${index + 1}. ${visibleLine(hit.id)}${title}  (score ${hit.score.toFixed(4)})`,
    `   source ${visibleLine(citation.source)}, characters ${citation.start}-${citation.end}, ${trust.level}${suspected}${uri}`,
    ...visible(hit.text ?? "")
      .trim()
      .split("\n")
      .map((line) => `   | ${line}`),
    "",
  ].join("\n");
}
