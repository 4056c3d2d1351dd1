// The list of units: only the rows in sight are in the document.

import { hashOf } from "./address.js";
import { outcomes, systems, units, whole } from "./data.js";
import { byId, root } from "./document.js";
import { badge, element, mark, textElement } from "./elements.js";
import { filter, state } from "./state.js";

const OVERSCAN = 6;

const rows = byId("rows");
const sizer = byId("sizer");
const painted = new Map();
const rowHeight = () => 3.5 * parseFloat(getComputedStyle(root).fontSize);

function rowOf(unit) {
  const parts = new Set();
  const marks = element("span", { class: "row-marks" });
  for (const index of state.pair) {
    const explanation = systems[index].explanations[unit];
    explanation?.outcomes.forEach((_, scope) => scope !== whole && parts.add(scope));
    const group = element("span", { class: "row-system" }, state.pair.length > 1 ? badge(systems[index]) : null);
    for (const outcome of outcomes) {
      if (explanation) group.append(mark(explanation.outcomes.get(filter.scope || whole)?.get(outcome), outcome));
    }
    if (!explanation) group.append(element("span", { class: "muted" }, "missing"));
    marks.append(group);
  }
  return element(
    "div", { role: "listitem", class: "row-item", "aria-setsize": state.shown.length },
    element("a", { class: "row", href: hashOf(unit), "data-unit": unit },
      element("span", { class: "row-text" },
        textElement("span", { class: "row-name" }, units[unit]),
        textElement("span", { class: "row-scopes" }, [...parts].join(" · "))),
      marks));
}

/** Put the rows in sight into the document, in their order, and take the others out. */
export function paintRows() {
  const height = rowHeight();
  sizer.style.height = `${state.shown.length * height}px`;
  const first = Math.max(0, Math.floor(rows.scrollTop / height) - OVERSCAN);
  const bottom = rows.scrollTop + (rows.clientHeight || 800);
  const last = Math.min(state.shown.length, Math.ceil(bottom / height) + OVERSCAN);
  const wanted = new Set(state.shown.slice(first, last));
  for (const [unit, node] of painted) {
    if (!wanted.has(unit)) {
      node.remove();
      painted.delete(unit);
    }
  }
  // One row is a tab stop: the chosen one, or the nearest to it that is in the document.
  const stop = Math.min(Math.max(state.cursor, first), last - 1);
  let place = sizer.firstChild;
  for (let position = first; position < last; position += 1) {
    const unit = state.shown[position];
    let node = painted.get(unit);
    if (!node) {
      node = rowOf(unit);
      painted.set(unit, node);
    }
    node.style.top = `${position * height}px`;
    node.setAttribute("aria-posinset", position + 1);
    const link = node.firstChild;
    link.classList.toggle("cursor", position === state.cursor);
    link.tabIndex = position === stop ? 0 : -1;
    if (unit === state.opened) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    if (node === place) place = place.nextSibling;
    else sizer.insertBefore(node, place);
  }
}

/** Scroll the list so far that the row at a place is in sight. */
export function reveal(position) {
  const height = rowHeight();
  const top = position * height;
  if (top < rows.scrollTop) rows.scrollTop = top;
  else if (top + height > rows.scrollTop + rows.clientHeight) rows.scrollTop = top + height - rows.clientHeight;
  paintRows();
}

/** Paint the list anew from its beginning. */
export function repaintRows() {
  painted.forEach((node) => node.remove());
  painted.clear();
  rows.scrollTop = 0;
  paintRows();
}

/** Move the focus to a unit's row, if it is in sight. */
export function focusRow(unit) {
  painted.get(unit)?.firstChild.focus({ preventScroll: true });
}

/** The row that gets the focus is the one from which arrow keys go on. */
function chooseFocused({ target }) {
  state.cursor = state.shown.indexOf(Number(target.closest(".row")?.dataset.unit));
  paintRows();
}

export function connectList() {
  sizer.addEventListener("focusin", chooseFocused);
  rows.addEventListener("scroll", paintRows, { passive: true });
  window.addEventListener("resize", paintRows);
}
