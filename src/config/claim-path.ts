/**
 * Where in a token a claim stands: names joined by dots, as in `app_metadata.tenant`. A name that holds `://`, as some
 * identity providers make them, is one claim whatever dots it has.
 */
export function parseClaimPath(text: string): readonly string[] {
  return text.includes("://") ? [text] : text.split(".");
}
