/** What stands in the place of figures that could not be had. */
export interface Failure {
  readonly failure: string;
}

export const isFailure = (figures: unknown): figures is Failure =>
  typeof figures === "object" && figures !== null && "failure" in figures;

const MOST_CHARACTERS = 300;
const PLACE = /(?<![\w/])(?:[a-z][a-z+.-]*:\/\/|[.~]{0,2}\/)[^\s'"`()<>,;]+/gi;

/** Why something did not run, for figures that are published: how the message begins, without the machine's paths and addresses. */
export function reasonOf(error: unknown): string {
  const [line = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return line.replaceAll(PLACE, "…").slice(0, MOST_CHARACTERS).replace(/:$/, "");
}
