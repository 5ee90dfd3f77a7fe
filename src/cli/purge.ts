import type { Command } from "commander";
import { addByIds } from "./change-by-ids.ts";

/** `pgrcp purge`: erases documents at once and for good. */
export function registerPurge(program: Command): void {
  addByIds(program.command("purge"), {
    name: "purge",
    description: "erase documents at once and for good, with every version of them",
    doing: "purging",
    unknown: "the corpus has nothing of",
    remedy: "pgrcp documents list shows the ids of live documents",
  });
}
