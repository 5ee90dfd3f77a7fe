/** Texts whose names are remembered: filters make texts without end. */
const MAX_TEXTS = 1_000;

/** Gives each text a name that no other has; one that was long ago may have another by now. */
export function statementNames(): (text: string) => string {
  const names = new Map<string, string>();
  let made = 0;
  return (text) => {
    const known = names.get(text);
    if (known !== undefined) return known;
    const [oldest] = names.keys();
    if (oldest !== undefined && names.size >= MAX_TEXTS) names.delete(oldest);
    const name = `pgrcp_${made++}`;
    names.set(text, name);
    return name;
  };
}
