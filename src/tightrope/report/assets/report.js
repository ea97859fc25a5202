const data = JSON.parse(document.getElementById("data").textContent);

// --- one run: its map, its boundary states, their cases -----------------------------------------------------------
const CROWD = 60; // places, more of which are drawn as dots without numbers

class Run {
  constructor(spec) {
    Object.assign(this, { spec, agent: spec.agents[0], suite: spec.headline ?? spec.suites[0], place: null, quiet: 0 });
    for (const part of ["map", "choices", "panel"]) this[part] = document.querySelector(`[data-${part}="${spec.id}"]`);
    this.charts = spec.charts.map(chart => {
      const canvas = document.querySelector(`[data-chart="${spec.id}/${chart.id}"]`);
      return canvas && new Chart(canvas, chart, (place, agent, suite) => this.open(place, agent, suite));
    });
    this.link("performance");
    if (this.map) {
      this.draw();
      new ResizeObserver(() => { if (Math.abs(this.map.clientWidth - this.width) > 2) this.drawMap(); }).observe(this.map);
    }
  }

  // Charts side by side are switched together.
  link(name, label) {
    const place = document.querySelector(`[data-switch="${this.spec.id}/${name}"]`), charts = this.charts.filter(chart => chart?.spec.link === name);
    const labels = [...new Set(charts.flatMap(chart => chart.spec.views.map(view => view.label)))];
    if (!place || labels.length < 2) return;
    for (const chart of charts) {
      const index = chart.spec.views.findIndex(view => view.label === label);
      if (index >= 0 && index !== chart.view) { chart.view = index; chart.draw(); }
    }
    place.replaceChildren(segments(labels, Math.max(0, labels.indexOf(label)), index => this.link(name, labels[index]), "Measure"));
  }

  result(agent, suite) { return this.spec.results.find(one => one.agent === agent && one.suite === suite); }

  draw() { this.drawChoices(); this.drawMap(); if (this.place !== null) this.drawPanel(); }

  redraw() {
    for (const chart of this.charts) chart?.draw();
    if (this.map) this.drawMap();
  }

  drawChoices() {
    const pick = (word, names, key) => names.length < 2 ? html("span", { class: "word" }, names.length ? `${word} ${names[0]}` : "")
      : html("span", { class: "word" }, [word + " ", segments(names, names.indexOf(this[key]), index => { this[key] = names[index]; this.draw(); }, word)]);
    this.choices.replaceChildren(pick("agent", this.spec.agents, "agent"), pick("suite", this.spec.suites, "suite"));
  }

  drawMap() {
    this.width = this.map.clientWidth;
    if (!this.width) return;
    this.map.replaceChildren(this.spec.map ? this.levelMap(this.spec.map) : this.strip());
  }

  // A wide level is broken into rows like a line of text, so that all of it is seen at once and large enough.
  levelMap(map) {
    let rows = 1;
    while (rows < 6 && this.width / (map.width / rows) * map.height < (this.width < 560 ? 120 : 135)) rows++;
    const span = map.width / rows, scale = Math.min(this.width / span, 460 / map.height), rowHeight = map.height * scale, gap = 10;
    const parts = [], line = points => points.map((point, index) => point ? `${points[index - 1] ? "L" : "M"}${point.join(",")}` : "").join("");
    for (let row = 0; row < rows; row++) {
      const inner = svg("svg", { x: 0, y: row * (rowHeight + gap), width: span * scale, height: rowHeight, viewBox: `${row * span} 0 ${span} ${map.height}`, preserveAspectRatio: "none", style: "overflow:hidden", class: map.image ? "" : "plain" }, [
        map.image ? svg("image", { href: map.image, style: `image-rendering:${scale < 1 ? "auto" : "pixelated"}`, width: map.width, height: map.height, preserveAspectRatio: "none" }) : svg("rect", { class: "frame", width: map.width, height: map.height, "vector-effect": "non-scaling-stroke" }),
        ...map.fuzz.map(trace => svg("path", { class: "trace", d: line(trace), "stroke-opacity": clamp(5 / map.fuzz.length, .15, .6), "vector-effect": "non-scaling-stroke" })),
        ...["casing", "path"].flatMap(kind => map.ways.map(way => svg("path", { class: kind, d: line(way), "vector-effect": "non-scaling-stroke" }))),
      ]);
      parts.push(inner);
    }
    const places = this.spec.places.map(({ position }) => {
      if (!position) return null;
      const row = clamp(Math.floor(position[0] / span), 0, rows - 1);
      return { x: (position[0] - row * span) * scale, y: row * (rowHeight + gap) + position[1] * scale, top: row * (rowHeight + gap) };
    });
    const height = rows * rowHeight + (rows - 1) * gap;
    return this.withPins(parts, places, height, "Map of the task");
  }

  strip() {
    const height = 74, { along } = this.spec, x = depth => 14 + (this.width - 28) * depth / along.high;
    const parts = [
      svg("line", { class: "baseline", x1: x(0), x2: x(along.high), y1: height - 20, y2: height - 20 }),
      ...ticks(along, this.width / 80).map(tick => svg("text", { x: x(tick.at), y: height - 3, "text-anchor": "middle" }, tick.text)),
    ];
    const places = this.spec.places.map(place => ({ x: x(place.depth), y: height - 20, top: -80 }));
    return this.withPins(parts, places, height, "Boundary states along the reference", "strip");
  }

  withPins(parts, places, height, label, kind) {
    const heads = [], stems = [], pins = [];
    let highest = 0;
    const crowded = this.spec.places.length > CROWD;
    this.spec.places.forEach((place, index) => {
      const foot = places[index];
      if (!foot) return;
      const head = crowded ? foot : freePlace(foot, heads, this.width);
      heads.push(head);
      highest = Math.min(highest, head.y - 14);
      if (!crowded) stems.push(svg("line", { class: "stem", x1: foot.x, y1: foot.y, x2: head.x, y2: head.y }), svg("circle", { class: "foot", cx: foot.x, cy: foot.y, r: 2.6 }));
      pins.push(this.pin(place, head, crowded));
    });
    (pins.find(pin => pin.getAttribute("aria-pressed") === "true") ?? pins[0])?.setAttribute("tabindex", 0);
    return svg("svg", { class: kind, height: height - highest, viewBox: `0 ${highest} ${this.width} ${height - highest}`, role: "group", "aria-label": label }, [...parts, ...stems, ...pins]);
  }

  pin(place, head, crowded) {
    const point = this.result(this.agent, this.suite)?.places[place.number], known = point && point.value !== null;
    const paint = known ? heat(point.value) : { fill: "#c9ccd0", text: "#1d2126" };
    const words = known ? pointLines(point) : ["no data" + (point?.why ? `: ${point.why}` : "")];
    const show = event => { if (performance.now() < this.quiet) return; const box = event.currentTarget.getBoundingClientRect(); showTip(box.left + box.width / 2, box.top, place.title, words); };
    return svg("g", { class: `pin${known ? "" : " none"}${place.proven ? "" : " guess"}`, tabindex: -1, role: "button", "data-place": place.number,
      "aria-pressed": String(this.place === place.number), "aria-label": `${place.title}: ${words[0]}`,
      onclick: () => this.open(place.number), onpointerenter: show, onpointerleave: hideTip, onfocus: show, onblur: hideTip,
      onkeydown: event => this.pinKey(event, place.number),
    }, crowded ? svg("circle", { cx: head.x, cy: head.y, r: 4.5, fill: paint.fill, style: "stroke-width:.8;filter:none;stroke-dasharray:none" })
      : [svg("circle", { cx: head.x, cy: head.y, r: 9, fill: paint.fill }), svg("text", { x: head.x, y: head.y + 3.4, style: `fill:${paint.text}` }, String(place.number))]);
  }

  // One stop for the tab key; the arrow keys go from pin to pin.
  pinKey(event, place) {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key !== "Enter" && event.key !== " " && !move) return;
    event.preventDefault();
    if (!move) return this.open(place);
    const pins = [...this.map.querySelectorAll(".pin")];
    pins[(pins.indexOf(event.currentTarget) + move + pins.length) % pins.length].focus();
  }

  open(place, agent, suite) {
    if (agent && this.spec.agents.includes(agent)) this.agent = agent;
    if (suite && this.spec.suites.includes(suite)) this.suite = suite;
    hideTip();
    this.quiet = performance.now() + 600; // the pin is drawn anew under the pointer, which would bring the tip back
    this.place = place; this.film = null;
    this.panel.hidden = false;
    this.draw();
    this.panel.focus({ preventScroll: true });
    this.panel.scrollIntoView({ block: "nearest" });
  }

  close() {
    const place = this.place;
    this.place = null; this.panel.hidden = true;
    this.drawMap();
    this.map.querySelector(`[data-place="${place}"]`)?.focus();
  }

  drawPanel() {
    const { places, cases } = this.spec, index = places.findIndex(place => place.number === this.place), place = places[index];
    const step = by => places[index + by] && this.open(places[index + by].number);
    const button = (text, label, act, off) => html("button", { type: "button", "aria-label": label, title: label, disabled: off, onclick: act }, text);
    const own = cases.filter(one => one.agent === this.agent && one.place === this.place);
    const film = this.film ?? own.map(one => one.film).find(Boolean);
    const body = html("div", { class: "inside" + (film ? " film" : "") }, [
      film ? html("div", {}, [screen(film), html("p", { class: "small" }, `${this.agent} fails`)]) : null,
      html("div", {}, [this.rates(), this.caseTable(own.filter(one => one.suite === this.suite))]),
    ]);
    this.panel.replaceChildren(
      html("header", {}, [html("h3", {}, `Place #${place.number} of ${places.length}`), button("‹", "Previous place", () => step(-1), index === 0),
        button("›", "Next place", () => step(1), index === places.length - 1), button("×", "Close", () => this.close())]),
      html("p", { class: "small" }, place.about), body);
  }

  rates() {
    const { agents, suites } = this.spec;
    const cell = (agent, suite) => {
      const point = this.result(agent, suite)?.places[this.place], known = point && point.value !== null;
      return html("td", { class: known ? "" : "nothing", title: known ? pointLines(point).filter(Boolean).join(", ") : "" }, known ? point.cell : "no data");
    };
    return html("div", { class: "scroll" }, html("table", {}, [
      html("thead", {}, html("tr", {}, [html("th", { scope: "col" }, "fail frequency here"), ...suites.map(suite => html("th", { scope: "col" }, suite))])),
      html("tbody", {}, agents.map(agent => html("tr", {}, [html("th", { scope: "row" }, agent), ...suites.map(suite => cell(agent, suite))]))),
    ]));
  }

  caseTable(cases) {
    if (!cases.length) return html("p", { class: "nothing" }, `no data: ${this.suite} has no case here under ${this.agent}`);
    const sorted = [...cases].sort((a, b) => b.fails - a.fails);
    const head = ["case", "hand-over", "executions", "survivable?", "return", ""];
    return html("div", { class: "cases", tabindex: 0, role: "region", "aria-label": "Cases" }, html("table", {}, [
      html("thead", {}, html("tr", {}, head.map(name => html("th", { scope: "col" }, name)))),
      html("tbody", {}, sorted.map(one => this.caseRow(one))),
    ]));
  }

  caseRow(one) {
    const box = (kind, times) => times > 20 ? [] : Array.from({ length: times }, () => html("i", { class: kind }));
    const boxes = html("span", { class: "boxes", "aria-hidden": "true" },
      [...box("fail", one.fails), ...box("", one.passes), ...box("invalid", one.invalid), ...box("error", one.errors)]);
    const replay = one.replay && html("button", { type: "button", class: "copy", title: one.replay, onclick: event => copy(one.replay, event.currentTarget) }, "copy replay");
    const watch = one.film && html("button", { type: "button", class: "watch", onclick: () => { this.film = one.film; this.drawPanel(); } }, "▶ watch");
    return html("tr", {}, [
      html("td", {}, [one.label ? one.label + " " : "", html("code", { class: "small" }, one.id.slice(0, 8))]), html("td", {}, String(one.handover)),
      html("td", { title: one.interval }, [boxes, one.verdict]),
      html("td", { title: one.escape ? `a way out: ${one.escape}` : "" }, html("span", { class: `badge ${one.blamed ? "fail" : ""}` }, one.survivable)),
      html("td", { title: one.reward_text }, one.reward), html("td", { class: "acts" }, [replay || null, watch || null]),
    ]);
  }
}

function freePlace(foot, heads, width) {
  const clear = spot => heads.every(other => Math.hypot(other.x - spot.x, other.y - spot.y) >= 19);
  for (const rise of [22, 42, 62, 82, -22, -42]) for (const slide of [0, 12, 24, -12, -24]) {
    const spot = { x: clamp(foot.x + slide, 10, width - 10), y: foot.y - rise };
    if (spot.y > foot.top + 11 && clear(spot)) return spot;
  }
  return { x: foot.x, y: foot.y - 22 };
}

function screen(name) {
  const address = data.videos[name];
  if (/^data:image|\.webp$/.test(address)) return html("img", { src: address, alt: "The fail" });
  const video = html("video", { src: address, controls: true, loop: true, playsinline: true, "aria-label": "The fail" });
  video.muted = true;
  if (!still) video.play().catch(() => {});
  return video;
}

function copy(text, button) {
  const told = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy replay"; }, 1500); };
  const select = () => {
    const area = html("textarea", { style: "position:fixed;opacity:0" }, text);
    document.body.append(area); area.select(); document.execCommand("copy"); area.remove(); told();
  };
  navigator.clipboard?.writeText ? navigator.clipboard.writeText(text).then(told, select) : select();
}

// --- the page -----------------------------------------------------------------------------------------------------
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
const watcher = new IntersectionObserver(entries => {
  for (const { target, isIntersecting } of entries) isIntersecting ? target.play().catch(() => {}) : target.pause();
}, { threshold: 0.6 });
for (const node of document.querySelectorAll("[data-video]")) {
  node.src = data.videos[node.dataset.video];
  if (node.tagName === "VIDEO" && !still) watcher.observe(node);
}
const runs = data.runs.map(spec => new Run(spec));
if (data.overall) new Chart(document.querySelector('[data-chart="overall/reward"]'), data.overall, () => {});

const tabs = document.querySelector(".tabs");
function showRun(id) {
  for (const article of document.querySelectorAll("[data-run-section]")) article.hidden = article.id !== id;
  for (const button of tabs.children) button.setAttribute("aria-pressed", String(button.dataset.run === id));
}
if (tabs) {
  tabs.hidden = false;
  tabs.addEventListener("click", event => { if (event.target.dataset.run) showRun(event.target.dataset.run); });
  addEventListener("hashchange", () => { if (runs.some(run => "#" + run.spec.id === location.hash)) { showRun(location.hash.slice(1)); tabs.scrollIntoView(); } });
  showRun(runs.some(run => "#" + run.spec.id === location.hash) ? location.hash.slice(1) : runs[0].spec.id);
  addEventListener("beforeprint", () => {
    for (const article of document.querySelectorAll("[data-run-section]")) article.hidden = false;
    for (const run of runs) run.redraw();
  });
  addEventListener("afterprint", () => showRun(tabs.querySelector('[aria-pressed="true"]').dataset.run));
}

const theme = document.getElementById("theme"), root = document.documentElement;
theme.hidden = false;
theme.addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
root.dataset.ready = "yes";
