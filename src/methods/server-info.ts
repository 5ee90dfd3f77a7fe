import { createRequire } from "node:module";
import { isObject, readString } from "../protocol/params.ts";

/** Name and version as `initialize` and `info` report them. The package file stands at the same place for source and build. */
export function serverInfo(): { readonly name: string; readonly version: string } {
  const packageFile: unknown = createRequire(import.meta.url)("../../package.json");
  const version = isObject(packageFile) ? readString(packageFile, "version") : undefined;
  return { name: "pgrcp", version: version ?? "0.0.0" };
}
