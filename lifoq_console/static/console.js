"use strict";
// Pages work without this file: it keeps them fresh, shows long values in place, asks back, and
// takes keys.

const LATE = 8_000; // milliseconds after which an answer is missed
const SHARE = 4; // a page is looked for a quarter of the time at the most, however long that takes
const lost = document.querySelector(".lost");
let seen = new Date();
let isServerGone = false;

function tell(sentence) {
  lost.hidden = !sentence;
  lost.textContent = sentence && `${sentence} What you see is from ${seen.toISOString().slice(11, 19)} UTC.`;
}

async function fetchPage(address) {
  const answer = await fetch(address);
  const text = await answer.text();
  const page = new DOMParser().parseFromString(text, "text/html");
  const [main, nav] = ["main", "nav"].map((part) => page.querySelector(part));
  return { ok: answer.ok, text, title: page.title, main, nav };
}

function isFilledIn(field) {
  if (field.matches("[type=checkbox], [type=radio]")) {
    return field.checked !== field.defaultChecked;
  }
  if (field.matches("select")) {
    const byDefault = [...field.options].findLastIndex((option) => option.defaultSelected);
    return field.selectedIndex !== Math.max(0, byDefault);
  }
  return field.value !== field.defaultValue;
}

// True while the page must stay as it is, since somebody uses it.
function isInUse(main) {
  const fields = [...main.querySelectorAll("input, textarea, select")];
  const selected = getSelection();
  return document.hidden
    || main.contains(document.activeElement)
    || main.querySelector("svg:hover, [data-touched]")
    || fields.some(isFilledIn)
    || (!selected.isCollapsed && main.contains(selected.anchorNode));
}

async function look(main) {
  const late = setTimeout(tell, LATE, "No answer yet.");
  try {
    const fresh = await fetchPage(location.href);
    if (!fresh.main) {
      tell(fresh.text.trim()); // the guard's sentence, such as that the console was started anew
      return main;
    }
    const hasFailed = "failed" in main.dataset;
    if (fresh.ok && (hasFailed || isServerGone)) {
      location.reload();
    }
    if (!hasFailed && !fresh.ok) {
      const [title, sentence] = fresh.main.children;
      tell(`${title.textContent}: ${sentence.textContent.replace(/\.$/, "")}.`);
      return main;
    }
    if (isInUse(main)) {
      return main;
    }
    document.title = fresh.title; // of the overview it has the headline
    main.replaceWith(fresh.main);
    fresh.main.querySelectorAll("details[open]").forEach(load);
    document.querySelector("nav")?.replaceWith(fresh.nav);
    watchSelection();
    seen = new Date();
    tell("");
    return fresh.main;
  } catch {
    isServerGone = true;
    tell("The console does not answer. Is it still running?");
    return main;
  } finally {
    clearTimeout(late);
  }
}

async function refresh(main) {
  const begun = performance.now();
  if (!isInUse(main)) {
    main = await look(main);
  }
  refreshSoon(main, SHARE * (performance.now() - begun));
}

function refreshSoon(main, atLeast = 0) {
  if (main.dataset.refresh) {
    setTimeout(refresh, Math.max(1000 * main.dataset.refresh, atLeast), main);
  }
}

refreshSoon(document.querySelector("main"));

document.addEventListener("click", ({ target }) => {
  const details = target.closest("summary")?.parentElement;
  if (details) {
    details.dataset.touched = "";
  }
});

const STALE = 10_000; // milliseconds after which a part that may change is loaded anew
const parts = new Map(); // what was loaded last, and when, by its address

function showPart(details, content) {
  const shown = document.createElement("div");
  shown.append(...content.cloneNode(true).childNodes);
  details.querySelector(":scope > p, :scope > div").replaceWith(shown);
}

async function load(details) {
  const address = details.dataset.load;
  if (!details.open || !address) {
    return;
  }
  const kept = parts.get(address);
  if (kept?.content) {
    showPart(details, kept.content);
  }
  if (kept && ("final" in details.dataset || Date.now() - kept.at < STALE)) {
    return;
  }
  parts.set(address, { content: kept?.content, at: Date.now() });
  try {
    const { main: content } = await fetchPage(address);
    parts.set(address, { content, at: Date.now() });
    // The page may have been refreshed meanwhile.
    const here = [...document.querySelectorAll("details[open]")];
    here.filter(({ dataset }) => dataset.load === address).forEach((one) => showPart(one, content));
  } catch {
    parts.delete(address); // the console does not answer: once more when it is opened
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

let selection, boxes, all; // the rows of a list that can be selected

function showSelection() {
  const number = boxes.filter((box) => box.checked).length;
  all.checked = number === boxes.length;
  for (const button of selection.querySelectorAll("button")) {
    button.disabled = !number;
    button.textContent = button.textContent.replace(/\d+|selected/, number || "selected");
  }
}

function watchSelection() {
  selection = document.querySelector("form.select");
  boxes = [...(selection?.querySelectorAll("[name=id]") ?? [])];
  all = selection?.querySelector("[data-all]");
  selection?.addEventListener("change", ({ target }) => {
    if (target === all) {
      boxes.forEach((box) => { box.checked = all.checked; });
    }
    showSelection();
  });
  if (selection) {
    showSelection();
  }
}

watchSelection();

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input:not([type=checkbox]), textarea, select");
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
