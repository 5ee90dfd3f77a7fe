/** More texts than this are not worth a place in every connection's memory: filters make texts without end. */
const MAX_NAMES = 200;

/** Gives each of the first texts a name of its own, and later ones none. */
export function statementNames(): (text: string) => string | undefined {
  const names = new Map<string, string>();
  return (text) => {
    const known = names.get(text);
    if (known !== undefined || names.size >= MAX_NAMES) return known;
    const name = `pgrcp_${names.size}`;
    names.set(text, name);
    return name;
  };
}
