const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:Z|([+-])(\d{2}):(\d{2})))?$/;

/** The largest distance from the epoch that ECMAScript's time values reach, in milliseconds. */
const MAX_EPOCH_MS = 8.64e15;
const MINUTE_MS = 60_000;

/**
 * The instant that a date value names: an RFC 3339 date-time with offset, a full date (midnight UTC), or an integer number
 * of milliseconds since the epoch.
 *
 * `T` and `Z` are upper case, a leap second is not an instant here, and digits past the millisecond are dropped.
 *
 * @returns epoch milliseconds, a safe integer; undefined when the value is none of these
 * @see RCP §4.6, §8; RFC 3339 §5.6
 */
export function parseDate(value: unknown): number | undefined {
  // Adding 0 turns -0 into 0.
  if (typeof value === "number")
    return Number.isSafeInteger(value) && Math.abs(value) <= MAX_EPOCH_MS ? value + 0 : undefined;
  if (typeof value !== "string") return undefined;
  const match = RFC_3339.exec(value);
  if (match === null) return undefined;
  const part = (index: number): number => Number(match[index] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  const [offsetHour, offsetMinute] = [part(9), part(10)];
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return undefined;

  const milliseconds = Number((match[7] ?? "").slice(0, 3).padEnd(3, "0"));
  // Not Date.UTC, which takes the years 0 to 99 for 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // A day or month that does not exist rolls over into another one.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const local = date.setUTCHours(hour, minute, second, milliseconds);
  const offsetMs = (offsetHour * 60 + offsetMinute) * MINUTE_MS;
  return match[8] === "-" ? local + offsetMs : local - offsetMs;
}
