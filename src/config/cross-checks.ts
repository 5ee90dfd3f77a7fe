import { isAbsolute, parse, resolve } from "node:path";
import { AUTH_RULES } from "./auth-checks.ts";
import { isLoopback } from "./loopback.ts";
import type { Rule } from "./rules.ts";
import { when } from "./rules.ts";

/** What no key can be checked for alone. */
export const CROSS_CHECKS: readonly Rule[] = [
  ...AUTH_RULES,
  {
    reads: ["server.host", "server.tls", "server.behindTls"],
    find: ({ server }) =>
      when(
        !isLoopback(server.host) && server.tls === undefined && !server.behindTls,
        "server.host",
        "other machines can reach this address, and tokens must not cross a network in the clear: set server.tls, " +
          "or server.behindTls: true when something in front of this server speaks TLS, or listen on 127.0.0.1",
      ),
  },
  {
    // Node refuses to start a server whose headers may take longer than the whole request.
    reads: ["server.headersTimeoutMs", "server.receiveTimeoutMs"],
    find: ({ server }) =>
      when(
        server.headersTimeoutMs > server.receiveTimeoutMs,
        "server.headersTimeoutMs",
        `headers are part of a request, so this must be at most server.receiveTimeoutMs (${server.receiveTimeoutMs})`,
      ),
  },
  {
    reads: ["database.url", "database.replicas"],
    find: ({ database: { url, replicas } }) =>
      when(
        replicas.length > 0 && url === undefined,
        "database.replicas",
        "the embedded database has none: set database.url to their primary",
      ),
  },
  {
    reads: ["retrieval.maxK", "retrieval.maxCandidateK"],
    find: ({ retrieval }) =>
      when(
        retrieval.maxK > retrieval.maxCandidateK,
        "retrieval.maxK",
        `hits are chosen from candidates, so this must be at most retrieval.maxCandidateK (${retrieval.maxCandidateK})`,
      ),
  },
  {
    reads: ["retrieval.defaultCandidateK", "retrieval.maxCandidateK"],
    find: ({ retrieval }) =>
      when(
        retrieval.defaultCandidateK > retrieval.maxCandidateK,
        "retrieval.defaultCandidateK",
        `must be at most retrieval.maxCandidateK (${retrieval.maxCandidateK})`,
      ),
  },
  {
    reads: ["retrieval.defaultMode", "capabilities.modes"],
    find: ({ retrieval, capabilities }) =>
      when(
        !capabilities.modes.includes(retrieval.defaultMode),
        "retrieval.defaultMode",
        `must be one of capabilities.modes (${capabilities.modes.join(", ")})`,
      ),
  },
  {
    reads: ["retrieval.fusion.method", "capabilities.fusion", "capabilities.modes"],
    find: ({ retrieval, capabilities }) =>
      when(
        capabilities.modes.includes("hybrid") && !capabilities.fusion.includes(retrieval.fusion.method),
        "retrieval.fusion.method",
        `must be one of capabilities.fusion (${capabilities.fusion.join(", ")})`,
      ),
  },
  {
    // Whoever can filter by a value can guess it.
    reads: ["redaction.metaFields", "filter.fields"],
    find: ({ redaction, filter }) =>
      when(
        redaction.metaFields.some((path) =>
          Object.keys(filter.fields).some((field) => field === path || field.startsWith(`${path}.`)),
        ),
        "redaction.metaFields",
        "what may not be seen, or stands below it, may not be filtered by either: take the field out of filter.fields",
      ),
  },
  {
    reads: ["redaction.metaFields"],
    find: ({ redaction }) =>
      when(
        redaction.metaFields.some((path) => path === "title" || path === "uri"),
        "redaction.metaFields",
        "title and uri are what a hit is cited by, and the title is searched: leave them out of the documents instead",
      ),
  },
  {
    reads: ["models.reranker.maxCandidates", "retrieval.maxK", "retrieval.maxCandidateK"],
    find: ({ models: { reranker }, retrieval: { maxK, maxCandidateK } }) =>
      when(
        reranker !== undefined && (reranker.maxCandidates < maxK || reranker.maxCandidates > maxCandidateK),
        "models.reranker.maxCandidates",
        `candidates are reranked and hits are chosen from those, so this must be from retrieval.maxK (${maxK}) to retrieval.maxCandidateK (${maxCandidateK})`,
      ),
  },
  {
    reads: ["maintenance.graph.m", "maintenance.graph.efConstruction"],
    find: ({ maintenance: { graph } }) =>
      when(
        graph.efConstruction < 2 * graph.m,
        "maintenance.graph.efConstruction",
        `must be at least twice maintenance.graph.m (${graph.m})`,
      ),
  },
  {
    reads: ["indexing.chunkTokens", "indexing.overlapTokens"],
    find: ({ indexing }) =>
      when(
        indexing.overlapTokens >= indexing.chunkTokens,
        "indexing.overlapTokens",
        `must be less than indexing.chunkTokens (${indexing.chunkTokens}), or a chunk would never get past the one before`,
      ),
  },
  {
    reads: ["fetch.enabled", "fetch.allowedHosts", "fetch.fileRoot"],
    find: ({ fetch: { enabled, allowedHosts, fileRoot } }) =>
      when(
        enabled && allowedHosts.length === 0 && fileRoot === undefined,
        "fetch.allowedHosts",
        "fetching is on and nothing may be fetched: name hosts here, or a folder in fetch.fileRoot",
      ),
  },
  {
    reads: ["fetch.fileRoot"],
    find: ({ fetch: { fileRoot } }) =>
      when(
        fileRoot !== undefined && !isAbsolute(fileRoot),
        "fetch.fileRoot",
        "must be an absolute path, as the uris below it are",
      ),
  },
  {
    reads: ["fetch.fileRoot"],
    find: ({ fetch: { fileRoot } }) =>
      when(
        fileRoot !== undefined && isAbsolute(fileRoot) && resolve(fileRoot) === parse(fileRoot).root,
        "fetch.fileRoot",
        "would let callers read every file of this machine: name the folder that holds the documents, such as /srv/documents",
      ),
  },
  {
    // Reads whatever fields are sound: the others are told apart.
    reads: [],
    find: ({ filter }) => {
      const names = Object.keys(filter.fields);
      return names.flatMap((name, index) => {
        const twin = names.slice(0, index).find((other) => other.toLowerCase() === name.toLowerCase());
        if (twin === undefined) return [];
        const text = `differs from filter.fields.${twin} by letter case alone; rename one, callers would mix them up`;
        return [{ path: ["filter", "fields", name], text }];
      });
    },
  },
];
