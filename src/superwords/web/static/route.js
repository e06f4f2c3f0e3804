// The address after "#" holds all that a link must keep: the view, what it shows, and how its tables are set.

export function readRoute() {
  const [path, query] = location.hash.replace(/^#/, "").split("?", 2);
  return { path: path || "/concepts", given: new URLSearchParams(query ?? "") };
}

export function href(path, given = {}) {
  const query = new URLSearchParams(given).toString();
  return `#${path}${query ? `?${query}` : ""}`;
}

// Keeps a setting in the address without going anywhere.
export function keep(changes) {
  const { path, given } = readRoute();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") given.delete(name);
    else given.set(name, value);
  }
  history.replaceState(null, "", href(path, given));
}

export const concept = (id) => href(`/concepts/${id}`);
export const word = (text) => href(`/words/${encodeURIComponent(text)}`);
export const documentAt = (number) => href(`/documents/${number + 1}`);
export const passageAt = (row) => href(`/passages/${row + 1}`);
// A row of the corpus is a passage, or a whole document.
export const rowAt = (model, row) => (model.passages ? passageAt(row) : documentAt(row));
