// Tables of cases: those of one place, and all of a run, sorted, filtered and searched.
const SHOWN = 50; // rows drawn at a time
const MOST_BOXES = 20; // executions that are drawn one by one
const COLUMNS = [
  { name: "place", label: "place", of: one => one.place },
  { name: "case", label: "case", of: one => one.label + one.id },
  { name: "agent", label: "agent", of: one => one.agent, whole: true },
  { name: "suite", label: "suite", of: one => one.suite, whole: true },
  { name: "handover", label: "hand-over", of: one => one.handover },
  { name: "fails", label: "executions", of: one => one.rate ?? -1, down: true },
  { name: "blame", label: "blame", of: one => ["avoidable", "not known", "chance", "doomed", ""].indexOf(one.blame) },
  { name: "reward", label: "return", of: one => one.reward_value ?? -Infinity, down: true },
];

// A box for each execution; of many a bar, in which each kind has its share and none is lost.
function executions(kinds) {
  const made = Object.entries(kinds).filter(([, times]) => times), total = made.reduce((sum, [, times]) => sum + times, 0);
  return made.flatMap(([kind, times]) => total > MOST_BOXES ? html("i", { class: kind, style: `width:${Math.max(4, Math.round(80 * times / total))}px` })
    : Array.from({ length: times }, () => html("i", { class: kind })));
}

function caseRow(one, columns, { watch, place }) {
  const boxes = html("span", { class: "boxes", "aria-hidden": "true" }, executions({ fail: one.fails, pass: one.passes, invalid: one.invalid, error: one.errors }));
  const replay = one.replay && html("button", { type: "button", class: "copy", title: one.replay, onclick: event => copy(one.replay, event.currentTarget) }, "copy replay");
  const film = watch && one.film && html("button", { type: "button", class: "watch", onclick: () => watch(one) }, "▶ watch");
  const cells = {
    place: () => one.place === null ? "–" : place ? html("a", { href: place(one) }, `#${one.place}`) : `#${one.place}`,
    case: () => [one.label ? one.label + " " : "", html("code", { class: "small" }, one.id.slice(0, 8))],
    agent: () => one.agent,
    suite: () => one.suite,
    handover: () => one.handover_text,
    fails: () => html("span", { class: "went", title: `${one.verdict}; ${one.interval}` }, [boxes, one.outcome]),
    blame: () => one.blame ? [html("span", { class: `badge ${data.tones[one.blame]}` }, one.blame), one.escape ? html("span", { class: "small escape", title: one.escape_all }, ` a way out: ${one.escape}`) : null, one.why ? html("span", { class: "small told", title: one.why }, one.why) : null] : "",
    reward: () => html("span", { title: one.reward_text }, one.reward),
  };
  return html("tr", {}, [...columns.map(column => html("td", { "data-label": column.label }, cells[column.name]())), html("td", { class: "acts" }, [replay || null, film || null])]);
}

// The cases of one place under one agent.
function caseTable(cases, watch) {
  const columns = COLUMNS.filter(column => !column.whole && column.name !== "place"), sorted = [...cases].sort((a, b) => b.fails - a.fails);
  return html("div", { class: "cases", tabindex: 0, role: "region", "aria-label": "Cases" }, html("table", {}, [
    html("thead", {}, html("tr", {}, [...columns.map(column => html("th", { scope: "col" }, column.label)), html("th", { scope: "col" }, html("span", { class: "visually-hidden" }, "replay"))])),
    html("tbody", {}, sorted.map(one => caseRow(one, columns, { watch }))),
  ]));
}

class CaseTable {
  constructor(node, run) {
    Object.assign(this, { node, run, by: "fails", down: true, limit: SHOWN, wanted: { agent: "", suite: "", blame: "", text: "", flaky: false } });
    const { spec } = run;
    this.columns = COLUMNS.filter(column => !column.whole || spec[`${column.name}s`].length > 1);
    this.body = html("tbody");
    this.head = html("tr");
    this.told = html("p", { class: "small", role: "status" });
    this.more = html("button", { type: "button", class: "more-cases", onclick: () => { this.limit += 4 * SHOWN; this.draw(); } });
    this.node.replaceChildren(this.filters(spec), this.told,
      html("div", { class: "cases all", tabindex: 0, role: "region", "aria-label": "All cases" }, html("table", {}, [html("thead", {}, this.head), this.body])), this.more);
    this.draw();
  }

  filters(spec) {
    const change = (key, value) => { this.wanted[key] = value; this.limit = SHOWN; this.draw(); };
    const choose = (key, word, names) => names.length < 2 ? null : html("label", {}, [word + " ", html("select", { "data-filter": key, onchange: event => change(key, event.currentTarget.value) },
      [html("option", { value: "" }, "all"), ...names.map(name => html("option", { value: name }, name))])]);
    return html("div", { class: "filters" }, [
      choose("blame", "blame", ["avoidable", "not known", "chance", "doomed"].filter(name => spec.cases.some(one => one.blame === name)).concat("no fail")),
      choose("agent", "agent", spec.agents), choose("suite", "suite", spec.suites),
      html("label", {}, [html("input", { type: "checkbox", "data-filter": "flaky", onchange: event => change("flaky", event.currentTarget.checked) }), " flaky only"]),
      html("label", {}, ["search ", html("input", { type: "search", "data-filter": "text", placeholder: "id, action, #7", oninput: event => change("text", event.currentTarget.value.trim().toLowerCase()) })]),
    ]);
  }

  fits(one) {
    const { agent, suite, blame, text, flaky } = this.wanted;
    return (!agent || one.agent === agent) && (!suite || one.suite === suite) && (!flaky || one.flaky)
      && (!blame || one.blame === (blame === "no fail" ? "" : blame))
      && (!text || (text.startsWith("#") ? `#${one.place}` === text : [one.id, one.label, one.agent, one.suite, one.standing, one.verdict].some(part => part.toLowerCase().includes(text))));
  }

  draw() {
    const column = COLUMNS.find(({ name }) => name === this.by), turn = this.down ? -1 : 1;
    const found = this.run.spec.cases.filter(one => this.fits(one)).sort((a, b) => {
      const [x, y] = [column.of(a), column.of(b)];
      return turn * (x < y ? -1 : x > y ? 1 : 0) || (a.place ?? 0) - (b.place ?? 0);
    });
    this.head.replaceChildren(...this.columns.map(each => html("th", { scope: "col", "aria-sort": each.name === this.by ? (this.down ? "descending" : "ascending") : "none" },
      html("button", { type: "button", onclick: () => { this.down = each.name === this.by ? !this.down : Boolean(each.down); this.by = each.name; this.draw(); } },
        each.label + (each.name === this.by ? (this.down ? " ▾" : " ▴") : "")))), html("th", { scope: "col" }, html("span", { class: "visually-hidden" }, "replay")));
    this.body.replaceChildren(...found.slice(0, this.limit).map(one => caseRow(one, this.columns, { place: each => this.run.link(each), watch: each => this.run.watch(each) })));
    const shown = Math.min(this.limit, found.length);
    const all = this.run.spec.cases.length, some = shown < found.length, cases = all === 1 ? "case" : "cases";
    this.told.textContent = !found.length ? "no case matches" : found.length < all ? `${found.length} of ${all} ${cases}${some ? `, the first ${shown} of them` : ""}`
      : `${some ? `the first ${shown} of ` : ""}${all} ${cases}`;
    this.more.hidden = shown === found.length;
    this.more.textContent = `Show more (${found.length - shown} left)`;
  }
}
