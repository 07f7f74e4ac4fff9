"use strict";
// Sorts, filters, searches and opens the samples of a report. The page can be read without it: what a large report
// keeps in <noscript>, the browser shows by itself where scripts are off, and here it is put in when a sample is opened.
(() => {
  const list = document.getElementById("samples");
  const tools = document.getElementById("tools");
  if (!list || !tools) return;
  const rows = [...list.querySelectorAll(":scope > details.s")];
  const status = document.getElementById("shown");
  const search = document.getElementById("search");
  const sort = document.getElementById("sort");
  const filter = document.getElementById("filter");
  const MOST_OPENED = 300;

  const kept = (row) => row.querySelector(":scope > noscript");
  const fill = (row) => {
    const place = kept(row);
    if (!place) return;
    const template = document.createElement("template");
    template.innerHTML = place.textContent; // markup of the library's own; every text in it is escaped
    place.replaceWith(template.content);
  };

  // --- search ---
  const entities = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&amp;": "&" };
  const plain = (markup) =>
    markup
      .replace(/<a class="u"[^>]*>[^<]*<\/a>|<\/?mark[^>]*>/g, "")
      .replace(/<[^>]*>/g, " ")
      .replace(/&(?:lt|gt|quot|#x27|amp);/g, (found) => entities[found]);
  const texts = new Map();
  const textOf = (row) => {
    if (!texts.has(row)) {
      const place = kept(row);
      const rest = place ? plain(place.textContent) : plain(row.innerHTML);
      texts.set(row, `${row.firstElementChild.textContent} ${rest}`.toLowerCase().replace(/\s+/g, " "));
    }
    return texts.get(row);
  };

  // --- what is shown, and in which order ---
  const values = (row) => row.dataset.v.split("|");
  const compare = {
    worst: (a, b) => a.dataset.w - b.dataset.w,
    file: (a, b) => a.dataset.i - b.dataset.i,
  };
  const byMetric = (place) => (a, b) => {
    const [one, other] = [values(a)[place], values(b)[place]];
    return (one === "") - (other === "") || one - other || a.dataset.w - b.dataset.w;
  };
  const show = () => {
    const wanted = search.value.trim().toLowerCase().replace(/\s+/g, " ");
    let count = 0;
    for (const row of rows) {
      const fits = !filter.value || row.dataset.f.split(" ").includes(filter.value);
      row.hidden = !(fits && (!wanted || textOf(row).includes(wanted)));
      count += !row.hidden;
    }
    status.textContent = status.dataset.text.replace("{n}", count).replace("{all}", rows.length);
  };
  const order = () => {
    rows.sort(compare[sort.value] || byMetric(Number(sort.value)));
    list.append(...rows);
  };

  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 150);
  });
  filter.addEventListener("change", show);
  sort.addEventListener("change", order);
  tools.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("open").addEventListener("click", () => {
    const shown = rows.filter((row) => !row.hidden).slice(0, MOST_OPENED);
    const open = shown.some((row) => !row.open);
    for (const row of shown) {
      fill(row);
      row.open = open;
    }
  });
  list.addEventListener("toggle", (event) => event.target.open && fill(event.target), true);

  // --- a link to a sample, a sentence or a piece of evidence ---
  const follow = () => {
    const found = /^(n\d+)(?:-.*)?$/.exec(location.hash.slice(1));
    const row = found && document.getElementById(found[1]);
    if (!row) return;
    row.hidden = false;
    fill(row);
    row.open = true;
    const target = document.getElementById(found[0]) || row;
    for (const old of list.querySelectorAll(".here")) old.classList.remove("here");
    target.classList.add("here");
    target.scrollIntoView();
  };
  addEventListener("hashchange", follow);

  // --- a sentence and its evidence ---
  const light = (event) => {
    const at = event.target.closest("[data-u]");
    for (const old of list.querySelectorAll(".lit")) old.classList.remove("lit");
    const row = at && at.closest("details.s");
    if (!row) return;
    for (const unit of at.dataset.u.split(" "))
      for (const part of row.querySelectorAll(`[data-u~="${CSS.escape(unit)}"]`)) part.classList.add("lit");
  };
  list.addEventListener("pointerover", light);
  list.addEventListener("focusin", light);

  tools.hidden = false;
  show();
  follow();
})();
