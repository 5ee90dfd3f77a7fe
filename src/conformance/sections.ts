import type { Section } from "./rule.ts";
import { pipeline } from "./sections/03-pipeline.ts";
import { requests } from "./sections/04.1-requests.ts";
import { extensions } from "./sections/04.4-extensions.ts";
import { dataTypes } from "./sections/04.6-data-types.ts";
import { identifiers } from "./sections/04.7-identifiers.ts";
import { content } from "./sections/04.8-content.ts";
import { stdio } from "./sections/05.1-stdio.ts";
import { http } from "./sections/05.2-http.ts";
import { capabilities } from "./sections/06-capabilities.ts";
import { initialize } from "./sections/07.1-initialize.ts";
import { embedSection, otherEmbeddings } from "./sections/07.3-embed.ts";
import { rerank } from "./sections/07.6-rerank.ts";
import { determinism } from "./sections/07.7.1-determinism.ts";
import { granularity } from "./sections/07.7.2-granularity.ts";
import { retrieveSection } from "./sections/07.7-retrieve.ts";
import { graph, transform } from "./sections/07.8-transform-graph.ts";
import { index } from "./sections/07.10-index.ts";
import { catalog, memory } from "./sections/07.13-catalog.ts";
import { cancel } from "./sections/07.14-cancel.ts";
import { feedback } from "./sections/07.16-feedback.ts";
import { methods } from "./sections/07-methods.ts";
import { filter } from "./sections/08-filter.ts";
import { streaming } from "./sections/09-streaming.ts";
import { pagination } from "./sections/10-pagination.ts";
import { batches } from "./sections/11-batches.ts";
import { errors } from "./sections/12-errors.ts";
import { deadlines, lifecycle, stability } from "./sections/13-lifecycle.ts";
import { conformance } from "./sections/14-conformance.ts";
import { privacy } from "./sections/15.6-privacy.ts";
import { security } from "./sections/15-security.ts";
import { federation } from "./sections/16-federation.ts";
import { observability } from "./sections/17-observability.ts";

/** RCP/1 in its own order. */
export const SECTIONS: readonly Section[] = [
  pipeline,
  requests,
  extensions,
  dataTypes,
  identifiers,
  content,
  stdio,
  http,
  capabilities,
  methods,
  initialize,
  embedSection,
  otherEmbeddings,
  rerank,
  retrieveSection,
  determinism,
  granularity,
  transform,
  graph,
  index,
  catalog,
  cancel,
  feedback,
  memory,
  filter,
  streaming,
  pagination,
  batches,
  errors,
  lifecycle,
  deadlines,
  stability,
  conformance,
  security,
  privacy,
  federation,
  observability,
];
