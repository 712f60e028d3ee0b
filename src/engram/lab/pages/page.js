// What a reader can do with a page beyond reading it: switch series on and off, read values off figures, sort tables.
// Without scripts everything is shown.
(() => {
  "use strict";
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const made = (tag, kind, text = "") => Object.assign(document.createElement(tag), { className: kind, textContent: text });

  // Series: the entries of legends are buttons, which act on all figures of the page and on rows and columns of tables.
  const legends = new Set(all(".legend [data-key]").map((each) => each.dataset.key));
  const off = new Set();

  function nameColumns(table) {
    const heads = all("thead th", table).map((each) => each.textContent.trim().replace(/^> /, ""));
    for (const row of table.rows) {
      const name = row.cells[0].textContent.trim();
      if (row.parentElement.tagName === "TBODY" && legends.has(name)) row.dataset.series = name;
      heads.forEach((head, i) => {
        if (i && legends.has(head) && row.cells[i]) row.cells[i].dataset.series = head;
      });
    }
  }

  function show() {
    for (const each of all("[data-series]")) each.classList.toggle("off", off.has(each.dataset.series));
    for (const each of all("button[data-key]")) each.setAttribute("aria-pressed", !off.has(each.dataset.key));
  }

  function makeSwitch(name) {
    const button = made("button", "");
    button.type = "button";
    button.dataset.key = name;
    button.title = "show or hide it, in all figures and tables of this page";
    button.onclick = () => {
      off.has(name) ? off.delete(name) : off.add(name);
      show();
    };
    return button;
  }

  function startSwitches() {
    for (const each of all("figure [data-extra]")) if (legends.has(each.dataset.series)) off.add(each.dataset.series);
    all("table").forEach(nameColumns);
    for (const item of all(".legend [data-key]")) {
      const button = makeSwitch(item.dataset.key);
      button.append(...item.childNodes);
      item.removeAttribute("data-key");
      item.append(button);
    }
    const parts = all("[data-series]").filter((each) => each.querySelector("[data-series], svg, table")); // panels and more
    const others = new Set(parts.map((each) => each.dataset.series).filter((name) => !legends.has(name)));
    const first = document.querySelector("main section");
    if (others.size > 1 && first) {
      const list = made("ul", "legend");
      list.append(made("li", "note", "Show:"));
      for (const name of others) {
        const item = made("li", "");
        const button = makeSwitch(name);
        button.textContent = name;
        item.append(button);
        list.append(item);
      }
      first.before(list);
    }
    show();
  }

  // Readings: the point nearest to the pointer, or the one that the arrow keys have reached.
  const tip = made("div", "tip");
  tip.setAttribute("role", "status");
  const REACH = 40; // pixels

  function textsOf({ form, readings }) {
    const texts = readings.split("|").map((text) => {
      const numbers = text.split(" ");
      return form === undefined ? text : form.replace(/#/g, () => numbers.shift());
    });
    return texts.map((text) => text.replace(/(^|[^\w-])-(?=\d)/g, "$1−"));
  }

  function cornersOf(path) {
    const numbers = path.getAttribute("d").match(/-?\d+(\.\d+)?/g).map(Number);
    const corners = [[numbers[0], numbers[1]]]; // and from there in steps
    for (let i = 2; i + 1 < numbers.length; i += 2) corners.push(corners.at(-1).map((at, axis) => at + numbers[i + axis]));
    return corners;
  }

  function pointsOf(group) {
    const texts = textsOf(group.dataset);
    const path = group.querySelector(":scope > path");
    let places = path ? cornersOf(path) : [];
    if (places.length !== texts.length) places = all("use", group).map((each) => [each.x.baseVal.value, each.y.baseVal.value]);
    if (places.length !== texts.length) {
      const box = group.getBBox();
      places = texts.length === 1 ? [[box.x + box.width / 2, box.y + box.height / 2]] : [];
    }
    return places.map((place, i) => ({ group, place, text: texts[i], number: i }));
  }

  function startReadings(area) {
    const groups = all("[data-readings]", area);
    if (!groups.length) return;
    all("title", area).forEach((each) => each.remove()); // which browsers would show as well
    area.setAttribute("aria-label", "figure; the arrow keys read its values");
    const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    dot.setAttribute("r", "4");
    dot.setAttribute("style", "fill: none; stroke: currentColor; stroke-width: 1.5");
    let series, reached;

    const shown = () => (series ??= groups.map(pointsOf)).filter((each) => each.length && !each[0].group.closest(".off"));
    const matrixOf = (point) => point.group.ownerSVGElement.getScreenCTM();
    const onScreen = (point) => new DOMPoint(...point.place).matrixTransform(matrixOf(point));

    function read(point) {
      reached = point;
      if (!point) {
        dot.remove();
        tip.replaceChildren();
        return;
      }
      dot.setAttribute("cx", point.place[0]);
      dot.setAttribute("cy", point.place[1]);
      point.group.append(dot);
      tip.replaceChildren(made("b", "", point.group.dataset.series), point.text);
      const { x, y } = onScreen(point);
      tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 4))}px`;
      tip.style.top = `${Math.max(4, y - tip.offsetHeight - 12)}px`;
    }

    function nearest(event) {
      let best, least = REACH;
      for (const line of shown()) {
        const matrix = matrixOf(line[0]);
        const here = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
        for (const point of line) {
          const far = Math.hypot(point.place[0] - here.x, point.place[1] - here.y) * matrix.a;
          if (far < least) [best, least] = [point, far];
        }
      }
      read(best);
    }

    function step(event) {
      const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
      if (event.key === "Escape") read();
      if (!(event.key in moves)) return;
      const lines = shown();
      if (!lines.length) return;
      event.preventDefault();
      const [down, along] = moves[event.key];
      const at = reached ? lines.findIndex((line) => line[0].group === reached.group) : 0;
      const line = lines[(at + down + lines.length) % lines.length];
      const next = reached ? Math.max(0, Math.min(line.length - 1, reached.number + along)) : 0;
      const seen = onScreen(line[next]).x - area.getBoundingClientRect().left;
      if (seen < 0 || seen > area.clientWidth) area.scrollLeft += seen - area.clientWidth / 2;
      read(line[next]);
    }

    area.addEventListener("pointermove", nearest);
    area.addEventListener("pointerdown", nearest);
    area.addEventListener("pointerleave", (event) => event.pointerType === "touch" || read());
    area.addEventListener("keydown", step);
    area.addEventListener("blur", () => read());
    area.dataset.read = "";
  }

  // Tables: a press on a column's name sorts by it, down, up, and back; the rows of a group stay together.
  const numberIn = (text) => {
    const found = text.replaceAll("−", "-").replaceAll(",", "").match(/-?\d+(\.\d+)?/);
    return found ? Number(found[0]) : NaN;
  };

  function startSorting(table) {
    const groups = [...table.tBodies].map((body) => ({ body, rows: all("tr:not(.group)", body) }));
    if (groups.every(({ rows }) => rows.length < 3) || !table.tHead) return;
    all("th", table.tHead).forEach((head) => {
      const button = made("button", "");
      button.type = "button";
      button.title = "sort by this column";
      button.append(...head.childNodes);
      head.append(button);
      button.onclick = () => sortBy(head);
    });

    function sortBy(head) {
      const next = { descending: "ascending", ascending: "" }[head.getAttribute("aria-sort")] ?? "descending";
      all("th", table.tHead).forEach((each) => each.removeAttribute("aria-sort"));
      if (next) head.setAttribute("aria-sort", next);
      for (const { body, rows } of groups) body.append(...(next ? sorted(rows, head.cellIndex, next) : rows));
    }

    function sorted(rows, column, way) {
      const texts = new Map(rows.map((row) => [row, row.cells[column]?.textContent.trim() ?? ""]));
      const numeric = rows.filter((row) => !isNaN(numberIn(texts.get(row)))).length > rows.length / 2;
      const sign = way === "ascending" ? 1 : -1;
      const compare = (a, b) => {
        const [x, y] = [texts.get(a), texts.get(b)];
        if (!numeric) return sign * x.localeCompare(y);
        const [p, q] = [numberIn(x), numberIn(y)];
        return isNaN(p) || isNaN(q) ? isNaN(p) - isNaN(q) : sign * (p - q); // what has no number comes last
      };
      return [...rows].sort(compare);
    }
  }

  // Only what can be scrolled says so, and is a stop of the tab key.
  function startScrolling(area) {
    const cue = made("p", "cue", "scroll sideways to see all of it →");
    cue.setAttribute("aria-hidden", "true");
    cue.hidden = true;
    area.before(cue);
    new ResizeObserver(() => {
      const scrolls = area.scrollWidth > area.clientWidth + 1;
      cue.hidden = !scrolls;
      if (scrolls || "read" in area.dataset) area.tabIndex = 0;
      else area.removeAttribute("tabindex");
    }).observe(area);
  }

  // A film is loaded when its link is pressed, and plays in place of the picture; pressed again, it stops.
  function startFilm(link) {
    const image = link.querySelector("img"), told = link.querySelector("span");
    const still = image.getAttribute("src"), play = told.textContent;
    link.setAttribute("role", "button");
    link.addEventListener("keydown", (event) => event.key === " " && (event.preventDefault(), link.click()));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const plays = image.getAttribute("src") !== still;
      image.src = plays ? still : link.getAttribute("href");
      told.textContent = plays ? play : "\u25a0 stop the film";
    });
  }

  // On paper nothing is folded.
  function startPrinting() {
    let opened = [];
    addEventListener("beforeprint", () => {
      opened = all("details:not([open])");
      opened.forEach((each) => (each.open = true));
    });
    addEventListener("afterprint", () => opened.forEach((each) => (each.open = false)));
  }

  startSwitches();
  document.querySelector("main").append(tip);
  all("figure .wide").filter((area) => area.querySelector("svg")).forEach(startReadings);
  all("table").forEach(startSorting);
  all(".wide").forEach(startScrolling);
  all("a.film").forEach(startFilm);
  startPrinting();
})();
