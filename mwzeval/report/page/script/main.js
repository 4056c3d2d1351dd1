// The start: everything is connected and shown for the first time.

import { connectControls, fillControls, readFilterHash, refilter } from "./controls.js";
import { searchable } from "./data.js";
import { byId, root } from "./document.js";
import { connectExport } from "./exporting.js";
import { connectKeys } from "./keyboard.js";
import { connectList } from "./list.js";
import { connectNavigation, route, setView } from "./navigation.js";
import { connectSorting } from "./sorting.js";
import { connectTheme, restoreTheme } from "./theme.js";

/** On paper nothing is folded. */
function connectPrinting() {
  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open], .details)")];
    for (const node of unfolded) node.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const node of unfolded) node.open = false;
  });
}

restoreTheme();
for (const name of ["browser", "tools", "tabs"]) byId(name).hidden = false;
for (const node of document.querySelectorAll(".scripted")) node.hidden = false;
fillControls();
readFilterHash();
connectControls();
connectList();
connectExport();
connectSorting();
connectNavigation();
connectTheme();
connectKeys();
connectPrinting();
refilter();
setView("overview");
route();
(window.requestIdleCallback ?? setTimeout)(searchable);
root.dataset.ready = "";
