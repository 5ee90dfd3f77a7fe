import { invalidParams } from "../protocol/errors.ts";
import { member } from "../protocol/params.ts";
import { isWellFormed } from "../protocol/text.ts";
import type { Handler } from "./handler.ts";

/** RCP §7.15: echoes the nonce, or refuses one that could not be echoed exactly. */
export const ping: Handler = async (params) => {
  const nonce = member(params, "nonce");
  if (nonce === undefined) return {};
  if (isEchoable(nonce)) return { nonce };
  throw invalidParams({
    field: "nonce",
    detail: "must be a well-formed string, or a number that a double holds exactly",
  });
};

function isEchoable(nonce: unknown): boolean {
  if (typeof nonce === "string") return isWellFormed(nonce);
  if (typeof nonce !== "number" || !Number.isFinite(nonce)) return false;
  return !Number.isInteger(nonce) || Number.isSafeInteger(nonce);
}
