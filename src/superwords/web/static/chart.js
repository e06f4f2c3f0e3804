// A small picture of values from 0 to a round number, for panels side by side.

import { percent, svg } from "./dom.js";

const [WIDE, HIGH, LEFT, BOTTOM] = [300, 120, 42, 20];

// A round number that no value is above.
export function ceiling(value) {
  const size = 10 ** Math.floor(Math.log10(Math.max(value, 1e-4)));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((k) => k * size).find((k) => k >= value) ?? 1;
}

// Returns the picture with its scale, the places of `count` values, and a function that writes below the picture.
export function chart(label, top, count) {
  const x = (at) => LEFT + ((at + 0.5) * (WIDE - LEFT - 6)) / count;
  const y = (value) => 6 + (HIGH - BOTTOM - 6) * (1 - Math.min(value, top) / top);
  const figure = svg("svg", { class: "panel", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": label });
  for (const value of [0, top]) {
    figure.append(
      svg("line", { class: "grid", x1: LEFT, x2: WIDE, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 5, y: y(value) + 4, "text-anchor": "end" }, percent(value)),
    );
  }
  const write = (place, anchor, text) => figure.append(svg("text", { x: place, y: HIGH - 4, "text-anchor": anchor }, text));
  return { figure, x, y, write, left: LEFT, right: WIDE - 2 };
}
