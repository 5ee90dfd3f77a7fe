import { programVersion } from "../protocol/program-version.ts";

/** Name and version as `initialize` and `info` report them. */
export const serverInfo = (): { readonly name: string; readonly version: string } => ({
  name: "pgrcp",
  version: programVersion(),
});
