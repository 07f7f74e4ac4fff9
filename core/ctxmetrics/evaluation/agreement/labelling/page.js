// The page where a person answers. Every text of a sample is set as text, never as markup.
"use strict";

const byId = (id) => document.getElementById(id);
const ANSWER_KEYS = { y: "yes", n: "no", c: "cannot_say", s: "skipped" };
const before = []; // numbers of the questions that were answered here, for going back
let shown = null; // what is on the page
let ended = false; // the program was stopped: nothing answers any more
let busy = false; // an answer is on its way: keys are not taken until the next question is there

async function ask(path, data) {
  const options = data === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(data),
  };
  let reply;
  try {
    reply = await fetch(path, options);
  } catch {
    throw new Error("The program has ended, and this was not saved; every answer before it is. Run the same command again to go on here.");
  }
  const found = await reply.json().catch(() => ({ error: `${reply.status} ${reply.statusText}` }));
  if (!reply.ok) throw new Error(found.error);
  return found;
}

async function once(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
    byId("problem").textContent = "";
  } catch (error) {
    byId("problem").textContent = error.message;
  } finally {
    busy = ended;
  }
}

function contextItem(text, place, data) {
  const name = `c${place}`;
  const item = document.createElement("li");
  const head = document.createElement("div");
  head.className = "context-head";
  const isSentence = data.label === "unit_supported";
  if (isSentence) {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.value = name;
    box.checked = data.chosen.includes(name);
    label.append(box, `${name} states it`);
    if (place <= 10) {
      const key = document.createElement("kbd");
      key.textContent = String(place % 10);
      label.append(key);
    }
    head.append(label);
  } else {
    head.textContent = name;
    item.classList.toggle("asked", data.item === name);
  }
  const body = document.createElement("p");
  body.className = "text";
  body.dir = "auto";
  body.textContent = text;
  item.append(head, body);
  return item;
}

async function show(data) {
  const samePlace = shown && shown.sample === data.sample && shown.label === data.label;
  shown = data;
  byId("progress").max = data.questions || 1;
  byId("progress").value = data.questions - data.open - data.skipped;
  byId("work").hidden = data.number === null;
  byId("end").hidden = data.number !== null;
  if (data.number === null) return showEnd(data);
  const isSentence = data.label === "unit_supported";
  const name = data.name ? ` (${data.name})` : "";
  byId("place").textContent =
    `sample ${data.sample} of ${data.samples}${name} · question ${data.number + 1} of ${data.questions}` +
    (data.skipped ? ` · ${data.skipped} skipped` : "");
  byId("user-input").textContent = data.user_input || "-";
  byId("before").textContent = data.reference[0];
  byId("sentence").textContent = data.reference[1];
  byId("after").textContent = data.reference[2];
  byId("question").textContent = isSentence
    ? `Do the contexts state the marked sentence (${data.item})?`
    : `Is context ${data.item} useful for giving the reference answer?`;
  byId("hint").textContent = isSentence
    ? "Yes only if every fact in it stands in the contexts or follows directly from them. Your own knowledge does not count. The keys 1 to 9 and 0 say which contexts state it, if you like."
    : "Yes only if it holds information that the answer uses. The same topic alone is not enough.";
  for (const button of byId("answers").children) {
    button.setAttribute("aria-pressed", String(button.dataset.answer === data.answer));
  }
  byId("back").disabled = before.length === 0;
  byId("verdict").textContent = "";
  byId("contexts").replaceChildren(...data.contexts.map((text, index) => contextItem(text, index + 1, data)));
  byId("contexts-name").textContent = data.contexts.length ? "Retrieved contexts" : "Nothing was retrieved";
  byId("question").focus({ preventScroll: true });
  const asked = document.querySelector("#contexts > .asked");
  if (asked) asked.scrollIntoView({ block: "nearest" });
  else if (!samePlace) window.scrollTo(0, 0);
  if (data.verdict_shown) await showVerdict();
}

function showEnd(data) {
  byId("place").textContent = "";
  byId("end-title").textContent = data.questions ? "Every question has an answer" : "There is nothing to ask";
  byId("end-text").textContent =
    `${data.annotator}: ${data.yes} yes, ${data.no} no, ${data.cannot_say} cannot say, in ${data.samples} samples. ` +
    "Compare the judge with these answers:";
  byId("end-command").textContent = data.command;
  byId("end-title").focus();
}

async function showVerdict() {
  const found = await ask(`verdict?number=${shown.number}`);
  byId("verdict").textContent = `The judge: ${found.verdict}`;
}

function answer(word) {
  once(async () => {
    const boxes = word === "yes" ? [...document.querySelectorAll("#contexts input:checked")] : [];
    const number = shown.number;
    const next = await ask("answer", { number, answer: word, contexts: boxes.map((box) => box.value) });
    before.push(number);
    await show(next);
  });
}

function goBack() {
  if (before.length) once(async () => {
    const data = await ask(`question?number=${before[before.length - 1]}`);
    before.pop();
    await show(data);
  });
}

function stop() {
  once(async () => {
    await ask("stop", {});
    byId("work").hidden = true;
    byId("end").hidden = false;
    byId("end-stop").hidden = true;
    byId("end-title").textContent = "Stopped";
    byId("end-text").textContent = "Every answer is saved. Run the same command again to go on. This page can be closed.";
    byId("end-command").hidden = true;
    ended = true;
  });
}

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || !shown) return;
  // Of a keyboard with other letters, the place of the key.
  const letter = /^[a-z0-9]$/i.test(event.key) ? event.key.toLowerCase() : event.code.replace(/^Key|^Digit/, "").toLowerCase();
  if (letter === "q") return stop();
  if (shown.number === null || busy) return;
  if (letter in ANSWER_KEYS) answer(ANSWER_KEYS[letter]);
  else if (letter === "b") goBack();
  else if (letter === "v") once(showVerdict);
  else if (/^[0-9]$/.test(letter)) {
    const box = document.querySelector(`#contexts input[value="c${letter === "0" ? 10 : letter}"]`);
    if (box) box.checked = !box.checked;
  }
});

for (const button of byId("answers").children) {
  button.addEventListener("click", () => answer(button.dataset.answer));
}
byId("back").addEventListener("click", goBack);
byId("show-verdict").addEventListener("click", () => once(showVerdict));
byId("stop").addEventListener("click", stop);
byId("end-stop").addEventListener("click", stop);
once(async () => await show(await ask("question")));
