import { get } from "./api.js";
import { called, count, fillPager, h, newId, pageTitle, reliability, tell } from "./dom.js";
import * as route from "./route.js";
import { Table } from "./table.js";

const COLOURS = 8;

export async function showDocuments({ model }) {
  const table = new Table("documents", { caption: "Documents", one: "document" });
  await table.load();
  return [
    pageTitle("Documents"),
    ...(model.passages ? [h("p", {}, `Each is cut into passages, which concepts are found in. `, h("a", { href: "#/passages" }, `All ${count(model.rows, "passage")}`))] : []),
    table.element,
  ];
}

export async function showPassages() {
  const table = new Table("rows", { caption: "Passages", one: "passage" });
  await table.load();
  return [pageTitle("Passages"), h("p", {}, h("a", { href: "#/documents" }, "All documents")), table.element];
}

function factRow(tokens, more, labels) {
  const rows = [["Tokens", tokens.toLocaleString("en")], ...more, ...labels];
  return h("dl", { class: "facts row" }, rows.map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text))));
}

// Links to what comes before and after.
function neighbours(before, after, what, address) {
  const link = (to, label, name) => (to === null ? h("span", { class: "status" }, label) : h("a", { href: address(to), rel: name }, label));
  return h("nav", { class: "pager", "aria-label": `Other ${what}s` }, link(before, `← Previous ${what}`, "prev"), link(after, `Next ${what} →`, "next"));
}

export async function showDocument(context) {
  if (!context.model.passages) return showRow(context, "document");
  const { key } = context;
  const known = await get("document", { document: key });
  const given = { document: key };
  const concepts = new Table("document-concepts", { given, prefix: "by.", caption: "Concepts in this document", rows: 10, one: "concept", find: null });
  const passages = new Table("document-passages", { given, prefix: "passages.", caption: "Passages of this document", rows: 25, one: "passage" });
  await Promise.all([concepts.load(), passages.load()]);
  const at = Number(key) - 1;
  return [
    h("p", {}, h("a", { href: "#/documents" }, "All documents")),
    pageTitle(known.label),
    neighbours(at > 0 ? at - 1 : null, at + 1 < known.documents ? at + 1 : null, "document", route.documentAt),
    factRow(known.tokens, [["Passages", known.passages.toLocaleString("en")], ["Id", known.document]], known.labels),
    h("h2", {}, "Concepts in this document"),
    h("p", {}, "The weight of a concept in a document is the mean of its passages’, each counting by its tokens; shown are those used in at least half of the draws that find them, with 95% intervals."),
    concepts.element,
    h("h2", {}, "Passages"),
    passages.element,
  ];
}

export async function showPassage(context) {
  return showRow(context, context.model.passages ? "passage" : "document");
}

// The class of a concept's colour; those past the eighth share one, and all show their number.
function colours(imputed) {
  return new Map(imputed.map((one, at) => [one.concept, at < COLOURS ? `colour${at}` : "colour-other"]));
}

function marked(stretch, colour, names) {
  const [first] = stretch.concepts[0];
  const all = stretch.concepts.map(([id, tokens]) => `${called(id, names.get(id) ?? "")} (${count(tokens, "token")})`);
  const mark = h(
    "mark",
    { class: colour.get(first) ?? "colour-other", title: `“${stretch.word}” is imputed to ${all.join("; ")}` },
    stretch.text,
    h("sub", {}, stretch.concepts.length > 1 ? `${first}+${stretch.concepts.length - 1}` : first),
  );
  mark.dataset.concepts = ` ${stretch.concepts.map(([id]) => id).join(" ")} `;
  // A short cut for the mouse; the table of concepts has the same links for everyone.
  mark.addEventListener("click", () => { location.hash = route.concept(first); });
  return mark;
}

class Reader {
  constructor(key, known, given) {
    Object.assign(this, { key, known });
    this.part = Number(given.get("part") ?? 1) || 1;
    this.only = given.get("only") ?? "";
    this.colour = colours(known.imputed);
    this.names = new Map(known.imputed.map((one) => [one.concept, one.name]));
    this.text = h("div", { class: "reading", lang: "", tabindex: "0", role: "region", "aria-label": "Text of the document" });
    this.pager = h("nav", { class: "pager", "aria-label": "Parts of the text" });
  }

  legend() {
    const id = newId("only");
    const select = h(
      "select",
      { id, onchange: () => { this.only = select.value; route.keep({ only: this.only }); this.mark(); } },
      h("option", { value: "" }, "all concepts"),
      this.known.imputed.map((one) =>
        h("option", { value: one.concept, selected: String(one.concept) === this.only }, `${called(one.concept, one.name)} (${one.tokens})`),
      ),
    );
    const shown = this.known.imputed.slice(0, COLOURS).map((one) =>
      h("li", {}, h("mark", { class: this.colour.get(one.concept), title: reliability(one.concept) }, called(one.concept, one.name)), ` ${one.tokens}`),
    );
    const others = this.known.imputed.length - shown.length;
    if (others > 0) shown.push(h("li", {}, h("mark", { class: "colour-other" }, `${count(others, "other concept")}`)));
    return [
      h("p", {}, "The small number after a word is the concept that most of its tokens here are imputed to in the most probable draw (+2: tokens of it go to two other concepts too); the words of the most used concepts are coloured."),
      h("ul", { class: "legend", "aria-label": "Colours, with the tokens imputed to each concept" }, shown),
      h("p", { class: "tools" }, h("label", { for: id }, "Mark the words of "), select),
    ];
  }

  mark() {
    for (const word of this.text.querySelectorAll("mark")) {
      word.classList.toggle("dim", this.only !== "" && !word.dataset.concepts.includes(` ${this.only} `));
    }
  }

  async load() {
    const answer = await get("text", { row: this.key, part: this.part });
    this.text.replaceChildren(
      ...answer.stretches.map((one) => ("word" in one ? marked(one, this.colour, this.names) : one.text)),
    );
    this.mark();
    const go = async (to, name) => {
      this.part = to;
      route.keep({ part: to });
      await this.load();
      this.text.scrollTop = 0;
      this.pager.querySelector(`.${name}`)?.focus();
      tell(`Part ${to} of ${answer.parts} of the text`);
    };
    fillPager(this.pager, { page: this.part, pages: answer.parts, one: "part", ends: false, go });
  }
}

async function showRow({ model, given, key }, what) {
  const known = await get("row", { row: key });
  const concepts = new Table("row-concepts", {
    given: { row: key }, prefix: "by.", caption: `Concepts in this ${what}`, rows: 10, one: "concept",
  });
  const reader = new Reader(key, known, given);
  await Promise.all([concepts.load(), known.parts > 0 ? reader.load() : null]);
  const up = known.whole === undefined
    ? h("a", { href: "#/documents" }, "All documents")
    : h("a", { href: route.documentAt(known.whole) }, `The whole document: ${known.whole_label}`);
  return [
    h("p", {}, up),
    pageTitle(known.label),
    neighbours(known.before, known.after, what, (row) => route.rowAt(model, row)),
    factRow(known.tokens, [["Id", known.document]], known.labels),
    h("h2", {}, "Text"),
    ...(known.parts > 0 ? [...reader.legend(), reader.text, reader.pager] : [h("p", {}, "The model was saved without its texts.")]),
    h("h2", {}, `Concepts in this ${what}`),
    ...(known.tokens > 0
      ? [h("p", {}, `Those that it uses in at least half of the draws. A ${what} has its own variant of a concept: words it uses, words it could use but does not, and usual words that are off in it, as in the draw whose tokens the text shows.`), concepts.element]
      : [h("p", {}, `This ${what} has no word of the vocabulary, so nothing is known about its concepts.`)]),
  ];
}
