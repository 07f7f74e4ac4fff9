"use strict";
// Sorts, filters and searches the runs of a folder, or the samples of a report, and opens samples. The page can be read
// without it: of a large report, all samples but the worst stand in <noscript>, which the browser shows by itself where
// scripts are off. Here, elements are made of them when they come near the screen, and of what is below a sample's line
// when the sample is opened.
(() => {
  const list = document.getElementById("samples");
  const runs = document.querySelector("#runs tbody");
  const tools = document.getElementById("tools");
  if (!tools) return;
  const status = document.getElementById("shown");
  const search = document.getElementById("search");
  const sort = document.getElementById("sort");

  // --- which of the items are shown, and in which order ---
  const comparable = (text) => text.toLowerCase().replace(/\s+/g, " ");
  const byFile = (a, b) => a.id.slice(1) - b.id.slice(1);
  const byValue = (place, sign) => (a, b) => {
    const [one, other] = [a.values[place], b.values[place]];
    return (one === "") - (other === "") || sign * (one - other); // what has no value comes last
  };
  const choose = (items, textOf) => {
    const wanted = comparable(search.value.trim());
    const flags = [...tools.querySelectorAll("[data-filter]")].map((select) => select.value).filter(Boolean);
    const chosen = items.filter(
      (item) => flags.every((flag) => item.flags.includes(flag)) && (!wanted || textOf(item).includes(wanted)),
    );
    const option = sort.selectedOptions[0];
    const place = parseInt(option.value, 10);
    if (option.value === "file") chosen.sort(byFile);
    if (place >= 0) chosen.sort(byValue(place, "down" in option.dataset ? -1 : 1));
    status.textContent = status.dataset.text.replace("{n}", chosen.length);
    return chosen;
  };
  const listen = (show) => {
    let waiting = 0;
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(show, 150);
    });
    for (const select of tools.querySelectorAll("select")) select.addEventListener("change", show);
    tools.addEventListener("submit", (event) => event.preventDefault());
    tools.hidden = false;
  };
  if (runs) {
    const rows = [...runs.querySelectorAll("[data-f]")].map((element) => (
      { element, values: element.dataset.v.split("|"), flags: element.dataset.f.split(" ") }
    ));
    const textOf = (row) => comparable(row.element.textContent);
    listen(() => runs.replaceChildren(...choose(rows, textOf).map((row) => row.element)));
  }
  if (!list) return;
  const footer = document.querySelector("footer");
  const ADDED_AT_A_TIME = 200;
  const MOST_OPENED = 300;

  // --- the samples, the worst first, as markup, and as elements where these were made ---
  const sampleOf = (markup, element) => {
    const [, id, values, flags] = /id="(n\d+)" data-v="([^"]*)" data-f="([^"]*)"/.exec(markup);
    return { id, values: values.split("|"), flags: flags.split(" "), markup, element };
  };
  const later = list.querySelector(":scope > noscript");
  const markups = later ? later.textContent.split(/(?=<details class="s")/) : [];
  if (later) later.remove();
  const samples = [...list.children].map((element) => sampleOf(element.outerHTML, element));
  for (const markup of markups) samples.push(sampleOf(markup));
  const byId = new Map(samples.map((sample) => [sample.id, sample]));

  const made = (markup) => {
    const template = document.createElement("template");
    template.innerHTML = markup; // markup of the library's own; every text in it is escaped
    return template.content.firstElementChild;
  };
  const bodyAt = (markup) => markup.indexOf("</summary>") + "</summary>".length;
  const elementOf = (sample) => {
    sample.element ||= made(`${sample.markup.slice(0, bodyAt(sample.markup))}</details>`);
    return sample.element;
  };
  const opened = (sample) => {
    const element = elementOf(sample);
    if (element.childElementCount === 1)
      element.append(made(sample.markup.slice(bodyAt(sample.markup), -"</details>".length)));
    element.open = true;
    return element;
  };

  // --- what is shown, in which order, and how much of it is in the list ---
  let shown = samples;
  let listed = list.childElementCount;
  const more = () => {
    const added = shown.slice(listed, listed + ADDED_AT_A_TIME).map(elementOf);
    listed += added.length;
    list.append(...added.filter((element) => !element.isConnected)); // a sample that a link names may stand there
    near.disconnect();
    if (listed < shown.length) near.observe(footer);
  };
  const near = new IntersectionObserver(([end]) => end.isIntersecting && more(), { rootMargin: "1500px" });

  const entities = { "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'", "&amp;": "&", "&nbsp;": " " };
  const plain = (markup) =>
    markup
      .replace(/<a class="u"[^>]*>[^<]*<\/a>|<\/?mark[^>]*>/g, "")
      .replace(/<[^>]*>/g, " ")
      .replace(/&(?:lt|gt|#34|#39|amp|nbsp);/g, (found) => entities[found]);
  const textOf = (sample) => {
    sample.text ||= comparable(plain(sample.markup));
    return sample.text;
  };
  listen(() => {
    shown = choose(samples, textOf);
    list.replaceChildren();
    listed = 0;
    more();
  });
  document.getElementById("open").addEventListener("click", () => {
    while (listed < Math.min(shown.length, MOST_OPENED)) more();
    const elements = [...list.children].slice(0, MOST_OPENED);
    const open = elements.some((element) => !element.open);
    for (const element of elements) {
      if (open) opened(byId.get(element.id));
      else element.open = false;
    }
  });
  list.addEventListener("toggle", (event) => event.target.open && opened(byId.get(event.target.id)), true);
  addEventListener("beforeprint", () => {
    while (listed < shown.length) more();
  });

  // --- a link to a sample, a sentence or a piece of evidence ---
  const follow = () => {
    const [name, id] = /^(n\d+)(?:-.*)?$/.exec(location.hash.slice(1)) || [];
    if (!byId.has(id)) return;
    const element = opened(byId.get(id));
    if (!element.isConnected) list.prepend(element);
    const target = document.getElementById(name) || element;
    for (const old of list.querySelectorAll(".here")) old.classList.remove("here");
    target.classList.add("here");
    target.scrollIntoView();
  };
  addEventListener("hashchange", follow);

  // --- a sentence and its evidence ---
  const light = (event) => {
    const at = event.target.closest("[data-u]");
    for (const old of list.querySelectorAll(".lit")) old.classList.remove("lit");
    const sample = at && at.closest("details.s");
    if (!sample) return;
    for (const unit of at.dataset.u.split(" "))
      for (const part of sample.querySelectorAll(`[data-u~="${CSS.escape(unit)}"]`)) part.classList.add("lit");
  };
  list.addEventListener("pointerover", light);
  list.addEventListener("focusin", light);

  if (listed < shown.length) near.observe(footer);
  follow();
})();
