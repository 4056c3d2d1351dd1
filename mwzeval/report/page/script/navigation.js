// Going from place to place: the overview, the list and the units.

import { filterHash, hashOf, unitOfHash } from "./address.js";
import { units, words } from "./data.js";
import { byId, narrow, root } from "./document.js";
import { element, plain, textElement } from "./elements.js";
import { focusRow, paintRows, reveal } from "./list.js";
import { state } from "./state.js";
import { paintPosition, unitNodes } from "./unit.js";

const title = document.title;

/** Choose a unit so many rows further down, and open it if one is open. */
export function moveCursor(step) {
  if (!state.shown.length) return;
  const last = state.shown.length - 1;
  state.cursor = state.cursor < 0 && step < 0 ? last : Math.min(last, Math.max(0, state.cursor + step));
  if (state.opened === null) {
    reveal(state.cursor);
    focusRow(state.shown[state.cursor]);
  } else {
    history.replaceState(null, "", hashOf(state.shown[state.cursor]));
    route();
  }
}

/** Show what the address says. */
export function route() {
  const unit = unitOfHash();
  if (unit === null) return close();
  return open(unit);
}

/** Go to an address, and let the viewer come back from there. */
export function go(hash) {
  if (hash === "") history.pushState(null, "", "#");
  else history.pushState(null, "", hash);
  route();
}

export function setView(view) {
  root.dataset.view = view;
  byId("tab-overview").setAttribute("aria-current", String(view === "overview"));
  byId("tab-list").setAttribute("aria-current", String(view === "list"));
  if (view === "list") paintRows();
}

function close() {
  const last = state.opened;
  state.opened = null;
  byId("dialogue").hidden = true;
  byId("dialogue").replaceChildren();
  document.title = title;
  if (last !== null) {
    setView(narrow.matches ? "list" : "overview");
    window.scrollTo(0, 0);
    const position = state.shown.indexOf(last);
    if (position >= 0) {
      state.cursor = position;
      reveal(position);
      focusRow(last);
    }
  }
  paintRows();
}

function open(unit) {
  state.opened = unit ?? -1;
  state.cursor = state.shown.indexOf(unit);
  const article = byId("dialogue");
  article.replaceChildren(...(unit === undefined ? unknown() : unitNodes(unit, { leave: goBack, step: moveCursor })));
  article.hidden = false;
  setView("dialogue");
  document.title = unit === undefined ? title : `${plain(units[unit])} – ${title}`;
  paintPosition();
  if (state.cursor >= 0) reveal(state.cursor);
  else paintRows();
  window.scrollTo(0, 0);
  article.querySelector("h2").focus({ preventScroll: true });
}

function unknown() {
  let name = location.hash.slice(1);
  try {
    name = decodeURIComponent(name);
  } catch { /* shown as it stands */ }
  return [
    element("h2", { tabindex: "-1" }, `No such ${words.unit}`),
    element("p", {}, `There is no ${words.unit} called `, textElement("strong", {}, name), " on this page."),
  ];
}

/** Leave the unit for the overview under the filter, or the list for the overview. */
export function goBack() {
  if (state.opened !== null) go(filterHash());
  else if (root.dataset.view === "list") setView("overview");
}

export function showList() {
  setView("list");
  window.scrollTo(0, 0);
}

export function connectNavigation() {
  window.addEventListener("hashchange", route);
  window.addEventListener("popstate", route);
  const leave = () => state.opened !== null && go(filterHash());
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the fragment is the address of a unit or a filter, which stays
    if (root.dataset.view === "list") setView("overview");
    byId("main").focus();
  });
  byId("tab-overview").addEventListener("click", () => {
    leave();
    setView("overview");
  });
  byId("tab-list").addEventListener("click", () => {
    leave();
    showList();
  });
  byId("home").addEventListener("click", (event) => {
    event.preventDefault();
    leave();
    setView("overview");
    window.scrollTo(0, 0);
  });
}
