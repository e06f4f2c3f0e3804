import { get } from "./api.js";
import { h, percent, rowsOf, svg, tell } from "./dom.js";
import * as route from "./route.js";
import { Table } from "./table.js";

const WIDE = 1000;
const HIGH = 640;
const MARGIN = 60;
const FONT = 13;

const radius = (prevalence) => 3 + 11 * Math.sqrt(prevalence);

function meets(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

// Names of the most prevalent concepts, as many as fit without covering each other or another concept's middle.
function labels(points) {
  const discs = points.map((one) => ({
    left: one.px - 2, right: one.px + 2, top: one.py - 2, bottom: one.py + 2,
  }));
  const taken = [];
  const placed = new Map();
  for (const [at, one] of points.entries()) {
    const text = one.name.length > 30 ? `${one.name.slice(0, 29)}…` : one.name;
    const half = (text.length * FONT * 0.56) / 2;
    for (const y of [one.py - one.r - 4, one.py + one.r + FONT]) {
      const box = { left: one.px - half, right: one.px + half, top: y - FONT, bottom: y + 4 };
      const inside = box.left > 2 && box.right < WIDE - 2 && box.top > 2 && box.bottom < HIGH - 2;
      const free = !taken.some((other) => meets(box, other)) && !discs.some((disc, other) => other !== at && meets(box, disc));
      if (inside && free) {
        taken.push(box);
        placed.set(one, { text, y });
        break;
      }
    }
  }
  return placed;
}

// The next concept in the direction of an arrow key: near, and not far off that direction.
function next(points, from, key) {
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  let best = null;
  let least = Infinity;
  for (const one of points) {
    const along = (one.px - from.px) * dx + (one.py - from.py) * dy;
    const off = Math.abs((one.px - from.px) * dy) + Math.abs((one.py - from.py) * dx);
    const far = along + 2 * off;
    if (one !== from && along > 0 && off <= 2 * along && far < least) [best, least] = [one, far];
  }
  return best;
}

function drawing(points, rows) {
  const named = labels(points);
  const said = h("p", { class: "status", "aria-hidden": "true" }, "Point at a concept, or move between them with the arrow keys; Enter opens one.");
  const figure = svg("svg", { class: "map", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "group", "aria-label": "Map of concepts" });
  const describe = (one) => `${one.concept}. ${one.name}: held by ${percent(one.prevalence)} of the ${rows}`;
  for (const [at, one] of points.entries()) {
    one.link = svg(
      "a",
      { href: route.concept(one.concept), tabindex: at === 0 ? "0" : "-1", "aria-label": describe(one) },
      svg("title", {}, describe(one)),
      svg("circle", { cx: one.px, cy: one.py, r: one.r }),
    );
    const point = () => { said.textContent = describe(one); };
    one.link.addEventListener("mouseenter", point);
    one.link.addEventListener("focus", point);
    one.link.addEventListener("keydown", (event) => {
      if (!event.key.startsWith("Arrow")) return;
      event.preventDefault();
      const to = next(points, one, event.key);
      if (!to) return;
      one.link.setAttribute("tabindex", "-1");
      to.link.setAttribute("tabindex", "0");
      to.link.focus();
    });
    figure.append(one.link);
  }
  // Above all discs.
  for (const [one, label] of named) {
    figure.append(svg("text", { x: one.px, y: label.y, "font-size": FONT, "text-anchor": "middle", "aria-hidden": "true" }, label.text));
  }
  return [h("div", { class: "scroll" }, figure), said];
}

export async function showMap({ model }) {
  const table = new Table("nearest", { caption: "Most alike concepts", find: "Search concepts", one: "concept", rows: 10 });
  const [answer] = await Promise.all([get("map"), table.load()]);
  const points = answer.points.map((one) => ({
    ...one,
    px: MARGIN + one.x * (WIDE - 2 * MARGIN),
    py: MARGIN / 2 + one.y * (HIGH - MARGIN),
    r: radius(one.prevalence),
  }));
  tell("");
  return [
    h("h1", { tabindex: "-1" }, "Map of concepts"),
    h("p", {}, `Concepts that share words and ${rowsOf(model)} lie near each other; a disc’s area grows with prevalence.`),
    ...(points.length > 0 ? drawing(points, rowsOf(model)) : [h("p", {}, "There are no concepts.")]),
    h("h2", {}, "Most alike concepts"),
    table.element,
  ];
}
