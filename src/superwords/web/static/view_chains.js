import { h } from "./dom.js";
import { Table } from "./table.js";

export async function showChains({ model }) {
  const numbers = new Table("convergence", { prefix: "numbers.", caption: "Convergence", find: null, one: "quantity", many: "quantities", rows: 10 });
  const agreement = new Table("agreement", { prefix: "by.", caption: "Agreement of the chains", find: "Search concepts", one: "concept" });
  await Promise.all([numbers.load(), agreement.load()]);
  return [
    h("h1", { tabindex: "-1" }, "Chains"),
    h("p", { class: "verdict" }, model.verdict),
    h("h2", {}, "Traces"),
    h("img", {
      class: "chart",
      src: "/api/traces.svg",
      alt: "Four charts, one below the other: each traced quantity by draw, with a line for each chain. The next table has the numbers.",
    }),
    h("h2", {}, "Convergence"),
    h("p", {}, "R-hat compares the chains (1 is best, up to 1.1 is good); the effective sample size says how many independent draws they are worth."),
    numbers.element,
    h("h2", {}, "Agreement"),
    h("p", {}, "The share of each chain’s draws in which a concept is found, the least agreed on first."),
    agreement.element,
  ];
}
