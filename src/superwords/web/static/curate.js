// What people decide about concepts, by mouse: fields and lists that several views share.

import { get } from "./api.js";
import { count, h, newId } from "./dom.js";

// Runs a decision; an error is shown in the given element.
export function tried(decide, said) {
  return async (what, options = {}) => {
    said.textContent = "";
    try {
      await decide(what, options);
      return true;
    } catch (error) {
      said.textContent = error.message;
      return false;
    }
  };
}

export function trouble() {
  return h("p", { class: "trouble", role: "alert" });
}

// A name for a theme, with those there are to choose from.
export function themeField(model, gather, label = "Theme") {
  const id = newId("theme");
  const known = newId("themes");
  const field = h("input", { id, type: "text", maxlength: "100", autocomplete: "off", list: known });
  return h(
    "form",
    { class: "inline", onsubmit: (event) => { event.preventDefault(); gather(field.value); } },
    h("label", { for: id }, `${label} `),
    field,
    h("datalist", { id: known }, model.decided.themes.map((name) => h("option", { value: name }))),
    h("button", { type: "submit" }, "Put under it"),
  );
}

function entry(text, label, act) {
  return h("li", {}, text, " ", h("button", { type: "button", "aria-label": `${label}: ${text}`, onclick: act }, label));
}

const named = (one) => `${one.concept}. ${one.name}`;

// What is hidden and merged, with a way back for each, and every decision with the way back from the last.
export function decidedPart(model, decide) {
  const { hidden, merged, history } = model.decided;
  if (!model.decides || (history.length === 0 && hidden.length === 0 && merged.length === 0)) return [];
  const said = trouble();
  const act = tried(decide, said);
  const parts = [h("h2", {}, "Decisions"), said];
  if (hidden.length > 0) {
    parts.push(h("h3", {}, "Hidden"), h("ul", { class: "decided" }, hidden.map((one) =>
      entry(named(one), "Show again", () => act({ do: "restore", concepts: [one.concept] })))));
  }
  if (merged.length > 0) {
    parts.push(h("h3", {}, "Merged"), h("ul", { class: "decided" }, merged.map((one) =>
      entry(`${named(one)} also counts ${one.members.map(named).join("; ")}`, "Take apart",
        () => act({ do: "restore", concepts: [one.concept] })))));
  }
  parts.push(
    h("h3", {}, "Every decision, the last first"),
    h("p", {}, h("button", { type: "button", onclick: () => act({ do: "undo" }) }, "Undo the last")),
    h("ol", { class: "decided", reversed: true }, history.map((one) =>
      h("li", {}, `${one.said} `, h("small", {}, new Date(one.made).toLocaleString())))),
  );
  return parts;
}

// Names by a language model of the reader's choice: the prompt to copy, the reply to paste, and what is proposed to accept.
export function namesPart(model, decide) {
  if (!model.decides) return [];
  const said = trouble();
  const act = tried(decide, said);
  const [ask, reply] = [newId("prompt"), newId("reply")];
  const prompt = h("textarea", { id: ask, rows: 4, readonly: true });
  const pasted = h("textarea", { id: reply, rows: 4 });
  const details = h("details", { ontoggle: () => {
    if (details.open && prompt.value === "") {
      get("names").then((answer) => { prompt.value = answer.prompt; }, (error) => { said.textContent = error.message; });
    }
  } },
  h("summary", {}, "Names by a language model"),
  h("p", {}, h("label", { for: ask }, "Copy this prompt into a chat of your choice:"), prompt),
  h("form", { onsubmit: (event) => { event.preventDefault(); act({ do: "propose", text: pasted.value }); } },
    h("label", { for: reply }, "Paste the reply here:"), pasted,
    h("button", { type: "submit" }, "Propose these names")));
  const accept = h("button", { type: "button", onclick: () => act({ do: "accept" }) },
    `Accept ${count(model.decided.proposed, "proposed name")}`);
  return [details, ...(model.decided.proposed > 0 ? [h("p", {}, accept)] : []), said];
}

// The bar of what can be done with the chosen concepts.
export class Chosen {
  constructor(model, decide) {
    Object.assign(this, { model, decide });
    this.ids = new Set();
    this.said = trouble();
    this.element = h("div", { class: "bar-of-choices", role: "group", "aria-label": "Decide about the chosen concepts" });
    this.show();
  }

  box(concept, name) {
    const field = h("input", {
      type: "checkbox",
      "aria-label": `Choose ${concept}. ${name}`,
      checked: this.ids.has(concept),
      onchange: () => { this.set([concept], field.checked); },
    });
    field.dataset.concept = concept;
    return field;
  }

  set(concepts, isChosen) {
    for (const one of concepts) {
      if (isChosen) this.ids.add(one);
      else this.ids.delete(one);
    }
    for (const box of document.querySelectorAll("input[data-concept]")) box.checked = this.ids.has(Number(box.dataset.concept));
    this.show();
  }

  show() {
    const n = this.ids.size;
    const concepts = [...this.ids];
    const act = tried(this.decide, this.said);
    if (n === 0) {
      this.element.replaceChildren(h("p", {}, "Choose concepts to merge them, hide them, or put them under a theme."));
      return;
    }
    const button = (label, what) => h("button", { type: "button", onclick: () => act({ do: what, concepts }) }, label);
    this.element.replaceChildren(
      h("p", {}, `${count(n, "concept")} chosen: ${concepts.join(", ")}`),
      ...(n > 1 ? [button(`Merge into ${concepts[0]}`, "merge")] : []),
      button("Hide", "hide"),
      themeField(this.model, (name) => act({ do: "gather", concepts, name })),
      h("button", { type: "button", onclick: () => this.set(concepts, false) }, "Clear"),
      this.said,
    );
  }
}
