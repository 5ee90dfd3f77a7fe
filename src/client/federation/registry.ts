import { isObject, member, type Params } from "../../protocol/params.ts";

/** The engines of a federation as a file of JSON or YAML holds them (RCP §16.1). Who reads the file parses it. */
export interface FederationRegistry {
  readonly engines: readonly RegisteredEngine[];
}

export interface RegisteredEngine {
  /** Names the engine in hits, notes and errors. */
  readonly id: string;
  /** The server's base URL, ending in `/rcp`. */
  readonly url: string;
  readonly transport?: "http";
  readonly corpus?: string;
  /** Which of the tokens given to `federate` goes there. The token itself has no place in a file. */
  readonly token?: string;
  /** How much its ranks count; 1 when absent. */
  readonly weight?: number;
  /** True: without its answer there is none. */
  readonly required?: boolean;
  /** Its own deadline, where that is sooner than what the call leaves. */
  readonly deadlineMs?: number;
}

/** `priority` is for clients that choose one engine of the same file. */
const MEMBERS = ["id", "url", "transport", "corpus", "token", "weight", "required", "deadlineMs", "priority"];
const MAX_WEIGHT = 1_000;
const MAX_DEADLINE_MS = 2 ** 31 - 1;

const must = (place: string, what: string) => new TypeError(`${place} must be ${what}`);

/** An engine's id or an aggregator's identity: it stands in notes, errors and other people's paths. */
export const isEngineId = (value: unknown): value is string =>
  typeof value === "string" && /^[A-Za-z0-9][\w.-]{0,63}$/.test(value);
export const ENGINE_ID = "1 to 64 letters, digits, dots, underscores or hyphens, the first a letter or digit";

/** @throws TypeError that names the place, such as `engines[1].url`, and no value */
export function readRegistry(registry: unknown): readonly RegisteredEngine[] {
  const engines = isObject(registry) ? member(registry, "engines") : undefined;
  if (!Array.isArray(engines) || engines.length === 0) throw must("engines", "a list of at least one engine");
  const ids = new Set<string>();
  return engines.map((entry: unknown, index) => {
    const engine = readEngine(entry, `engines[${index}]`);
    if (ids.has(engine.id)) throw must(`engines[${index}].id`, "another than the ids before it");
    ids.add(engine.id);
    return engine;
  });
}

function readEngine(entry: unknown, place: string): RegisteredEngine {
  if (!isObject(entry)) throw must(place, "an object");
  const stray = Object.keys(entry).findIndex((name) => !MEMBERS.includes(name));
  if (stray >= 0) throw new TypeError(`member ${stray + 1} of ${place} is none of ${MEMBERS.join(", ")}`);
  const id = read(entry, "id", place, isEngineId, ENGINE_ID);
  const url = read(entry, "url", place, isText, "the base URL of a server");
  if (id === undefined) throw must(`${place}.id`, ENGINE_ID);
  read(entry, "transport", place, (value) => value === "http", "http: no process is started from here");
  if (url === undefined) throw must(`${place}.url`, "the base URL of a server");
  const corpus = read(entry, "corpus", place, isText, "the name of a corpus");
  const token = read(entry, "token", place, isText, "the name of a token");
  const weight = read(entry, "weight", place, isWeight, `a number above 0, at most ${MAX_WEIGHT}`);
  const required = read(entry, "required", place, isBoolean, "true or false");
  const deadlineMs = read(entry, "deadlineMs", place, isDeadline, `milliseconds from 1 to ${MAX_DEADLINE_MS}`);
  return {
    ...{ id, url },
    ...(corpus !== undefined && { corpus }),
    ...(token !== undefined && { token }),
    ...(weight !== undefined && { weight }),
    ...(required !== undefined && { required }),
    ...(deadlineMs !== undefined && { deadlineMs }),
  };
}

/** An own member; null counts as absent, as in every RCP document. */
function read<T>(
  entry: Params,
  name: string,
  place: string,
  is: (value: unknown) => value is T,
  what: string,
): T | undefined {
  const value = member(entry, name);
  if (value === undefined || is(value)) return value;
  throw must(`${place}.${name}`, what);
}

const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== "";
const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";
const isWeight = (value: unknown): value is number => typeof value === "number" && value > 0 && value <= MAX_WEIGHT;
const isDeadline = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= MAX_DEADLINE_MS;
