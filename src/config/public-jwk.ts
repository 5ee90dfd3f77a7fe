/** RFC 7518 §6: what only a private or a shared key has. */
const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];

/**
 * What keeps a JWK from standing in a set of verification keys.
 *
 * @returns undefined when nothing does
 */
export function publicJwkProblem(jwk: Readonly<Record<string, unknown>>, kidRequired: boolean): string | undefined {
  if (jwk.kty === "oct" || PRIVATE_MEMBERS.some((member) => Object.hasOwn(jwk, member)))
    return "holds a private or shared key; give public keys only, and replace this one, since it has been written down";
  if (typeof jwk.kty !== "string") return "has a key without kty; give JWKs as the issuer publishes them";
  if (kidRequired && (typeof jwk.kid !== "string" || jwk.kid === ""))
    return "has a key without kid; give it one, or set auth.kidRequired: false";
  return undefined;
}
