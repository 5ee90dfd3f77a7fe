const LINE_FEED = 0x0a;

export interface Line {
  /** Without its line feed; undefined for a line that is longer than allowed. */
  readonly bytes: Buffer | undefined;
  /** Bytes of the stream that the line took, the line feed included. */
  readonly size: number;
}

/**
 * The lines of a stream of bytes, split on line feeds alone: U+2028 may stand inside a JSON string, and Node's own line reader splits
 * there. A line that is longer than allowed is passed over without being kept.
 */
export async function* readLines(stream: AsyncIterable<Uint8Array>, maxLineBytes: number): AsyncIterable<Line> {
  let kept: Uint8Array[] = [];
  let size = 0;
  const keep = (piece: Uint8Array) => {
    size += piece.length;
    if (size <= maxLineBytes) kept.push(piece);
    else kept = [];
  };
  const take = (lineFeed: number): Line => {
    const line = { bytes: size > maxLineBytes ? undefined : Buffer.concat(kept), size: size + lineFeed };
    kept = [];
    size = 0;
    return line;
  };
  for await (const piece of stream) {
    let from = 0;
    for (let at = piece.indexOf(LINE_FEED); at !== -1; at = piece.indexOf(LINE_FEED, from)) {
      keep(piece.subarray(from, at));
      yield take(1);
      from = at + 1;
    }
    keep(piece.subarray(from));
  }
  if (size > 0) yield take(0);
}
