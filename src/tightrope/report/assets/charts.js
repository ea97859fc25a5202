// Charts, hover texts and small helpers; report.js puts them to use in the same scope.
const tip = document.getElementById("tip");

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
const colour = index => index < 0 ? "var(--muted)" : `var(--s${index % 8})`;
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

// Every other tick is left out until they have room; the words were written where all numbers are.
function ticks(axis, room) {
  const every = Math.max(1, Math.ceil(axis.ticks.length / Math.max(2, room)));
  return axis.ticks.filter((_, index) => index % every === 0);
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

const pointLines = point => [point.text, point.about, point.note];

// --- charts -------------------------------------------------------------------------------------------------------
const SHAPES = [
  (x, y, r) => svg("circle", { cx: x, cy: y, r }),
  (x, y, r) => svg("rect", { x: x - r * .9, y: y - r * .9, width: r * 1.8, height: r * 1.8 }),
  (x, y, r) => svg("path", { d: `M${x} ${y - r * 1.3}L${x + r * 1.3} ${y}L${x} ${y + r * 1.3}L${x - r * 1.3} ${y}Z` }),
  (x, y, r) => svg("path", { d: `M${x} ${y - r * 1.2}L${x + r * 1.2} ${y + r}L${x - r * 1.2} ${y + r}Z` }),
];
function mark(series, x, y, r) {
  const node = SHAPES[series.colour < 0 ? 0 : (series.colour + Math.floor(series.colour / 8)) % SHAPES.length](x, y, r);
  const ink = colour(series.colour);
  node.setAttribute("class", "mark");
  node.setAttribute("fill", series.hollow ? "none" : ink);
  node.setAttribute("stroke", series.hollow ? ink : "var(--card)");
  node.setAttribute("stroke-width", series.hollow ? 1.8 : 1);
  return node;
}

class Chart {
  constructor(canvas, spec, onPlace, link) {
    Object.assign(this, { canvas, spec, onPlace, link, view: Math.max(0, spec.views.findIndex(view => view.label === spec.first)), off: new Set(), at: -1 });
    this.draw();
    new ResizeObserver(() => { if (Math.abs(canvas.clientWidth - this.width) > 2) this.draw(); }).observe(canvas);
  }

  draw() {
    const { spec, canvas } = this, view = spec.views[this.view];
    this.width = canvas.clientWidth;
    if (!this.width) return;
    this.marks = [];
    const series = view.series.filter(one => one.points.length), shown = series.filter(one => !this.off.has(one.name));
    this.stride = 1;
    const { picture, node } = spec.kind === "heat" ? gridPicture(this, view) : { picture: spec.kind === "rows" ? this.rows(view, shown) : this.plot(view, shown) };
    canvas.replaceChildren(html("div", { class: "bar" }, [this.keys(spec.kind === "heat" ? [] : series), this.views()]), node ?? picture);
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
    const narrow = this.width < 560, left = narrow ? 0 : Math.min(this.spec.joined ? 330 : 220, 20 + 7.2 * Math.max(...view.rows.map(row => row.text.length + (row.what ? row.what.length + 1 : 0))));
    // A published value stands on the line of the agent it belongs to.
    const slots = this.spec.joined ? [null] : [...new Set(shown.map(one => one.colour))], band = this.spec.joined ? 18 : Math.max(26, 15 * slots.length + 10), rowHeight = band + (narrow ? 20 : 6), top = 4, right = 14;
    const height = top + rowHeight * view.rows.length + 40;
    const x = value => left + 8 + (this.width - left - right - 8) * value / view.values.high;
    const parts = ticks(view.values, narrow ? 4 : 8).flatMap(tick => [
      svg("line", { class: "gridline", x1: x(tick.at), x2: x(tick.at), y1: top, y2: height - 36 }),
      svg("text", { x: x(tick.at), y: height - 20, "text-anchor": "middle" }, tick.text),
    ]);
    parts.push(svg("text", { class: "axis-title", x: x(view.values.high), y: height - 3, "text-anchor": "end" }, view.x ?? this.spec.x));
    view.rows.forEach((row, index) => {
      const start = top + index * rowHeight, middle = start + (narrow ? 20 : 0) + band / 2;
      parts.push(this.rowName(row, narrow ? start + 13 : middle + 4));
      if (index) parts.push(svg("line", { class: "gridline", x1: 0, x2: this.width, y1: start - 2, y2: start - 2 }));
      const found = shown.flatMap(one => one.points.filter(candidate => candidate.row === row.name)), ends = found.map(point => x(point.value));
      if (this.spec.joined && found.length === 2) parts.push(svg("line", { class: `change ${row.tone}`, x1: Math.min(...ends), x2: Math.max(...ends), y1: middle, y2: middle }));
      shown.forEach(one => {
        const y = this.spec.joined ? middle : middle + (slots.indexOf(one.colour) - (slots.length - 1) / 2) * 15, point = one.points.find(candidate => candidate.row === row.name);
        if (point) parts.push(...this.dot(one, point, x(point.value), y, [[x(point.low ?? point.value), y], [x(point.high ?? point.value), y]], `${row.text}, ${one.name}`));
        else if (!one.hollow) parts.push(svg("text", { class: "nothing-mark", x: x(0) + 4, y: y + 4 }, "no data"));
      });
    });
    const picture = this.frame(height, this.spec.title);
    picture.append(...parts);
    return picture;
  }

  // A row that is a place leads to its cases, and says beside its number what became of it.
  rowName(row, y) {
    const name = svg("text", { class: "name", x: 0, y }, row.text);
    if (!row.what) return name;
    const address = row.place === null ? null : this.link({ agent: row.agent, suite: row.suite, place: row.place });
    return svg("g", { class: "row" }, [address ? svg("a", { href: address }, name) : name, svg("text", { class: "what", x: 8 + 7.6 * row.text.length, y }, row.what)]);
  }

  dot(series, point, x, y, ends, title) {
    const node = mark(series, x, y, series.points.length > 80 ? 2.5 : series.hollow ? 6 : 5);
    this.marks.push({ x, y, point, title, node, series: series.name });
    const whisker = (point.low ?? null) === null || this.spec.joined ? null
      : svg("line", { class: "whisker", x1: ends[0][0], y1: ends[0][1], x2: ends[1][0], y2: ends[1][1], stroke: colour(series.colour) });
    return [whisker, node].filter(Boolean);
  }

  plot(view, shown) {
    const height = this.spec.compact ? 250 : 300, left = 46, right = 12, top = 22, bottom = 42;
    if (this.spec.stack) shown = stacked(shown);
    const { low: lowX, high: highX } = view.along, { low: lowY, high: highY } = view.values;
    const pad = shown.some(one => one.mode !== "line") ? 12 : 4;
    const x = value => left + pad + (this.width - left - right - 2 * pad) * (value - lowX) / (highX - lowX);
    const y = value => height - bottom - (height - top - bottom) * (clamp(value, lowY, highY) - lowY) / (highY - lowY);
    const parts = [];
    for (const tick of ticks(view.values, 6)) parts.push(
      svg("line", { class: tick.at === 0 ? "baseline" : "gridline", x1: left, x2: this.width - right, y1: y(tick.at), y2: y(tick.at) }),
      svg("text", { x: left - 8, y: y(tick.at) + 4, "text-anchor": "end" }, tick.text));
    for (const tick of ticks(view.along, this.width / 70)) parts.push(
      svg("text", { x: x(tick.at), y: height - bottom + 18, "text-anchor": "middle" }, tick.text));
    parts.push(svg("text", { class: "axis-title", x: 0, y: 11 }, view.y ?? this.spec.y),
      svg("text", { class: "axis-title", x: this.width - right, y: height - 5, "text-anchor": "end" }, this.spec.x));
    for (const one of shown) parts.push(...this.series(one, x, y, shown.length));
    parts.push(...this.labels());
    const picture = this.frame(height, this.spec.title);
    picture.append(...parts);
    return picture;
  }

  // Names beside dots, as far as they leave each other room.
  labels() {
    const drawn = [], named = this.marks.filter(one => one.point.label);
    for (const { x, y, point: { label } } of named) {
      const width = 6.2 * label.length, left = x + 8 + width > this.width - 8 ? x - 8 - width : x + 8, box = [left, y - 6, left + width, y + 6];
      const free = drawn.every(other => box[0] > other[2] || box[2] < other[0] || box[1] > other[3] || box[3] < other[1]) && named.every(other => other.x < box[0] || other.x > box[2] || Math.abs(other.y - y) > 9);
      if (free) drawn.push([...box, label]);
    }
    return drawn.map(([left, top, , , label]) => svg("text", { class: "label", x: left, y: top + 10 }, label));
  }

  series(one, x, y, count) {
    const ink = colour(one.colour), shift = one.offset === undefined ? 0 : (one.offset - (count - 1) / 2) * 6;
    // In steps a value holds until the next is known: nothing rises before something happened.
    const to = (point, index, all) => !index ? `M${at(point)}` : one.steps ? `${point[0] < all[index - 1][0] ? "V" + point[1].toFixed(1) : ""}H${point[0].toFixed(1)}V${point[1].toFixed(1)}` : `L${at(point)}`;
    const at = point => `${point[0].toFixed(1)} ${point[1].toFixed(1)}`, line = points => points.map(to).join("");
    const middle = one.points.map(point => [x(point.x) + shift, y(point.value)]), parts = [];
    const ranged = one.points.filter(point => (point.low ?? null) !== null);
    if (one.mode === "line") {
      const whole = ranged.length === one.points.length;
      if (whole && ranged.length > 1) parts.push(svg("path", { class: "band", fill: ink, style: one.base ? "opacity:.55" : null,
        d: line([...ranged.map(point => [x(point.x), y(point.high)]), ...ranged.map(point => [x(point.x), y(point.low)]).reverse()]) + "Z" }));
      else parts.push(...ranged.map(point => svg("line", { class: "whisker", stroke: ink, x1: x(point.x), x2: x(point.x), y1: y(point.low), y2: y(point.high) })));
      parts.push(svg("path", { class: "curve", stroke: ink, d: line(middle), "stroke-dasharray": one.dash ? "5 4" : null }));
    }
    one.points.forEach((point, index) => {
      const [px, py] = middle[index], { title } = point;
      if (one.mode !== "line") {
        if ((point.x_low ?? null) !== null) parts.push(svg("line", { class: "whisker", x1: x(point.x_low), x2: x(point.x_high), y1: py, y2: py, stroke: ink }));
        parts.push(...this.dot(one, point, px, py, [[px, y(point.low ?? point.value)], [px, y(point.high ?? point.value)]], title));
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
      showTip(box.left + found.x, box.top + found.y, found.title, pointLines(found.point));
    };
    const hide = () => { ring.setAttribute("visibility", "hidden"); hideTip(); };
    const nearest = event => {
      const box = picture.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
      let best = -1, least = 45;
      this.marks.forEach((one, index) => { const away = Math.hypot(one.x - px, one.y - py); if (away < least) [best, least] = [index, away]; });
      return best;
    };
    const open = () => { const found = this.marks[this.at]; if (found && this.spec.click && (found.point.place ?? null) !== null) this.onPlace(found.point.place, found.series, found.point.suite ?? this.spec.views[this.view].suite); };
    picture.style.cursor = this.spec.click ? "pointer" : "";
    picture.addEventListener("pointermove", event => { const index = nearest(event); index < 0 ? hide() : show(index); });
    picture.addEventListener("pointerleave", hide);
    picture.addEventListener("blur", hide);
    picture.addEventListener("click", event => { const index = nearest(event); if (index >= 0) { show(index); open(); } });
    picture.addEventListener("keydown", event => {
      if (!this.marks.length) return;
      const move = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.stride, ArrowUp: -this.stride }[event.key];
      if (move) { event.preventDefault(); show((this.at + move + this.marks.length) % this.marks.length); }
      if (event.key === "Enter") open();
    });
  }
}

function stacked(series) {
  const below = new Map();
  return series.map(one => ({ ...one, base: true, points: one.points.map(point => {
    const low = below.get(point.x) ?? 0, high = low + point.value;
    below.set(point.x, high);
    return { ...point, value: high, low, high, shown: point };
  }) }));
}

function segments(names, chosen, choose, label) {
  return html("span", { class: "segments", role: "group", "aria-label": label }, names.map((name, index) => html("button", {
    type: "button", "aria-pressed": String(index === chosen), onclick: () => choose(index) }, name)));
}

