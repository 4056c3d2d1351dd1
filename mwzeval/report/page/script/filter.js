// Which units pass the filter.

import { KEPT, LOST, kindNames, outcomes, parents, searchable, systems, units, whole } from "./data.js";
import { filter, searched, state } from "./state.js";

function differ(unit, scope) {
  const [first, second] = state.pair.map((system) => systems[system].explanations[unit]);
  if (!first || !second) return first !== second;
  if (first.pattern === second.pattern) return false;
  const compared = scope ? [scope] : new Set([...first.outcomes.keys(), ...second.outcomes.keys()]);
  for (const part of compared) {
    const [mine, theirs] = [first.outcomes.get(part), second.outcomes.get(part)];
    for (const outcome of outcomes) {
      if (mine?.get(outcome) !== theirs?.get(outcome)) return true;
    }
  }
  return false;
}

function wins(unit, [winner, outcome]) {
  const values = state.pair.map((system) =>
    systems[system].explanations[unit]?.outcomes.get(filter.scope || whole)?.get(outcome));
  return values[winner] === KEPT && values[1 - winner] === LOST;
}

function passes(unit, wanted) {
  if (wanted.words.length && !wanted.words.every((word) => wanted.texts[unit].includes(word))) return false;
  if (wanted.differs && !differ(unit, filter.scope)) return false;
  if (wanted.wins && !wins(unit, wanted.wins)) return false;
  const looked = filter.which === "" ? state.pair : [Number(filter.which)];
  return looked.some((system) => {
    const explanation = systems[system].explanations[unit];
    if (!explanation) return !filter.scope && !wanted.outcome && wanted.kind === null;
    if (filter.scope && !explanation.outcomes.has(filter.scope)) return false;
    if (wanted.outcome) {
      const [value, outcome] = wanted.outcome;
      if (explanation.outcomes.get(filter.scope || whole)?.get(outcome) !== value) return false;
    }
    return wanted.kind === null || explanation.reasons.some(({ kind, scope }) =>
      (kind === wanted.kind || parents[kind] === wanted.kind) && (!filter.scope || scope === filter.scope));
  });
}

/** Return the units that pass the filter, in their order. */
export function filtered() {
  const words = searched();
  const between = state.pair.length > 1 ? filter.differs : "";
  const at = between.indexOf("/");
  const wanted = {
    words,
    texts: words.length ? searchable() : null,
    differs: between === "1",
    wins: at < 0 ? null : [Number(between.slice(0, at)), between.slice(at + 1)],
    outcome: filter.outcome ? JSON.parse(filter.outcome) : null,
    kind: filter.reason === "" ? null : kindNames.indexOf(filter.reason),
  };
  const found = [];
  for (let unit = 0; unit < units.length; unit += 1) if (passes(unit, wanted)) found.push(unit);
  return found;
}
