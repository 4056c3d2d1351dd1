// The data of the page: JSON, compressed with gzip, in base64.

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

const data = await unpacked(byId("data").textContent);
const { whole, words, kinds } = data;
const labels = new Map(Object.entries(data.labels));
const meanings = new Map(Object.entries(data.meanings));
const COLOURS = 6;

/** The names of the items, and the explanations of each by system: null where a system lacks it. */
const names = data.items.map(({ name }) => name);
const explanations = data.items.map((item) => item.explanations);

/** The scopes and the names of all outcomes, in the order in which they occur. */
const scopes = new Set();
const outcomes = new Set();

const systems = data.systems.map((system, place) => ({ ...system, colour: `s${place % COLOURS}` }));
systems.forEach((_, place) => {
  for (const explanation of explanations.map((ofItem) => ofItem[place])) {
    if (!explanation) continue;
    explanation.outcomes = new Map(explanation.outcomes.map(([scope, named]) => [scope, new Map(named)]));
    for (const [scope, named] of explanation.outcomes) {
      if (scope !== whole) scopes.add(scope);
      for (const name of named.keys()) outcomes.add(name);
    }
  }
});

/** The result of an outcome: true, false or null; undefined where there is none. */
const resultOf = (explanation, scope, outcome) => explanation?.outcomes.get(scope || whole)?.get(outcome);

/** The code of a reason without its detail, which follows a colon. */
const familyOf = (code) => code.split(":")[0];

/** The names of the kinds of reasons in addresses. */
const kindNames = kinds.map(({ outcome, code }) => `${outcome}/${code}`);

let searchable = null;

/** Return the texts of each item that the search looks through, in lower case. */
function searchableTexts() {
  searchable ??= explanations.map((ofItem, item) => {
    const texts = new Set([names[item]]);
    for (const { goal, turns, reasons } of ofItem.filter(Boolean)) {
      for (const [, value] of goal) texts.add(value);
      for (const [utterances, facts, , calls] of turns) {
        for (const [, value] of [...utterances, ...facts]) texts.add(value);
        for (const call of calls) texts.add(call.name).add(call.arguments).add(call.result);
      }
      for (const { code, text } of reasons) texts.add(`${code}\n${text}`);
    }
    return [...texts].join("\n").toLowerCase();
  });
  return searchable;
}
