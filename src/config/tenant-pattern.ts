/**
 * The configured pattern as one that must match the whole of a tenant id. It is wrapped, so that an alternation such as
 * `^a|b$` cannot match a mere part.
 *
 * @throws SyntaxError when it does not compile
 */
export function compileTenantPattern(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`, "u");
}
