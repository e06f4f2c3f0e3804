import { get } from "./api.js";
import { count, h, pageTitle } from "./dom.js";
import * as route from "./route.js";
import { Table } from "./table.js";

export async function showWords() {
  const table = new Table("words", { caption: "Words", one: "word" });
  await table.load();
  const given = h("input", { type: "search", size: 40, placeholder: "premiums, deductibles" });
  const form = h("form", { class: "words-beside" }, h("label", {}, "Words that belong with ", given), " ", h("button", {}, "Show"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (given.value.trim()) location.hash = route.word(given.value.trim());
  });
  return [pageTitle("Words"), form, table.element];
}

async function showSeveral(words, key) {
  const beside = new Table("word-neighbours", {
    given: { word: key }, prefix: "near.", caption: "Words that belong with them", rows: 20, find: null, one: "word",
  });
  await beside.load();
  return [
    h("p", {}, h("a", { href: "#/words" }, "All words")),
    pageTitle(words.map((word) => `“${word}”`).join(", ")),
    h("p", {}, "Words that belong with them, the surest first. Evidence: how far a word is used for their concepts, and beside " +
      "them, beyond chance, in standard deviations."),
    beside.element,
  ];
}

export async function showWord({ model, key }) {
  const known = await get("word", { word: key });
  if (known.words.length > 1) return showSeveral(known.words, key);
  const concepts = new Table("word-concepts", {
    given: { word: key }, prefix: "concepts.", caption: "Concepts of the word", rows: 10, find: null, one: "concept",
  });
  const neighbours = new Table("word-neighbours", {
    given: { word: key }, prefix: "near.", caption: "Nearest words", rows: 15, find: null, one: "word",
  });
  await Promise.all([concepts.load(), neighbours.load()]);
  return [
    h("p", {}, h("a", { href: "#/words" }, "All words")),
    pageTitle(`“${known.word}”`),
    h(
      "p",
      {},
      `${count(known.tokens, "token")} in ${count(known.rows, model.passages ? "passage" : "document")}; ` +
        `used for ${count(known.n_concepts, "concept")} in at least half of the draws that find it.`,
    ),
    h("h2", {}, "Concepts that use it"),
    concepts.element,
    h("h2", {}, "Nearest words"),
    h("p", {}, "Of a use of the one word and a use of the other, the probability that both are for the same concept, with the " +
      "Monte-Carlo error of that number."),
    neighbours.element,
  ];
}
