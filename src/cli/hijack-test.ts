import type { Command } from "commander";
import { isPrivateChannel } from "../client/endpoint.ts";
import { Lab } from "../hijack/lab.ts";
import { claimsOf } from "../hijack/rcp-tricks.ts";
import { countOf, type Finding, runTricks } from "../hijack/run-tricks.ts";
import { TRICKS } from "../hijack/tricks.ts";
import { readToken, wholeNumber } from "./client-options.ts";
import { CommandFailure, ExitCode } from "./exit.ts";
import { visibleLine } from "./terminal-text.ts";

/** `pgrcp hijack-test`: tries to make a server answer with another tenant's data, through every door and by every trick that is known here. */

interface HijackOptions {
  readonly url: string;
  readonly readTokenFile: string;
  readonly tenant?: string;
  readonly otherTenant?: string;
  readonly otherTokenFile?: string;
  readonly query: string;
  readonly timeoutMs: number;
  readonly insecureHttp?: boolean;
  readonly json?: boolean;
}

const HELP = `
Exit codes: 0 nothing was hijacked, 3 no --other-tenant was given or something did not answer, 5 hijacked. What was not tried or does not apply is
listed, and has not held. Each trick only reads; run it as a tenant that has documents, against another one that has others.`;

export function registerHijackTest(program: Command): void {
  program
    .command("hijack-test")
    .description("try to make a server answer with another tenant's data, and print what each trick came to")
    .requiredOption("--url <url>", "the server's base URL for RCP, ending in /rcp")
    .requiredOption("--read-token-file <file>", "file with a read token of one tenant")
    .option("--tenant <id>", "whose token it is (default: its claim tenant)")
    .option("--other-tenant <id>", "another tenant's id, to ask for")
    .option(
      "--other-token-file <file>",
      "file with a read token of the other tenant, to try its cursors, ids, sessions and versions with the first",
    )
    .option("--query <text>", "a question that finds passages of both", "a")
    .option("--timeout-ms <n>", "how long one answer may take", wholeNumber(1, 600_000), 20_000)
    .option("--insecure-http", "send tokens over plain http to another machine")
    .option("--json", "print the findings as JSON")
    .addHelpText("after", HELP)
    .action(hijackTest);
}

async function hijackTest(options: HijackOptions): Promise<void> {
  const { url, query, tenant, otherTenant, timeoutMs, json } = options;
  if (!URL.canParse(url) || !/\/rcp\/*$/.test(new URL(url).pathname))
    throw usage("--url is no base URL for RCP", "pass one such as https://pgrcp.example.org/rcp");
  if (options.insecureHttp !== true && !isPrivateChannel(new URL(url)))
    throw usage(
      "a token over plain http can be read on the way",
      "pass an https:// URL, or --insecure-http to send it all the same",
    );
  const token = (await readToken(options.readTokenFile, true)) ?? "";
  const otherToken = options.otherTokenFile === undefined ? undefined : await readToken(options.otherTokenFile, true);
  checkDiffer({ own: tenant ?? tenantOf(token), other: otherTenant, ofOtherToken: otherToken && tenantOf(otherToken) });
  const lab = new Lab({ url, token, tenant, otherTenant, otherToken, query, timeoutMs });
  try {
    await checkReachable(lab, url);
    const tell = json === true ? () => {} : (finding: Finding) => process.stdout.write(`${lineOf(finding)}\n`);
    const findings = await runTricks(TRICKS, lab, tell);
    process.stdout.write(json === true ? `${JSON.stringify({ findings }, undefined, 2)}\n` : summaryOf(findings));
    process.exitCode = exitCodeOf(findings, options);
  } finally {
    lab.close();
  }
}

async function checkReachable(lab: Lab, url: string): Promise<void> {
  const answer = await lab.own().catch((cause: unknown) => {
    throw new CommandFailure(ExitCode.connection, `no answer from ${url}`, "name a server that runs", { cause });
  });
  if (answer.result === undefined)
    throw new CommandFailure(
      ExitCode.connection,
      `the server does not answer the tenant's own question: HTTP ${answer.status}`,
      "pass --read-token-file with a live token that may read",
    );
  if (lab.options.otherToken === undefined) return;
  await lab.theirs().catch((cause: unknown) => {
    throw new CommandFailure(
      ExitCode.connection,
      "the server does not answer the other tenant's own question",
      "pass --other-token-file with a live token that may read",
      { cause },
    );
  });
}

/** A tenant has no secrets from itself. */
function checkDiffer({
  own,
  other,
  ofOtherToken,
}: Readonly<Record<"own" | "other" | "ofOtherToken", string | undefined>>) {
  if (own !== undefined && (own === other || own === ofOtherToken))
    throw usage("both tenants are the same one", "name another tenant, and give a token of that one");
  if (other !== undefined && ofOtherToken !== undefined && other !== ofOtherToken)
    throw usage("the other token is not of the other tenant", "give --other-token-file a token of --other-tenant");
}

function tenantOf(token: string): string | undefined {
  const { tenant } = claimsOf(token.split(".")[1]) ?? {};
  return typeof tenant === "string" ? tenant : undefined;
}

const lineOf = ({ door, trick, sent, answer, verdict }: Finding): string =>
  `${verdict.toUpperCase().padEnd(14)}  ${door.padEnd(4)}  ${trick}\n                sent:   ${sent}\n                answer: ${visibleLine(answer)}`;

const VERDICTS = ["held", "hijacked", "no answer", "not tried", "not applicable"] as const;

function summaryOf(findings: readonly Finding[]): string {
  const counts = VERDICTS.map((verdict) => `${countOf(findings, verdict)} ${verdict}`);
  const missing = [...new Set(findings.filter(({ verdict }) => verdict === "not tried").map(({ answer }) => answer))];
  const untried = missing.map((why) => `not tried, because ${why}\n`);
  return `\n${counts.join(", ")}\n${untried.join("")}`;
}

function exitCodeOf(findings: readonly Finding[], { otherTenant }: HijackOptions): ExitCode {
  if (countOf(findings, "hijacked") > 0) return ExitCode.partial;
  const isWhole = otherTenant !== undefined && countOf(findings, "no answer") === 0;
  return isWhole ? ExitCode.ok : ExitCode.connection;
}

const usage = (message: string, remedy: string) => new CommandFailure(ExitCode.usage, message, remedy);
