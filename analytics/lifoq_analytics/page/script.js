// A moment's numbers, for who points at the charts or moves the slider by the keyboard. They are
// those of the table; without this script that table tells them.
const timeline = document.getElementById("timeline");
if (timeline) {
  const rows = [...timeline.querySelectorAll("tbody tr[data-at]")];
  const names = [...timeline.querySelectorAll("thead th")].map((name) => name.textContent);
  const slider = timeline.querySelector("input");
  const readout = timeline.querySelector(".readout");
  const show = (number) => {
    const cells = [...rows[number].cells].map((cell) => cell.textContent);
    slider.value = number;
    slider.setAttribute("aria-valuetext", names.map((name, n) => `${name}: ${cells[n]}`).join(", "));
    timeline.style.setProperty("--at", rows[number].dataset.at);
    readout.replaceChildren(...names.map((name, n) => {
      const pair = document.createElement("div");
      pair.append(document.createElement("dt"), document.createElement("dd"));
      pair.firstChild.textContent = name;
      pair.lastChild.textContent = cells[n];
      return pair;
    }));
  };
  const nearest = (at) => rows.reduce((best, row, n) =>
    Math.abs(row.dataset.at - at) < Math.abs(rows[best].dataset.at - at) ? n : best, 0);
  slider.max = rows.length - 1;
  slider.addEventListener("input", () => show(Number(slider.value)));
  for (const plot of timeline.querySelectorAll(".plot")) {
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      show(nearest((event.clientX - box.left) / box.width));
    });
  }
  for (const hidden of timeline.querySelectorAll("[hidden]")) hidden.hidden = false;
  show(nearest(Number(timeline.dataset.show)));
}
