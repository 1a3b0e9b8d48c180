"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(Math.abs(value) < 0.1 ? 3 : 2);
  document.documentElement.classList.add("scripted");

  // Colours: the rules for a dark system are given another condition.
  const dark = [];
  for (const sheet of document.styleSheets) {
    for (const rule of sheet.cssRules) {
      if (rule.media && rule.media.mediaText.includes("prefers-color-scheme")) dark.push([rule, rule.media.mediaText]);
    }
  }
  const themes = ["as the system", "dark", "light"];
  let theme = 0;
  at("theme").addEventListener("click", () => {
    theme = (theme + 1) % 3;
    for (const [rule, own] of dark) rule.media.mediaText = [own, "screen", "not all"][theme];
    document.querySelector("meta[name=color-scheme]").content = ["light dark", "dark", "light"][theme];
    document.documentElement.dataset.theme = themes[theme];
    at("theme").textContent = "Colours: " + themes[theme];
  });

  // The table of labels: sort, search, and not more rows at once than one can look through.
  const few = 200;
  const body = at("label-table").tBodies[0];
  const heads = [...at("label-table").tHead.rows[0].cells];
  const rows = [...body.rows].map((row) => ({
    row, i: +row.dataset.i, name: row.cells[0].textContent.toLowerCase(),
    values: [...row.cells].map((cell, c) => (c === 0 ? cell.textContent : parseFloat(cell.textContent))),
  }));
  let showAll = false;
  const collator = new Intl.Collator(undefined, { numeric: true });
  const showRows = () => {
    const wanted = at("label-search").value.trim().toLowerCase();
    let found = 0;
    for (const { row, name } of rows) {
      const fits = name.includes(wanted);
      found += fits;
      row.hidden = !fits || (!showAll && found > few);
    }
    const hidden = !showAll && found > few;
    at("label-all").hidden = !hidden;
    at("label-count").textContent = hidden ? `first ${few} of ${found}` : `${found} of ${rows.length}`;
  };
  const sortBy = (column) => {
    const head = heads[column];
    const before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : column > 0;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows.sort((a, b) => {
      const [x, y] = [a.values[column], b.values[column]];
      if (column === 0) return down ? collator.compare(y, x) : collator.compare(x, y);
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y); // undefined ones last
      return down ? y - x : x - y;
    });
    body.append(...rows.map(({ row }) => row));
    showRows();
  };
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => sortBy(column)));
  at("label-search").addEventListener("input", showRows);
  at("label-all").addEventListener("click", () => { showAll = true; showRows(); });
  body.addEventListener("click", (event) => {
    const button = event.target.closest("button.pick");
    if (button) showLabel(+button.closest("tr").dataset.i, true);
  });

  // One label: its curve, its teachers, its pupils.
  const svg = (tag, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const drawCurve = (curve, cut) => {
    const chart = at("one-chart");
    chart.replaceChildren();
    chart.style.display = curve ? "" : "none";
    at("one-legend").hidden = !curve;
    at("one-none").hidden = Boolean(curve);
    if (!curve) return;
    const [cuts, precision, recall] = curve;
    let [low, high] = [Math.min(...cuts), Math.max(...cuts)];
    if (cut !== null) [low, high] = [Math.min(low, cut), Math.max(high, cut)];
    if (high <= low) high = low + 1;
    const x = (value) => 58 + ((value - low) / (high - low)) * 568;
    const y = (share) => 254 - (share / 100) * 242;
    for (const share of [0, 20, 40, 60, 80, 100]) {
      const grid = svg("g", { class: "grid" });
      grid.append(svg("path", { d: `M58 ${y(share)}H626` }));
      const ticks = svg("g", { class: "ticks" });
      ticks.append(svg("text", { x: 50, y: y(share) + 4, "text-anchor": "end" }, (share / 100).toFixed(1)));
      chart.append(grid, ticks);
    }
    const ticks = svg("g", { class: "ticks" });
    for (let k = 0; k <= 4; k++) {
      const value = low + ((high - low) * k) / 4;
      ticks.append(svg("text", { x: x(value), y: 274, "text-anchor": k === 4 ? "end" : "middle" }, value.toPrecision(2)));
    }
    ticks.append(svg("text", { x: 342, y: 296, "text-anchor": "middle" }, "threshold"));
    chart.append(ticks);
    if (cut !== null) {
      const left = x(cut) > 520;
      chart.append(svg("path", { class: "mark-line", d: `M${x(cut)} 12V254` }));
      chart.append(svg("text", { class: "mark-text", x: x(cut) + (left ? -5 : 5), y: 246, "text-anchor": left ? "end" : "start" }, "as it is"));
    }
    const f1 = precision.map((p, k) => (p + recall[k] ? (2 * p * recall[k]) / (p + recall[k]) : 0));
    [f1, precision, recall].forEach((values, k) => {
      const points = values.map((value, n) => `${x(cuts[n]).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
      chart.append(svg("polyline", { class: `line line-${k + 1}`, points }));
    });
  };
  const fillWeights = (list, pairs) => {
    const largest = Math.max(...pairs.map(([, weight]) => Math.abs(weight)), 1e-12);
    list.replaceChildren(...pairs.map(([i, weight]) => {
      const item = make("li");
      const button = make("button", "pick", data.names[i]);
      button.type = "button";
      button.addEventListener("click", () => showLabel(i, true));
      const track = make("span");
      const bar = make("span", "bar " + (weight > 0 ? "plus" : "minus"));
      bar.style.cssText = `display:block;width:${(100 * Math.abs(weight)) / largest}%`;
      track.append(bar);
      item.append(button, track, make("span", "value", signed(weight)));
      return item;
    }));
    if (!pairs.length) list.append(make("li", "note", "nobody"));
  };
  function showLabel(i, move) {
    at("one-name").textContent = data.names[i];
    drawCurve(data.curves[i], data.cuts ? data.cuts[i] : null);
    if (data.teachers) {
      fillWeights(at("one-teachers"), data.teachers[i]);
      fillWeights(at("one-pupils"), data.pupils[i]);
    }
    for (const row of body.querySelectorAll("tr.picked")) row.classList.remove("picked");
    const own = rows.find((entry) => entry.i === i);
    own.row.classList.add("picked");
    if (move) {
      at("one-label").focus({ preventScroll: true });
      at("one-label").scrollIntoView({ block: "nearest" });
    }
  }

  // The teachers: a map, or a list that can be searched.
  if (data.teachers) {
    const { labels, weights } = data.map;
    const n = labels.length;
    const cursor = at("map-cursor");
    let [row, column] = [-1, -1];
    const point = (r, c) => {
      if (r < 0 || c < 0 || r >= n || c >= n || (r === row && c === column)) return;
      [row, column] = [r, c];
      cursor.setAttribute("x", c);
      cursor.setAttribute("y", r);
      cursor.setAttribute("visibility", "visible");
      const weight = weights[r][c];
      const [learned, who] = [data.names[labels[r]], data.names[labels[c]]];
      at("map-said").textContent = r === c ? `${learned} does not comment on itself.`
        : Math.abs(weight) < 0.0005 ? `${who} says nothing about ${learned}.`
        : `${who} ${weight > 0 ? "excuses" : "insists on"} ${learned}: ${signed(weight)}`;
    };
    const map = at("map");
    const ground = map.querySelector(".map-ground");
    map.addEventListener("pointermove", (event) => {
      const box = ground.getBoundingClientRect();
      point(Math.floor(((event.clientY - box.top) / box.height) * n), Math.floor(((event.clientX - box.left) / box.width) * n));
    });
    map.addEventListener("click", () => { if (row >= 0) showLabel(labels[row], false); });
    map.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (event.key === "Enter" && row >= 0) showLabel(labels[row], true);
      if (!step) return;
      event.preventDefault();
      if (row < 0) point(0, 0);
      else point(Math.min(n - 1, Math.max(0, row + step[0])), Math.min(n - 1, Math.max(0, column + step[1])));
    });

    const most = 60;
    const lower = data.names.map((name) => name.toLowerCase());
    const frequent = rows.map(({ i }) => i);
    const showTeachers = () => {
      const wanted = at("teacher-search").value.trim().toLowerCase();
      const fits = (i) => lower[i].includes(wanted);
      const found = frequent.filter((i) => fits(i) || (wanted && data.teachers[i].some(([l]) => fits(l))));
      found.sort((a, b) => fits(b) - fits(a)); // a label that fits itself comes first
      at("teacher-rows").replaceChildren(...found.slice(0, most).map((i) => {
        const line = make("tr");
        const head = make("th");
        head.scope = "row";
        const pick = make("button", "pick", data.names[i]);
        pick.type = "button";
        pick.addEventListener("click", () => showLabel(i, true));
        head.append(pick);
        const cell = make("td");
        const chips = make("div", "chips");
        for (const [l, weight] of data.teachers[i]) {
          const chip = make("span", "", data.names[l]);
          chip.append(make("span", "value", signed(weight)));
          chips.append(chip);
        }
        if (!data.teachers[i].length) chips.append(make("span", "note", "nobody"));
        cell.append(chips);
        line.append(head, cell);
        return line;
      }));
      at("teacher-count").textContent = found.length > most ? `first ${most} of ${found.length}` : `${found.length} of ${frequent.length}`;
    };
    const showForm = (asMap) => {
      at("teacher-map").hidden = !asMap;
      at("teacher-list").hidden = asMap;
      at("show-map").setAttribute("aria-pressed", asMap);
      at("show-list").setAttribute("aria-pressed", !asMap);
      if (!asMap) showTeachers();
    };
    at("show-map").addEventListener("click", () => showForm(true));
    at("show-list").addEventListener("click", () => showForm(false));
    at("teacher-search").addEventListener("input", showTeachers);
    showForm(n === data.names.length);
  }

  // The gallery: by lot or the worst, all or only those with a mistake.
  const examples = [...at("gallery").children];
  let group = "lot";
  const showExamples = () => {
    let shown = 0;
    for (const example of examples) {
      example.hidden = example.dataset.group !== group || (at("only-wrong").checked && !("wrong" in example.dataset));
      shown += !example.hidden;
    }
    at("example-count").textContent = `${shown} shown`;
  };
  const choices = [...document.querySelectorAll("button.choose")];
  for (const choice of choices) {
    choice.addEventListener("click", () => {
      group = choice.dataset.show;
      for (const other of choices) other.setAttribute("aria-pressed", other === choice);
      showExamples();
    });
  }
  at("only-wrong").addEventListener("change", showExamples);

  showRows();
  showExamples();
  if (rows.length) showLabel(rows[0].i, false);
})();
