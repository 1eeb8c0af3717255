"use strict";
// Pages work without this file: it keeps them fresh, shows long values in place, asks back, and
// takes keys.

const LATE = 8_000; // milliseconds after which an answer is missed
const lost = document.querySelector(".lost");
let seen = new Date();

function tell(sentence) {
  lost.hidden = !sentence;
  lost.textContent = sentence && `${sentence} What you see is from ${seen.toLocaleTimeString()}.`;
}

async function fetchPage(address) {
  const answer = await fetch(address);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return { ok: answer.ok, main: page.querySelector("main") };
}

async function look(main) {
  const late = setTimeout(tell, LATE, "No answer yet.");
  try {
    const fresh = await fetchPage(location.href);
    const hasFailed = "failed" in main.dataset;
    if (hasFailed && fresh.ok) {
      location.reload();
    }
    if (!hasFailed && !fresh.ok) {
      const [title, sentence] = fresh.main.children;
      tell(`${title.textContent}: ${sentence.textContent}.`);
      return main;
    }
    main.replaceWith(fresh.main);
    seen = new Date();
    tell("");
    return fresh.main;
  } catch {
    tell("The console does not answer. Is it still running?");
    return main;
  } finally {
    clearTimeout(late);
  }
}

async function refresh(main) {
  const busy = main.contains(document.activeElement) || main.querySelector("svg:hover") || document.hidden;
  if (!busy) {
    main = await look(main);
  }
  if (main.dataset.refresh) {
    setTimeout(refresh, 1000 * main.dataset.refresh, main);
  }
}

const main = document.querySelector("main");
if (main.dataset.refresh) {
  setTimeout(refresh, 1000 * main.dataset.refresh, main);
}

async function load(details) {
  const address = details.dataset.load;
  if (!details.open || !address) {
    return;
  }
  delete details.dataset.load;
  try {
    const { main: content } = await fetchPage(address);
    details.querySelector("p").replaceWith(...content.childNodes);
  } catch {
    details.dataset.load = address; // the console does not answer: once more when it is opened
  }
}

document.addEventListener("toggle", ({ target }) => load(target), true);
document.querySelectorAll("details[open]").forEach(load);

document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
  if (question && !confirm(question)) {
    event.preventDefault();
  }
});

const selection = document.querySelector("form.select");
const boxes = [...(selection?.querySelectorAll("[name=id]") ?? [])];
const all = selection?.querySelector("[data-all]");

function showSelection() {
  const number = boxes.filter((box) => box.checked).length;
  all.checked = number === boxes.length;
  for (const button of selection.querySelectorAll("button")) {
    button.disabled = !number;
    button.textContent = button.textContent.replace(/\d+|selected/, number || "selected");
  }
}

selection?.addEventListener("change", ({ target }) => {
  if (target === all) {
    boxes.forEach((box) => { box.checked = all.checked; });
  }
  showSelection();
});
if (selection) {
  showSelection();
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input:not([type=checkbox])");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const rows = [...document.querySelectorAll("tr[data-task]")];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const go = (row) => row?.querySelector("input, a").focus();
  const keys = {
    j: () => go(rows[at + 1]),
    k: () => go(rows[Math.max(at, 1) - 1]),
    x: () => rows[at]?.querySelector("input")?.click(),
    a: () => all?.click(),
    Enter: () => rows[at]?.querySelector("a").click(),
    "/": () => document.getElementById("find").focus(),
  };
  if (keys[event.key] && (event.key !== "Enter" || event.target.matches("input"))) {
    event.preventDefault();
    keys[event.key]();
  }
});
