// --- fail and escape side by side: one step at a time, in both ----------------------------------------------------
// A group is folded: its poster shows how both ended, and the player is built when somebody opens it.
function fold(details, spec) {
  const ends = spec.sheet ? spec.strips.map((strip, index) => {
    const moment = Math.min(spec.strips[0].cells.length, strip.cells.length) - 1;
    const picture = html("img", { src: data.videos[spec.sheet], alt: "", draggable: "false" });
    turn(spec, picture, strip.cells[moment]);
    return html("span", { class: `screen side${index}`, style: `aspect-ratio:${spec.size[0]}/${spec.size[1]}` }, picture);
  }) : [];
  details.querySelector(".posters").replaceChildren(...ends);
  let player = null;
  const build = () => { player ??= new Player(details.querySelector(".player"), spec); };
  if (details.open) build();
  details.addEventListener("toggle", () => details.open ? build() : player?.pause());
  // On paper all are open; that one closes the others is kept from the printer.
  addEventListener("beforeprint", () => { build(); player.rest(); Object.assign(details.dataset, { name: details.name, was: details.open ? "open" : "" }); details.name = ""; details.open = true; });
  addEventListener("afterprint", () => { details.open = details.dataset.was === "open"; details.name = details.dataset.name; });
}

// Shares of the picture itself: shares of its frame would drift from row to row, as the frame has a border.
function turn(spec, picture, cell) {
  const { columns } = spec, cells = 1 + Math.max(...spec.strips.flatMap(strip => strip.cells));
  const across = Math.min(columns, cells), down = Math.ceil(cells / columns);
  picture.style.width = `${100 * across}%`;
  picture.style.transform = `translate(${-100 * (cell % columns) / across}%, ${-100 * Math.floor(cell / columns) / down}%)`;
}

class Player {
  constructor(figure, spec) {
    Object.assign(this, { figure, spec, last: Math.max(...spec.strips.map(strip => strip.steps.length)) - 1, timer: null });
    this.decision = spec.decision === null ? null : spec.decision - spec.first;
    this.at = this.decision ?? this.last;
    this.build();
    this.show(this.at);
    figure.addEventListener("keydown", event => this.key(event));
  }

  rest() { this.pause(); this.show(this.decision ?? this.last); }

  build() {
    const { spec } = this;
    this.screens = spec.strips.map((strip, index) => this.strip(strip, index));
    const button = (text, label, act) => html("button", { type: "button", title: label, "aria-label": label, onclick: act }, text);
    this.play = button("▶", "Play (space)", () => this.toggle());
    this.scrubber = html("input", { type: "range", min: 0, max: this.last, value: this.at, "aria-label": "Step", oninput: () => { this.pause(); this.show(+this.scrubber.value); } });
    this.told = html("output", { class: "small" });
    this.timeline = html("div", { class: "timeline", role: "img", "aria-label": `Survival over time: ${spec.survival_text}` });
    this.charts = spec.charts.map(chart => html("div", { class: "value" }, [html("span", { class: "small" }, chart.name), html("div", {})]));
    this.figure.querySelector(".stage").replaceChildren(
      html("div", { class: "screens" }, this.screens.map(screen => screen.node)),
      this.timeline, this.scrubber,
      html("div", { class: "buttons" }, [
        button("|◀", "To the first step (Home)", () => this.go(0)), button("‹", "One step back (←)", () => this.go(this.at - 1)), this.play,
        button("›", "One step on (→)", () => this.go(this.at + 1)), button("▶|", "To the end (End)", () => this.go(this.last)),
        this.decision === null ? null : button("decision", "To the decision (d)", () => this.go(this.decision)), this.told]),
      html("div", { class: "values" }, this.charts));
    this.drawTimeline();
    new ResizeObserver(() => { this.drawTimeline(); this.drawCharts(); }).observe(this.figure);
  }

  strip(strip, index) {
    const caption = html("p", { class: "under" }), { size, sheet } = this.spec;
    const picture = sheet ? html("img", { src: data.videos[sheet], alt: strip.title, draggable: "false" }) : null;
    const screen = picture && html("div", { class: "screen", style: `aspect-ratio:${size[0]}/${size[1]}` }, picture);
    return { strip, picture, caption, node: html("div", { class: `side side${index}` }, [html("h3", {}, strip.title), screen, caption]) };
  }

  show(at) {
    this.at = clamp(at, 0, this.last);
    for (const { strip, picture, caption, node } of this.screens) {
      const held = Math.min(this.at, strip.steps.length - 1), step = strip.steps[held];
      node.classList.toggle("over", this.at > held);
      if (picture) turn(this.spec, picture, strip.cells[held]);
      caption.replaceChildren(html("b", {}, `step ${step.step} · ${step.action}`), step.reward === "" ? "" : ` · reward ${step.reward}`,
        ...[step.wanted && `wanted ${step.wanted}`, step.saw].filter(Boolean).map(text => html("span", { class: "small" }, text)));
    }
    this.scrubber.value = this.at;
    const step = this.spec.first + this.at, known = this.spec.survival[Math.min(this.at, this.spec.survival.length - 1)];
    const over = this.at >= this.spec.survival.length;
    const share = over ? "it is over" : known.text;
    this.told.textContent = [`step ${step}`, step === this.spec.handover ? "hand-over" : "", this.at === this.decision ? "the decision" : "", share].filter(Boolean).join(" · ");
    this.scrubber.setAttribute("aria-valuetext", this.told.textContent);
    this.figure.classList.toggle("decided", this.at === this.decision);
    this.drawCharts();
    this.cursor?.setAttribute("transform", `translate(${this.x(this.at)} 0)`);
  }

  go(at) { this.pause(); this.show(at); }
  pause() { clearInterval(this.timer); this.timer = null; this.play.textContent = "▶"; }

  toggle() {
    if (this.timer) return this.pause();
    if (this.at >= this.last) this.show(0);
    this.play.textContent = "❚❚";
    this.timer = setInterval(() => this.at >= this.last ? this.pause() : this.show(this.at + 1), 120);
  }

  key(event) {
    if (event.target.tagName === "BUTTON" && event.key === " ") return;
    const act = { ArrowRight: () => this.go(this.at + 1), ArrowLeft: () => this.go(this.at - 1), ".": () => this.go(this.at + 1), ",": () => this.go(this.at - 1),
      Home: () => this.go(0), End: () => this.go(this.last), d: () => this.go(this.decision ?? this.at), " ": () => this.toggle() }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }

  // The thumb of a range stays within it, so that its middle travels a little less than the whole width.
  x(at) { const width = this.timeline.clientWidth || 600; return 8 + (width - 16) * (this.last ? at / this.last : 0); }

  drawTimeline() {
    const { survival } = this.spec, width = this.timeline.clientWidth || 600, high = 26, half = (this.x(1) - this.x(0)) / 2 || 4;
    const shares = survival.map((known, at) => ({ ...known, at })).filter(known => known.kind === "share" && known.value !== null);
    const y = share => 2 + (high - 4) * (1 - share);
    const parts = survival.map((known, at) => svg("rect", { class: `life ${known.kind}`, x: Math.max(0, this.x(at) - half), y: 0, width: Math.min(width, this.x(at) + half) - Math.max(0, this.x(at) - half), height: high }));
    if (shares.length) parts.push(
      svg("path", { class: "band", d: `M${[...shares.map(one => `${this.x(one.at)},${y(one.high ?? one.value)}`), ...[...shares].reverse().map(one => `${this.x(one.at)},${y(one.low ?? one.value)}`)].join("L")}Z` }),
      svg("path", { class: "curve", d: `M${shares.map(one => `${this.x(one.at)},${y(one.value)}`).join("L")}` }));
    const flag = (at, name, text) => at < 0 || at > this.last ? [] : [svg("line", { class: name, x1: this.x(at), x2: this.x(at), y1: -4, y2: high + 4 }),
      svg("text", { x: this.x(at) + (this.x(at) > width - 90 ? -4 : 4), y: -7, "text-anchor": this.x(at) > width - 90 ? "end" : "start" }, text)];
    const handover = this.spec.handover - this.spec.first, room = this.decision === null || Math.abs(this.x(handover) - this.x(this.decision)) > 70;
    this.cursor = svg("line", { class: "cursor", x1: 0, x2: 0, y1: -2, y2: high + 2, transform: `translate(${this.x(this.at)} 0)` });
    this.timeline.replaceChildren(svg("svg", { viewBox: `0 -22 ${width} ${high + 28}`, height: high + 28 }, [
      ...parts, ...(handover === this.decision ? [] : flag(handover, "handover", room ? "hand-over" : "")),
      ...(this.decision === null ? [] : flag(this.decision, "decision", handover === this.decision ? "hand-over and decision" : "decision")), this.cursor]));
  }

  drawCharts() {
    this.spec.charts.forEach((chart, index) => {
      const place = this.charts[index].lastChild, width = place.clientWidth || 200, high = 54;
      const x = at => 2 + (width - 4) * (this.last ? at / this.last : 0), y = value => 4 + (high - 8) * (chart.high - value) / (chart.high - chart.low);
      const line = (values, side) => values.length ? svg("path", { class: `way side${side}`, d: `M${values.map((value, at) => `${x(at)},${y(value)}`).join("L")}` }) : null;
      place.replaceChildren(svg("svg", { viewBox: `0 0 ${width} ${high}`, height: high, role: "img", "aria-label": `${chart.name}, from ${chart.span[0]} to ${chart.span[1]}` }, [
        this.decision === null ? null : svg("line", { class: "decision", x1: x(this.decision), x2: x(this.decision), y1: 0, y2: high }),
        line(chart.lines[1], 1), line(chart.lines[0], 0), svg("line", { class: "cursor", x1: x(this.at), x2: x(this.at), y1: 0, y2: high }),
        svg("text", { x: width - 2, y: 10, "text-anchor": "end" }, chart.span[1]), svg("text", { x: width - 2, y: high - 2, "text-anchor": "end" }, chart.span[0])]));
    });
  }
}
