/**
 * The names of a JSON object's members as its text has them, one that is repeated as often as it stands there: JSON.parse keeps its
 * last value and says nothing of the others.
 *
 * @param text what JSON.parse took for an object
 */
export function memberNames(text: string): string[] {
  const names: string[] = [];
  let depth = 0;
  let isName = false;
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case "{":
      case "[":
        depth += 1;
        isName = depth === 1;
        break;
      case "}":
      case "]":
        depth -= 1;
        break;
      case ",":
        isName = depth === 1;
        break;
      case '"': {
        const end = endOfString(text, at);
        if (isName) names.push(JSON.parse(text.slice(at, end + 1)));
        isName = false;
        at = end;
      }
    }
  }
  return names;
}

/** Where the string that begins at a quote ends: at the next one with an even number of backslashes before it. */
function endOfString(text: string, start: number): number {
  let end = start;
  let backslashes: number;
  do {
    end = text.indexOf('"', end + 1);
    backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes += 1;
  } while (backslashes % 2 === 1);
  return end;
}
