// Word clouds: the server computes positions and sizes, the page renders the words as text.

import { h, percent, svg } from "./dom.js";
import * as route from "./route.js";

function drawn(words, cloud, label, rows) {
  const used = words.filter((one) => one.share > 0);
  const told = used.slice(0, 15).map((one) => `${one.word} ${percent(one.share)}`);
  const figure = svg("svg", {
    class: "cloud",
    viewBox: `0 0 ${cloud.width} ${cloud.height}`,
    role: "img",
    "aria-label": `${label}: ${told.join(", ") || "no words"}`,
    "font-family": cloud.font,
    "text-anchor": "middle",
  });
  for (const one of words) {
    const text = svg("text", {
      x: one.x,
      y: one.y,
      "font-size": one.size,
      textLength: one.length,
      lengthAdjust: "spacingAndGlyphs",
      fill: one.colour,
    });
    text.textContent = one.word;
    const share = one.share > 0 ? `${percent(one.share)} of the ${rows} use it` : "not used";
    text.append(svg("title", {}, `${one.word}: ${share}`));
    // A short cut for the mouse; the table of words has the same links for everyone.
    text.addEventListener("click", () => { location.hash = route.word(one.word); });
    figure.append(text);
  }
  return figure;
}

// One figure per title, each word at the same place in all of them.
export function clouds(answer, titles, rows) {
  return h(
    "div",
    { class: "clouds" },
    answer.clouds.map((words, at) =>
      h(
        "figure",
        {},
        titles.length > 1 ? h("figcaption", {}, titles[at]) : null,
        words.length > 0 ? drawn(words, answer, `Word cloud of ${titles[at]}`, rows) : h("p", {}, "No words are used."),
      ),
    ),
  );
}
