"use strict";
// Pages work without this file: it keeps them fresh, shows long values in place, and asks back.

async function fetchMain(address) {
  const answer = await fetch(address);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.querySelector("main");
}

async function refresh(main) {
  const busy = main.contains(document.activeElement) || document.hidden;
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
  const question = event.target.dataset.confirm;
  if (question && !confirm(question)) {
    event.preventDefault();
  }
});
