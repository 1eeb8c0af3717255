"use strict";
// Pages work without this file: it keeps them fresh, shows long values in place, asks back, and
// takes keys.

async function fetchMain(address) {
  const answer = await fetch(address);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.querySelector("main");
}

async function refresh(main) {
  const busy = main.contains(document.activeElement) || main.querySelector("svg:hover") || document.hidden;
  try {
    const fresh = busy ? null : await fetchMain(location.href);
    if (fresh) {
      main.replaceWith(fresh);
      main = fresh;
    }
    document.body.classList.remove("lost");
  } catch {
    document.body.classList.add("lost");
  }
  if (main.dataset.refresh) {
    setTimeout(refresh, 1000 * main.dataset.refresh, main);
  }
}

const main = document.querySelector("main");
if (main.dataset.refresh) {
  setTimeout(refresh, 1000 * main.dataset.refresh, main);
}

document.addEventListener("toggle", async ({ target }) => {
  if (target.open && target.dataset.load) {
    const content = await fetchMain(target.dataset.load);
    delete target.dataset.load;
    target.querySelector("p").replaceWith(...content.childNodes);
  }
}, true);

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
