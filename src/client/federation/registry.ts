import { isObject } from "../../protocol/params.ts";

/** An engine of a federation (RCP §16.1). */
export interface EngineEntry {
  /** Tags its hits. */
  readonly id: string;
  /** Its base URL, ending in `/rcp`. */
  readonly url: string;
  /** Scales what it contributes; 1 when absent. */
  readonly weight?: number;
  /** Its failure is the failure of the whole. */
  readonly required?: boolean;
}

/**
 * Reads a registry as RCP §16.1 has it in `rcp.json`: `{ engines: [{ id, transport: "http", url, weight?, required? }] }`. What a
 * member means that is not named there is not asked.
 *
 * @throws TypeError naming the engine by its place
 */
export function readRegistry(registry: unknown): EngineEntry[] {
  const engines = isObject(registry) ? registry.engines : undefined;
  if (!Array.isArray(engines)) throw new TypeError("a registry must be an object with a list of engines");
  const entries = engines.map(readEntry);
  if (new Set(entries.map(({ id }) => id)).size < entries.length)
    throw new TypeError("each engine of a registry must have an id of its own");
  return entries;
}

function readEntry(engine: unknown, index: number): EngineEntry {
  const refuse = (detail: string) => new TypeError(`engines[${index}] ${detail}`);
  if (!isObject(engine)) throw refuse("must be an object");
  const { id, transport, url, weight, required } = engine;
  if (typeof id !== "string" || id === "") throw refuse("must have an id");
  if (transport !== "http") throw refuse("must have the transport http: no process can be started from here");
  if (typeof url !== "string") throw refuse("must have a url");
  if (weight !== undefined && !(typeof weight === "number" && weight > 0 && Number.isFinite(weight)))
    throw refuse("must have a weight above 0, or none");
  if (required !== undefined && typeof required !== "boolean") throw refuse("must be required or not: true or false");
  return { id, url, ...(weight !== undefined && { weight }), ...(required !== undefined && { required }) };
}
