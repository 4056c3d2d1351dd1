// Claims in the words of a response: coloured and underlined by what became of them.

import { element, plain, textElement } from "./elements.js";

/** What becomes of a claim, the worst first, and what that means. */
export const VERDICTS = new Map([
  ["unknown", "in no database"],
  ["inconsistent", "of something else, or not as tools returned"],
  ["right", "as database and tools have it"],
  ["unjudged", "there is nothing to compare it with"],
]);
const ORDER = [...VERDICTS.keys()];

/** Return the words of a response with its claims; where several overlap, the worst gives the colour. */
export function claimedText(text, claims) {
  const characters = Array.from(text); // places count characters, not UTF-16 units
  const bounds = new Set([0, characters.length]);
  for (const { start, end } of claims) bounds.add(start).add(end);
  const places = [...bounds].sort((a, b) => a - b);
  const node = element("span", { class: "text", dir: "auto" });
  places.slice(0, -1).forEach((from, index) => {
    const to = places[index + 1];
    const words = characters.slice(from, to).join("");
    const here = claims.filter(({ start, end }) => start <= from && to <= end)
      .sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
    const title = here.map(({ verdict, told }) => `${verdict}: ${told}`).join("\n");
    node.append(here.length
      ? textElement("span", { class: `claim ${here[0].verdict}`, title: plain(title) }, words)
      : textElement("span", {}, words));
  });
  return node;
}
