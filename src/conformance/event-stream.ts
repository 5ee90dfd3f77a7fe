import { type Frame, readFrame } from "./frame.ts";
import { ensure, show } from "./outcome.ts";

/**
 * Reads a whole event stream as RCP §5.2 frames it: each frame is one `data:` line and a blank line. Comment lines are heartbeats.
 *
 * @throws Violation for any other line, or for a frame that is cut off
 */
export function readEventStream(body: Buffer): Frame[] {
  const frames: Frame[] = [];
  const events = body.toString("utf8").split(/\r?\n\r?\n/);
  ensure((events.pop() ?? "").trim() === "", "the last frame of the stream has no blank line after it");
  for (const event of events) {
    const lines = event.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith(":"));
    if (lines.length === 0) continue;
    const [line = ""] = lines;
    ensure(lines.length === 1 && line.startsWith("data:"), `a frame must be one data: line, not ${show(event)}`);
    frames.push(readFrame(Buffer.from(line.slice("data:".length).trim())));
  }
  return frames;
}
