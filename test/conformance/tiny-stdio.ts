import { type Fault, TinyServer } from "./tiny-server.ts";

/** The tiny server as a program on stdio. The fault, if any, is its argument. */

export const STDIO_FAULTS = [
  "talks on standard output",
  "logs frames on standard error",
  "reads one message at a time",
  "chokes on a blank line",
  "begins with a byte order mark",
  "drops answers at the end of input",
  "stays after shutdown",
  "answers after shutdown",
  "answers twice",
] as const;
export type StdioFault = (typeof STDIO_FAULTS)[number];

/** Its path, to start it with. */
export const TINY_STDIO = new URL(import.meta.url).pathname;

function serve(fault: string | undefined): void {
  const has = (one: StdioFault): boolean => fault === one;
  const tiny = new TinyServer(STDIO_FAULTS.some((one) => one === fault) ? undefined : (fault as Fault | undefined));
  const session = { initialized: false, done: false };
  let rest = "";
  const write = (text: string) => void process.stdout.write(`${text}\n`);
  if (has("talks on standard output")) write("listening");
  if (has("begins with a byte order mark")) process.stdout.write("\uFEFF");

  function take(line: string): void {
    if (line.trim() === "") {
      if (has("chokes on a blank line")) process.exit(1);
      return;
    }
    if (session.done && !has("answers after shutdown")) return;
    for (const frame of tiny.handle(line, session)) {
      if (has("drops answers at the end of input")) setTimeout(write, 20, frame);
      else write(frame);
      if (has("answers twice")) write(frame);
      if (has("logs frames on standard error")) process.stderr.write(`${frame}\n`);
    }
    if (session.done && !has("stays after shutdown") && !has("answers after shutdown")) process.stdin.destroy();
  }

  process.stdin.setEncoding("utf8").on("data", (piece: string) => {
    const lines = `${rest}${piece}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of has("reads one message at a time") ? lines.slice(0, 1) : lines) take(line);
  });
  process.stdin.on("end", () => {
    if (has("drops answers at the end of input")) process.exit(0);
  });
  if (has("stays after shutdown")) setInterval(() => {}, 60_000);
}

if (process.argv[1] === TINY_STDIO) serve(process.argv[2]);
