// Charts, hover texts and small helpers; report.js puts them to use in the same scope.
const tip = document.getElementById("tip");
const THIN = "\u202f";

// --- small helpers ------------------------------------------------------------------------------------------------
function make(space, tag, attributes, children) {
  const node = space ? document.createElementNS(space, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of [].concat(children ?? [])) if (child !== null) node.append(child);
  return node;
}
const svg = (tag, attributes, children) => make("http://www.w3.org/2000/svg", tag, attributes, children);
const html = (tag, attributes, children) => make(null, tag, attributes, children);
const colour = index => index < 0 ? "var(--muted)" : `var(--s${index % 6})`;
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

function format(value, share) {
  if (value === null || value === undefined) return "no data";
  if (share) {
    const hundred = 100 * value, digits = (hundred > 0 && hundred < 9.95) || (hundred > 90.05 && hundred < 100) ? 1 : 0;
    return hundred.toFixed(digits) + THIN + "%";
  }
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return value.toFixed(0).replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
  return String(Number(value.toPrecision(3)));
}
const interval = (point, share) =>
  point.lo === null || point.lo === undefined ? ""
    : share ? `${format(point.lo, true).replace(THIN + "%", "")}–${format(point.hi, true)}` : `${format(point.lo)} to ${format(point.hi)}`;

function ticks(low, high, wanted, whole) {
  const raw = (high - low) / Math.max(1, wanted), power = 10 ** Math.floor(Math.log10(raw));
  const nice = [1, 2, 2.5, 5, 10].map(k => k * power).find(k => k >= raw * 0.999 && (!whole || Number.isInteger(k)));
  const step = nice ?? (whole ? Math.max(1, Math.ceil(raw)) : raw);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-6; k++) found.push(k * step);
  return found;
}

// The axis ends at a tick, so that the topmost value is read against a line.
function rounded(low, high, wanted) {
  const found = ticks(low, high, wanted), step = found.length > 1 ? found[1] - found[0] : high - low;
  return [Math.floor(low / step + 1e-6) * step, Math.ceil(high / step - 1e-6) * step];
}

// Blue over sand to red: told apart by people who see no red or no green.
const RAMP = [[47, 111, 173], [127, 176, 207], [243, 223, 162], [238, 155, 83], [187, 47, 29]];
function heat(value) {
  const place = clamp(value, 0, 1) * (RAMP.length - 1), index = Math.min(Math.floor(place), RAMP.length - 2);
  const rgb = RAMP[index].map((from, channel) => Math.round(from + (RAMP[index + 1][channel] - from) * (place - index)));
  const light = 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2] > 140;
  return { fill: `rgb(${rgb})`, text: light ? "#1d2126" : "#fff" };
}

// --- the hover text -----------------------------------------------------------------------------------------------
function showTip(x, y, title, lines) {
  tip.replaceChildren(html("strong", {}, title), ...lines.filter(Boolean).map((line, index) =>
    html("div", { class: index ? "dim" : "" }, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = clamp(x - box.width / 2, 8, innerWidth - box.width - 8) + "px";
  tip.style.top = (y - box.height - 14 < 8 ? y + 18 : y - box.height - 14) + "px";
}
const hideTip = () => { tip.hidden = true; };
addEventListener("keydown", event => { if (event.key === "Escape") hideTip(); });
addEventListener("scroll", hideTip, { passive: true });

function pointLines(point, share) {
  const range = interval(point, share);
  return [
    format(point.v, share) + (range ? ` (${range})` : ""),
    [point.n === null || point.n === undefined ? "" : `n = ${point.n}`, point.m].filter(Boolean).join(" · "),
    point.t,
  ];
}

// --- charts -------------------------------------------------------------------------------------------------------
const SHAPES = [
  (x, y, r) => svg("circle", { cx: x, cy: y, r }),
  (x, y, r) => svg("rect", { x: x - r * .9, y: y - r * .9, width: r * 1.8, height: r * 1.8 }),
  (x, y, r) => svg("path", { d: `M${x} ${y - r * 1.3}L${x + r * 1.3} ${y}L${x} ${y + r * 1.3}L${x - r * 1.3} ${y}Z` }),
  (x, y, r) => svg("path", { d: `M${x} ${y - r * 1.2}L${x + r * 1.2} ${y + r}L${x - r * 1.2} ${y + r}Z` }),
];
function mark(series, x, y, r) {
  const node = SHAPES[series.colour < 0 ? 0 : series.colour % SHAPES.length](x, y, r);
  const ink = colour(series.colour);
  node.setAttribute("class", "mark");
  node.setAttribute("fill", series.hollow ? "none" : ink);
  node.setAttribute("stroke", series.hollow ? ink : "var(--card)");
  node.setAttribute("stroke-width", series.hollow ? 1.8 : 1);
  return node;
}

class Chart {
  constructor(canvas, spec, onState) {
    Object.assign(this, { canvas, spec, onState, view: spec.first ?? 0, off: new Set(), at: -1 });
    this.draw();
    new ResizeObserver(() => { if (Math.abs(canvas.clientWidth - this.width) > 2) this.draw(); }).observe(canvas);
  }

  draw() {
    const { spec, canvas } = this, view = spec.views[this.view];
    this.width = canvas.clientWidth;
    if (!this.width) return;
    this.share = view.share ?? spec.share;
    this.marks = [];
    const series = view.series.filter(one => one.points.length), shown = series.filter(one => !this.off.has(one.name));
    const picture = spec.kind === "rows" ? this.rows(view, shown) : this.plot(view, shown);
    canvas.replaceChildren(html("div", { class: "bar" }, [this.keys(series), this.views()]), picture);
    this.listen(picture);
  }

  keys(series) {
    return html("div", { class: "keys" }, series.map(one => html("button", {
      type: "button", "aria-pressed": String(!this.off.has(one.name)), title: "Show or hide",
      onclick: () => { this.off.has(one.name) ? this.off.delete(one.name) : this.off.add(one.name); this.draw(); },
    }, [svg("svg", { "aria-hidden": "true" }, [
      one.mode === "line" ? svg("line", { x1: 0, x2: 16, y1: 6, y2: 6, stroke: colour(one.colour), "stroke-width": 2, "stroke-dasharray": one.dash ? "4 3" : null }) : null,
      mark(one, 8, 6, 4)]), one.name])));
  }

  views() {
    if (this.spec.views.length < 2 || this.spec.link) return html("span");
    return segments(this.spec.views.map(view => view.label), this.view, index => { this.view = index; this.draw(); }, this.spec.title);
  }

  frame(height, label) {
    return svg("svg", { width: this.width, height, viewBox: `0 0 ${this.width} ${height}`, tabindex: 0, role: "group",
      "aria-label": `${label}. ${this.marks.length} points; move with the arrow keys.` });
  }

  rows(view, shown) {
    const narrow = this.width < 560, left = narrow ? 0 : Math.min(220, 20 + 7.2 * Math.max(...view.rows.map(name => name.length)));
    // A published value stands on the line of the agent it belongs to.
    const slots = [...new Set(shown.map(one => one.colour))], band = Math.max(26, 15 * slots.length + 10), rowHeight = band + (narrow ? 20 : 6), top = 4, right = 14;
    const height = top + rowHeight * view.rows.length + 40;
    const values = shown.flatMap(one => one.points.flatMap(point => [point.v, point.hi ?? point.v]));
    const limit = this.share ? (Math.max(0, ...values) > .5 ? 1 : Math.max(.1, Math.ceil(Math.max(0, ...values) * 10) / 10)) : Math.max(...values);
    const x = value => left + 8 + (this.width - left - right - 8) * value / limit;
    const parts = ticks(0, limit, narrow ? 4 : 6).flatMap(tick => [
      svg("line", { class: "gridline", x1: x(tick), x2: x(tick), y1: top, y2: height - 36 }),
      svg("text", { x: x(tick), y: height - 20, "text-anchor": "middle" }, format(tick, this.share)),
    ]);
    parts.push(svg("text", { class: "axis-title", x: x(limit), y: height - 3, "text-anchor": "end" }, this.spec.x));
    view.rows.forEach((name, row) => {
      const start = top + row * rowHeight, middle = start + (narrow ? 20 : 0) + band / 2;
      parts.push(svg("text", { class: "name", x: 0, y: narrow ? start + 13 : middle + 4 }, name));
      if (row) parts.push(svg("line", { class: "gridline", x1: 0, x2: this.width, y1: start - 2, y2: start - 2 }));
      shown.forEach(one => {
        const y = middle + (slots.indexOf(one.colour) - (slots.length - 1) / 2) * 15, point = one.points.find(candidate => candidate.row === row);
        if (point) parts.push(...this.dot(one, point, x(point.v), y, [[x(point.lo ?? point.v), y], [x(point.hi ?? point.v), y]], `${name}, ${one.name}`));
        else if (!one.hollow) parts.push(svg("text", { class: "nothing-mark", x: x(0) + 4, y: y + 4 }, "no data"));
      });
    });
    const picture = this.frame(height, this.spec.title);
    picture.append(...parts);
    return picture;
  }

  dot(series, point, x, y, ends, title) {
    const node = mark(series, x, y, series.points.length > 80 ? 2.5 : series.hollow ? 6 : 5);
    this.marks.push({ x, y, point, title, node, series: series.name });
    const whisker = point.lo === null || point.lo === undefined ? null
      : svg("line", { class: "whisker", x1: ends[0][0], y1: ends[0][1], x2: ends[1][0], y2: ends[1][1], stroke: colour(series.colour) });
    return [whisker, node].filter(Boolean);
  }

  plot(view, shown) {
    const height = this.spec.compact ? 250 : 300, left = 46, right = 12, top = 22, bottom = 42;
    if (this.spec.stack) shown = stacked(shown);
    const points = shown.flatMap(one => one.points);
    const xs = points.flatMap(point => [point.x, point.xlo ?? point.x, point.xhi ?? point.x]);
    const ys = points.flatMap(point => [point.v, point.lo ?? point.v, point.hi ?? point.v]);
    let [lowX, highX] = [Math.min(...xs), Math.max(...xs)];
    if (!shown.length) [lowX, highX] = [0, 1];
    if (lowX === highX) [lowX, highX] = [lowX - 1, highX + 1];
    const domain = view.domain ?? this.spec.domain ?? [Math.min(0, ...ys), Math.max(...ys, 0)];
    const [lowY, highY] = rounded(domain[0], domain[1] > domain[0] ? domain[1] : domain[0] + 1, 4);
    const pad = shown.some(one => one.mode !== "line") ? 12 : 4;
    const x = value => left + pad + (this.width - left - right - 2 * pad) * (value - lowX) / (highX - lowX);
    const y = value => height - bottom - (height - top - bottom) * (clamp(value, lowY, highY) - lowY) / (highY - lowY);
    const parts = [];
    for (const tick of ticks(lowY, highY, 4)) parts.push(
      svg("line", { class: tick === 0 ? "baseline" : "gridline", x1: left, x2: this.width - right, y1: y(tick), y2: y(tick) }),
      svg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, format(tick, this.share)));
    for (const tick of ticks(lowX, highX, this.width / 90, xs.every(Number.isInteger))) parts.push(
      svg("text", { x: x(tick), y: height - bottom + 18, "text-anchor": "middle" }, format(tick, false)));
    parts.push(svg("text", { class: "axis-title", x: 0, y: 11 }, view.share === undefined ? this.spec.y : view.label),
      svg("text", { class: "axis-title", x: this.width - right, y: height - 5, "text-anchor": "end" }, view.x ?? this.spec.x));
    for (const one of shown) parts.push(...this.series(one, x, y, shown.length));
    const picture = this.frame(height, this.spec.title);
    picture.append(...parts);
    return picture;
  }

  series(one, x, y, count) {
    const ink = colour(one.colour), shift = one.offset === undefined ? 0 : (one.offset - (count - 1) / 2) * 6;
    const line = points => points.map((point, index) => `${index ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}`).join("");
    const middle = one.points.map(point => [x(point.x) + shift, y(point.v)]), parts = [];
    const ranged = one.points.filter(point => point.lo !== null && point.lo !== undefined);
    if (one.mode === "line") {
      const whole = ranged.length === one.points.length;
      if (whole && ranged.length > 1) parts.push(svg("path", { class: "band", fill: ink, style: one.base ? "opacity:.55" : null,
        d: line([...ranged.map(point => [x(point.x), y(point.hi)]), ...ranged.map(point => [x(point.x), y(point.lo)]).reverse()]) + "Z" }));
      else parts.push(...ranged.map(point => svg("line", { class: "whisker", stroke: ink, x1: x(point.x), x2: x(point.x), y1: y(point.lo), y2: y(point.hi) })));
      parts.push(svg("path", { class: "curve", stroke: ink, d: line(middle), "stroke-dasharray": one.dash ? "5 4" : null }));
    }
    one.points.forEach((point, index) => {
      const [px, py] = middle[index], title = one.name + (point.xlo === undefined ? ` at ${format(point.x, false)}` : "");
      if (one.mode !== "line") {
        if (point.xlo !== null && point.xlo !== undefined) parts.push(svg("line", { class: "whisker", x1: x(point.xlo), x2: x(point.xhi), y1: py, y2: py, stroke: ink }));
        parts.push(...this.dot(one, point, px, py, [[px, y(point.lo ?? point.v)], [px, y(point.hi ?? point.v)]], title));
      } else {
        const node = mark(one, px, py, 3);
        if (one.points.length > 40 || one.base) node.setAttribute("opacity", 0);
        this.marks.push({ x: px, y: py, point: point.shown ?? point, title, node, series: one.name });
        parts.push(node);
      }
    });
    return parts;
  }

  listen(picture) {
    const ring = svg("circle", { class: "hot", r: 8, visibility: "hidden" });
    picture.append(ring);
    const show = index => {
      const found = this.marks[this.at = index], box = picture.getBoundingClientRect();
      ring.setAttribute("cx", found.x); ring.setAttribute("cy", found.y); ring.setAttribute("visibility", "visible");
      showTip(box.left + found.x, box.top + found.y, found.title, pointLines(found.point, this.share));
    };
    const hide = () => { ring.setAttribute("visibility", "hidden"); hideTip(); };
    const nearest = event => {
      const box = picture.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
      let best = -1, least = 45;
      this.marks.forEach((one, index) => { const away = Math.hypot(one.x - px, one.y - py); if (away < least) [best, least] = [index, away]; });
      return best;
    };
    const open = () => { const found = this.marks[this.at]; if (found && this.spec.click && found.point.state !== undefined) this.onState(found.point.state, found.series, this.spec.views[this.view].label); };
    picture.style.cursor = this.spec.click ? "pointer" : "";
    picture.addEventListener("pointermove", event => { const index = nearest(event); index < 0 ? hide() : show(index); });
    picture.addEventListener("pointerleave", hide);
    picture.addEventListener("blur", hide);
    picture.addEventListener("click", event => { const index = nearest(event); if (index >= 0) { show(index); open(); } });
    picture.addEventListener("keydown", event => {
      if (!this.marks.length) return;
      const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (move) { event.preventDefault(); show((this.at + move + this.marks.length) % this.marks.length); }
      if (event.key === "Enter") open();
    });
  }
}

function stacked(series) {
  const below = new Map();
  return series.map(one => ({ ...one, base: true, points: one.points.map(point => {
    const lo = below.get(point.x) ?? 0, hi = lo + point.v;
    below.set(point.x, hi);
    return { ...point, v: hi, lo, hi, shown: point };
  }) }));
}

function segments(names, chosen, choose, label) {
  return html("span", { class: "segments", role: "group", "aria-label": label }, names.map((name, index) => html("button", {
    type: "button", "aria-pressed": String(index === chosen), onclick: () => choose(index) }, name)));
}

