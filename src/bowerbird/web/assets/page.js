// What every page does: keys, light and dark, copying, confirming, watching live. Plots, graphs and maps load their own files.
"use strict";

const bowerbird = {};
window.bowerbird = bowerbird;

bowerbird.load = (() => {
  const loading = new Map();
  return (address) => {
    if (!loading.has(address)) {
      loading.set(address, new Promise((done, failed) => {
        const isStyle = address.split("?")[0].endsWith(".css");
        const element = document.createElement(isStyle ? "link" : "script");
        if (isStyle) { element.rel = "stylesheet"; element.href = address; } else { element.src = address; }
        element.onload = done;
        element.onerror = () => failed(new Error(address));
        document.head.append(element);
      }));
    }
    return loading.get(address);
  };
})();

bowerbird.element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

// A table of plain texts; numbers stand to the right.
bowerbird.table = (heads, rows) => {
  const isNumber = heads.map((_, at) => rows.length > 0 && rows.every((row) => row[at] === null || typeof row[at] === "number"));
  const cell = (name, value, at) => bowerbird.element(name, isNumber[at] ? { class: "n" } : {}, bowerbird.shown(value));
  const table = bowerbird.element("table", { class: "rows" });
  table.append(bowerbird.element("thead", {}, bowerbird.element("tr", {}, ...heads.map((head, at) => cell("th", head, at)))));
  table.append(bowerbird.element("tbody", {}, ...rows.map((row) => bowerbird.element("tr", {}, ...row.map((value, at) => cell("td", value, at))))));
  return table;
};

bowerbird.shown = (value) => {
  if (value === null || value === undefined) return "–";
  if (value instanceof Node) return value;
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 3 }) : String(value);
};

bowerbird.colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A colour of the theme as a canvas understands it: `light-dark()` is for style sheets alone.
bowerbird.resolved = (name) => {
  const probe = bowerbird.element("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
};

bowerbird.sayMissing = (figure, error) => {
  const canvas = figure.querySelector(".canvas");
  const words = error && /foreign/.test(error.message)
    ? "Nothing can be drawn: the drawing libraries are missing. Run `make install` in a checkout, or install bowerbird from its wheel. The numbers are in the table below."
    : "The numbers did not arrive; load the page again.";
  canvas.replaceChildren(bowerbird.element("p", { class: "note" }, words));
};

bowerbird.numbers = async (address) => {
  const answer = await fetch(address, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
};

const kinds = ["plot", "graph", "map"];

bowerbird.enhance = (root) => {
  for (const kind of kinds) {
    for (const figure of root.querySelectorAll(`[data-${kind}]:not([data-drawn])`)) {
      figure.dataset.drawn = "yes";
      bowerbird.load(figure.dataset.script).then(() => bowerbird[kind](figure)).catch((error) => bowerbird.sayMissing(figure, error));
    }
  }
  // A drawing that is wider than the screen begins in its middle, where the seeds are.
  for (const part of root.querySelectorAll(".drawing:not([data-seen])")) {
    part.dataset.seen = "yes";
    if (!part.closest("[data-live][data-watched]")) part.scrollLeft = (part.scrollWidth - part.clientWidth) / 2;
  }
  for (const part of root.querySelectorAll("[data-live]:not([data-watched])")) watch(part);
  for (const part of root.querySelectorAll("[data-again]")) setTimeout(() => location.reload(), Number(part.dataset.again) * 1000);
};

function watch(part) {
  part.dataset.watched = "yes";
  const source = new EventSource(part.dataset.live);
  source.onmessage = (message) => {
    if (!part.isConnected) { source.close(); return; }
    // Whoever has a field or a selection in there is not disturbed.
    if (part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea")) return;
    const focused = part.contains(document.activeElement) ? focusOf(part, document.activeElement) : null;
    const places = scrolled(part);
    if ("parts" in part.dataset) replaceParts(part, message.data);
    else part.innerHTML = message.data;
    for (const region of regions(part)) region.scrollLeft = places.get(region.ariaLabel) ?? region.scrollLeft;
    if (focused) refocus(part, focused);
    bowerbird.enhance(part);
    tick();
  };
  source.onerror = () => part.classList.add("stale");
  source.onopen = () => part.classList.remove("stale");
  addEventListener("pagehide", () => source.close());
}

// What has the focus is found again after it was replaced: by its id, or as the same link or button, counted from the top.
const likeness = (one) => [one.tagName, one.getAttribute("href"), one.dataset.copy, one.ariaLabel].join(" ");
const alike = (part, words) => [...part.querySelectorAll("a, button, summary, [tabindex]")].filter((one) => likeness(one) === words);
function focusOf(part, one) {
  const words = likeness(one);
  return { one, id: one.id, words, at: alike(part, words).indexOf(one), isChosen: Boolean(one.closest("tr.chosen")) };
}
function refocus(part, { one, id, words, at, isChosen }) {
  if (one.isConnected) return;
  const found = (id && document.getElementById(id)) || alike(part, words)[at];
  found?.focus({ preventScroll: true });
  if (isChosen) found?.closest("tr")?.classList.add("chosen");
}

// How far each wide table or drawing is scrolled: what is pushed does not take it back.
const regions = (part) => part.querySelectorAll(".scroll[aria-label]");
const scrolled = (part) => new Map([...regions(part)].map((region) => [region.ariaLabel, region.scrollLeft]));

// Of a part with `data-parts` only those pieces are replaced that are told, by their id: what stands between them stays.
function replaceParts(part, html) {
  const told = document.createElement("template");
  told.innerHTML = html;
  for (const piece of [...told.content.children]) part.querySelector(`#${CSS.escape(piece.id)}`)?.replaceWith(piece);
}

// Ages are counted on while a page stands open, by the clock of the server.
// Compared when the answer began to arrive: a page that loads slowly is not a clock that is ahead.
const arrived = performance.timeOrigin + (performance.getEntriesByType("navigation")[0]?.responseStart || performance.now());
const ahead = document.documentElement.dataset.now ? arrived - Date.parse(document.documentElement.dataset.now) : 0;
function tick() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const passed = (Date.now() - ahead - Date.parse(time.dateTime)) / 1000;
    // Numbers are never from the future, whatever two clocks say.
    const seconds = time.closest(".as-of") ? Math.max(passed, 0) : passed;
    if (!Number.isNaN(seconds)) time.textContent = ageWords(seconds);
  }
}

bowerbird.tick = tick;

function ageWords(seconds) {
  const whole = Math.abs(Math.round(seconds));
  if (whole < 2) return "now";
  const two = (n) => String(n).padStart(2, "0");
  let words = `${whole} s`;
  if (whole >= 86400) words = `${Math.floor(whole / 86400).toLocaleString("en")} d`;
  else if (whole >= 3600) words = `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
  else if (whole >= 60) words = `${Math.floor(whole / 60)} min`;
  return seconds > 0 ? `${words} ago` : `in ${words}`;
}

function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=strict`;
  dispatchEvent(new CustomEvent("theme"));
}

// Keys
let isGoing = false;
const isTyping = (target) => target.matches("input, select, textarea, [contenteditable]");

function rows() {
  return [...document.querySelectorAll("main table.rows tbody tr")].filter((row) => row.querySelector("a[href]") && row.offsetParent);
}

function move(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.classList.contains("chosen"));
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
  all[at]?.classList.remove("chosen");
  next.classList.add("chosen");
  (next.querySelector("a[data-row]") || next.querySelector("a[href]")).focus();
  next.scrollIntoView({ block: "nearest" });
}

const keys = {
  "/": () => (document.querySelector("main [data-search]") ?? document.querySelector("main input[type=search], main input[name=q]"))?.focus(),
  "?": () => { location.href = "/help"; },
  t: switchTheme,
  j: () => move(1),
  k: () => move(-1),
  n: () => document.querySelector("a[data-page=next]")?.click(),
  p: () => document.querySelector("a[data-page=previous]")?.click(),
};
bowerbird.keys = keys;

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && isTyping(event.target)) { event.target.blur(); return; }
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  if (isGoing) {
    isGoing = false;
    const area = document.querySelector(`.areas a[data-key="${CSS.escape(event.key)}"]`);
    if (area) { event.preventDefault(); area.click(); }
    return;
  }
  if (event.key === "g") { isGoing = true; setTimeout(() => { isGoing = false; }, 1500); return; }
  if (Object.hasOwn(keys, event.key)) { event.preventDefault(); keys[event.key](event); }
});

addEventListener("click", async (event) => {
  const copying = event.target.closest?.("[data-copy]");
  if (copying) {
    await navigator.clipboard?.writeText(copying.dataset.copy);
    copying.textContent = "Copied";
  }
  if (event.target.closest?.("#theme")) switchTheme();
});

// Asks before what cannot be taken back.
addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.confirm || form.dataset.confirmed) return;
  event.preventDefault();
  const dialog = bowerbird.element("dialog", { "aria-label": "Confirm" });
  const yes = bowerbird.element("button", { type: "button", class: "primary" }, "Yes");
  const no = bowerbird.element("button", { type: "button" }, "No");
  dialog.append(bowerbird.element("p", {}, form.dataset.confirm), bowerbird.element("div", { class: "row" }, yes, no));
  document.body.append(dialog);
  no.onclick = () => dialog.close();
  dialog.onclose = () => dialog.remove();
  yes.onclick = () => { form.dataset.confirmed = "yes"; dialog.close(); form.requestSubmit(); };
  dialog.showModal();
});

addEventListener("DOMContentLoaded", () => {
  bowerbird.enhance(document);
  for (const here of document.querySelectorAll(".areas a[aria-current], .tabs a[aria-current]")) here.scrollIntoView({ block: "nearest", inline: "center" });
  document.body.addEventListener("htmx:afterSettle", (event) => bowerbird.enhance(event.target));
  setInterval(tick, 1000);
});
