import { createRequire } from "node:module";
import { isObject, readString } from "./params.ts";

/** The version of this program. The package's file stands at the same place for source and build. */
export function programVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)("../../package.json");
  return (isObject(manifest) ? readString(manifest, "version") : undefined) ?? "0.0.0";
}
