// The page works without this script but for the evidence of a cell. Text from the report only ever becomes text
// nodes; nothing is parsed as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const svgSpace = "http://www.w3.org/2000/svg";
  const words = { pass: "PASS", fails: "FAILS", silent: "SILENT" };

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    for (const child of children) if (child !== null && child !== undefined) made.append(child);
    return made;
  }
  function icon(verdict) {
    const svg = document.createElementNS(svgSpace, "svg");
    svg.setAttribute("class", "ic");
    svg.setAttribute("aria-hidden", "true");
    const use = document.createElementNS(svgSpace, "use");
    use.setAttribute("href", "#i-" + verdict);
    svg.append(use);
    return svg;
  }
  const badge = (verdict) => element("span", { class: "badge " + verdict }, icon(verdict), words[verdict]);

  function command(text) {
    const button = element("button", { type: "button" }, "Copy");
    button.addEventListener("click", () => copy(text, button));
    return element("div", { class: "cmd" }, element("pre", {}, text), button);
  }
  async function copy(text, button) {
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      // A page opened from a file may not have the clipboard: select the text instead.
      const range = document.createRange();
      range.selectNodeContents(button.previousElementSibling);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
    }
    button.textContent = done ? "Copied" : "Selected";
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  }

  function pairs(list) {
    const made = element("dl", { class: "kv" });
    for (const [name, value] of list) {
      if (value === null || value === undefined || value === "") continue;
      made.append(element("dt", {}, name), element("dd", {}, String(value)));
    }
    return made;
  }

  const buttons = new Map();  // "job.cell" -> button
  for (const button of document.querySelectorAll("button.c")) buttons.set(button.dataset.cell, button);

  function evidence(jobIndex, cellIndex) {
    const job = data.jobs[jobIndex];
    const cell = job.cells[cellIndex];
    const made = [
      element("div", { class: "verdict-head" }, badge(cell.verdict),
              cell.minimal ? element("span", { class: "num", title: "minimal combination" }, String(cell.minimal)) : null,
              cell.letter ? element("span", { class: "chip" }, cell.letter + " · " + cell.fingerprint) : null),
      element("h3", {}, cell.label),
      element("p", {}, cell.words),
    ];
    if (cell.bad) made.push(element("p", { class: "small" }, cell.bad + "."));
    if (cell.message) made.push(element("pre", {}, cell.message));
    made.push(pairs([
      ["where", cell.where],
      ["largest deviation", cell.worst === undefined ? "" : cell.worst + (cell.worst_parameter ? " in " + cell.worst_parameter : "")],
      ["held against", cell.worst === undefined ? "" : data.bounds],
      ["loss", cell.loss],
      ["collectives", cell.cost.collectives + ", " + cell.cost.collective_bytes + " bytes"],
      ["copied", cell.cost.copied_bytes + " bytes"],
      ["peak memory", cell.cost.peak_bytes + " bytes, all ranks"],
    ]));
    if (cell.checksum && cell.checksum.length) {
      const body = element("tbody", {});
      for (const [name, sum] of cell.checksum)
        body.append(element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: "n" }, String(sum))));
      made.push(element("details", {}, element("summary", {}, "Gradient checksums (sum of absolute values)"),
                        element("table", { class: "plain" }, body)));
    }
    if (cell.smaller.length) {
      const list = element("ul", { class: "jumps" });
      for (const other of cell.smaller) {
        const target = job.cells[other];
        const jump = element("button", { type: "button", class: "jump" }, icon(target.verdict), target.label);
        jump.addEventListener("click", () => { select(jobIndex, other); buttons.get(jobIndex + "." + other).focus(); });
        list.append(element("li", {}, jump));
      }
      made.push(element("p", { class: "small muted" }, "With one switch less:"), list);
    }
    made.push(element("p", { class: "small muted" }, "Repeat this cell:"), command(job.prefix + cell.flags));
    return made;
  }

  function show(jobIndex, cellIndex) {
    const panel = document.getElementById("evidence-" + jobIndex);
    panel.replaceChildren(...evidence(jobIndex, cellIndex));
    panel.scrollTop = 0;
    for (const [key, button] of buttons) {
      if (!key.startsWith(jobIndex + ".")) continue;
      const chosen = key === jobIndex + "." + cellIndex;
      if (button.getAttribute("aria-pressed") !== String(chosen)) button.setAttribute("aria-pressed", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    }
  }
  // The address names the chosen cell, so that a link to it can be shared.
  function select(jobIndex, cellIndex) {
    show(jobIndex, cellIndex);
    history.replaceState(null, "", "#cell-" + jobIndex + "-" + cellIndex);
  }

  // A picture is one stop of the Tab key; arrows move inside it.
  function rove(table) {
    const rows = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("td")].map((td) => td.querySelector("button")));
    const place = new Map();
    rows.forEach((row, r) => row.forEach((button, c) => { if (button) place.set(button, [r, c]); }));
    table.addEventListener("keydown", (event) => {
      const at = place.get(event.target);
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!at) return;
      let next = null;
      if (event.key === "Home") next = rows[at[0]].find((button) => button);
      if (event.key === "End") next = rows[at[0]].filter((button) => button).pop();
      if (step) {
        let [r, c] = [at[0] + step[0], at[1] + step[1]];
        while (rows[r] && c >= 0 && c < rows[r].length && !rows[r][c]) { r += step[0]; c += step[1]; }
        next = rows[r] && rows[r][c];
      }
      if (!next) return;
      event.preventDefault();
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    table.addEventListener("click", (event) => {
      const button = event.target.closest("button.c");
      if (!button) return;
      const [job, cell] = button.dataset.cell.split(".").map(Number);
      select(job, cell);
      const panel = document.getElementById("evidence-" + job);
      const box = panel.getBoundingClientRect();
      if (box.top > innerHeight - 80 || box.bottom < 80) panel.scrollIntoView({ block: "nearest" });
    });
  }
  for (const table of document.querySelectorAll("table.matrix")) rove(table);

  function follow(list, tell) {
    const items = [...list.querySelectorAll("button")];
    items.forEach((item, i) => { item.tabIndex = i === 0 ? 0 : -1; });
    list.addEventListener("focusin", (event) => tell(event.target));
    list.addEventListener("mouseover", (event) => { if (event.target.closest("button")) tell(event.target.closest("button")); });
    list.addEventListener("keydown", (event) => {
      const at = items.indexOf(event.target);
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (at < 0 || !step || !items[at + step]) return;
      event.preventDefault();
      items[at].tabIndex = -1;
      items[at + step].tabIndex = 0;
      items[at + step].focus();
    });
  }
  for (const line of document.querySelectorAll(".tl")) {
    const note = line.nextElementSibling;
    for (const track of line.querySelectorAll(".tl-track"))
      follow(track, (item) => { if (item.dataset.note) note.textContent = item.dataset.note; });
  }

  for (const holder of document.querySelectorAll(".cmd[data-copy]")) {
    const text = holder.querySelector("pre").textContent;
    holder.replaceWith(command(text));
  }

  const named = /^#cell-(\d+)-(\d+)$/.exec(location.hash);
  data.jobs.forEach((job, j) => {
    let chosen = job.start;
    if (named && Number(named[1]) === j && job.cells[Number(named[2])]) chosen = Number(named[2]);
    if (job.cells[chosen]) show(j, chosen);
  });
})();
