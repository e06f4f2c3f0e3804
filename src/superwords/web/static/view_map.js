import { get } from "./api.js";
import { called, failed, h, isLeftover, pageTitle, percent, reliability, rowsOf, svg, tell } from "./dom.js";
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

// How crowded it is around each concept, by the discs near it.
function crowded(points) {
  const near = (a, b) => Math.exp(-(((a.px - b.px) / 90) ** 2) - ((a.py - b.py) / 45) ** 2);
  return new Map(points.map((one) => [one, points.reduce((sum, other) => sum + near(one, other), 0)]));
}

// Names, as many as fit without covering each other or another concept's middle: prevalent concepts first, and among
// them those that stand where it is densest, which have the fewest places left.
function labels(points) {
  const discs = points.map((one) => ({
    left: one.px - 3, right: one.px + 3, top: one.py - 3, bottom: one.py + 3,
  }));
  const taken = [];
  const placed = new Map();
  const density = crowded(points);
  const worth = (one) => Math.sqrt(one.prevalence + 0.01) * Math.sqrt(density.get(one));
  const order = [...points.keys()].sort((a, b) => worth(points[b]) - worth(points[a]));
  for (const most of [60, 30, 16]) {
    for (const at of order) {
      const one = points[at];
      if (placed.has(one)) continue;
      const text = one.name.length > most ? `${one.name.slice(0, most - 1)}…` : one.name;
      const long = text.length * FONT * 0.56;
      const side = one.r + 4;
      const places = [
        [one.px - long / 2, one.py - one.r - 4, "middle"],
        [one.px - long / 2, one.py + one.r + FONT, "middle"],
        [one.px + side, one.py + FONT / 3, "start"],
        [one.px - side - long, one.py + FONT / 3, "end"],
        [one.px + side * 0.7, one.py - one.r, "start"],
        [one.px - side * 0.7 - long, one.py - one.r, "end"],
      ];
      for (const [left, y, anchor] of places) {
        const box = { left, right: left + long, top: y - FONT, bottom: y + 4 };
        const inside = box.left > 2 && box.right < WIDE - 2 && box.top > 2 && box.bottom < HIGH - 2;
        const free = !taken.some((other) => meets(box, other)) && !discs.some((disc, other) => other !== at && meets(box, disc));
        if (inside && free) {
          taken.push(box);
          placed.set(one, { text, y, anchor, x: { middle: left + long / 2, start: left, end: left + long }[anchor] });
          break;
        }
      }
    }
  }
  return placed;
}

function writeNames(figure, points) {
  for (const [one, label] of labels(points)) {
    figure.append(svg("text", {
      x: label.x, y: label.y, "font-size": FONT, "text-anchor": label.anchor, "aria-hidden": "true", class: isLeftover(one.concept) ? "quiet" : "",
    }, label.text));
  }
}

// The whole name of the concept pointed at, readable above all else.
function pointer() {
  const ground = svg("rect", { rx: 4 });
  const lines = [svg("text", { class: "strong" }), svg("text", {})];
  const group = svg("g", { class: "pointed", "aria-hidden": "true", visibility: "hidden" }, ground, ...lines);
  const show = (one, first, second) => {
    lines[0].textContent = first;
    lines[1].textContent = second;
    const wide = Math.min(WIDE - 8, Math.max(...lines.map((line) => line.getComputedTextLength())) + 20);
    const left = Math.max(4, Math.min(one.px - wide / 2, WIDE - wide - 4));
    const top = one.py - one.r - 52 > 2 ? one.py - one.r - 52 : one.py + one.r + 6;
    for (const [name, value] of Object.entries({ x: left, y: top, width: wide, height: 46 })) ground.setAttribute(name, value);
    lines.forEach((line, at) => { line.setAttribute("x", left + 10); line.setAttribute("y", top + 19 + 18 * at); });
    group.setAttribute("visibility", "visible");
  };
  return { group, show, hide: () => group.setAttribute("visibility", "hidden") };
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
  const said = h("p", { class: "status", "aria-hidden": "true" }, "Point at a concept, or move between them with the arrow keys; Enter opens one.");
  const pointed = pointer();
  const figure = svg("svg", { class: "map", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "group", "aria-label": "Map of concepts" });
  const told = (one) => `used by ${percent(one.prevalence)} of the ${rows}; ${reliability(one.concept)}`;
  const describe = (one) => `${one.concept}. ${one.name}: ${told(one)}`;
  for (const [at, one] of points.entries()) {
    one.link = svg(
      "a",
      { href: route.concept(one.concept), class: isLeftover(one.concept) ? "hollow" : "", tabindex: at === 0 ? "0" : "-1", "aria-label": describe(one) },
      svg("circle", { class: "target", cx: one.px, cy: one.py, r: Math.max(one.r, 9) }),
      svg("circle", { cx: one.px, cy: one.py, r: one.r }),
    );
    const point = () => {
      said.textContent = describe(one);
      pointed.show(one, `${one.concept}. ${one.name}`, told(one));
    };
    one.link.addEventListener("mouseenter", point);
    one.link.addEventListener("focus", point);
    one.link.addEventListener("mouseleave", pointed.hide);
    one.link.addEventListener("blur", pointed.hide);
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
  writeNames(figure, points);
  figure.append(pointed.group);
  return [h("div", { class: "scroll" }, figure), said];
}

const COLOURS = 8;

const px = (x) => MARGIN + x * (WIDE - 2 * MARGIN);
const py = (y) => MARGIN / 2 + (1 - y) * (HIGH - MARGIN);

// Each document a point in the colour of its main concept; the names stand where a concept's documents are densest.
function documentDrawing(answer) {
  const colour = new Map(answer.regions.slice(0, COLOURS).map((one, at) => [one.concept, `region-${at}`]));
  const names = new Map(answer.regions.map((one) => [one.concept, one.name]));
  const figure = svg("svg", { class: "map", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": "Map of documents by their main concepts" });
  for (const one of answer.points) {
    const told = `${one.document}${names.has(one.concept) ? `: ${called(one.concept, names.get(one.concept))}` : ""}`;
    figure.append(svg("circle", {
      class: `document ${colour.get(one.concept) ?? ""}`, cx: px(one.x), cy: py(one.y), r: 3.5,
      onclick: () => { location.hash = route.documentAt(one.place).slice(1); },
    }, svg("title", {}, told)));
  }
  const regions = answer.regions.slice(0, 25).map((one) => ({ ...one, prevalence: one.documents / Math.max(1, answer.points.length), px: px(one.x), py: py(one.y), r: 4 }));
  writeNames(figure, regions);
  return h("div", { class: "scroll" }, figure);
}

// Concepts by coherence (across) and exclusivity (up); hollow: not to be relied on.
function qualityDrawing(rows) {
  const known = rows.filter((one) => one.coherence !== null && one.exclusivity !== null);
  const [left, right] = [Math.min(...known.map((one) => one.coherence)), Math.max(...known.map((one) => one.coherence))];
  const [bottom, top] = [Math.min(...known.map((one) => one.exclusivity)), Math.max(...known.map((one) => one.exclusivity))];
  const spots = known.map((one) => ({
    ...one,
    px: px((one.coherence - left) / Math.max(right - left, 1e-9)),
    py: py((one.exclusivity - bottom) / Math.max(top - bottom, 1e-9)),
    r: radius(one.prevalence ?? 0),
  }));
  const figure = svg("svg", { class: "map quality", viewBox: `0 0 ${WIDE} ${HIGH + 24}`, role: "img", "aria-label": "Concepts by coherence and exclusivity; the table below has the numbers" });
  for (const one of spots) {
    figure.append(svg("a", { href: route.concept(one.concept), class: isLeftover(one.concept) ? "hollow" : "" },
      svg("title", {}, `${called(one.concept, one.name)}: coherence ${one.coherence.toFixed(2)}, exclusivity ${percent(one.exclusivity)}; ${reliability(one.concept)}`),
      svg("circle", { cx: one.px, cy: one.py, r: one.r })));
  }
  writeNames(figure, spots);
  figure.append(
    svg("text", { x: MARGIN, y: HIGH + 16, "font-size": FONT }, `← less coherent (${left.toFixed(2)})`),
    svg("text", { x: WIDE - MARGIN, y: HIGH + 16, "font-size": FONT, "text-anchor": "end" }, `more coherent (${right.toFixed(2)}) →`),
    svg("text", { x: 14, y: MARGIN, "font-size": FONT, transform: `rotate(-90 14 ${MARGIN})`, "text-anchor": "end" }, `more exclusive (${percent(top)}) →`),
    svg("text", { x: 14, y: HIGH - 20, "font-size": FONT, transform: `rotate(-90 14 ${HIGH - 20})` }, `← less exclusive (${percent(bottom)})`),
  );
  return h("div", { class: "scroll" }, figure);
}

// A part that takes a while to compute: shown when it is there.
function later(load) {
  const place = h("div", { class: "waiting" });
  load().then((found) => place.replaceChildren(found)).catch(failed(place));
  return place;
}

export async function showMap({ model }) {
  const table = new Table("nearest", { caption: "Most alike concepts", find: "Search concepts", one: "concept", rows: 10 });
  const quality = new Table("quality", { prefix: "quality.", caption: "Coherence and exclusivity", find: "Search concepts", one: "concept", rows: 10 });
  const [answer] = await Promise.all([get("map"), table.load(), quality.load()]);
  const points = answer.points.map((one) => ({
    ...one,
    px: MARGIN + one.x * (WIDE - 2 * MARGIN),
    py: MARGIN / 2 + one.y * (HIGH - MARGIN),
    r: radius(one.prevalence),
  }));
  tell("");
  return [
    pageTitle("Map of concepts"),
    h("p", {}, `Concepts that share words and ${rowsOf(model)} lie near each other; a disc’s area grows with prevalence, and hollow ones are not to be relied on.`),
    ...(points.length > 0 ? drawing(points, rowsOf(model)) : [h("p", {}, "There are no concepts.")]),
    h("h2", {}, "Most alike concepts"),
    table.element,
    h("h2", {}, "Map of documents"),
    h("p", {}, "Each point is a document, near others that use the same concepts to the same extent, in the colour of its main concept (grey: one of fewer documents). Click a point to read the document."),
    later(async () => documentDrawing(await get("document-map"))),
    h("h2", {}, "Coherence by exclusivity"),
    h("p", {}, `Coherent concepts have words that occur in the same ${rowsOf(model)}; exclusive ones have words that are used for no other concept. Discs grow with prevalence; hollow ones are not to be relied on.`),
    ...(points.length > 1 ? [later(async () => qualityDrawing(await get("quality")))] : []),
    quality.element,
  ];
}
