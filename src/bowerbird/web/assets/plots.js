// Draws the numbers of a route with uPlot: lines, bars (several on each other), stacked areas, points; with the same numbers as a table below.
"use strict";

bowerbird.palette = () => {
  const isDark = getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  return isDark
    ? ["#8fb0ff", "#f2b84b", "#6fcf97", "#ff9fb0", "#c3a6ff", "#5fd0d8", "#d7c27a", "#a3abb8"]
    : ["#2450b8", "#b26a00", "#1c7a43", "#b3264a", "#6b3fb5", "#0f7480", "#7a6a12", "#565d6b"];
};

bowerbird.plot = async (figure) => {
  let [told] = await Promise.all([
    bowerbird.numbers(figure.dataset.plot),
    bowerbird.load("/assets/foreign/uPlot.min.css"),
    bowerbird.load("/assets/foreign/uPlot.iife.min.js"),
  ]).catch(async (error) => {
    fill(figure, await bowerbird.numbers(figure.dataset.plot));
    throw error;
  });
  fill(figure, told);
  let plot = draw(figure, told);
  const again = () => { plot?.destroy(); plot = draw(figure, told); };
  const every = Number(figure.dataset.every);
  if (every) {
    setInterval(async () => {
      if (document.hidden || !figure.isConnected) return;
      // What cannot be told now is told next time; the plot says how old it is.
      const newer = await bowerbird.numbers(figure.dataset.plot).catch(() => null);
      if (newer) { told = newer; fill(figure, told); again(); }
    }, every * 1000);
  }
  addEventListener("theme", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  let width = figure.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(figure.clientWidth - width) > 4) { width = figure.clientWidth; again(); }
  }).observe(figure);
};

// The numbers as a table, and how old they are.
function fill(figure, told) {
  const scroll = figure.querySelector("details .scroll");
  const heads = [told.x_label || (told.x === "time" ? "Time (UTC)" : ""), ...told.series.map((one) => one.label)];
  const xs = told.xs.map((x) => (told.x === "time" ? timeWords(x) : x));
  scroll?.replaceChildren(bowerbird.table(heads, xs.map((x, at) => [x, ...told.series.map((one) => one.values[at] ?? null)])));
  if (told.as_of) {
    figure.querySelector(".as-of")?.remove();
    const when = bowerbird.element("time", { datetime: told.as_of, title: told.as_of }, told.as_of);
    figure.querySelector("details").before(bowerbird.element("p", { class: "as-of" }, "As of ", when));
    bowerbird.tick();
  }
}

const seconds = (x) => (typeof x === "number" ? x : Date.parse(x) / 1000);
const timeWords = (x) => new Date(seconds(x) * 1000).toISOString().replace("T", " ").replace(/:\d\d\.\d+Z$/, "").replace(" 00:00", "");

function draw(figure, told) {
  const canvas = figure.querySelector(".canvas");
  canvas.replaceChildren();
  if (!told.xs.length || !told.series.length) {
    canvas.append(bowerbird.element("p", { class: "note" }, told.none ?? "There are no numbers yet."));
    return null;
  }
  const isTime = told.x === "time";
  const xs = isTime ? told.xs.map(seconds) : told.xs;
  const isNamed = !isTime && xs.some((x) => typeof x !== "number");
  const places = isNamed ? xs.map((_, at) => at) : xs;
  const colours = bowerbird.palette();
  // An area over a few places is a line, or nothing: they are bars on each other.
  const isBars = told.kind === "bars" || (told.kind === "stacked" && isTime && places.length < FEW);
  const heights = bowerbird.heights(told);
  // The highest first: what stands before it is drawn over it.
  const order = isStacked(told) ? [...heights.keys()].reverse() : [...heights.keys()];
  const soft = bowerbird.resolved("--soft"), line = bowerbird.resolved("--line");
  const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "11px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
  legend(canvas, told, colours);
  const place = canvas.appendChild(bowerbird.element("div"));
  const narrow = figure.clientWidth < 480;
  return new uPlot({
    width: canvas.clientWidth,
    height: Number(figure.dataset.height) || 220,
    tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1000), "UTC"),
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { size: 6 } },
    scales: { x: { time: isTime, distr: told.x === "log" ? 3 : 1, ...(isTime && (isBars || places.length === 1) ? { range: bounded(places, told, isBars) } : isNamed || isBars ? { range: padded(places) } : {}) }, y: { distr: told.y === "log" ? 3 : 1, range: told.y === "log" ? undefined : fromZero } },
    axes: [
      { ...axis, label: narrow ? undefined : [told.x_label || (isTime ? "Time (UTC)" : ""), told.note].filter(Boolean).join("; ") || undefined, labelSize: 16, size: isTime ? 46 : 28, labelGap: isTime ? 4 : 0, ...(isTime ? { values: TIMES, space: 52 } : {}), ...(isNamed ? { splits: () => places, values: (_, at) => at.map((n) => String(told.xs[n] ?? "")) } : {}) },
      { ...axis, label: told.y_label, labelSize: 18, size: (self, values) => 20 + 6.6 * Math.max(3, ...(values || []).map((one) => String(one ?? "").length)), values: (_, at) => (told.y === "log" ? at.flatMap((one) => shortened([one])) : shortened(at)) },
    ],
    series: [{ value: (_, x) => (x === null ? "" : isTime ? timeWords(x) : isNamed ? told.xs[x] : bowerbird.shown(x)) }, ...order.map((at) => drawn(told, at, colours[at % colours.length], isBars))],
    hooks: { setCursor: [(self) => point(self, canvas, told, isTime)] },
  }, [places, ...order.map((at) => heights[at].map((value) => value ?? null))], place);
}

// How the axis of time is labelled: from so many seconds between two marks on; then what stands below where the year, day or minute changes.
const TIMES = [
  [31536000, "{YYYY}", null, null, null, null, null, null, 1],
  [2419200, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [86400, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [3600, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
  [0.001, ":{ss}.{fff}", "\n{D} {MMM} {HH}:{mm}", null, null, null, null, null, 1],
];
const fromZero = (_, low, high) => {
  if (low === null) return [0, 1];
  const top = high === low ? Math.abs(high) || 1 : high;
  return [Math.min(0, low), Math.max(top + (top - Math.min(0, low)) * 0.08, Number.MIN_VALUE)];
};
const padded = (places) => {
  const step = places.length > 1 ? Math.min(...places.slice(1).map((x, at) => x - places[at])) : 1;
  return [places[0] - step * 0.6, places[places.length - 1] + step * 0.6];
};
const FEW = 5;
const FEWEST = 4; // steps that an axis of time has at least
// An axis of time ends now, or with its last step: what is to come is not shown. Of a step that has just begun a tenth is.
bowerbird.bounded = (places, told, isBars, now) => {
  const step = told.step ?? (places.length > 1 ? Math.min(...places.slice(1).map((x, at) => x - places[at])) : 600);
  const last = places[places.length - 1], isMiddle = told.place === "middle" || !isBars;
  const end = Math.max(Math.min(last + step * (isMiddle ? 0.5 : 1), now), last + step * 0.1);
  return [Math.min(places[0] - step * (isMiddle ? 0.5 : 0.1), end - FEWEST * step), end];
};
const bounded = (places, told, isBars) => bowerbird.bounded(places, told, isBars, Date.now() / 1000);
// All marks of an axis in one unit, that of the largest.
const UNITS = [[1e9, 1e9, " bn"], [1e6, 1e6, " M"], [1e4, 1e3, " k"], [0, 1, ""]];
function shortened(marks) {
  const largest = Math.max(0, ...marks.map((mark) => Math.abs(mark ?? 0)));
  const [, divisor, unit] = UNITS.find(([from]) => largest >= from);
  return marks.map((mark) => (mark === null ? "" : mark === 0 ? "0" : (mark / divisor).toLocaleString("en", { maximumFractionDigits: 3 }) + unit));
}

const isStacked = (told) => told.kind === "stacked" || (told.kind === "bars" && told.series.length > 1);
bowerbird.heights = (told) => (isStacked(told) ? stacked(told.series) : told.series.map((one) => one.values));

function stacked(series) {
  const sums = series.map(() => []);
  for (let at = 0; at < series[0].values.length; at += 1) {
    let sum = 0;
    series.forEach((one, number) => { sum += one.values[at] ?? 0; sums[number][at] = sum; });
  }
  return sums;
}

function drawn(told, at, colour, isBars) {
  const base = { label: told.series[at].label, stroke: colour, width: 1.75, points: { show: false } };
  // A bar of a time lies after it: a day begins at midnight.
  const align = told.x === "time" && told.place !== "middle" ? 1 : 0;
  if (isBars) return { ...base, width: 0, fill: colour, paths: uPlot.paths.bars({ align, size: told.xs.length === 1 ? [0.1, 64] : [0.8, 64] }) };
  if (told.kind === "stacked") return { ...base, width: 1, stroke: bowerbird.resolved("--raised"), fill: colour };
  if (told.kind === "points") return { ...base, width: 0, paths: () => null, points: { show: true, size: 6, fill: faded(colour, "80"), stroke: colour, width: 1 } };
  return { ...base, fill: told.series.length === 1 && told.y !== "log" ? faded(colour, "22") : undefined, points: { show: told.xs.length < 3, size: 6, fill: colour } };
}

const faded = (colour, opacity) => colour + opacity;

function legend(canvas, told, colours) {
  const list = bowerbird.element("ul", { class: "legend" });
  told.series.forEach((one, at) => {
    const swatch = bowerbird.element("span", { class: "swatch" });
    swatch.style.background = colours[at % colours.length];
    list.append(bowerbird.element("li", {}, swatch, bowerbird.element("span", {}, one.label), bowerbird.element("b", {}, "")));
  });
  list.append(bowerbird.element("li", { class: "where" }, ""));
  canvas.append(list);
}

// Says the numbers under the pointer in the legend.
function point(self, canvas, told, isTime) {
  const at = self.cursor.idx;
  canvas.querySelectorAll(".legend b").forEach((place, number) => {
    place.textContent = at === null || at === undefined ? "" : `${bowerbird.shown(told.series[number].values[at] ?? null)} ${told.unit || ""}`;
  });
  const where = canvas.querySelector(".where");
  if (where) where.textContent = at === null || at === undefined ? "" : isTime ? `${timeWords(told.xs[at])} UTC` : String(bowerbird.shown(told.xs[at]));
}
