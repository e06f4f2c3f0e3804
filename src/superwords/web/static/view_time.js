// Concepts over time: what rises and falls, a small picture of each, and a concept's words early and late.

import { get } from "./api.js";
import { ceiling, chart } from "./chart.js";
import { called, choice, conceptLink, failed, h, pageTitle, percent, pointsInterval, rowsOf, svg } from "./dom.js";
import * as route from "./route.js";
import { Table } from "./table.js";

// Stretches of periods that have documents; lines break at the others.
function runs(values) {
  const out = [];
  values.forEach((one, at) => {
    if (one.value === null) return;
    if (at > 0 && values[at - 1].value !== null) out.at(-1).push({ ...one, at });
    else out.push([{ ...one, at }]);
  });
  return out;
}

function panel(one, periods, of) {
  const values = one.values.map((row) => ({ value: row[of], low: row[`${of}_low`], high: row[`${of}_high`] }));
  // A period with few documents may have an interval that reaches nearly everywhere: it is cut off, not the scale stretched.
  const known = values.filter((v) => v.value !== null);
  const bounds = known.map((v) => v.high ?? v.value).sort((a, b) => a - b);
  const top = ceiling(Math.max(...known.map((v) => v.value), bounds[Math.floor(bounds.length / 2)] ?? 0));
  const said = periods.map((period, at) => `${period.period}: ${values[at].value === null ? "no data" : percent(values[at].value)}`);
  const { figure, x, y, write, left, right } = chart(`${one.concept}. ${one.name}. ${said.join(", ")}`, top, periods.length);
  for (const run of runs(values)) {
    const ends = [...run.map((v) => `${x(v.at)},${y(v.high ?? v.value)}`), ...run.toReversed().map((v) => `${x(v.at)},${y(v.low ?? v.value)}`)];
    if (run.length > 1) figure.append(svg("polygon", { class: "band", points: ends.join(" ") }));
    else figure.append(svg("line", { class: "whisker", x1: x(run[0].at), x2: x(run[0].at), y1: y(run[0].low ?? 0), y2: y(run[0].high ?? 0) }));
    figure.append(svg("polyline", { class: "line", points: run.map((v) => `${x(v.at)},${y(v.value)}`).join(" ") }));
  }
  values.forEach((v, at) => {
    const told = v.value === null
      ? `${periods[at].period}: ${periods[at].n_rows > 0 ? "used by none" : "nothing of this time"}`
      : `${periods[at].period}: ${percent(v.value)} (${percent(v.low)} to ${percent(v.high)})`;
    figure.append(v.value === null
      ? svg("text", { class: "gap", x: x(at), y: y(0) - 2, "text-anchor": "middle" }, svg("title", {}, told), "×")
      : svg("circle", { class: "dot", cx: x(at), cy: y(v.value), r: periods.length > 40 ? 1.5 : 3 }, svg("title", {}, told)));
  });
  write(left, "start", periods[0].period);
  write(right, "end", periods.at(-1).period);
  const sure = one.probability_rises;
  const trend = sure === null ? "" : sure >= 0.5 ? `rises with probability ${percent(sure)}` : `falls with probability ${percent(1 - sure)}`;
  return h("figure", {},
    h("figcaption", {}, conceptLink(one.concept, one.name)),
    h("p", { class: "status" }, trend === "" ? "" : `${pointsInterval(one.change, one.low, one.high)}, ${trend}`),
    figure);
}

export async function showTime({ model, given }) {
  const heading = pageTitle("Over time");
  const asked = given.get("column");
  const column = asked ?? model.times[0];
  if (column === undefined) {
    return [heading, h("p", {}, "No column of the documents holds dates or years. Give one when the model is fitted, such as 2017-03-15 in a column “date”.")];
  }
  const by = given.get("by") ?? "";
  const of = given.get("of") === "strength" ? "strength" : "prevalence";
  const shown = given.get("concepts") ?? "";
  const when = by ? { column, by } : { column };
  const answer = await get("time", { ...when, ...(shown ? { concepts: shown } : {}) });
  const go = (changes) => {
    const all = { column, by, of: of === "prevalence" ? "" : of, concepts: shown, ...changes };
    location.hash = route.href("/time", Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""))).slice(1);
  };
  const place = h("div", {});
  const title = h("h2", { tabindex: "-1" }, "Words, early and late");
  const words = async (concept, name) => {
    const table = new Table("word-changes", { given: { concept, ...when }, prefix: "words.", caption: "Words early and late", rows: 10, one: "word" });
    await table.load();
    title.textContent = `Words, early and late: ${called(concept, name)}`;
    place.replaceChildren(table.element);
  };
  const trends = new Table("trends", {
    given: when, prefix: "by.", caption: "What rises and falls", find: "Search concepts", one: "concept", rows: 15,
    extra: {
      label: "Show",
      cell: (row) => h("span", { class: "marks" },
        h("button", { type: "button", "aria-label": `Draw ${row.concept}. ${row.name}`, onclick: () => go({ concepts: row.concept }) }, "Draw"),
        h("button", { type: "button", "aria-label": `Words of ${row.concept}. ${row.name}`, onclick: async () => { await words(row.concept, row.name); title.focus(); } }, "Words")),
    },
  });
  await trends.load();
  const [first] = answer.panels;
  if (first) words(first.concept, first.name).catch(failed(place));
  const empty = answer.periods.filter((one) => one.n_rows === 0).length;
  return [
    heading,
    h("div", { class: "choices" },
      choice("Column", model.times.includes(column) ? model.times : [column, ...model.times], column, (value) => go({ column: value, by: "", concepts: "" })),
      ...(answer.units.length > 0 ? [choice("Periods", [["", "as fits"], ...answer.units], by, (value) => go({ by: value }))] : []),
      choice("What is drawn", [["prevalence", `share of ${rowsOf(model)}`], ["strength", "strength where used"]], of, (value) => go({ of: value === "prevalence" ? "" : value }))),
    h("p", {}, of === "prevalence"
      ? `The share of ${rowsOf(model)} of each period that use a concept, with 95% intervals (cut off where they leave the picture). ${shown ? "" : "The reliable concepts whose trends are surest: what rises first, what falls last."}`
      : `The mean weight of a concept in the ${rowsOf(model)} that use it, with 95% intervals.`),
    h("p", {}, `${answer.periods.length} periods from ${answer.periods[0].period} to ${answer.periods.at(-1).period}` +
      (empty > 0 ? `; × marks the ${empty} without ${rowsOf(model)}.` : ".")),
    ...(shown ? [h("p", {}, h("button", { type: "button", onclick: () => go({ concepts: "" }) }, "Show those with the surest trends"))] : []),
    h("div", { class: "panels" }, answer.panels.map((one) => panel(one, answer.periods, of))),
    h("h2", {}, "What rises and falls"),
    h("p", {}, "The change of prevalence along a straight line from the first period to the last, in percentage points, with its 95% interval and the probability that it is upwards."),
    trends.element,
    title,
    h("p", {}, `The share of the ${rowsOf(model)} using the concept that use a word for it, in the earlier and in the later half of all ${rowsOf(model)}; the largest changes first.`),
    place,
  ];
}
