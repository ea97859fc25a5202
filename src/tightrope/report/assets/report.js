// One run: its map, its places and their cases; then the page: links, tabs, films, theme.
const data = JSON.parse(document.getElementById("data").textContent);
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;

class Run {
  constructor(spec) {
    Object.assign(this, { spec, agent: spec.opens.agent ?? spec.agents[0], suite: spec.opens.suite ?? spec.suites[0], place: null });
    for (const part of ["map", "choices", "panel", "cases"]) this[part] = document.querySelector(`[data-${part}="${spec.id}"]`);
    this.charts = spec.charts.map(chart => {
      const canvas = document.querySelector(`[data-chart="${spec.id}/${chart.id}"]`);
      return canvas && new Chart(canvas, chart, (place, agent, suite) => this.open(place, agent, suite), where => this.link(where));
    });
    this.switch("performance");
    if (this.map) {
      this.pins = new PlaceMap(this.map, spec, { paint: place => this.result(this.agent, this.suite)?.places[place.number], open: place => this.open(place) });
      this.draw();
    }
    if (this.cases) this.table = new CaseTable(this.cases, this);
  }

  // Charts side by side are switched together.
  switch(name, label) {
    const place = document.querySelector(`[data-switch="${this.spec.id}/${name}"]`), charts = this.charts.filter(chart => chart?.spec.link === name);
    const labels = [...new Set(charts.flatMap(chart => chart.spec.views.map(view => view.label)))];
    if (!place || labels.length < 2) return;
    for (const chart of charts) {
      const index = chart.spec.views.findIndex(view => view.label === label);
      if (index >= 0 && index !== chart.view) { chart.view = index; chart.draw(); }
    }
    place.replaceChildren(segments(labels, Math.max(0, labels.indexOf(label)), index => this.switch(name, labels[index]), "Measure"));
  }

  result(agent, suite) { return this.spec.results.find(one => one.agent === agent && one.suite === suite); }

  draw() { this.drawChoices(); this.drawMap(); if (this.place !== null) this.drawPanel(); }

  drawMap() { if (this.pins) { this.pins.chosen = this.place; this.pins.draw(); } }

  redraw() {
    for (const chart of this.charts) chart?.draw();
    this.drawMap();
  }

  drawChoices() {
    const choose = (key, name) => { this[key] = name; this.draw(); remember(this); };
    const pick = (word, names, key) => {
      if (names.length < 2) return html("span", { class: "word" }, names.length ? `${word} ${names[0]}` : "");
      if (names.length > 6) return html("label", {}, [word + " ", html("select", { onchange: event => choose(key, event.currentTarget.value) },
        names.map(name => html("option", { value: name, selected: name === this[key] }, name)))]);
      return html("span", { class: "word" }, [word + " ", segments(names, names.indexOf(this[key]), index => choose(key, names[index]), word)]);
    };
    this.choices.replaceChildren(pick("agent", this.spec.agents, "agent"), pick("suite", this.spec.suites, "suite"));
  }

  // Where a case is, as an address within the page.
  link({ agent, suite, place }) {
    const parts = { run: data.runs.length > 1 ? this.spec.id : null, agent, suite, place };
    return "#" + Object.entries(parts).filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  }

  choose(agent, suite) {
    if (agent && this.spec.agents.includes(agent)) this.agent = agent;
    if (suite && this.spec.suites.includes(suite)) this.suite = suite;
  }

  open(place, agent, suite) {
    if (!this.spec.places.some(one => one.number === place)) return;
    this.choose(agent, suite);
    hideTip();
    if (this.pins) this.pins.quiet = performance.now() + 600; // the pin is drawn anew under the pointer, which would bring the tip back
    this.place = place; this.film = null;
    this.panel.hidden = false;
    this.draw();
    this.panel.focus({ preventScroll: true });
    this.panel.scrollIntoView({ block: "nearest" });
    remember(this);
  }

  watch(one) {
    this.open(one.place, one.agent, one.suite);
    this.film = one.film;
    if (this.place !== null) this.drawPanel();
  }

  close() {
    const { place } = this;
    if (place === null) return;
    this.hide();
    this.drawMap();
    this.pins?.focus(place);
    remember(this);
  }

  hide() { this.place = null; if (this.panel) this.panel.hidden = true; }

  drawPanel() {
    const { places, cases } = this.spec, index = places.findIndex(place => place.number === this.place), place = places[index];
    const step = by => places[index + by] && this.open(places[index + by].number);
    const button = (text, label, act, off) => html("button", { type: "button", "aria-label": label, title: label, disabled: off, onclick: act }, text);
    const own = cases.filter(one => one.agent === this.agent && one.place === this.place);
    const film = this.film ?? own.map(one => one.film).find(Boolean);
    const body = html("div", { class: "inside" + (film ? " film" : "") }, [
      film ? html("div", {}, [screen(film), html("p", { class: "small" }, `${this.agent} fails`)]) : null,
      this.rates(),
      html("div", { class: "under" }, own.some(one => one.suite === this.suite) ? caseTable(own.filter(one => one.suite === this.suite), one => this.watch(one))
        : html("p", { class: "nothing" }, `no data: ${this.suite} has no case here under ${this.agent}`)),
    ]);
    this.panel.replaceChildren(
      html("header", {}, [html("h2", {}, `Place #${place.number} of ${places.length}`),
        html("button", { type: "button", class: "copy", onclick: event => copy(location.href, event.currentTarget) }, "copy link"),
        button("‹", "Previous place", () => step(-1), index === 0),
        button("›", "Next place", () => step(1), index === places.length - 1), button("×", "Close", () => this.close())]),
      html("p", { class: "small" }, place.about), body);
  }

  rates() {
    const { suites } = this.spec, agents = this.spec.agents.length > 6 ? [this.agent] : this.spec.agents;
    const cell = (agent, suite) => {
      const point = this.result(agent, suite)?.places[this.place], known = point && point.value !== null;
      return html("td", { "data-label": suite, class: known ? "" : "nothing", title: known ? pointLines(point).filter(Boolean).join(", ") : "" }, known ? point.cell : "no data");
    };
    return html("div", { class: "scroll rates", tabindex: 0, role: "region", "aria-label": "Fail frequency here" }, html("table", {}, [
      html("thead", {}, html("tr", {}, [html("th", { scope: "col" }, "fail frequency here"), ...suites.map(suite => html("th", { scope: "col" }, suite))])),
      html("tbody", {}, agents.map(agent => html("tr", {}, [html("th", { scope: "row" }, agent), ...suites.map(suite => cell(agent, suite))]))),
    ]));
  }
}

// What the picture shows at this moment: each frame has its words, and the last is held for a while.
function captioned(video, name, node) {
  const words = data.captions[name] ?? [];
  const tell = () => {
    const frame = Math.floor((video.currentTime || 0) / (video.duration || 1) * (words.length + data.linger) + 1e-3);
    node.textContent = words[Math.min(frame, words.length - 1)] ?? "";
    node.classList.toggle("failing", frame >= words.length - 1);
    if (video.requestVideoFrameCallback) video.requestVideoFrameCallback(tell);
  };
  for (const event of ["loadedmetadata", "timeupdate", "seeked"]) video.addEventListener(event, tell);
  tell();
}

function screen(name) {
  const address = data.videos[name];
  if (/^data:image|\.webp$/.test(address)) return html("img", { src: address, alt: "The fail" });
  const caption = html("p", { class: "caption", "aria-hidden": "true" });
  const video = html("video", { src: address, controls: true, loop: true, playsinline: true, "aria-label": "The fail" });
  video.muted = true;
  captioned(video, name, caption);
  if (!still) video.play().catch(() => {});
  return html("div", {}, [video, caption]);
}

function copy(text, button) {
  const before = button.textContent, told = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = before; }, 1500); };
  const select = () => {
    const area = html("textarea", { style: "position:fixed;opacity:0" }, text);
    document.body.append(area); area.select(); document.execCommand("copy"); area.remove(); told();
  };
  navigator.clipboard?.writeText ? navigator.clipboard.writeText(text).then(told, select) : select();
}

// --- the page -----------------------------------------------------------------------------------------------------
const watcher = new IntersectionObserver(entries => {
  for (const { target, isIntersecting } of entries) isIntersecting ? target.play().catch(() => {}) : target.pause();
}, { threshold: 0.6 });
for (const node of document.querySelectorAll("[data-video]")) {
  node.src = data.videos[node.dataset.video];
  if (node.tagName !== "VIDEO") continue;
  captioned(node, node.dataset.video, document.querySelector(`[data-caption="${CSS.escape(node.dataset.video)}"]`));
  if (!still) watcher.observe(node);
}
const tabs = document.querySelector(".tabs");
let current = null; // the run that is shown
function showRun(id) {
  for (const article of document.querySelectorAll("[data-run-section]")) article.hidden = article.id !== id;
  for (const button of tabs?.children ?? []) button.setAttribute("aria-pressed", String(button.dataset.run === id));
  current = runs.find(run => run.spec.id === id);
}
const runs = data.runs.map(spec => new Run(spec));
for (const details of document.querySelectorAll("[data-player]")) fold(details, data.players[details.dataset.player]);
// Charts over several runs lead nowhere: a place has its number within one run.
for (const chart of data.overall) new Chart(document.querySelector(`[data-chart="overall/${chart.id}"]`), chart, () => {}, () => null);

// What is open stands in the address, so that a link or a reload brings it back.
function remember(run) {
  const hash = run.link({ agent: run.agent, suite: run.suite, place: run.place ?? undefined });
  if (hash !== location.hash) history.replaceState(null, "", hash);
}
function restore() {
  const named = location.hash.slice(1);
  if (named === "words") document.getElementById(named).open = true;
  if (!named.includes("=")) {
    const run = runs.find(one => one.spec.id === named) ?? runs.find(one => named.startsWith(one.spec.id + "-"));
    if (run && tabs) { showRun(run.spec.id); (document.getElementById(named) ?? tabs).scrollIntoView(); }
    return;
  }
  const wanted = new URLSearchParams(named), run = runs.find(one => one.spec.id === wanted.get("run")) ?? runs[0];
  if (!run) return;
  if (tabs) showRun(run.spec.id);
  run.choose(wanted.get("agent"), wanted.get("suite"));
  if (wanted.has("place")) run.open(Number(wanted.get("place")));
  else { run.hide(); if (run.map) run.draw(); }
}
if (runs.length) showRun(runs[0].spec.id);
if (tabs) {
  tabs.hidden = false;
  tabs.addEventListener("click", event => { if (event.target.dataset.run) showRun(event.target.dataset.run); });
  addEventListener("beforeprint", () => {
    for (const article of document.querySelectorAll("[data-run-section]")) article.hidden = false;
    for (const run of runs) run.redraw();
  });
  addEventListener("afterprint", () => showRun(current.spec.id));
}
// Paper has nothing to click: what is folded is printed, with its charts drawn to the width they have then.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll(".more")) { details.dataset.was = details.open ? "open" : ""; details.open = true; }
  for (const run of runs) run.redraw();
});
addEventListener("afterprint", () => { for (const details of document.querySelectorAll(".more")) details.open = details.dataset.was === "open"; });
addEventListener("hashchange", restore);
addEventListener("keydown", event => { if (event.key === "Escape") current?.close(); });
restore();

const theme = document.getElementById("theme"), root = document.documentElement;
theme.hidden = false;
theme.addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
root.dataset.ready = "yes";
