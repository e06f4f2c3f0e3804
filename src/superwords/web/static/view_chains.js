import { h, pageTitle } from "./dom.js";
import { Table } from "./table.js";

export async function showChains({ model }) {
  const numbers = new Table("convergence", { prefix: "numbers.", caption: "Convergence", find: null, one: "quantity", many: "quantities", rows: 10 });
  const agreement = new Table("agreement", { prefix: "by.", caption: "Agreement of the chains", find: "Search concepts", one: "concept" });
  const moves = new Table("moves", { prefix: "moves.", caption: "Moves", find: null, one: "row", rows: 30 });
  const others = new Table("others", { prefix: "others.", caption: "Concepts of other chains", find: null, one: "concept", rows: 10 });
  await Promise.all([numbers.load(), agreement.load(), moves.load(), others.load()]);
  return [
    pageTitle("Chains"),
    h("p", { class: "verdict" }, model.verdict),
    h("h2", {}, "Traces"),
    h("img", {
      class: "chart",
      src: "/api/traces.svg",
      alt: "Four charts, one below the other: each traced quantity by draw, with a line for each chain. The next table has the numbers.",
    }),
    h("h2", {}, "Convergence"),
    h("p", {}, `R-hat compares the chains: 1 is best, at most ${model.limits.rhat} is recommended; the effective sample size is the number of independent draws that would be as precise, and at least ${model.limits.ess} is recommended.`),
    numbers.element,
    h("h2", {}, "Agreement"),
    h("p", {}, "The share of each chain’s draws in which a concept is found, the least agreed on first."),
    agreement.element,
    h("h2", {}, "Concepts of other chains"),
    h("p", {}, "Found by too few chains to be listed."),
    others.element,
    h("h2", {}, "Moves"),
    h("p", {}, "What the moves of all sweeps so far proposed, how much of it was accepted, and the time they took, over all chains. Moves without " +
      "a proposal draw from the exact conditional distribution, so they always succeed; the time of a move with several proposals is in its first row."),
    moves.element,
  ];
}
