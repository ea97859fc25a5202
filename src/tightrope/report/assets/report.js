const data = JSON.parse(document.getElementById("data").textContent);

// --- one run: its map, its boundary states, their cases -----------------------------------------------------------
const CASE = { id: 0, depth: 1, handover: 2, label: 3, passes: 4, fails: 5, invalid: 6, errors: 7, survivable: 8, reward: 9, replay: 10, video: 11, witness: 12, range: 13 };
const CROWD = 60; // boundary states, more of which are drawn as dots without numbers
const SURVIVABLE = { yes: ["survivable", "fail"], no: ["doomed", ""], unknown: ["not known", ""] };

class Run {
  constructor(spec) {
    Object.assign(this, { spec, agent: spec.agents[0], suite: spec.headline ?? spec.suites[0], depth: null, quiet: 0 });
    for (const part of ["map", "choices", "panel"]) this[part] = document.querySelector(`[data-${part}="${spec.id}"]`);
    this.charts = spec.charts.map(chart => {
      const canvas = document.querySelector(`[data-chart="${spec.id}/${chart.id}"]`);
      return canvas && new Chart(canvas, chart, (depth, agent, suite) => this.open(depth, agent, suite));
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

  draw() { this.drawChoices(); this.drawMap(); if (this.depth !== null) this.drawPanel(); }

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
    while (rows < 6 && this.width / (map.w / rows) * map.h < (this.width < 560 ? 120 : 135)) rows++;
    const span = map.w / rows, scale = Math.min(this.width / span, 460 / map.h), rowHeight = map.h * scale, gap = 10;
    const parts = [], line = points => points.map((point, index) => point ? `${points[index - 1] ? "L" : "M"}${point.join(",")}` : "").join("");
    for (let row = 0; row < rows; row++) {
      const inner = svg("svg", { x: 0, y: row * (rowHeight + gap), width: span * scale, height: rowHeight, viewBox: `${row * span} 0 ${span} ${map.h}`, preserveAspectRatio: "none", style: "overflow:hidden", class: map.image ? "" : "plain" }, [
        map.image ? svg("image", { href: map.image, style: `image-rendering:${scale < 1 ? "auto" : "pixelated"}`, width: map.w, height: map.h, preserveAspectRatio: "none" }) : svg("rect", { class: "frame", width: map.w, height: map.h, "vector-effect": "non-scaling-stroke" }),
        ...map.fuzz.map(trace => svg("path", { class: "trace", d: line(trace), "stroke-opacity": clamp(5 / map.fuzz.length, .15, .6), "vector-effect": "non-scaling-stroke" })),
        svg("path", { class: "casing", d: line(map.reference), "vector-effect": "non-scaling-stroke" }),
        svg("path", { class: "path", d: line(map.reference), "vector-effect": "non-scaling-stroke" }),
      ]);
      parts.push(inner);
    }
    const places = this.spec.states.map(state => {
      const position = state.pos ?? map.reference[state.depth];
      if (!position) return null;
      const row = clamp(Math.floor(position[0] / span), 0, rows - 1);
      return { x: (position[0] - row * span) * scale, y: row * (rowHeight + gap) + position[1] * scale, top: row * (rowHeight + gap) };
    });
    const height = rows * rowHeight + (rows - 1) * gap;
    return this.withPins(parts, places, height, "Map of the task");
  }

  strip() {
    const height = 74, length = this.spec.length || 1, x = depth => 14 + (this.width - 28) * depth / length;
    const parts = [
      svg("line", { class: "baseline", x1: x(0), x2: x(length), y1: height - 20, y2: height - 20 }),
      ...ticks(0, length, this.width / 110).map(tick => svg("text", { x: x(tick), y: height - 3, "text-anchor": "middle" }, format(tick, false))),
    ];
    const places = this.spec.states.map(state => ({ x: x(state.depth), y: height - 20, top: -80 }));
    return this.withPins(parts, places, height, "Boundary states along the reference", "strip");
  }

  withPins(parts, places, height, label, kind) {
    const heads = [], stems = [], pins = [];
    let highest = 0;
    const crowded = this.spec.states.length > CROWD;
    this.spec.states.forEach((state, index) => {
      const foot = places[index];
      if (!foot) return;
      const head = crowded ? foot : freePlace(foot, heads, this.width);
      heads.push(head);
      highest = Math.min(highest, head.y - 14);
      if (!crowded) stems.push(svg("line", { class: "stem", x1: foot.x, y1: foot.y, x2: head.x, y2: head.y }), svg("circle", { class: "foot", cx: foot.x, cy: foot.y, r: 2.6 }));
      pins.push(this.pin(state, index, head, crowded));
    });
    (pins.find(pin => pin.getAttribute("aria-pressed") === "true") ?? pins[0])?.setAttribute("tabindex", 0);
    return svg("svg", { class: kind, height: height - highest, viewBox: `0 ${highest} ${this.width} ${height - highest}`, role: "group", "aria-label": label }, [...parts, ...stems, ...pins]);
  }

  pin(state, index, head, crowded) {
    const point = this.result(this.agent, this.suite)?.states[state.depth], known = point && point.v !== null;
    const paint = known ? heat(point.v) : { fill: "#c9ccd0", text: "#1d2126" };
    const raised = this.result(this.agent, this.suite)?.cases.some(one => one[CASE.depth] === state.depth && one[CASE.errors]);
    const words = known ? pointLines({ ...point, t: caseWords(point) }, true) : [raised ? "no data: the agent or the environment raised" : "no data"];
    const title = `Boundary state ${index + 1}, depth ${state.depth}`;
    const show = event => { if (performance.now() < this.quiet) return; const box = event.currentTarget.getBoundingClientRect(); showTip(box.left + box.width / 2, box.top, title, words); };
    return svg("g", { class: `pin${known ? "" : " none"}${state.proven ? "" : " guess"}`, tabindex: -1, role: "button", "data-depth": state.depth,
      "aria-pressed": String(this.depth === state.depth), "aria-label": `${title}: ${words[0]}`,
      onclick: () => this.open(state.depth), onpointerenter: show, onpointerleave: hideTip, onfocus: show, onblur: hideTip,
      onkeydown: event => this.pinKey(event, state.depth),
    }, crowded ? svg("circle", { cx: head.x, cy: head.y, r: 4.5, fill: paint.fill, style: "stroke-width:.8;filter:none;stroke-dasharray:none" })
      : [svg("circle", { cx: head.x, cy: head.y, r: 9, fill: paint.fill }), svg("text", { x: head.x, y: head.y + 3.4, style: `fill:${paint.text}` }, String(index + 1))]);
  }

  // One stop for the tab key; the arrow keys go from pin to pin.
  pinKey(event, depth) {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key !== "Enter" && event.key !== " " && !move) return;
    event.preventDefault();
    if (!move) return this.open(depth);
    const pins = [...this.map.querySelectorAll(".pin")];
    pins[(pins.indexOf(event.currentTarget) + move + pins.length) % pins.length].focus();
  }

  open(depth, agent, suite) {
    if (agent && this.spec.agents.includes(agent)) this.agent = agent;
    if (suite && this.spec.suites.includes(suite)) this.suite = suite;
    hideTip();
    this.quiet = performance.now() + 600; // the pin is drawn anew under the pointer, which would bring the tip back
    this.depth = depth; this.film = null;
    this.panel.hidden = false;
    this.draw();
    this.panel.focus({ preventScroll: true });
    this.panel.scrollIntoView({ block: "nearest" });
  }

  close() {
    const depth = this.depth;
    this.depth = null; this.panel.hidden = true;
    this.drawMap();
    this.map.querySelector(`[data-depth="${depth}"]`)?.focus();
  }

  drawPanel() {
    const { states, results } = this.spec, index = states.findIndex(state => state.depth === this.depth), state = states[index];
    const step = by => states[index + by] && this.open(states[index + by].depth);
    const button = (text, label, act, off) => html("button", { type: "button", "aria-label": label, title: label, disabled: off, onclick: act }, text);
    const own = results.filter(one => one.agent === this.agent).flatMap(one => one.cases).filter(one => one[CASE.depth] === this.depth);
    const film = this.film ?? own.map(one => one[CASE.video]).find(name => name && data.videos[name]);
    const result = this.result(this.agent, this.suite), cases = (result ? result.cases : []).filter(one => one[CASE.depth] === this.depth);
    const about = [`depth ${state.depth}`, state.proven ? "trouble below is proven" : "trouble below is not proven",
      state.evidence && `branches below ended: ${state.evidence}`, state.actions && `wrong actions: ${state.actions}`].filter(Boolean).join(" · ");
    const body = html("div", { class: "inside" + (film ? " film" : "") }, [
      film ? html("div", {}, [screen(film), html("p", { class: "small" }, `${this.agent} fails`)]) : null,
      html("div", {}, [this.rates(), this.caseTable(cases)]),
    ]);
    this.panel.replaceChildren(
      html("header", {}, [html("h3", {}, `Boundary state ${index + 1} of ${states.length}`), button("‹", "Previous boundary state", () => step(-1), index === 0),
        button("›", "Next boundary state", () => step(1), index === states.length - 1), button("×", "Close", () => this.close())]),
      html("p", { class: "small" }, about), body);
  }

  rates() {
    const { agents, suites } = this.spec;
    const cell = (agent, suite) => {
      const point = this.result(agent, suite)?.states[this.depth], known = point && point.v !== null;
      return html("td", { class: known ? "" : "nothing", title: known ? pointLines(point, true).filter(Boolean).join(", ") : "" },
        known ? `${format(point.v, true)}${interval(point, true) ? ` (${interval(point, true)})` : ""}, n = ${point.n}` : "no data");
    };
    return html("div", { class: "scroll" }, html("table", {}, [
      html("thead", {}, html("tr", {}, [html("th", { scope: "col" }, "fail frequency here"), ...suites.map(suite => html("th", { scope: "col" }, suite))])),
      html("tbody", {}, agents.map(agent => html("tr", {}, [html("th", { scope: "row" }, agent), ...suites.map(suite => cell(agent, suite))]))),
    ]));
  }

  caseTable(cases) {
    if (!cases.length) return html("p", { class: "nothing" }, `no data: ${this.suite} has no case here under ${this.agent}`);
    const sorted = [...cases].sort((a, b) => b[CASE.fails] - a[CASE.fails]);
    const head = ["case", "hand-over", "executions", "survivable?", "return", ""];
    return html("div", { class: "cases", tabindex: 0, role: "region", "aria-label": "Cases" }, html("table", {}, [
      html("thead", {}, html("tr", {}, head.map(name => html("th", { scope: "col" }, name)))),
      html("tbody", {}, sorted.map(one => this.caseRow(one))),
    ]));
  }

  caseRow(one) {
    const judged = one[CASE.passes] + one[CASE.fails], [word, tone] = SURVIVABLE[one[CASE.survivable]] ?? SURVIVABLE.unknown;
    const box = (kind, times) => times > 20 ? [] : Array.from({ length: times }, () => html("i", { class: kind }));
    const boxes = html("span", { class: "boxes", "aria-hidden": "true" }, ["fails", "passes", "invalid", "errors"].flatMap(kind =>
      box({ fails: "fail", passes: "", invalid: "invalid", errors: "error" }[kind], one[CASE[kind]])));
    const verdict = judged ? `${one[CASE.fails]} of ${judged} failed` : one[CASE.invalid] ? "invalid" : one[CASE.errors] ? "error" : "no data";
    const replay = one[CASE.replay] && html("button", { type: "button", class: "copy", title: one[CASE.replay],
      onclick: event => copy(one[CASE.replay], event.currentTarget) }, "copy replay");
    const watch = one[CASE.video] && data.videos[one[CASE.video]] && html("button", { type: "button", class: "watch",
      onclick: () => { this.film = one[CASE.video]; this.drawPanel(); } }, "▶ watch");
    return html("tr", {}, [
      html("td", {}, [one[CASE.label] ? one[CASE.label] + " " : "", html("code", { class: "small" }, one[CASE.id].slice(0, 8))]), html("td", {}, String(one[CASE.handover])),
      html("td", { title: one[CASE.range] }, [boxes, verdict]),
      html("td", { title: one[CASE.witness] ? `a way out: ${one[CASE.witness]}` : "" }, html("span", { class: `badge ${one[CASE.fails] ? tone : ""}` }, word)),
      html("td", { title: one[CASE.reward] }, one[CASE.reward].split(" (")[0]), html("td", { class: "acts" }, [replay || null, watch || null]),
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

const caseWords = point => `${point.cases} case${point.cases === 1 ? "" : "s"}` + (point.doomed ? `, ${point.doomed} doomed` : "") + (point.s === "no data" ? "" : `; survivable alone ${point.s}`)
  + (point.invalid ? `, ${point.invalid} invalid` : "");

function screen(name) {
  const address = data.videos[name];
  if (name.endsWith(".webp")) return html("img", { src: address, alt: "The fail" });
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
