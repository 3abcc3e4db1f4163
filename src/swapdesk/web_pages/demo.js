"use strict";
(() => {
  const sections = [...document.querySelectorAll("main > section")];
  const links = [...document.querySelectorAll("nav a")];
  const button = (name) => document.getElementById(name);
  const search = sections.findIndex((section) => section.id === "link-search");
  const stages = search < 0 ? sections.length : search;
  let at = 0, before = 0, more = false;

  function show(place) {
    at = Math.min(Math.max(place, 0), sections.length - 1);
    if (at !== search) before = at;
    sections.forEach((section, number) => { section.hidden = number !== at; });
    links.forEach((link, number) => {
      link.classList.toggle("passed", number < at);
      link.parentElement.classList.toggle("come", number <= at);
      if (number === at) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    });
    document.getElementById("subtitle").textContent =
      sections[at].querySelector(".sentence").textContent;
    // Not "disabled": that takes the focus from whoever pressed it.
    button("back").setAttribute("aria-disabled", String(at === 0));
    button("next").setAttribute("aria-disabled", String(at === sections.length - 1));
    button("link")?.setAttribute("aria-pressed", String(at === search));
    window.scrollTo(0, 0);
    try {
      history.replaceState(null, "", "#" + sections[at].id);
    } catch {
      // A page within another one may have no address of its own.
    }
  }

  function explain(wanted) {
    more = wanted;
    document.documentElement.classList.toggle("explained", more);
    button("explain").setAttribute("aria-pressed", String(more));
  }

  const next = () => show(at + 1);
  const back = () => show(at - 1);
  const link = () => { if (search >= 0) show(at === search ? before : search); };
  const close = () => { if (more) explain(false); else if (at === search) link(); };
  const keys = {
    " ": next, ArrowRight: next, PageDown: next, b: back, ArrowLeft: back, PageUp: back,
    Home: () => show(0), End: () => show(stages - 1), e: () => explain(!more), l: link,
    Escape: close,
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    // A button that has the focus takes the space itself.
    if (event.key === " " && event.target.closest("button")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const digit = /^[1-9]$/.test(key) ? Number(key) : 0;
    if (digit && digit <= stages) show(digit - 1);
    else if (Object.hasOwn(keys, key)) keys[key]();
    else return;
    event.preventDefault();
  });
  links.forEach((link, number) => link.addEventListener("click", (event) => {
    event.preventDefault();
    show(number);
  }));
  button("next").addEventListener("click", next);
  button("back").addEventListener("click", back);
  button("explain").addEventListener("click", () => explain(!more));
  button("link")?.addEventListener("click", link);

  // After a click the space goes on again, whatever was clicked; who uses keys keeps the focus.
  document.addEventListener("click", (event) => {
    if (event.detail > 0) document.activeElement.blur();
  });

  document.documentElement.classList.add("stepping");
  document.querySelector("footer").hidden = false;
  const named = () => Math.max(0, sections.findIndex((one) => "#" + one.id === location.hash));
  window.addEventListener("hashchange", () => show(named()));
  show(named());
})();
