import type { IncomingMessage } from "node:http";

/** Every value that was sent under a header name, in order. Node's parsed headers join duplicates or drop them. */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const value = rawHeaders[index + 1];
    if (rawHeaders[index]?.toLowerCase() === name && value !== undefined) values.push(value);
  }
  return values;
}
