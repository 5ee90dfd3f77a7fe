/** The stream has an event that is longer than allowed. */
export class EventTooLong extends Error {
  override readonly name = "EventTooLong";
}

/**
 * The events of a `text/event-stream` body, whatever the pieces it arrives in.
 *
 * @param maxLength most UTF-16 units of one event
 * @returns the data of each event; undefined for a comment, which is how a server shows that it is alive
 * @throws EventTooLong
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  maxLength: number,
): AsyncGenerator<string | undefined> {
  let data: string[] = [];
  let length = 0;
  for await (const line of readLines(body, maxLength)) {
    if (line === "") {
      if (data.length > 0) yield data.join("\n");
      data = [];
      length = 0;
    } else if (line.startsWith(":")) yield undefined;
    else if (/^data(:|$)/.test(line)) {
      data.push(line.slice("data:".length).replace(/^ /, ""));
      length += line.length;
      if (length > maxLength) throw new EventTooLong();
    }
  }
}

/** Lines that end in CRLF, LF or CR; an unfinished last one is dropped, as the standard has it. */
async function* readLines(body: AsyncIterable<Uint8Array>, maxLength: number): AsyncGenerator<string> {
  const lineEnd = /\r\n|\n|\r/g;
  const decoder = new TextDecoder();
  let rest = "";
  let endedInCr = false;
  for await (const piece of body) {
    let text = decoder.decode(piece, { stream: true });
    if (text === "") continue;
    // The second half of a CRLF, whose first half has ended the line already.
    if (endedInCr && text.startsWith("\n")) text = text.slice(1);
    endedInCr = piece.at(-1) === 0x0d;
    // What is left of earlier pieces holds no line end, so it is not searched again.
    lineEnd.lastIndex = rest.length;
    rest += text;
    let from = 0;
    for (let end = lineEnd.exec(rest); end !== null; end = lineEnd.exec(rest)) {
      yield rest.slice(from, end.index);
      from = lineEnd.lastIndex;
    }
    rest = rest.slice(from);
    if (rest.length > maxLength) throw new EventTooLong();
  }
}
