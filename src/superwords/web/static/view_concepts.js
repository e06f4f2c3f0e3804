import { get, rename } from "./api.js";
import { clouds } from "./cloud.js";
import { count, h, newId, percent, rowsOf, tell } from "./dom.js";
import * as route from "./route.js";
import { Table } from "./table.js";

export async function showConcepts({ model }) {
  const table = new Table("concepts", { caption: "Concepts", one: "concept" });
  await table.load();
  return [
    h("h1", { tabindex: "-1" }, "Concepts"),
    h(
      "p",
      {},
      `${count(model.concepts, "concept")} in ${count(model.documents, model.passages ? "passage" : "document")}, ` +
        `${count(model.words, "different word")}. Prevalence is the share of ${rowsOf(model)} that hold a concept, strength its ` +
        "mean weight where it is held: both are means over the draws that find it, with 95% intervals in brackets. Words " +
        `counts those that a draw uses for it, in the mean. Coherence is how much its ten first words occur in the same ${rowsOf(model)} ` +
        "(NPMI: 1 always, 0 as by chance). Stability is how surely another chain finds it: the share of the other chains’ draws that do.",
    ),
    table.element,
  ];
}

function interval(value, low, high) {
  return `${percent(value)} (${percent(low)} to ${percent(high)})`;
}

function rounded(mean) {
  return mean === null ? "–" : Math.round(mean).toLocaleString("en");
}

function facts(known, model) {
  const rows = [
    [model.passages ? "Passages" : "Documents", rounded(known.rows)],
    ...(model.passages ? [["Documents", rounded(known.documents)]] : []),
    ["Prevalence", interval(known.prevalence, known.prevalence_low, known.prevalence_high)],
    ["Strength where held", interval(known.strength, known.strength_low, known.strength_high)],
    ["Words used", rounded(known.n_words)],
    ["Coherence", known.coherence === null ? "–" : known.coherence.toFixed(2)],
    ["Found by", `${known.found_by} of ${count(known.stability_by_chain.length, "chain")}`],
    ["Stability", percent(known.stability)],
    ...(known.much_like === null ? [] : [["Much like", `concept ${known.much_like}`]]),
  ];
  if (known.leftover) rows.push(["Note", `Only a handful of ${rowsOf(model)} hold it: perhaps a leftover.`]);
  return h("dl", { class: "facts" }, rows.map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text))));
}

function renaming(known, heading) {
  const id = newId("name");
  const field = h("input", { id, type: "text", maxlength: "100", autocomplete: "off", value: known.name });
  const said = h("p", { class: "trouble", role: "alert" });
  const open = h("button", { type: "button", "aria-expanded": "false" }, "Rename");
  const form = h("form", { class: "rename", hidden: true });
  const toggle = (shown) => {
    form.hidden = !shown;
    open.setAttribute("aria-expanded", String(shown));
    (shown ? field : open).focus();
  };
  const keepName = async (name) => {
    try {
      const now = await rename(known.concept, name);
      field.value = now.name;
      heading.textContent = `${now.concept}. ${now.name}`;
      document.title = `${heading.textContent} – superwords`;
      said.textContent = "";
      toggle(false);
      tell(`The concept is now called ${now.name}.`);
    } catch (error) {
      said.textContent = error.message;
    }
  };
  open.addEventListener("click", () => toggle(form.hidden));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    keepName(field.value);
  });
  form.addEventListener("keydown", (event) => event.key === "Escape" && toggle(false));
  form.append(
    h("label", { for: id }, "Name of this concept"),
    field,
    h("button", { type: "submit" }, "Keep"),
    h("button", { type: "button", onclick: () => keepName("") }, `Automatic name: ${known.automatic_name}`),
    said,
  );
  return h("div", {}, open, form);
}

export async function showConcept({ model, given, key }) {
  const known = await get("concept", { concept: key });
  const words = new Table("concept-words", {
    given: { concept: key }, prefix: "words.", caption: "Words", rows: 15, one: "word",
  });
  const documents = new Table("concept-documents", {
    given: { concept: key }, prefix: "documents.", caption: model.passages ? "Passages" : "Documents", rows: 6,
    one: model.passages ? "passage" : "document",
  });
  const cloud = h("div", { class: "waiting" });
  get("cloud", { concept: key }).then(
    (answer) => cloud.replaceChildren(clouds(answer, [`concept ${known.concept}`], rowsOf(model))),
    (error) => cloud.replaceChildren(h("p", { class: "trouble" }, error.message)),
  );
  documents.load();
  await words.load();
  const heading = h("h1", { tabindex: "-1" }, `${known.concept}. ${known.name}`);
  return [
    h("p", {}, h("a", { href: "#/concepts" }, "All concepts")),
    heading,
    model.renames ? renaming(known, heading) : null,
    h("div", { class: "beside" }, cloud, facts(known, model)),
    h("h2", {}, "Words"),
    h(
      "p",
      {},
      "The most telling first: those that at least half of the draws that find the concept use for it.",
    ),
    words.element,
    h("h2", {}, model.passages ? "Passages" : "Documents"),
    h("p", {}, `Those that hold it in at least half of the draws (in the mean over the draws, ${rounded(known.rows)} do).`),
    documents.element,
    ...(model.groups.length > 0 ? groupSection(model, given, key) : []),
  ].filter((part) => part !== null);
}

function groupSection(model, given, key) {
  const asked = given.get("column");
  const column = model.groups.some((one) => one.column === asked) ? asked : model.groups[0].column;
  const id = newId("column");
  const place = h("div", {});
  const compare = h("a", {}, "Compare the words of two groups");
  const fill = async (name) => {
    const table = new Table("concept-groups", {
      given: { concept: key, column: name }, prefix: "groups.", caption: `Groups by ${name}`, find: null, one: "group",
    });
    await table.load();
    compare.href = route.href("/groups", { column: name, concept: key });
    place.replaceChildren(table.element);
  };
  const choice = h(
    "select",
    { id, onchange: () => { route.keep({ column: choice.value }); fill(choice.value); } },
    model.groups.map((one) => h("option", { value: one.column, selected: one.column === column }, one.column)),
  );
  fill(column);
  return [
    h("h2", {}, "Groups"),
    h("p", { class: "tools" }, h("label", { for: id }, "Groups by "), choice, compare),
    place,
  ];
}
