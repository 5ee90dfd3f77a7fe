import type { Lab } from "./lab.ts";

/** The three ways into a server. */
export type Door = "rcp" | "rest" | "mcp";

/**
 * `held`: refused, or answered as if it had not been tried. `not applicable`: the server has nothing that the trick could work on. `not tried`: what
 * it takes was not given.
 */
export type Verdict = "held" | "hijacked" | "no answer" | "not applicable" | "not tried";

export interface Outcome {
  readonly answer: string;
  readonly verdict: Verdict;
}

/** One way of asking for what is another tenant's. */
export interface Trick {
  readonly door: Door;
  readonly name: string;
  /** What is sent, in words; no token is among them. */
  readonly sent: string;
  /** What it takes besides the caller's own token. */
  readonly needs?: "other tenant" | "other token";
  /** Reads alone: nothing of it changes the server's data. @throws Violation when no whole answer comes in time */
  run(lab: Lab): Promise<Outcome>;
}

export const held = (answer: string): Outcome => ({ answer, verdict: "held" });
export const hijacked = (answer: string): Outcome => ({ answer, verdict: "hijacked" });
export const notApplicable = (answer: string): Outcome => ({ answer, verdict: "not applicable" });
export const noAnswer = (answer: string): Outcome => ({ answer, verdict: "no answer" });
