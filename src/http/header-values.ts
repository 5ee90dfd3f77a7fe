import type { IncomingMessage } from "node:http";

/** Every value that was sent under a header name, in order. Node's parsed headers join duplicates or drop them. */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index];
    const value = rawHeaders[index + 1];
    if (sent?.length === name.length && sent.toLowerCase() === name && value !== undefined) values.push(value);
  }
  return values;
}
