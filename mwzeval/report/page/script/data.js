// The data of the page: JSON, compressed with gzip, in base64.

const compressed = Uint8Array.from(atob(byId("data").textContent), (char) => char.charCodeAt(0));
const unzipped = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"));
const data = await new Response(unzipped).json();
const { whole, words, kinds } = data;
const labels = new Map(Object.entries(data.labels));
const meanings = new Map(Object.entries(data.meanings));

/** The names of the items, and the explanations of each by system: null where a system lacks it. */
const names = data.items.map(({ name }) => name);
const explanations = data.items.map((item) => item.explanations);

/** The scopes and the names of all outcomes, in the order in which they occur. */
const scopes = new Set();
const outcomes = new Set();

const systems = data.systems.map((system, place) => ({ ...system, colour: `s${place % 6}` }));
for (const explanation of systems.flatMap((_, place) => explanations.map((ofItem) => ofItem[place])).filter(Boolean)) {
  explanation.outcomes = new Map(explanation.outcomes.map(([scope, named]) => [scope, new Map(named)]));
  for (const [scope, named] of explanation.outcomes) {
    scopes.add(scope);
    for (const name of named.keys()) outcomes.add(name);
  }
}
scopes.delete(whole);

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
