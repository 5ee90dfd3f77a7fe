import { z } from "zod";

/** Kinds of settings that several sections share. */

export const positive = z.int().min(1);
/** Every …Ms key may end up in a timer, and a longer one would fire at once. */
export const milliseconds = positive.max(2_147_483_647);
/** Every time that the database counts from now: a hundred years at most, which its calendar holds. */
const MAX_DAYS = 36_500;
export const days = positive.max(MAX_DAYS);
export const hours = positive.max(MAX_DAYS * 24);
export const seconds = positive.max(MAX_DAYS * 86_400);
export const path = z.string().min(1);
/** Printed as `<set>` and readable from the file that `PGRCP_…_FILE` names. */
export const secret = z.string().min(1).meta({ secret: "value" });
export const url = z.url({ protocol: /^https?$/ });
/** Secrets too, but printed with the password masked. */
export const postgresUrl = z.url({ protocol: /^postgres(ql)?$/ }).meta({ secret: "url" });
export const redisUrl = z.url({ protocol: /^rediss?$/ }).meta({ secret: "url" });
