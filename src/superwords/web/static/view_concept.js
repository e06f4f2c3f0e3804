import { get } from "./api.js";
import { clouds } from "./cloud.js";
import { themeField, tried, trouble } from "./curate.js";
import { called, choice, conceptLink, count, decimal, failed, h, interval, newId, number, pageTitle, percent, reliability, rowsOf } from "./dom.js";
import * as route from "./route.js";
import { Table } from "./table.js";

function facts(known, model) {
  const rows = [
    [`${model.passages ? "Passages" : "Documents"} in a draw, on average`, number(known.rows)],
    ...(model.passages ? [["Documents in a draw, on average", number(known.documents)]] : []),
    ["Prevalence", interval(known.prevalence, known.prevalence_low, known.prevalence_high)],
    ["Strength where used", interval(known.strength, known.strength_low, known.strength_high)],
    ["Words used in a draw, on average", number(known.n_words)],
    ["Coherence", decimal(known.coherence)],
    ["Reliability", reliability(known.concept)],
    ["Found by", `${known.found_by} of ${count(known.stability_by_chain.length, "chain")}`],
    ["Stability", percent(known.stability)],
  ];
  if (known.theme !== null) rows.push(["Theme", known.theme]);
  if (known.members.length > 0) rows.push(["Merged from", `${known.concept} and ${known.members.map((one) => `${one.concept}. ${one.name}`).join("; ")}`]);
  if (known.leftover) rows.push(["Note", `Do not rely on it: a handful of ${rowsOf(model)}, a single word, or seldom found again in fits to samples.`]);
  if (known.much_like !== null) rows.push(["Much like", conceptLink(known.much_like, known.much_like_name)]);
  return h("dl", { class: "facts" }, rows.map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text))));
}

// A button that opens a form below it and closes it on Escape.
function opener(label, form, field) {
  const open = h("button", { type: "button", "aria-expanded": "false", "data-open": label }, label);
  const toggle = (shown) => {
    form.hidden = !shown;
    open.setAttribute("aria-expanded", String(shown));
    if (!shown) open.focus();
    else {
      field.focus();
      field.select?.();
    }
  };
  open.addEventListener("click", () => toggle(form.hidden));
  form.addEventListener("keydown", (event) => event.key === "Escape" && toggle(false));
  return open;
}

function curating(known, model, decide) {
  const said = trouble();
  const act = tried(decide, said);
  const concepts = [known.concept];
  const id = newId("name");
  const field = h("input", { id, type: "text", maxlength: "100", autocomplete: "off", value: known.name });
  const keep = (name) => act({ do: "rename", concepts, name }, { focus: '[data-open="Rename"]' });
  const naming = h(
    "form",
    { class: "rename", hidden: true, onsubmit: (event) => { event.preventDefault(); keep(field.value); } },
    h("label", { for: id }, "Name of this concept"),
    field,
    h("button", { type: "submit" }, "Keep"),
    h("button", { type: "button", onclick: () => keep("") }, `Automatic name: ${known.automatic_name}`),
  );
  const into = newId("into");
  const other = h("select", { id: into }, known.others.map(([j, name]) =>
    h("option", { value: j, selected: j === known.much_like }, `${called(j, name)}${j === known.much_like ? " (much like this one)" : ""}`)));
  const merging = h(
    "form",
    { class: "rename", hidden: true, onsubmit: (event) => {
      event.preventDefault();
      act({ do: "merge", concepts: [known.concept, Number(other.value)] });
    } },
    h("label", { for: into }, "Count this concept here too:"),
    other,
    h("button", { type: "submit" }, "Merge"),
  );
  const theming = h("div", { class: "rename", hidden: true }, themeField(model, (name) => act({ do: "gather", concepts, name }), "Theme of this concept"));
  const theme = theming.querySelector("input");
  theme.value = known.theme ?? "";
  const apart = h("button", { type: "button", onclick: () => act({ do: "restore", concepts }) }, "Take apart");
  return h(
    "div",
    {},
    h("p", { class: "tools" },
      opener("Rename", naming, field),
      ...(known.others.length > 0 ? [opener("Merge", merging, other)] : []),
      ...(known.members.length > 0 ? [apart] : []),
      opener("Theme", theming, theme),
      h("button", { type: "button", onclick: () => act({ do: "hide", concepts }, { go: "#/concepts" }) }, "Hide")),
    naming, merging, theming, said,
  );
}

export async function showConcept({ model, given, key, decide }) {
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
    failed(cloud),
  );
  documents.load();
  await words.load();
  return [
    h("p", {}, h("a", { href: "#/concepts" }, "All concepts")),
    pageTitle(called(known.concept, known.name)),
    ...(model.decides ? [curating(known, model, decide)] : []),
    h("div", { class: "beside" }, cloud, facts(known, model)),
    h("h2", {}, "Words"),
    h("p", {}, "The most telling first: those that at least half of the draws that find the concept use for it."),
    words.element,
    h("h2", {}, model.passages ? "Passages that use it" : "Documents that use it"),
    h("p", {}, "Those that use it in at least half of the draws, the clearest first. A single draw may have more or fewer: see the " +
      "average above."),
    documents.element,
    ...(model.groups.length > 0 ? groupSection(model, given, key) : []),
  ];
}

function groupSection(model, given, key) {
  const asked = given.get("column");
  const column = model.groups.some((one) => one.column === asked) ? asked : model.groups[0].column;
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
  const by = choice("Groups by", model.groups.map((one) => one.column), column, (name) => { route.keep({ column: name }); fill(name); });
  fill(column);
  return [
    h("h2", {}, "Groups"),
    h("div", { class: "choices" }, by, compare),
    place,
  ];
}
