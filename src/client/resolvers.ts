/**
 * Params that a model never fills: a resolver takes each from the context that the host has verified, at the time of the call. What
 * gives no value ends the call before anything is sent.
 */

export type BoundScalar = string | number | boolean;
/** A list is for filter fields: one of its values has to match. */
export type BoundValue = BoundScalar | readonly BoundScalar[];

export type Resolver<Context> = (
  context: Context,
) => BoundValue | null | undefined | Promise<BoundValue | null | undefined>;
export type Resolvers<Context, Names extends string = string> = Readonly<Record<Names, Resolver<Context>>>;

/** A bound param has no value, so nothing was sent. The message names the param; what was resolved is nowhere in it. */
export class UnresolvedParamError extends Error {
  override readonly name = "UnresolvedParamError";
  readonly param: string;

  constructor(param: string, detail: string, options?: ErrorOptions) {
    super(`${param} ${detail}, so nothing was sent`, options);
    this.param = param;
  }
}

/** Names and their resolvers, as they were when they were given: what is added later, or inherited, binds nothing. */
export class Bindings<Context> {
  readonly #resolvers: ReadonlyMap<string, Resolver<Context>>;
  readonly #context: Context | (() => Context | Promise<Context>);

  /** @throws TypeError for a resolver that is no function */
  constructor(resolvers: Resolvers<Context>, context: Context | (() => Context | Promise<Context>)) {
    for (const [name, resolver] of Object.entries<unknown>(resolvers)) {
      if (typeof resolver !== "function") throw new TypeError(`the resolver of ${name} must be a function`);
      if (name.trim() === "") throw new TypeError("a resolver must have the name of a param");
    }
    this.#resolvers = new Map(Object.entries(resolvers));
    this.#context = context;
  }

  get names(): readonly string[] {
    return [...this.#resolvers.keys()];
  }

  has(name: string): boolean {
    return this.#resolvers.has(name);
  }

  /**
   * Runs every resolver once.
   *
   * @throws UnresolvedParamError for null, undefined, blank text, an empty list, a number that is none, any other kind of value, and
   *   a resolver or context that fails
   */
  async resolve(): Promise<ReadonlyMap<string, BoundValue>> {
    if (this.#resolvers.size === 0) return new Map();
    const context = await this.#verifiedContext();
    const values = [...this.#resolvers].map(
      async ([name, resolver]) => [name, await resolved(name, resolver, context)] as const,
    );
    return new Map(await Promise.all(values));
  }

  async #verifiedContext(): Promise<Context> {
    if (!isProvider(this.#context)) return this.#context;
    try {
      return await this.#context();
    } catch (cause) {
      throw new UnresolvedParamError("the context", "could not be had", { cause });
    }
  }
}

const isProvider = <Context>(
  context: Context | (() => Context | Promise<Context>),
): context is () => Context | Promise<Context> => typeof context === "function";

async function resolved<Context>(name: string, resolver: Resolver<Context>, context: Context): Promise<BoundValue> {
  let value: unknown;
  try {
    value = await resolver(context);
  } catch (cause) {
    throw new UnresolvedParamError(name, "could not be resolved", { cause });
  }
  if (isScalar(value)) return value;
  // A copy, because `every` passes over holes.
  const list: readonly unknown[] = Array.isArray(value) ? [...value] : [];
  if (list.length > 0 && list.every(isScalar)) return Object.freeze(list);
  throw new UnresolvedParamError(name, "was resolved to no value");
}

/** Nothing to see, whatever characters say so. */
const BLANK = /^[\s\p{Default_Ignorable_Code_Point}\p{Cc}]*$/u;

const isScalar = (value: unknown): value is BoundScalar =>
  typeof value === "boolean" ||
  (typeof value === "number" && Number.isFinite(value)) ||
  (typeof value === "string" && value.isWellFormed() && !BLANK.test(value));
