/** Lines through measured points, as the text of an SVG that stands alone and is read on light and on dark. */

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Axis {
  /** With its unit. */
  readonly label: string;
  readonly scale: "log" | "linear";
  /** Values that are shown whatever was measured. */
  readonly include?: readonly number[];
}

export interface Plot {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
}

const WIDTH = 720;
const LEFT = 80;
const RIGHT = WIDTH - 50;
const TOP = 50;
const BOTTOM = 350;
/** Of the first line of the legend, which stands below the label of the x axis. */
const LEGEND = 415;
const LEGEND_LINE = 22;
const MOST_LOG_TICKS = 8;
const LINEAR_STEPS = 5;

/** Each is told by its colour and by its mark. */
const COLOURS = [
  { light: "#0550ae", dark: "#79c0ff" },
  { light: "#bc4c00", dark: "#ffa657" },
  { light: "#116329", dark: "#7ee787" },
  { light: "#8250df", dark: "#d2a8ff" },
  { light: "#a0111f", dark: "#ff7b72" },
] as const;
const MARKS = [
  "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
  "M-4,-4h8v8h-8z",
  "M0,-5l5,9h-10z",
  "M0,-5l5,5l-5,5l-5,-5z",
  "M-5,-4h10l-5,9z",
] as const;

const STYLE = `
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px }
.page { fill: #ffffff }
.grid { stroke: #d1d9e0 }
${COLOURS.map(({ light }, at) => `.c${at} { stroke: ${light}; fill: ${light} }`).join("\n")}
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.page { fill: #0d1117 }
.grid { stroke: #3d444d }
${COLOURS.map(({ dark }, at) => `.c${at} { stroke: ${dark}; fill: ${dark} }`).join("\n")}
}
path { stroke: none }
polyline { stroke-width: 2; fill: none !important }`;

export function plotToSvg({ title, x, y, series }: Plot): string {
  const points = series.flatMap((one) => one.points);
  const across = scaleOf(
    x,
    points.map(([value]) => value),
    LEFT,
    RIGHT,
  );
  const up = scaleOf(
    y,
    points.map(([, value]) => value),
    BOTTOM,
    TOP,
  );
  const height = LEGEND + series.length * LEGEND_LINE;
  const middle = (LEFT + RIGHT) / 2;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" width="${WIDTH}" height="${height}"/>`,
    `<text class="title" x="${LEFT}" y="28">${escaped(title)}</text>`,
    ...across.ticks.flatMap((tick) => {
      const at = across.place(tick);
      return [
        `<line class="grid" x1="${at}" x2="${at}" y1="${TOP}" y2="${BOTTOM}"/>`,
        `<text x="${at}" y="${BOTTOM + 20}" text-anchor="middle">${numeral(tick)}</text>`,
      ];
    }),
    ...up.ticks.flatMap((tick) => {
      const at = up.place(tick);
      return [
        `<line class="grid" x1="${LEFT}" x2="${RIGHT}" y1="${at}" y2="${at}"/>`,
        `<text x="${LEFT - 8}" y="${at + 4}" text-anchor="end">${numeral(tick)}</text>`,
      ];
    }),
    `<text x="${middle}" y="${BOTTOM + 42}" text-anchor="middle">${escaped(x.label)}</text>`,
    `<text transform="translate(20,${(TOP + BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${escaped(y.label)}</text>`,
    ...series.flatMap((one, number) => {
      const colour = `c${number % COLOURS.length}`;
      const mark = MARKS[number % MARKS.length];
      const places = one.points.map(([atX, atY]) => `${across.place(atX)},${up.place(atY)}`);
      const line = LEGEND + number * LEGEND_LINE;
      return [
        `<polyline class="${colour}" points="${places.join(" ")}"/>`,
        ...places.map((place) => `<path class="${colour}" transform="translate(${place})" d="${mark}"/>`),
        `<path class="${colour}" transform="translate(${LEFT + 8},${line})" d="${mark}"/>`,
        `<text x="${LEFT + 22}" y="${line + 4}">${escaped(one.name)}</text>`,
      ];
    }),
    "</svg>",
    "",
  ].join("\n");
}

interface Scale {
  /** The first and the last are the ends of the axis. */
  readonly ticks: readonly number[];
  place(value: number): number;
}

function scaleOf({ scale, include = [] }: Axis, values: readonly number[], from: number, to: number): Scale {
  const shown = [...values, ...include];
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  const ticks = scale === "log" ? logTicks(low, high) : linearTicks(low, high);
  const along = scale === "log" ? Math.log10 : (value: number) => value;
  const [first, last] = [along(ticks.at(0) ?? 0), along(ticks.at(-1) ?? 1)];
  const place = (value: number) =>
    Math.round(10 * (from + ((along(value) - first) / (last - first)) * (to - from))) / 10;
  return { ticks, place };
}

/** At 1, 2 and 5 of each power of ten, or at the powers alone where those would be many. */
function logTicks(low: number, high: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const powers = Array.from({ length: last - first + 2 }, (_, at) => first + at);
  const within = (ticks: readonly number[]) => {
    const from = ticks.findLastIndex((tick) => tick <= low);
    const to = ticks.findIndex((tick, at) => tick >= high && at > from);
    return ticks.slice(from, to + 1);
  };
  const fine = within(powers.flatMap((power) => [1, 2, 5].map((step) => Number(`${step}e${power}`))));
  return fine.length > MOST_LOG_TICKS ? within(powers.map((power) => Number(`1e${power}`))) : fine;
}

function linearTicks(low: number, high: number): number[] {
  const rough = (high - low || Math.abs(high) || 1) / LINEAR_STEPS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((size) => size * power >= rough) ?? 10);
  const first = Math.floor(low / step);
  const last = Math.max(Math.ceil(high / step), first + 1);
  return Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

const numeral = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 6 });

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
