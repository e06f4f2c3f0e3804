import { Chosen, decidedPart, namesPart } from "./curate.js";
import { count, h, pageTitle, rowsOf } from "./dom.js";
import { Table } from "./table.js";

export async function showConcepts({ model, decide }) {
  const chosen = model.decides ? new Chosen(model, decide) : null;
  const table = new Table("concepts", {
    caption: "Concepts", one: "concept", choose: chosen && ((row) => chosen.box(row.concept, row.name)),
  });
  await table.load();
  const rows = rowsOf(model);
  const of = model.passages ? `${count(model.rows, "passage")} of ${count(model.documents, "document")}` : count(model.documents, "document");
  return [
    pageTitle("Concepts"),
    h("p", {}, `${count(model.concepts, "concept")} in ${of}, ${count(model.words, "different word")}.`),
    h("p", { class: "verdict" }, model.verdict),
    h(
      "details",
      {},
      h("summary", {}, "What the columns say"),
      h("p", {}, `Prevalence is the share of ${rows} that use a concept, strength its mean weight where it is used: both are means ` +
        "over the draws that find it, with 95% intervals in brackets. Words counts those that a draw uses for it, on average. " +
        `Coherence is how often its ten first words occur in the same ${rows} (NPMI: 1 is always, 0 is as often as by chance). Found by ` +
        "says how many chains have it in at least half of their draws. Found again counts the fits to samples of the documents that " +
        "have it too; stability, where there are none, is the share of the chains’ draws that find it. Much like names a concept whose words are nearly the same: perhaps merge the two. " +
        "A concept is settled if the chains agree on its prevalence and strength: those of each chain lie in the 95% intervals of the others. " +
        "A concept’s number is a label, the same on every page, not a rank."),
    ),
    ...(chosen ? [chosen.element] : []),
    table.element,
    ...namesPart(model, decide),
    ...decidedPart(model, decide),
  ];
}
