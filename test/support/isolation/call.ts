import type { Credential } from "../../../src/auth/principal.ts";
import type { Response } from "../rcp-server.ts";

/** A JSON-RPC call that a test may send, and how its answer is judged. */
export interface Call {
  /** What it is counted as. */
  readonly kind: string;
  readonly method: string;
  readonly credential: Credential;
  readonly params: Readonly<Record<string, unknown>>;
  /** At the moment of sending. */
  begin(): Pending;
}

/** A call on its way. Exactly one of the three is called. */
export interface Pending {
  /** @returns what is wrong with the answer */
  answered(response: Response): string[] | Promise<string[]>;
  /** Nothing of it was done. */
  refused(): void;
  /** Whether it was done is not known. */
  lost(): void;
}

/** A call that changes nothing that the model knows of. */
export const reading = (answered: Pending["answered"]): Pending => ({ answered, refused() {}, lost() {} });

/**
 * A call that must be refused.
 *
 * @param likeUnknown the error that something which does not exist has, as text: what is another's must have the same
 */
export const refusing = (code: number, likeUnknown?: string): Pending =>
  reading(({ error }) => {
    if (error === undefined) return [`foreign access: a result where ${code} is due`];
    if (error.code !== code) return [`wrong answer: ${error.code} where ${code} is due`];
    return likeUnknown === undefined || JSON.stringify(error) === likeUnknown
      ? []
      : ["foreign error: another one than for what does not exist"];
  });

/** What is wrong when a result was due. */
export const unexpectedError = ({ error }: Response): string[] => [`foreign error: ${error?.code} ${error?.message}`];
