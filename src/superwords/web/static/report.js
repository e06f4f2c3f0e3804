// Sorts and filters the table of concepts; without this script the report can still be read.
"use strict";

const table = document.getElementById("concept-table");
const body = table.tBodies[0];
const field = document.getElementById("filter");
const summary = document.getElementById("status");

function value(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent.toLocaleLowerCase() : Number(cell.dataset.value);
}

function sortBy(head) {
  const column = head.cellIndex;
  const rows = [...body.rows];
  const numeric = rows.length > 0 && rows[0].cells[column].dataset.value !== undefined;
  const first = numeric ? "descending" : "ascending";
  const other = numeric ? "ascending" : "descending";
  const order = head.getAttribute("aria-sort") === first ? other : first;
  const sign = order === "ascending" ? 1 : -1;
  rows.sort((a, b) => {
    const [x, y] = [value(a, column), value(b, column)];
    return sign * (numeric ? x - y : x.localeCompare(y, undefined, { numeric: true }));
  });
  body.append(...rows);
  for (const one of table.tHead.rows[0].cells) {
    one.removeAttribute("aria-sort");
    const arrow = one.querySelector("button span");
    if (arrow) arrow.textContent = "\u00a0↕";
  }
  head.setAttribute("aria-sort", order);
  head.querySelector("button span").textContent = order === "ascending" ? "\u00a0▲" : "\u00a0▼";
}

function filter() {
  const wanted = field.value.toLocaleLowerCase().split(/\s+/).filter((one) => one.length > 0);
  let shown = 0;
  for (const row of body.rows) {
    const text = row.textContent.toLocaleLowerCase();
    row.hidden = !wanted.every((one) => text.includes(one));
    if (!row.hidden) shown += 1;
  }
  summary.textContent = `${shown} of ${body.rows.length} concepts`;
}

for (const head of table.tHead.rows[0].cells) {
  const button = document.createElement("button");
  button.type = "button";
  const arrow = document.createElement("span");
  arrow.setAttribute("aria-hidden", "true");
  arrow.textContent = head.getAttribute("aria-sort") === "descending" ? "\u00a0▼" : "\u00a0↕";
  button.append(head.textContent, arrow);
  head.replaceChildren(button);
  button.addEventListener("click", () => sortBy(head));
}
document.querySelector(".filter").hidden = false;
field.addEventListener("input", filter);
filter();
