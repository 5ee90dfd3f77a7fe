import type { Misfit } from "../db/backfill.ts";
import type { MigrateEvent } from "../db/migrator.ts";
import type { Progress } from "./progress.ts";
import { visibleLine } from "./terminal-text.ts";

/** Shows all that a migration does. */
export function showMigration(event: MigrateEvent, progress: Progress): void {
  switch (event.kind) {
    case "waiting":
      progress.line("waiting for another `pgrcp migrate` to finish");
      break;
    case "migration":
      progress.line(`running ${event.name}`);
      break;
    case "field":
      progress.line(`filter field ${event.name}: ${FIELD_STEPS[event.step]}`);
      break;
    case "backfill":
      progress.update(event.done / Math.max(1, event.total), `${event.done} of about ${event.total} chunks`);
      break;
    case "misfit":
      progress.line(misfitLine(event.misfit));
      break;
  }
}

/** Shows what takes long or was left out, for a start: on an empty database there is nothing to say. */
export function showSlowMigration(progress: Progress): (event: MigrateEvent) => void {
  let hasDocuments = false;
  return (event) => {
    hasDocuments ||= event.kind === "backfill";
    if (hasDocuments) showMigration(event, progress);
  };
}

function misfitLine({ field, tenantId, corpus, count, docIds }: Misfit): string {
  const documents = count === 1 ? "1 document has" : `${count} documents have`;
  const ids = `${docIds.map(visibleLine).join(", ")}${count > docIds.length ? ", …" : ""}`;
  const place = `${visibleLine(tenantId)}/${visibleLine(corpus)}`;
  return `${place}: ${documents} a ${field} that does not fit its type, left empty: ${ids}`;
}

const FIELD_STEPS = {
  column: "adding its column",
  index: "building its index",
  ready: "ready",
} as const satisfies Record<Extract<MigrateEvent, { kind: "field" }>["step"], string>;
