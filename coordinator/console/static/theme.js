/* Sets the chosen colour scheme before the first paint. "auto" follows the system. A classic script, so that it runs
   before the body is drawn. */
const theme = (() => {
  const NAMES = ["auto", "light", "dark"];
  let name = "auto";
  try {
    name = localStorage.getItem("theme") ?? "auto";
  } catch {
    /* Storage is not available. The choice then lasts until the page is left. */
  }
  if (!NAMES.includes(name)) name = "auto";
  const apply = () => {
    document.documentElement.dataset.theme = name;
    dispatchEvent(new Event("themechange"));
  };
  apply();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  return {
    name: () => name,
    next() {
      name = NAMES[(NAMES.indexOf(name) + 1) % NAMES.length];
      try {
        localStorage.setItem("theme", name);
      } catch {
        /* As above. */
      }
      apply();
    },
  };
})();
globalThis.consoleTheme = theme;
