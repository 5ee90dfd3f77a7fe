import type { Handler } from "./handler.ts";

/** RCP §7.12. The dispatcher ends the caller's session; the server itself keeps running (DESIGN ruling 3). */
export const shutdown: Handler = async () => ({});
