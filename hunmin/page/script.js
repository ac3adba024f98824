(() => {
  "use strict";
  const root = document.documentElement, button = document.getElementById("scheme");
  const kept = (store, key, value) => {
    try {
      return value === undefined ? store().getItem(key) : store().setItem(key, value);
    } catch {
      return null; // a browser may keep nothing for files
    }
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const scheme = () => root.dataset.scheme || (dark.matches ? "dark" : "light");
  const label = () => { button.textContent = scheme() === "dark" ? "Light scheme" : "Dark scheme"; };
  const set = (name) => { if (name === "light" || name === "dark") root.dataset.scheme = name; label(); };
  set(kept(() => localStorage, "hunmin-scheme"));
  button.hidden = false;
  button.addEventListener("click", () => {
    set(scheme() === "dark" ? "light" : "dark");
    kept(() => localStorage, "hunmin-scheme", scheme());
  });
  dark.addEventListener("change", label);
  // a page that loads itself again keeps open what was open
  document.querySelectorAll("details").forEach((part, at) => {
    const key = `hunmin-open-${location.pathname}-${at}`;
    if (kept(() => sessionStorage, key) === "yes") part.open = true;
    part.addEventListener("toggle", () => kept(() => sessionStorage, key, part.open ? "yes" : "no"));
  });
})();
