import { type CorpusRows, type DocumentRow, isLiveAt } from "./corpus-rows.ts";
import type { SentDocument } from "./generated-corpus.ts";
import type { Write } from "./write-gate.ts";

/** What a crash has left of the writes sent so far. */
export interface Outcome {
  readonly problems: readonly string[];
  /** Sent since the last look and never acknowledged. */
  readonly unanswered: readonly Write[];
  /** Those of them that were written all the same. */
  readonly applied: readonly Write[];
  /** What must be found now: each id with its last text. */
  readonly live: ReadonlyMap<string, SentDocument>;
}

/**
 * Holds the database against what was sent: every acknowledged write is a version, every other version is one write that a crash
 * left unanswered, whole, and each version holds its write's documents and no others.
 */
export class WriteHistory {
  readonly #applied = new Map<string, Write>();
  #looked = 0;

  /** Call once after each crash: a write that is not there by then must never appear. */
  look(rows: CorpusRows, writes: readonly Write[]): Outcome {
    const unanswered = writes.slice(this.#looked).filter((write) => write.token === undefined);
    this.#looked = writes.length;
    const known = new Map(this.#applied);
    for (const write of writes) if (write.token !== undefined) known.set(write.token, write);

    const problems: string[] = [];
    const applied: Write[] = [];
    const versions: Write[] = [];
    const added = groupByVersion(rows);
    for (const [index, { version, token }] of rows.versions.entries()) {
      if (version !== index + 1) problems.push(`version ${version} stands where ${index + 1} should`);
      let write = known.get(token);
      if (write === undefined) {
        write = unanswered.find((one) => !applied.includes(one) && isWhole(one, added.get(version) ?? new Map()));
        if (write === undefined) {
          problems.push(`version ${version} is no acknowledged write and no unanswered one as a whole`);
          continue;
        }
        applied.push(write);
        this.#applied.set(token, write);
      } else if (!isWhole(write, added.get(version) ?? new Map())) {
        problems.push(`version ${version} does not hold the documents that were acknowledged`);
      }
      known.delete(token);
      versions[version] = write;
    }
    if (known.size > 0) problems.push(`${known.size} acknowledged writes are not among the versions`);
    if ([...added.keys()].some((version) => versions[version] === undefined))
      problems.push("documents belong to a version that is not there");
    problems.push(...orderProblems(versions), ...lifetimeProblems(rows.documents, versions));
    const live = new Map(versions.flatMap((write) => [...(write?.documents ?? [])]));
    problems.push(...liveProblems(rows, live));
    return { problems, unanswered, applied, live };
  }
}

function groupByVersion({ documents, texts }: CorpusRows): Map<number, Map<string, SentDocument>> {
  const bodies = new Map(texts.map(({ id, added, body }) => [`${added} ${id}`, body]));
  const groups = new Map<number, Map<string, SentDocument>>();
  for (const { id, added, title } of documents) {
    const group = groups.get(added) ?? new Map<string, SentDocument>();
    group.set(id, { id, title, text: bodies.get(`${added} ${id}`) ?? "(none)" });
    groups.set(added, group);
  }
  return groups;
}

const isWhole = ({ documents }: Write, found: ReadonlyMap<string, SentDocument>): boolean =>
  documents.size === found.size &&
  [...documents.values()].every(
    ({ id, title, text }) => found.get(id)?.text === text && found.get(id)?.title === title,
  );

/** A write that was sent after another was answered belongs to a later version. */
function orderProblems(versions: readonly Write[]): string[] {
  let lastSent = 0;
  return versions.flatMap((write, version) => {
    const late = write.endedAt < lastSent;
    lastSent = Math.max(lastSent, write.sentAt);
    return late ? [`version ${version} was answered before an earlier version was sent`] : [];
  });
}

/** A document's row is closed by the next version that has its id, and by nothing else. */
function lifetimeProblems(documents: readonly DocumentRow[], versions: readonly Write[]): string[] {
  const versionsOf = new Map<string, number[]>();
  versions.forEach((write, version) => {
    for (const id of write.documents.keys()) versionsOf.set(id, [...(versionsOf.get(id) ?? []), version]);
  });
  return documents.flatMap(({ id, added, removed }) => {
    const next = versionsOf.get(id)?.find((version) => version > added) ?? null;
    return next === removed ? [] : [`${id} of version ${added} ends with version ${removed} instead of ${next}`];
  });
}

function liveProblems(rows: CorpusRows, live: ReadonlyMap<string, SentDocument>): string[] {
  const version = rows.corpus?.version ?? 0;
  const found = rows.documents.filter((document) => isLiveAt(document, version));
  const problems = found.filter(({ id }) => !live.has(id)).map(({ id }) => `${id} is found and should not be`);
  const ids = new Set(found.map(({ id }) => id));
  problems.push(
    ...[...live.keys()].filter((id) => !ids.has(id)).map((id) => `${id} was acknowledged and is not found`),
  );
  if (found.length !== ids.size) problems.push("an id is live twice");
  if (rows.texts.length !== rows.documents.length) problems.push("documents and texts are not one to one");
  return problems;
}
