// Elements from plain values: a string is always text, never markup.

import * as route from "./route.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// Names and texts of any script: each of these takes its direction from its own first letter.
const ANY_SCRIPT = new Set(["a", "button", "dd", "figcaption", "h1", "h2", "h3", "li", "mark", "option", "p", "summary", "td", "th"]);

export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  if (ANY_SCRIPT.has(tag)) element.dir = "auto";
  return fill(element, properties, children);
}

export function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

// How reliable each concept is, as the model's facts have it: { text, leftover } by concept.
let marks = {};
export function setMarks(known) {
  marks = known;
}

export const reliability = (concept) => marks[concept]?.text ?? "";
export const isLeftover = (concept) => marks[concept]?.leftover ?? false;

// A concept's number and name where there is no room for more; one that cannot be relied on is marked here, too.
export const called = (concept, name) => `${concept}. ${name}${isLeftover(concept) ? " (unsure)" : ""}`;

// A link to a concept, and how reliable it is. Every view names concepts by it.
export function conceptLink(concept, name) {
  const unsure = isLeftover(concept)
    ? h("span", { class: "unsure", title: "Too few documents use this concept, or other fits do not find it again: do not rely on it." }, "unsure")
    : null;
  return [h("a", { href: route.concept(concept) }, `${concept}. ${name}`), unsure, h("small", { class: "found" }, reliability(concept))];
}

export const pageTitle = (text) => h("h1", { tabindex: "-1" }, text);

// Says what went wrong in the place of what was to be shown.
export const failed = (place) => (error) => place.replaceChildren(h("p", { class: "trouble", role: "alert" }, error.message));

// Buttons that turn pages. Those that lead nowhere stay, so that the focus does.
export function fillPager(nav, { page, pages, one = "page", ends = true, go }) {
  const turn = (label, to, name) => {
    const leads = to >= 1 && to <= pages && to !== page;
    return h("button", { type: "button", class: name, "aria-disabled": leads ? null : "true", onclick: () => leads && go(to, name) }, label);
  };
  const what = ends ? "" : ` ${one}`;
  nav.replaceChildren(...(pages < 2 ? [] : [
    ends ? turn("First", 1, "first") : "",
    turn(`Previous${what}`, page - 1, "previous"),
    h("span", {}, `${one === "page" ? "Page" : "Part"} ${page} of ${pages}`),
    turn(`Next${what}`, page + 1, "next"),
    ends ? turn("Last", pages, "last") : "",
  ]));
}

let counter = 0;
export function newId(stem) {
  counter += 1;
  return `${stem}-${counter}`;
}

// Says something to a screen reader without moving the focus.
export function tell(message) {
  document.getElementById("status").textContent = message;
}

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

// What the rows of the corpus are.
export function rowsOf(model) {
  return model.passages ? "passages" : "documents";
}

// A share as a percentage with about two digits that say something.
export function percent(share) {
  if (share === null) return "–";
  const value = 100 * share;
  const size = Math.abs(value);
  if (size > 99 && size < 100) return `${Math.min(99.9, size).toFixed(1)}%`;
  if (size > 0 && size < 0.005) return "<0.01%";
  return `${value.toFixed(size >= 9.95 || size === 0 ? 0 : size >= 0.95 ? 1 : 2)}%`;
}

export const interval = (value, low, high) => (low === null ? percent(value) : `${percent(value)} (${percent(low)} to ${percent(high)})`);

// A count, or a mean of counts with one decimal, as in the report.
export const number = (value) => {
  const digits = Number.isInteger(value) ? 0 : 1;
  return value === null ? "–" : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
};

export const decimal = (value) => (value === null ? "–" : value.toFixed(Math.abs(value) >= 100 ? 0 : 3));

// A difference of shares in percentage points, with its sign.
export function points(value) {
  const size = Math.abs(100 * value);
  const text = size.toFixed(size >= 9.95 || size < 0.05 ? 0 : 1);
  return `${text === "0" ? "" : value > 0 ? "+" : "−"}${text}`;
}

export const pointsInterval = (value, low, high) =>
  `${points(value)} points${low === null ? "" : ` (${points(low)} to ${points(high)})`}`;

// A field with a label that chooses among a few.
export function choice(label, options, chosen, change) {
  const id = newId("choice");
  const select = h(
    "select",
    { id, onchange: () => change(select.value) },
    options.map((one) => {
      const [value, text] = Array.isArray(one) ? one : [one, one];
      return h("option", { value, selected: value === chosen }, text);
    }),
  );
  return h("div", {}, h("label", { for: id }, label), select);
}
