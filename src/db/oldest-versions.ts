/** The oldest versions that work. */

export const OLDEST_POSTGRES = 15;
export const OLDEST_VECTOR = [0, 8, 0] as const;
/** Before it, an index built in parallel can overflow a buffer (CVE-2026-3172, mended in 0.8.2), and VACUUM can lose graph entries. */
export const GOOD_VECTOR = [0, 8, 4] as const;

/** True when `version` is at least `wanted`, part by part. */
export function isAtLeast(version: string, wanted: readonly number[]): boolean {
  const parts = version.split(".").map((part) => Number.parseInt(part, 10) || 0);
  for (const [index, want] of wanted.entries()) {
    const part = parts[index] ?? 0;
    if (part !== want) return part > want;
  }
  return true;
}
