import { invalidParams, versionMismatch } from "../protocol/errors.ts";
import { type Params, readInteger, readObject, readString } from "../protocol/params.ts";
import { isWellFormed } from "../protocol/text.ts";
import type { Handler } from "./handler.ts";
import { info } from "./info.ts";

/**
 * RCP §7.1. The session itself is opened by the dispatcher once this has succeeded.
 *
 * The client's highest version is on the wire and this server speaks version 1 only, so every version from 1 up negotiates
 * to 1 (DESIGN ruling 16).
 */
export const initialize: Handler = async (params, call, services) => {
  const version = readInteger(params, "protocolVersion");
  if (version === undefined)
    throw invalidParams({
      field: "protocolVersion",
      detail: "must be an integer: the highest version the client speaks",
    });
  checkClient(params);
  readObject(params, "capabilities");
  if (version < 1) throw versionMismatch();
  return info({}, call, services);
};

function checkClient(params: Params): void {
  const client = readObject(params, "client");
  if (client === undefined) return;
  const name = readString(client, "name", "client");
  if (name === undefined) throw invalidParams({ field: "client.name", detail: "must be a string" });
  for (const [member, text] of Object.entries({ name, version: readString(client, "version", "client") })) {
    if (text !== undefined && !isWellFormed(text))
      throw invalidParams({
        field: `client.${member}`,
        detail: "must be well-formed Unicode: it holds a lone surrogate",
      });
  }
}
