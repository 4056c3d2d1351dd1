// Navigation between the overview, the list and the items; the keyboard; and the start.

const title = document.title;

/** Choose the item so many rows further down, and open it if one is open. */
function moveCursor(step) {
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

/** Show what the address names. */
function route() {
  const item = itemOfHash();
  if (item === null) close();
  else open(item);
}

/** Go to an address, from which the viewer can come back. */
function go(hash) {
  history.pushState(null, "", hash || "#");
  route();
}

function setView(view) {
  root.dataset.view = view;
  for (const name of ["overview", "list"]) byId(`tab-${name}`).setAttribute("aria-current", String(view === name));
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

function open(item) {
  state.opened = item ?? -1;
  state.cursor = state.shown.indexOf(item);
  const article = byId("dialogue");
  article.replaceChildren(...(item === undefined ? [
    element("h2", { tabindex: "-1" }, `No such ${words.unit}`),
    element("p", {}, `There is no ${words.unit} called `, textElement("strong", {}, nameInHash()), " on this page."),
  ] : itemNodes(item)));
  article.hidden = false;
  setView("dialogue");
  document.title = item === undefined ? title : `${plain(names[item])} – ${title}`;
  paintPosition();
  if (state.cursor >= 0) reveal(state.cursor);
  else paintRows();
  window.scrollTo(0, 0);
  article.querySelector("h2").focus({ preventScroll: true });
}

function leave() {
  if (state.opened !== null) go(filterHash());
}

function showOverview() {
  leave();
  setView("overview");
}

/** Leave the item for the overview under the filter, or the list for the overview. */
function goBack() {
  if (state.opened !== null) leave();
  else if (root.dataset.view === "list") setView("overview");
}

function showList() {
  setView("list");
  window.scrollTo(0, 0);
}

window.addEventListener("hashchange", route);
window.addEventListener("popstate", route);
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment is the address of an item or a filter, which stays
  if (root.dataset.view === "list") setView("overview");
  byId("main").focus();
});
byId("tab-overview").addEventListener("click", showOverview);
byId("tab-list").addEventListener("click", () => {
  leave();
  showList();
});
byId("home").addEventListener("click", (event) => {
  event.preventDefault();
  showOverview();
  window.scrollTo(0, 0);
});

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const { key, target } = event;
  const search = byId("search");
  const inSearch = target === search;
  const isTyping = target.matches?.("input[type=search], select, textarea");
  const inBrowser = byId("browser").contains(target) && !target.matches?.("select");
  const anywhere = {
    "/": () => {
      if (narrow.matches && root.dataset.view === "overview") showList();
      search.focus();
      search.select();
    },
    j: () => moveCursor(1),
    k: () => moveCursor(-1),
    d: () => {
      if (!isPair()) return;
      changeFilter({ differs: filter.differs ? "" : "1" });
      fillControls();
    },
    x: jumpToNextLoss,
    "?": () => byId("help").showModal(),
  };
  const leaveSearch = () => {
    if (filter.search) changeFilter({ search: "" });
    else search.blur();
    fillControls();
  };
  let action = null;
  if (key === "Escape") {
    action = inSearch ? leaveSearch : goBack;
  } else if (key === "Enter" && inSearch) {
    action = () => state.shown.length && go(hashOf(state.shown[Math.max(0, state.cursor)]));
  } else if ((key === "ArrowDown" || key === "ArrowUp") && (inBrowser || target === document.body)) {
    // In an item the arrows scroll; in the list and in the search field they choose.
    if (inBrowser || state.opened === null) action = () => moveCursor(key === "ArrowDown" ? 1 : -1);
  } else if ((key === "Home" || key === "End") && rows.contains(target)) {
    action = () => moveCursor(key === "Home" ? -state.shown.length : state.shown.length);
  } else if (!isTyping) action = anywhere[key] ?? null;
  if (!action) return;
  event.preventDefault();
  action();
}

byId("keys").addEventListener("click", () => byId("help").showModal());
byId("help-close").addEventListener("click", () => byId("help").close());
document.addEventListener("keydown", onKey);

for (const node of document.querySelectorAll(".scripted")) node.hidden = false;
fillControls();
readFilterHash();
refilter();
setView("overview");
route();
(window.requestIdleCallback ?? setTimeout)(searchableTexts);
root.dataset.ready = "";
