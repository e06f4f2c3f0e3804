import { get } from "./api.js";
import { clouds } from "./cloud.js";
import { called, choice, failed, h, pageTitle, rowsOf, tell } from "./dom.js";
import * as route from "./route.js";
import { Table } from "./table.js";

function chosenGroups(model, given) {
  const column = model.groups.find((one) => one.column === given.get("column")) ?? model.groups[0];
  const first = column.labels.includes(given.get("first")) ? given.get("first") : column.labels[0];
  const others = column.labels.filter((label) => label !== first);
  const second = others.includes(given.get("second")) ? given.get("second") : others[0];
  return { column, first, second };
}

export async function showGroups({ model, given }) {
  const heading = pageTitle("Groups");
  if (model.groups.length === 0) {
    return [heading, h("p", {}, "The metadata have no column that divides the documents into a few groups.")];
  }
  const { column, first, second } = chosenGroups(model, given);
  const asked = { column: column.column, first, second };
  const go = (changes) => { location.hash = route.href("/groups", { ...asked, ...changes }).slice(1); };
  const place = h("div", { class: "waiting" });
  const title = h("h2", { id: "compared", tabindex: "-1" }, "Words side by side");
  const compare = async (concept) => {
    const [known, answer] = await Promise.all([get("concept", { concept }), get("cloud", { concept, ...asked })]);
    title.textContent = `Words side by side: ${called(known.concept, known.name)}`;
    const titles = [first, second].map((label) => `${column.column} ${label}`);
    place.replaceChildren(clouds(answer, titles, rowsOf(model)));
  };
  const table = new Table("group-differences", {
    given: asked,
    prefix: "by.",
    caption: "Differences of prevalence",
    find: "Search concepts",
    rows: 20,
    one: "concept",
    extra: {
      label: "Words",
      cell: (row) =>
        h(
          "button",
          {
            type: "button",
            "aria-label": `Compare the words of ${row.concept}. ${row.name}`,
            onclick: async () => {
              route.keep({ ...asked, concept: row.concept });
              await compare(row.concept);
              title.focus();
              tell(title.textContent);
            },
          },
          "Compare",
        ),
    },
  });
  await table.load();
  const concept = given.get("concept") ?? (await firstConcept(table));
  if (concept !== null) compare(concept).catch(failed(place));
  return [
    heading,
    h(
      "div",
      { class: "choices" },
      choice("Groups by", model.groups.map((one) => one.column), column.column, (value) => {
        location.hash = route.href("/groups", { column: value }).slice(1);
      }),
      choice("First group", column.labels, first, (value) => go({ first: value })),
      choice("Second group", column.labels.filter((label) => label !== first), second, (value) => go({ second: value })),
    ),
    title,
    h("p", {}, "Each word has the same position in both clouds; a word that a group does not use is small and grey."),
    place,
    h("h2", {}, "Difference of prevalence"),
    h("p", {}, `The share of the ${rowsOf(model)} of ${first} that use a concept, minus that of ${second}, with 95% intervals. The largest differences of reliable concepts come first.`),
    table.element,
  ];
}

async function firstConcept(table) {
  const link = table.element.querySelector("tbody th a");
  return link ? link.getAttribute("href").split("/").pop() : null;
}
