import { Chosen, decidedPart } from "./curate.js";
import { count, h, rowsOf } from "./dom.js";
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
    h("h1", { tabindex: "-1" }, "Concepts"),
    h("p", {}, `${count(model.concepts, "concept")} in ${of}, ${count(model.words, "different word")}.`),
    h(
      "details",
      {},
      h("summary", {}, "What the columns say"),
      h("p", {}, `Prevalence is the share of ${rows} that hold a concept, strength its mean weight where it is held: both are means ` +
        "over the draws that find it, with 95% intervals in brackets. Words counts those that a draw uses for it, on average. " +
        `Coherence is how often its ten first words occur in the same ${rows} (NPMI: 1 is always, 0 is as often as by chance). Found by ` +
        "says how many chains have it in at least half of their draws. Stability is how surely another chain finds it: the share of " +
        "the other chains’ draws that do. Much like names a concept whose words are nearly the same: perhaps merge the two. " +
        "A concept’s number is a label, the same on every page, not a rank."),
    ),
    ...(chosen ? [chosen.element] : []),
    table.element,
    ...decidedPart(model, decide),
  ];
}
