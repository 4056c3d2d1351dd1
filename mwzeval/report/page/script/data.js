// The data block, unpacked: numbers stand for places in the tables of strings, facts and so on.

import { byId } from "./document.js";

const data = JSON.parse(byId("data").textContent);
const { strings, facts, utterances, reasons } = data;
export const { kinds, units, words, whole } = data;
export const meanings = new Map(Object.entries(data.meanings));
export const labels = new Map(data.labels);
const COLOURS = 6;

/** The values of an outcome, `KEPT`, `LOST` and `UNASKED`. */
export const KEPT = 1;
export const LOST = 0;
export const UNASKED = -1;

/** The parts and the names that outcomes have, in the order in which they come. */
export const scopes = new Set();
export const outcomes = new Set();

const patterns = data.outcomes.map((flat) => {
  const pattern = new Map();
  for (let i = 0; i < flat.length; i += 3) {
    const [scope, outcome] = [strings[flat[i]], strings[flat[i + 1]]];
    if (!pattern.has(scope)) pattern.set(scope, new Map());
    pattern.get(scope).set(outcome, flat[i + 2]);
    if (scope !== whole) scopes.add(scope);
    outcomes.add(outcome);
  }
  return pattern;
});

/** What each kind of reason is called in addresses. */
export const kindNames = kinds.map(([outcome, code]) => `${outcome}/${code}`);

/** The kind that each kind of reason is a detail of, null for none. */
export const parents = kinds.map(([, , parent]) => parent);
const kindOf = new Map(kinds.map(([outcome, code], kind) => [JSON.stringify([outcome, code]), kind]));
const reasonTable = [];
for (let i = 0; i < reasons.length; i += 4) {
  const [code, outcome, scope, text] = [0, 1, 2, 3].map((place) => strings[reasons[i + place]]);
  reasonTable.push({ code, outcome, scope, text, kind: kindOf.get(JSON.stringify([outcome, code])) });
}

export const factOf = (number) => ({
  label: strings[facts[3 * number]],
  value: strings[facts[3 * number + 1]],
  scope: facts[3 * number + 2] < 0 ? null : strings[facts[3 * number + 2]],
});

export const utteranceOf = (number) => ({
  label: strings[utterances[2 * number]],
  value: strings[utterances[2 * number + 1]],
  scope: null,
});

/** The claims in a turn's words: places (in characters), what became of each, and what is told of it. */
export function claimsOf(turn) {
  const flat = turn?.[2] ?? [];
  const claims = [];
  for (let i = 0; i < flat.length; i += 4) {
    const [start, length, verdict, told] = flat.slice(i, i + 4);
    claims.push({ start, end: start + length, verdict: data.verdicts[verdict], told: strings[told] });
  }
  return claims;
}

/** The functions that a turn called, with what each was given and returned. */
export function callsOf(turn) {
  const flat = turn?.[3] ?? [];
  const calls = [];
  for (let i = 0; i < flat.length; i += 4) {
    const [name, args, result] = [0, 1, 2].map((place) => strings[flat[i + place]]);
    calls.push({ name, args, result, failed: flat[i + 3] === 1 });
  }
  return calls;
}

export const systems = data.systems.map(([letter, name], index) => ({
  letter,
  name,
  colour: `s${index % COLOURS}`,
  explanations: data.explanations[index].map((packed) => {
    if (!packed) return null;
    const [pattern, goal, turns, flat, reached = null] = packed;
    const found = [];
    for (let i = 0; i < flat.length; i += 2) {
      found.push({ ...reasonTable[flat[i]], turn: flat[i + 1] < 0 ? null : flat[i + 1] });
    }
    return { pattern, outcomes: patterns[pattern], goal, turns, reasons: found, reached };
  }),
}));

/** The number of a unit by its name, and by its name in lower case. */
export const numbers = new Map(units.map((unit, number) => [unit, number]));
export const folded = new Map(units.map((unit, number) => [unit.toLowerCase(), number]));

let haystacks = null;

/** Return what the search looks through, one lower-case text per unit; made when first needed. */
export function searchable() {
  if (haystacks) return haystacks;
  const lower = strings.map((text) => text.toLowerCase());
  haystacks = units.map((unit, number) => {
    const [used, why] = [new Set(), new Set()];
    for (const system of systems) {
      const explanation = system.explanations[number];
      if (!explanation) continue;
      for (const [said, stated, , called = []] of explanation.turns) {
        for (const u of said) used.add(utterances[2 * u + 1]);
        for (const f of stated) used.add(facts[3 * f + 1]);
        called.forEach((text, place) => place % 4 < 3 && used.add(text));
      }
      for (const f of explanation.goal) used.add(facts[3 * f + 1]);
      for (const { code, text } of explanation.reasons) why.add(`${code}\n${text}`.toLowerCase());
    }
    return [unit.toLowerCase(), ...Array.from(used, (text) => lower[text]), ...why].join("\n");
  });
  return haystacks;
}
