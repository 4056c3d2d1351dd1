// Light and dark: what the viewer's system prefers, until they choose.

import { byId, root } from "./document.js";

const STORED = "mwzeval-theme";
const preference = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ?? (preference.matches ? "dark" : "light")) === "dark";

function showTheme() {
  byId("theme").setAttribute("aria-pressed", String(isDark()));
}

function setTheme(theme) {
  root.dataset.theme = theme;
  try {
    localStorage.setItem(STORED, theme);
  } catch { /* some browsers keep nothing for local files */ }
  showTheme();
}

/** Take the theme that was chosen before, if one was. */
export function restoreTheme() {
  try {
    const stored = localStorage.getItem(STORED);
    if (stored === "light" || stored === "dark") root.dataset.theme = stored;
  } catch { /* as above */ }
  showTheme();
}

export function connectTheme() {
  byId("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  preference.addEventListener("change", showTheme);
}
