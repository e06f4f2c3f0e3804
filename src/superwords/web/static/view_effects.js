// Effects: how prevalence or strength depends on several columns at once, by a formula that the reader types.

import { get } from "./api.js";
import { ceiling, chart } from "./chart.js";
import { called, choice, conceptLink, failed, h, newId, pageTitle, percent, points, pointsInterval, reliability, svg, tell } from "./dom.js";
import * as route from "./route.js";
import { Table } from "./table.js";

const ROW = 30;
// Width, place of the labels and their letters: in a narrow window the effects must not be out of sight.
const sizes = () => (window.innerWidth < 700 ? { wide: 400, label: 170, letters: 22 } : { wide: 720, label: 300, letters: 42 });

function ends(rows) {
  const values = rows.flatMap((row) => [row.low, row.high, row.unadjusted_low, row.unadjusted_high, 0]).filter((one) => one !== null);
  const size = Math.max(...values.map(Math.abs), 1e-6);
  return [Math.min(...values, -0.05 * size), Math.max(...values, 0.05 * size)];
}

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// Adjusted effects filled, unadjusted ones hollow, on the scale of this term.
function drawing(rows, label) {
  const [least, most] = ends(rows);
  const { wide, label: left, letters } = sizes();
  const x = (value) => left + 16 + ((wide - left - 40) * (value - least)) / (most - least);
  const high = rows.length * ROW + 34;
  const figure = svg("svg", { class: "effects", viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `Effects of ${label}; the table below has the numbers` });
  figure.append(svg("line", { class: "zero", x1: x(0), x2: x(0), y1: 4, y2: high - 26 }));
  for (const value of [least, 0, most]) figure.append(svg("text", { x: x(value), y: high - 8, "text-anchor": "middle" }, points(value)));
  rows.forEach((row, at) => {
    const y = at * ROW + 14;
    figure.append(svg("a", { href: route.concept(row.concept) }, svg("title", {}, `${row.concept}. ${row.name} (${reliability(row.concept)})`),
      svg("text", { x: left, y: y + 8, "text-anchor": "end" }, short(called(row.concept, row.name), letters))));
    const draw = (value, low, hi, name, place, told) => {
      if (value === null) return;
      figure.append(svg("line", { class: `range ${name}`, x1: x(low), x2: x(hi), y1: place, y2: place }),
        svg("circle", { class: name, cx: x(value), cy: place, r: 5 }, svg("title", {}, `${told}: ${pointsInterval(value, low, hi)}`)));
    };
    draw(row.effect, row.low, row.high, "adjusted", y, "other columns held fixed");
    if (row.unadjusted !== row.effect) draw(row.unadjusted, row.unadjusted_low, row.unadjusted_high, "alone", y + 10, "this column alone");
  });
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Effects of ${label}` }, figure);
}

// Predicted values of one concept at each value of a column, with 95% intervals.
function predictedPanel(one, top) {
  const { figure, x, y, write, left, right } = chart(`${one.concept}. ${one.name}`, top, one.values.length);
  const every = Math.ceil((one.values.length * 60) / (right - left));
  one.values.forEach((row, at) => {
    const told = `${row.value}: ${percent(row.predicted)} (${percent(row.low)} to ${percent(row.high)})`;
    figure.append(svg("line", { class: "whisker", x1: x(at), x2: x(at), y1: y(row.low), y2: y(row.high) }),
      svg("circle", { class: "dot", cx: x(at), cy: y(row.predicted), r: 3.5 }, svg("title", {}, told)));
    if (at % every === 0) write(x(at), "middle", short(shown(row.value), 10));
  });
  return h("figure", {}, h("figcaption", {}, conceptLink(one.concept, one.name)), figure);
}

const shown = (value) => (typeof value === "number" ? String(Math.round(value * 100) / 100) : String(value));

function predictedPart(formula, of, columns) {
  const place = h("div", { class: "panels" });
  const show = async (by) => {
    place.replaceChildren(h("p", { class: "status" }, "Predicting …"));
    try {
      const { panels } = await get("predicted", { formula, of, by });
      const top = ceiling(Math.max(...panels.flatMap((one) => one.values.map((row) => row.high ?? 0)), 0.01));
      place.replaceChildren(...panels.map((one) => predictedPanel(one, top)));
    } catch (error) {
      failed(place)(error);
    }
  };
  if (columns.length === 0) return [];
  show(columns[0]);
  return [
    h("h2", {}, "Predicted values"),
    h("p", {}, "By one column, the others as the documents have them, with 95% intervals: the reliable concepts that differ most, on one scale."),
    h("div", { class: "choices" }, choice("By", columns, columns[0], show)),
    place,
  ];
}

async function results(formula, of) {
  const answer = await get("effects", { formula, of });
  const parts = [
    h("p", {}, `Based on the ${answer.documents.toLocaleString("en")} documents with a value in every column. Effects are in percentage points. ` +
      `${answer.notes.join(" ")} Drawn are the clearest of reliable concepts: filled with the other columns held fixed, hollow, where it differs, by the column alone; lines are 95% intervals.`),
  ];
  answer.terms.forEach(({ term, label }, at) => {
    const table = new Table("effects", { given: { formula, of, term }, prefix: `${at}.`, caption: `Effects of ${label}`, find: null, rows: 8, one: "concept" });
    table.load();
    parts.push(h("h2", {}, label), drawing(answer.drawn[at], label), table.element);
  });
  return [...parts, ...predictedPart(formula, of, answer.columns)];
}

export async function showEffects({ model, given }) {
  const heading = pageTitle("Effects");
  if (model.columns.length === 0) return [heading, h("p", {}, "The documents have no columns that concepts could depend on.")];
  const id = newId("formula");
  const usual = [...model.groups.map((one) => one.column), ...model.times].slice(0, 2).map((name) => (/^[^\W\d]\w*$/u.test(name) ? name : `\`${name}\``)).join(" + ");
  const field = h("input", { id, type: "text", maxlength: "300", autocomplete: "off", spellcheck: "false", value: given.get("formula") ?? usual });
  const found = h("div", {});
  let of = given.get("of") === "strength" ? "strength" : "prevalence";
  const show = async () => {
    route.keep({ formula: field.value, of: of === "strength" ? of : "" });
    found.setAttribute("aria-busy", "true");
    found.replaceChildren(h("p", { class: "status" }, "Fitting the regressions …"));
    try {
      found.replaceChildren(...(await results(field.value, of)));
      tell("The effects are shown.");
    } catch (error) {
      failed(found)(error);
    }
    found.removeAttribute("aria-busy");
  };
  if (given.get("formula") !== null) show();
  return [
    heading,
    h("p", {}, `How the use of concepts depends on several columns at once; every document counts the same${model.passages ? " (on the page Groups, every passage does)" : ""}. Join columns by +, as in party + date; a:b and a*b, log(a) and poly(a, 2) work as well.`),
    h("form", { class: "tools", onsubmit: (event) => { event.preventDefault(); show(); } },
      h("div", { class: "search" }, h("label", { for: id }, "Formula"), field),
      h("div", { class: "choices" }, choice("Effects on", [["prevalence", "prevalence"], ["strength", "strength where used"]], of, (value) => { of = value; })),
      h("button", { type: "submit" }, "Show the effects")),
    h("p", { class: "status" }, `Columns: ${model.columns.join(", ")}`),
    found,
  ];
}
