import type { MethodName } from "../protocol/methods.ts";
import { catalogList } from "./catalog-list.ts";
import { document } from "./document.ts";
import { embed } from "./embed.ts";
import { feedback } from "./feedback.ts";
import type { Handler } from "./handler.ts";
import { indexAdd } from "./index-add.ts";
import { indexDelete } from "./index-delete.ts";
import { info } from "./info.ts";
import { initialize } from "./initialize.ts";
import { ping } from "./ping.ts";
import { queryTransform } from "./query-transform.ts";
import { rerank } from "./rerank.ts";
import { retrieve } from "./retrieve.ts";
import { shutdown } from "./shutdown.ts";

/** The roster: every method and what answers it here. Undefined = not built, so never advertised. */
export const HANDLERS = {
  initialize,
  info,
  ping,
  shutdown,
  retrieve,
  "index/add": indexAdd,
  "index/delete": indexDelete,
  embed,
  "embed/sparse": undefined,
  "embed/multi": undefined,
  rerank,
  "query/transform": queryTransform,
  graph: undefined,
  "catalog/list": catalogList,
  feedback,
  "memory/build": undefined,
  "memory/recall": undefined,
  "x-pgrcp/document": document,
} as const satisfies Record<MethodName, Handler | undefined>;
