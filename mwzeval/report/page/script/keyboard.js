// What keys do, wherever the focus is.

import { hashOf } from "./address.js";
import { changeFilter, fillControls } from "./controls.js";
import { byId, narrow, root } from "./document.js";
import { go, goBack, moveCursor, showList } from "./navigation.js";
import { filter, state } from "./state.js";
import { jumpToNextLoss } from "./unit.js";

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const target = event.target;
  const inSearch = target === byId("search");
  const typing = inSearch || target.matches?.("input[type=search], select, textarea");
  const inBrowser = byId("browser").contains(target) && !target.matches?.("select");
  const actions = {
    "/": () => {
      if (narrow.matches && root.dataset.view === "overview") showList();
      byId("search").focus();
      byId("search").select();
    },
    j: () => moveCursor(1),
    k: () => moveCursor(-1),
    d: () => {
      if (state.pair.length < 2) return;
      changeFilter({ differs: filter.differs ? "" : "1" });
      fillControls();
    },
    x: jumpToNextLoss,
    "?": () => byId("help").showModal(),
  };
  let action = null;
  if (event.key === "Escape") {
    action = inSearch ? () => {
      if (filter.search) changeFilter({ search: "" });
      else byId("search").blur();
      fillControls();
    } : goBack;
  } else if (event.key === "Enter" && inSearch) {
    action = () => state.shown.length && go(hashOf(state.shown[Math.max(0, state.cursor)]));
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && (inBrowser || target === document.body)) {
    // In a dialogue the arrows scroll; in the list and in the search field they choose.
    if (inBrowser || state.opened === null) action = () => moveCursor(event.key === "ArrowDown" ? 1 : -1);
  } else if ((event.key === "Home" || event.key === "End") && byId("rows").contains(target)) {
    action = () => moveCursor(event.key === "Home" ? -state.shown.length : state.shown.length);
  } else if (!typing) action = actions[event.key] ?? null;
  if (!action) return;
  event.preventDefault();
  action();
}

export function connectKeys() {
  byId("keys").addEventListener("click", () => byId("help").showModal());
  byId("help-close").addEventListener("click", () => byId("help").close());
  document.addEventListener("keydown", onKey);
}
