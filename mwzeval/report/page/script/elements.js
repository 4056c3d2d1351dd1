// Elements of the document. Texts may come from anybody: they enter it as text nodes and nowhere else.

const INVISIBLE = /(?![\n\t])[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

/** Return an element without the attributes and children that are null or undefined. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

function button(text, attributes, pressed) {
  const node = element("button", { type: "button", ...attributes }, text);
  node.addEventListener("click", pressed);
  return node;
}

/** Return a text in which invisible characters, and those that change its direction, are escaped. */
function plain(text) {
  return text.replace(INVISIBLE, (char) => `\\x${char.codePointAt(0).toString(16).padStart(2, "0")}`);
}

/** Return an element that holds a text of unknown origin, with the words of the search marked. */
function textElement(tag, attributes, text) {
  const node = element(tag, { dir: "auto", ...attributes });
  const shown = plain(text);
  const words = searchedWords();
  const lower = words.length ? shown.toLowerCase() : "";
  let from = 0;
  if (lower.length === shown.length) {
    // The longest word first, so that no word is marked in part.
    const literal = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
    const pattern = literal.sort((a, b) => b.length - a.length).join("|");
    for (const { 0: found, index } of pattern ? lower.matchAll(new RegExp(pattern, "g")) : []) {
      const to = index + found.length;
      node.append(shown.slice(from, index), element("mark", {}, shown.slice(index, to)));
      from = to;
    }
  }
  node.append(shown.slice(from));
  return node;
}

const withCommas = (number) => number.toLocaleString("en");
const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** Return the letter of a system in its colour. */
function badge({ colour, name, letter }) {
  return element("span", { class: `badge ${colour}`, title: plain(name) }, letter);
}

/** What an outcome can be, with its sign and its name; null stands for one that was not asked for. */
const RESULTS = new Map([
  [false, { kind: "lost", sign: "✗", name: "failed" }],
  [true, { kind: "kept", sign: "✓", name: "passed" }],
  [null, { kind: "unasked", sign: "–", name: "not scored" }],
  [undefined, { kind: "absent", sign: "·", name: "none" }],
]);

/** Return the sign of a result, hidden from screen readers, which get a text beside it. */
function signOf(result) {
  const { kind, sign } = RESULTS.get(result);
  return element("span", { class: `sign ${kind}`, "aria-hidden": "true" }, sign);
}

const labelOf = (outcome) => plain(labels.get(outcome) ?? capital(outcome));

/** Return the sign of the result of an outcome, with a text for screen readers. */
function outcomeSign(result, outcome) {
  const { kind, sign, name } = RESULTS.get(result);
  const label = labelOf(outcome);
  return element("span", { class: `sign ${kind}`, title: `${label}: ${name}` },
    element("span", { "aria-hidden": "true" }, sign), element("span", { class: "sr" }, `${label} ${name}`));
}
