// What the server knows. A refusal is an Error with the server's own sentence.

async function checked(answer) {
  if (answer.ok) return answer.json();
  const said = (await answer.text()).trim();
  throw new Error(said.length > 0 && said.length < 300 ? said : "The explorer did not answer this.");
}

async function asked(address, options) {
  let answer;
  try {
    answer = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The explorer does not answer; is it still running?");
  }
  return checked(answer);
}

export function get(name, given = {}, signal = undefined) {
  return asked(`/api/${name}.json?${new URLSearchParams(given)}`, { signal });
}

export function tableAddress(name, kind, given) {
  return `/api/tables/${name}.${kind}?${new URLSearchParams(given)}`;
}

export function getTable(name, given, signal) {
  return asked(tableAddress(name, "json", given), { signal });
}

// What a person decided about concepts: { do: "merge", concepts: [3, 25] } and the like. Answers as get("model") does.
export function postDecision(what) {
  return asked("/api/choices", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(what),
  });
}
