// Themes: a tree of the concepts, in which any branch can be chosen, and the themes that people made or the tree proposes.

import { get } from "./api.js";
import { Chosen, decidedPart, tried, trouble } from "./curate.js";
import { called, h, pageTitle, percent, reliability, rowsOf, svg } from "./dom.js";
import * as route from "./route.js";
import { Table } from "./table.js";

const ROW = 26;
const WIDE = 420; // of the branches
const LABELS = 560;
const COLOURS = ["#0072b2", "#b84d00", "#007a59", "#a3527f", "#8a6800", "#5b4bb0", "#22708f", "#8a4b16"];

// Position of every node, and the leaves below it.
function placed(tree) {
  const rank = new Map(tree.order.map((leaf, at) => [leaf, at]));
  const top = Math.max(...tree.meetings.map(([, , height]) => height), 1e-9);
  const nodes = tree.leaves.map((leaf, at) => ({ x: WIDE, y: (rank.get(at) + 0.5) * ROW, leaves: [leaf] }));
  for (const [a, b, height] of tree.meetings) {
    const [one, other] = [nodes[a], nodes[b]];
    nodes.push({ x: 8 + (WIDE - 8) * (1 - height / top), y: (one.y + other.y) / 2, leaves: [...one.leaves, ...other.leaves], one, other });
  }
  return nodes;
}

function drawing(tree, chosen) {
  const nodes = placed(tree);
  const themes = [...new Set(tree.leaves.map((leaf) => leaf.theme ?? leaf.proposed))];
  const colour = (leaf) => COLOURS[themes.indexOf(leaf.theme ?? leaf.proposed) % COLOURS.length];
  const figure = svg("svg", {
    class: "tree", viewBox: `0 0 ${WIDE + LABELS} ${tree.leaves.length * ROW}`, width: WIDE + LABELS, role: "group", "aria-label": "Tree of concepts",
  });
  const inner = nodes.slice(tree.leaves.length);
  for (const { x, one, other } of inner) {
    figure.append(svg("path", { class: "branch", d: `M${one.x} ${one.y}H${x}V${other.y}H${other.x}` }));
  }
  for (const node of chosen ? inner : []) {
    const numbers = node.leaves.map((leaf) => leaf.concept);
    const name = `Choose the ${numbers.length} concepts of this branch: ${numbers.join(", ")}`;
    const pick = () => chosen.set(numbers, !numbers.every((j) => chosen.ids.has(j)));
    const knot = svg("circle", { class: "knot", cx: node.x, cy: node.y, r: 6, tabindex: "0", role: "button", "aria-label": name }, svg("title", {}, name));
    knot.addEventListener("click", pick);
    knot.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      pick();
    });
    figure.append(knot);
  }
  for (const node of nodes.slice(0, tree.leaves.length)) {
    const [leaf] = node.leaves;
    const theme = leaf.theme ?? leaf.proposed;
    figure.append(
      svg("circle", { cx: node.x, cy: node.y, r: 5, fill: colour(leaf) }),
      svg("a", { href: route.concept(leaf.concept) },
        svg("title", {}, `${leaf.theme ? "theme" : "proposed theme"}: ${theme}; ${reliability(leaf.concept)}`),
        svg("text", { x: node.x + (chosen ? 34 : 12), y: node.y + 5, fill: colour(leaf) }, called(leaf.concept, leaf.name))),
    );
    if (chosen) {
      const place = svg("foreignObject", { x: node.x + 10, y: node.y - 11, width: 24, height: 22 });
      place.append(chosen.box(leaf.concept, leaf.name));
      figure.append(place);
    }
  }
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tree of concepts" }, figure);
}

function proposals(tree) {
  const themes = new Map();
  for (const leaf of tree.leaves) themes.set(leaf.proposed, [...(themes.get(leaf.proposed) ?? []), leaf.concept]);
  return [...themes].map(([name, concepts]) => ({ name: name.slice(0, 100), concepts }));
}

export async function showThemes({ model, decide }) {
  const table = new Table("themes", {
    caption: "Themes", find: null, one: "theme", rows: 30,
  });
  const [tree] = await Promise.all([get("tree"), table.load()]);
  const heading = pageTitle("Themes");
  if (tree.leaves.length < 2) return [heading, h("p", {}, "There are too few concepts to gather.")];
  const said = trouble();
  const act = tried(decide, said);
  const chosen = model.decides ? new Chosen(model, decide) : null;
  const proposed = table.answer?.proposed ?? true;
  const sure = tree.agreement === null || tree.agreement === undefined ? ""
    : ` The trees of single draws agree with it by ${percent(tree.agreement)} (adjusted Rand index: 100% is the same themes, 0% is chance).`;
  const told = proposed
    ? `Nobody has made themes yet, so these are proposed: a tree of the concepts, by the words and ${rowsOf(model)} they share, cut where the draws agree most.${sure}`
    : "Made by people.";
  const keep = h("button", { type: "button", onclick: () => act({ do: "themes", themes: proposals(tree) }) }, "Keep these themes");
  return [
    heading,
    h("p", {}, `${told} Prevalence is the share of ${rowsOf(model)} that use any concept of a theme, mean over the draws that find all of them, with a 95% interval.`),
    ...(model.decides && proposed ? [h("p", {}, keep)] : []),
    said,
    table.element,
    h("h2", {}, "Tree"),
    h("p", {}, `Concepts that share words and ${rowsOf(model)} meet early, on the right. A colour is a theme${proposed ? " as proposed" : ""}.` +
      (chosen ? " Click on a node to choose all concepts of its branch." : "")),
    ...(chosen ? [chosen.element] : []),
    drawing(tree, chosen),
    ...decidedPart(model, decide),
  ];
}
