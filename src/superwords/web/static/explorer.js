// The frame of the page: finds the view that the address names, shows it, and puts the focus on its heading.

import { get, postDecision } from "./api.js";
import { h, pageTitle, setMarks, tell } from "./dom.js";
import * as route from "./route.js";
import { showChains } from "./view_chains.js";
import { showConcept } from "./view_concept.js";
import { showConcepts } from "./view_concepts.js";
import { showDocument, showDocuments, showPassage, showPassages } from "./view_documents.js";
import { showEffects } from "./view_effects.js";
import { showGroups } from "./view_groups.js";
import { showMap } from "./view_map.js";
import { showSearch } from "./view_search.js";
import { showThemes } from "./view_themes.js";
import { showTime } from "./view_time.js";
import { showWord, showWords } from "./view_words.js";

const VIEWS = {
  concepts: [showConcepts, showConcept],
  themes: [showThemes, null],
  map: [showMap, null],
  search: [showSearch, null],
  documents: [showDocuments, showDocument],
  passages: [showPassages, showPassage],
  words: [showWords, showWord],
  groups: [showGroups, null],
  time: [showTime, null],
  effects: [showEffects, null],
  chains: [showChains, null],
};
const SHOWN_UNDER = { passages: "documents" };

const main = document.getElementById("main");
let model = null;
let turn = 0;
let shownPath = null;

function viewOf(path) {
  const [, name, ...rest] = path.split("/");
  const [list, detail] = VIEWS[name] ?? [null, null];
  if (rest.length === 0) return { name, show: list };
  let key = rest.join("/");
  try {
    key = decodeURIComponent(key);
  } catch {
    return { name, show: null };
  }
  return { name, show: detail, key };
}

function markCurrent(name) {
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === `#/${SHOWN_UNDER[name] ?? name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function trouble(message) {
  return [pageTitle("This cannot be shown"), h("p", { class: "trouble" }, message)];
}

// What was decided last, with a way back.
function notify(message, isUndone = false) {
  const place = document.getElementById("notice");
  const close = () => place.replaceChildren();
  const undo = h("button", { type: "button", onclick: () => decide({ do: "undo" }).catch((error) => notify(error.message, true)) }, "Undo");
  place.replaceChildren(h("p", {}, message), ...(isUndone ? [] : [undo]), h("button", { type: "button", onclick: close }, "Close"));
}

// Keeps a decision in the model file and shows the view again, or another one; throws the server's sentence.
async function decide(what, { go = null, focus = "h1" } = {}) {
  const [last] = model.decided.history;
  model = await postDecision(what);
  notify(what.do === "undo" ? `Undone: ${last?.said ?? ""}` : model.decided.history[0].said, what.do === "undo");
  if (go !== null && go !== location.hash) {
    location.hash = go;
    return;
  }
  await show();
  (main.querySelector(focus) ?? main.querySelector("h1")).focus();
}

async function show() {
  if (location.hash === "#main") {
    main.focus();
    return;
  }
  turn += 1;
  const mine = turn;
  const { path, given } = route.readRoute();
  const { name, show: view, key } = viewOf(path);
  markCurrent(name);
  main.setAttribute("aria-busy", "true");
  let content;
  try {
    model ??= await get("model");
    setMarks(model.marks);
    content = view ? await view({ model, given, key, decide }) : trouble("There is no such view.");
  } catch (error) {
    content = trouble(error.message);
  }
  // Somebody who clicks on is not taken back by an answer that came late.
  if (mine !== turn) return;
  main.replaceChildren(...content);
  main.removeAttribute("aria-busy");
  const heading = main.querySelector("h1");
  document.title = `${heading.textContent} – superwords`;
  if (shownPath !== null && shownPath !== path) {
    window.scrollTo(0, 0);
    heading.focus();
    tell("");
  }
  shownPath = path;
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", show);
show();
