import { conformanceLevel } from "../catalog/advertise.ts";
import { PROTOCOL_VERSION } from "../protocol/methods.ts";
import type { Handler } from "./handler.ts";
import { serverInfo } from "./server-info.ts";

/** RCP §7.2: the shape of `initialize`'s result, and no change of state. */
export const info: Handler = async (_params, { capabilities }) => ({
  protocolVersion: PROTOCOL_VERSION,
  server: serverInfo(),
  capabilities,
  _meta: { conformance: conformanceLevel(capabilities) },
});
