// Search, documents that cover a collection, and what a reader's marks teach. Marks stay in this browser tab.

import { get } from "./api.js";
import { conceptLink, count, failed, h, newId, pageTitle, percent, tell } from "./dom.js";
import * as route from "./route.js";
import { Table } from "./table.js";

const BETWEEN = "\t";
const marks = new Map(); // id of a document → { liked, title }

const ids = (liked) => [...marks].filter(([, one]) => one.liked === liked).map(([id]) => id).join(BETWEEN);

function linkedConcepts(hit) {
  return hit.concepts.map((id, at) => [
    at > 0 ? "; " : "",
    ...conceptLink(id, hit.concept_names[at]),
  ]).flat();
}

function why(hit) {
  const parts = [];
  if (hit.words?.length > 0) parts.push(h("span", {}, `It has “${hit.words.join("”, “")}”. `));
  if (hit.adds !== undefined) parts.push(h("span", {}, `With it ${percent(hit.covered)} is covered. `));
  if (hit.taste !== undefined) parts.push(h("span", {}, `Liked with a probability of ${percent(hit.score)}. `));
  if (hit.concepts.length > 0) parts.push(h("span", {}, hit.adds === undefined ? "Concepts: " : "It adds: ", ...linkedConcepts(hit)));
  if (hit.words?.length === 0 && hit.near?.length > 0) parts.push(h("span", {}, ` Like ${hit.near.join(" and ")}.`));
  return h("p", { class: "why" }, parts);
}

function mark(hit, changed) {
  const button = (liked, label) => h("button", {
    type: "button",
    "aria-pressed": String(marks.get(hit.document)?.liked === liked),
    "aria-label": `${label}: ${hit.title || hit.document}`,
    onclick: () => {
      if (marks.get(hit.document)?.liked === liked) marks.delete(hit.document);
      else marks.set(hit.document, { liked, title: hit.title });
      changed();
    },
  }, label);
  return h("span", { class: "marks" }, button(true, "Like"), button(false, "Dislike"));
}

function list(hits, model, changed) {
  return h("ol", { class: "hits" }, hits.map((hit) => {
    const place = h("span", {});
    const again = () => { place.replaceChildren(mark(hit, () => { again(); changed(); })); };
    again();
    const title = hit.title || hit.document;
    return h("li", {},
      h("p", { class: "hit" }, h("a", { href: route.rowAt(model, hit.row) }, title), title === hit.document ? null : h("small", {}, ` ${hit.document}`), " ", place),
      hit.passage ? h("p", { class: "passage" }, hit.passage) : null,
      why(hit));
  }));
}

function taught(tastes) {
  if (tastes.length === 0) return h("p", {}, "Not sure yet what you like; mark a few more documents.");
  return h("ul", { class: "taught" }, tastes.map((one) =>
    h("li", {}, `${one.taste > 0 ? "You like" : "You do not like"} `, conceptLink(one.concept, one.name), ` (${percent(one.sure)} sure)`)));
}

class Finder {
  constructor(model, given) {
    const id = newId("query");
    this.model = model;
    this.field = h("input", { id, type: "search", maxlength: "500", autocomplete: "off", value: given.get("query") ?? "" });
    this.form = h("form", { class: "tools", role: "search", onsubmit: (event) => { event.preventDefault(); this.show("search"); } },
      h("label", { for: id }, "Search for "), this.field,
      h("button", { type: "submit" }, "Search"),
      h("button", { type: "button", onclick: () => this.show("diverse") }, "Cover everything"));
    this.found = h("div", {});
    this.called = h("div", {});
    this.words = h("div", {});
    this.taste = h("section", { "aria-label": "What your marks taught" });
    this.kind = given.get("show") ?? "search";
  }

  async show(kind, focus = true) {
    this.kind = kind;
    const query = this.field.value.trim();
    route.keep({ query, show: kind === "search" ? "" : kind });
    this.words.replaceChildren();
    this.called.replaceChildren();
    if (kind === "search" && query === "") {
      this.found.replaceChildren(h("p", {}, "Give a few words to look for, or see ten documents that cover everything."));
      return;
    }
    this.found.setAttribute("aria-busy", "true");
    try {
      const given = kind === "recommend" ? { liked: ids(true), disliked: ids(false) } : { query };
      const [answer] = await Promise.all([get(kind, given), kind === "search" ? this.findWords(query) : null]);
      this.fill(kind, query, answer);
    } catch (error) {
      failed(this.found)(error);
    }
    this.found.removeAttribute("aria-busy");
    if (focus) this.found.querySelector("h2")?.focus();
  }

  // Who is called so, and every place where the texts have these words.
  async findWords(query) {
    const rows = this.model.passages ? "passage" : "document";
    const by = new Table("said-by", { given: { query }, prefix: "by.", caption: "Documents of that name", find: null, rows: 5, one: "document" });
    const said = new Table("said", { given: { query }, prefix: "said.", caption: "Places with these words", find: null, rows: 10, one: rows });
    await Promise.all([by.load(), this.model.texts ? said.load() : null]);
    if (by.answer?.total > 0) {
      this.called.replaceChildren(h("h2", {}, `By “${query}”`), h("p", {}, "Documents whose speaker, title, id or group has these words."), by.element);
    }
    if (this.model.texts) {
      this.words.replaceChildren(h("h2", {}, `Where the texts say “${query}”`),
        h("p", {}, `Every ${rows} that has all these words, the closest match first. Words in quotation marks must be adjacent; a star matches any ending: tax*.`), said.element);
    }
  }

  fill(kind, query, answer) {
    const heading = { search: `Documents on “${query}”`, recommend: "The next ten for you",
      diverse: query ? `Documents that cover “${query}”` : "Documents that cover everything" }[kind];
    const parts = [h("h2", { tabindex: "-1" }, heading)];
    if (answer.unknown?.length > 0) parts.push(h("p", {}, `In no document: ${answer.unknown.join(", ")}.`));
    if (answer.concepts?.length > 0) {
      parts.push(h("p", {}, "Matching documents use ", answer.concepts.map((one, at) => [at > 0 ? ", " : "", ...conceptLink(one.concept, one.name)]).flat(), "."));
    }
    if (kind === "recommend") parts.push(h("h3", {}, "What your marks taught"), taught(answer.tastes));
    parts.push(answer.hits.length > 0 ? list(answer.hits, this.model, () => this.showMarks()) : h("p", {}, "No document answers this; try other words."));
    this.found.replaceChildren(...parts);
    tell(`${count(answer.hits.length, "document")}.`);
  }

  showMarks() {
    const n = marks.size;
    const forget = () => { marks.clear(); this.showMarks(); this.show(this.kind === "recommend" ? "search" : this.kind, false); };
    this.taste.replaceChildren(...(n === 0 ? [] : [
      h("p", { class: "tools" }, `${count(n, "document")} marked. `,
        h("button", { type: "button", onclick: () => this.show("recommend") }, "Show the next ten for me"),
        h("button", { type: "button", onclick: forget }, "Forget the marks")),
    ]));
  }
}

export async function showSearch({ model, given }) {
  const finder = new Finder(model, given);
  finder.showMarks();
  await finder.show(finder.kind === "recommend" && marks.size === 0 ? "search" : finder.kind, false);
  return [
    pageTitle("Search"),
    h("p", {}, "Finds documents that have the words, and documents that use the same concepts in other words; each result has the reasons. Documents whose name has the words come first; the places in the texts that have exactly these words come last. Mark what you like to get more of it."),
    finder.form,
    finder.taste,
    finder.called,
    finder.found,
    finder.words,
  ];
}
