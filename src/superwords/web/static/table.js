// One table for every list: searched, sorted and cut into pages on the server, stored in the address, saved as CSV.

import { getTable, tableAddress } from "./api.js";
import { conceptLink, count, decimal, failed, fillPager, h, interval, newId, number, pointsInterval, tell } from "./dom.js";
import * as route from "./route.js";

const TYPING_PAUSE = 200;

// Bars of a column share a scale, so that small shares remain distinguishable. Those of differences begin in the middle.
function bar(low, value, high, scale, isDifference) {
  const [start, wide] = isDifference ? [50, 50] : [0, 100];
  const place = (name, from, to) => {
    const part = h("span", { class: name });
    part.style.left = `${start + (wide * from) / scale}%`;
    part.style.width = `${(wide * (to - from)) / scale}%`;
    return part;
  };
  return h("span", { class: isDifference ? "bar balance" : "bar", "aria-hidden": "true" },
    place("value", Math.min(0, value), Math.max(0, value)),
    low === null || high === null ? null : place("interval", low, high));
}

function barred(value, row, column) {
  if (value === null) return ["–"];
  const [low, high] = [row[column.low] ?? null, row[column.high] ?? null];
  const isDifference = column.kind === "difference";
  const text = (isDifference ? pointsInterval : interval)(value, low, high);
  return [h("span", { class: "figure" }, text), bar(low, value, high, column.scale, isDifference)];
}

// What a search found, in marks; the server puts \u0002 and \u0003 around it.
function snippet(text) {
  return (text ?? "").split("\u0002").map((part, at) => {
    if (at === 0) return [part];
    const [found, rest = ""] = part.split("\u0003");
    return [h("mark", {}, found), rest];
  }).flat();
}

function linked(address, value, row, column) {
  const note = column.note === null ? null : row[column.note];
  return [h("a", { href: address }, String(value)), note && note !== value ? h("small", {}, note) : null];
}

const SHOW = {
  text: (value) => [value ?? "–"],
  number: (value) => [number(value)],
  decimal: (value) => [decimal(value)],
  share: barred,
  difference: barred,
  words: (value) => [(value ?? []).join(", ") || "–"],
  concepts: (value, row, column) => [
    h("ul", { class: "plain" }, value.map((name, at) =>
      h("li", {}, conceptLink(row[column.link][at], name)))),
  ],
  passage: (value) => [value ?? ""],
  concept: (value, row, column) =>
    value === null ? ["–"] : conceptLink(row[column.link], value),
  twin: (value) => [value === null ? "–" : h("a", { href: route.concept(value) }, `concept ${value}`)],
  chains: (value, row, column) => [value === null ? "–" : `${value} of ${row[column.link]} chains`],
  of: (value, row, column) => [value === null ? "–" : `${value} of ${row[column.link]}`],
  snippet: (value) => snippet(value),
  document: (value, row, column) => linked(route.documentAt(row[column.link]), value, row, column),
  "passage-link": (value, row, column) => linked(route.passageAt(row[column.link]), value, row, column),
  word: (value, row, column) => [h("a", { href: route.word(row[column.link]) }, value)],
};

const TEXTS = ["text", "words", "concepts", "passage", "concept", "document", "passage-link", "word", "snippet"];
const isNumeric = (column) => !TEXTS.includes(column.kind);

const lower = (label) => label.replace(/^\p{Lu}(?=\p{Ll})/u, (letter) => letter.toLowerCase());

function orderOf(column, answer) {
  if (isNumeric(column) || typeof answer.rows[0]?.[column.key] === "number") return answer.descending ? "largest first" : "smallest first";
  return answer.descending ? "Z to A" : "A to Z";
}

export class Table {
  // name: of the table on the server; given: what it is of; prefix: of its settings in the address.
  constructor(name, { given = {}, prefix = "", caption, rows = 25, find = `Search ${caption.toLowerCase()}`, one = "row", many, extra = null, choose = null }) {
    Object.assign(this, { name, given, prefix, rows, one, many, extra, choose, caption });
    const { given: kept } = route.readRoute();
    this.asked = {};
    for (const key of ["search", "sort", "order", "page"]) {
      const value = kept.get(prefix + key);
      if (value !== null) this.asked[key] = value;
    }
    this.body = h("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" });
    this.status = h("p", { class: "status" });
    this.pager = h("nav", { class: "pager", "aria-label": `Pages of ${caption}` });
    this.csv = h("a", { class: "csv", download: "" }, "Save as CSV");
    this.element = h(
      "div",
      { class: "table" },
      h("div", { class: "tools" }, find ? this.searchField(find) : null, this.status, this.csv),
      this.body,
      this.pager,
    );
  }

  searchField(label) {
    const id = newId("search");
    this.field = h("input", {
      id,
      type: "search",
      maxlength: "200",
      autocomplete: "off",
      value: this.asked.search ?? "",
      oninput: () => {
        clearTimeout(this.pause);
        this.pause = setTimeout(() => this.change({ search: this.field.value, page: "" }), TYPING_PAUSE);
      },
    });
    return h("div", { class: "search" }, h("label", { for: id }, label), this.field);
  }

  query() {
    return { ...this.given, ...this.asked, rows: this.rows };
  }

  async change(changes, focus = null) {
    for (const [key, value] of Object.entries(changes)) {
      if (value === "" || value === null) delete this.asked[key];
      else this.asked[key] = String(value);
    }
    const kept = Object.fromEntries(Object.entries(changes).map(([key, value]) => [this.prefix + key, value]));
    route.keep(kept);
    await this.load();
    tell(this.status.textContent);
    if (focus) this.element.querySelector(focus)?.focus();
  }

  async load() {
    this.controller?.abort();
    this.controller = new AbortController();
    try {
      this.show(await getTable(this.name, this.query(), this.controller.signal));
    } catch (error) {
      if (error.name !== "AbortError") failed(this.body)(error);
    }
    return this;
  }

  show(answer) {
    this.csv.href = tableAddress(this.name, "csv", { ...this.given, ...this.asked });
    const { total, page, pages } = answer;
    const first = (page - 1) * this.rows + 1;
    const last = Math.min(total, page * this.rows);
    this.answer = answer;
    const shown = pages > 1 ? `${first}–${last} of ${count(total, this.one, this.many)}` : count(total, this.one, this.many);
    const sorted = answer.columns.find((column) => column.key === answer.sort);
    this.status.textContent = sorted && total > 1 ? `${shown}, by ${lower(sorted.label)}, ${orderOf(sorted, answer)}` : shown;
    const head = answer.columns.map((column) => this.headCell(column, answer));
    if (this.choose) head.unshift(h("th", { scope: "col" }, h("span", { class: "unseen" }, "Choose")));
    if (this.extra) head.push(h("th", { scope: "col" }, this.extra.label));
    const rows = answer.rows.map((row) => this.row(row, answer.columns));
    const empty = h("tr", {}, h("td", { colspan: head.length }, "Nothing to show."));
    this.body.replaceChildren(
      h(
        "table",
        {},
        h("caption", { class: "unseen" }, this.caption),
        h("thead", {}, h("tr", {}, head)),
        h("tbody", {}, rows.length > 0 ? rows : [empty]),
      ),
    );
    fillPager(this.pager, { page, pages, go: (to, name) => this.change({ page: to }, `.pager .${name}`) });
  }

  headCell(column, answer) {
    const numeric = isNumeric(column);
    const cell = { scope: "col", class: column.kind };
    if (!column.sortable) return h("th", cell, column.label);
    const sorted = answer.sort === column.key;
    const direction = answer.descending ? "descending" : "ascending";
    const first = numeric ? "descending" : "ascending";
    const next = sorted ? (answer.descending ? "ascending" : "descending") : first;
    const sort = () => this.change({ sort: column.key, order: next, page: "" }, `button[data-key="${CSS.escape(column.key)}"]`);
    const arrow = h("span", { "aria-hidden": "true" }, sorted ? (answer.descending ? "\u00a0▼" : "\u00a0▲") : "\u00a0↕");
    return h(
      "th",
      { ...cell, "aria-sort": sorted ? direction : null },
      h("button", { type: "button", "data-key": column.key, onclick: sort }, column.label, arrow),
    );
  }

  row(row, columns) {
    const heading = columns.find((column) => ["concept", "document", "passage-link", "word"].includes(column.kind)) ?? columns[0];
    const cells = columns.map((column) => {
      const content = (SHOW[column.kind] ?? SHOW.text)(row[column.key] ?? null, row, column);
      return column === heading
        ? h("th", { scope: "row", class: column.kind }, content)
        : h("td", { class: column.kind, "data-label": column.label }, content);
    });
    if (this.choose) cells.unshift(h("td", {}, this.choose(row)));
    if (this.extra) cells.push(h("td", {}, this.extra.cell(row)));
    return h("tr", {}, cells);
  }
}
