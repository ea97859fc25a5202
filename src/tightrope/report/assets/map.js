// The map of a run: the level or a plain ground, the references on it, and a pin for each place.
const CROWD = 60; // places, more of which are drawn as dots without numbers
const ZOOMS = [1, 1.5, 2.25, 3.5, 5];

// From pale yellow to dark red: told apart by people who see no red or no green, and nowhere near grey or the sky.
const RAMP = [[255, 247, 188], [254, 204, 92], [249, 135, 52], [214, 40, 38], [104, 0, 31]];
function heat(value) {
  const place = clamp(value, 0, 1) * (RAMP.length - 1), index = Math.min(Math.floor(place), RAMP.length - 2);
  const rgb = RAMP[index].map((from, channel) => Math.round(from + (RAMP[index + 1][channel] - from) * (place - index)));
  const light = 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2] > 130;
  return { fill: `rgb(${rgb})`, text: light ? "#1d2126" : "#fff" };
}
const NOTHING = { fill: "url(#hatch)", text: "#1d2126" };

class PlaceMap {
  // `paint(place)` says how a place stands under the chosen agent, `open(place)` shows its cases.
  constructor(node, spec, { paint, open }) {
    Object.assign(this, { node, spec, paint, open, chosen: null, quiet: 0, zoom: 0 });
    this.window = html("div", { class: "window" });
    this.node.replaceChildren(this.window, this.buttons());
    this.drag();
    new ResizeObserver(() => { if (Math.abs(node.clientWidth - this.width) > 2) this.draw(); }).observe(node);
  }

  buttons() {
    const button = (text, label, by) => html("button", { type: "button", "aria-label": label, title: label, onclick: () => this.zoomBy(by) }, text);
    this.bar = html("div", { class: "zoom" }, [button("+", "Zoom in", 1), button("−", "Zoom out", -1), button("⤢", "Show all of the map", -ZOOMS.length)]);
    return this.bar;
  }

  zoomBy(steps) {
    const before = ZOOMS[this.zoom], middle = [this.window.scrollLeft + this.window.clientWidth / 2, this.window.scrollTop + this.window.clientHeight / 2];
    this.zoom = clamp(this.zoom + steps, 0, ZOOMS.length - 1);
    this.draw();
    const grown = ZOOMS[this.zoom] / before;
    this.window.scrollTo(middle[0] * grown - this.window.clientWidth / 2, middle[1] * grown - this.window.clientHeight / 2);
  }

  // The map is dragged when it is larger than its window; a click on a pin stays a click.
  drag() {
    let from = null;
    this.window.addEventListener("pointerdown", event => { if (this.zoom && event.pointerType === "mouse") from = [event.clientX + this.window.scrollLeft, event.clientY + this.window.scrollTop]; });
    addEventListener("pointermove", event => { if (from) this.window.scrollTo(from[0] - event.clientX, from[1] - event.clientY); });
    addEventListener("pointerup", () => { from = null; });
  }

  draw() {
    this.width = this.node.clientWidth;
    if (!this.width) return;
    const large = this.zoom > 0;
    this.window.classList.toggle("large", large);
    large ? this.window.setAttribute("tabindex", 0) : this.window.removeAttribute("tabindex");
    this.inner = this.width * ZOOMS[this.zoom];
    this.window.replaceChildren(this.spec.map ? this.level(this.spec.map) : this.strip());
  }

  // A wide level is broken into rows like a line of text, so that all of it is seen at once and large enough.
  level(map) {
    let rows = 1;
    while (map.image && rows < 6 && this.width / (map.width / rows) * map.height < (this.width < 560 ? 120 : 135)) rows++;
    const left = map.axes ? 44 : 0, head = map.axes ? 20 : 0, foot = map.axes ? 36 : 0, span = map.width / rows;
    // On a narrow screen a plain map is made higher: pins need room.
    const least = map.axes ? (this.width < 560 ? 280 : 200) / map.height : 0, zoom = ZOOMS[this.zoom];
    const across = (this.inner - left) / span, scale = map.axes ? across : Math.min(across, 460 * zoom / map.height);
    const down = map.axes ? Math.max(scale, least * zoom) : scale, rowHeight = map.height * down, gap = 10, parts = [];
    const line = points => points.map((point, index) => point ? `${points[index - 1] ? "L" : "M"}${point.join(",")}` : "").join("");
    const stroke = { "vector-effect": "non-scaling-stroke" };
    for (let row = 0; row < rows; row++) parts.push(svg("svg", { x: left, y: head + row * (rowHeight + gap), width: span * scale, height: rowHeight, viewBox: `${row * span} 0 ${span} ${map.height}`, preserveAspectRatio: "none", style: "overflow:hidden", class: map.image ? "" : "plain" }, [
      map.image ? svg("image", { href: map.image, style: `image-rendering:${scale < 1 ? "auto" : "pixelated"}`, width: map.width, height: map.height, preserveAspectRatio: "none" }) : svg("rect", { class: "frame", width: map.width, height: map.height, ...stroke }),
      ...map.letters.map(([x, y, letter]) => svg("text", { class: "letter", x: x - 11, y: y - 6 }, letter)),
      ...map.fuzz.map(trace => svg("path", { class: "trace", d: line(trace), "stroke-opacity": clamp(5 / map.fuzz.length, .2, .6), ...stroke })),
      ...["casing", "path"].flatMap(kind => map.ways.map(way => svg("path", { class: kind, d: line(way), "stroke-opacity": map.ways.length > 2 && !map.image ? .5 : null, ...stroke }))),
    ]));
    if (map.axes) parts.push(...this.axes(map, scale, down, left, head));
    const feet = this.spec.places.map(({ position }) => {
      if (!position) return null;
      const row = clamp(Math.floor(position[0] / span), 0, rows - 1), top = head + row * (rowHeight + gap);
      return { x: left + (position[0] - row * span) * scale, y: top + position[1] * down, top };
    });
    return this.withPins(parts, feet, head + rows * rowHeight + (rows - 1) * gap + foot, "Map of the task");
  }

  axes(map, scale, down, left, head) {
    const [across, up] = map.axes, bottom = head + map.height * down, every = Math.max(1, Math.ceil(across.ticks.length * 60 / this.inner));
    return [
      ...across.ticks.filter((_, index) => index % every === 0).map(([x, text]) => svg("text", { x: left + x * scale, y: bottom + 15, "text-anchor": "middle" }, text)),
      ...up.ticks.map(([y, text]) => svg("text", { x: left - 6, y: head + y * down + 4, "text-anchor": "end" }, text)),
      svg("text", { class: "axis-title", x: left + map.width * scale, y: bottom + 31, "text-anchor": "end" }, across.name),
      svg("text", { class: "axis-title", x: left, y: 13 }, up.name),
    ];
  }

  strip() {
    const height = 92, { along } = this.spec, x = depth => 14 + (this.inner - 28) * depth / along.high;
    const parts = [
      svg("line", { class: "baseline", x1: x(0), x2: x(along.high), y1: height - 38, y2: height - 38 }),
      ...ticks(along, this.inner / 80).map(tick => svg("text", { x: x(tick.at), y: height - 21, "text-anchor": "middle" }, tick.text)),
      svg("text", { class: "axis-title", x: this.inner - 14, y: height - 4, "text-anchor": "end" }, "depth on the reference (actions from the start)"),
    ];
    const feet = this.spec.places.map(place => ({ x: x(place.depth), y: height - 38, top: -80 }));
    return this.withPins(parts, feet, height, "Places along the reference", "strip");
  }

  withPins(parts, feet, height, label, kind) {
    const heads = [], stems = [], pins = [];
    let highest = 0;
    const crowded = this.spec.places.length > CROWD;
    this.spec.places.forEach((place, index) => {
      const foot = feet[index];
      if (!foot) return;
      const head = crowded ? foot : freePlace(foot, heads, this.inner);
      heads.push(head);
      highest = Math.min(highest, head.y - 14);
      if (!crowded) stems.push(svg("line", { class: "stem", x1: foot.x, y1: foot.y, x2: head.x, y2: head.y }), svg("circle", { class: "foot", cx: foot.x, cy: foot.y, r: 2.6 }));
      pins.push(this.pin(place, head, crowded));
    });
    (pins.find(pin => pin.getAttribute("aria-pressed") === "true") ?? pins[0])?.setAttribute("tabindex", 0);
    return svg("svg", { class: kind, width: this.inner, height: height - highest, viewBox: `0 ${highest} ${this.inner} ${height - highest}`, role: "group", "aria-label": label }, [...parts, ...stems, ...pins]);
  }

  pin(place, head, crowded) {
    const point = this.paint(place), known = point && point.value !== null, { fill, text } = known ? heat(point.value) : NOTHING;
    const words = known ? pointLines(point) : ["no data" + (point?.why ? `: ${point.why}` : "")];
    const show = event => { if (performance.now() < this.quiet) return; const box = event.currentTarget.getBoundingClientRect(); showTip(box.left + box.width / 2, box.top, place.title, words); };
    const at = { cx: head.x, cy: head.y };
    return svg("g", { class: `pin${known ? "" : " none"}${place.proven ? "" : " guess"}`, tabindex: -1, role: "button", "data-place": place.number,
      "aria-pressed": String(this.chosen === place.number), "aria-label": `${place.title}: ${words[0]}`,
      onclick: () => this.open(place.number), onpointerenter: show, onpointerleave: hideTip, onfocus: show, onblur: hideTip,
      onkeydown: event => this.key(event, place.number),
    }, crowded ? [svg("circle", { class: "halo", r: 6, ...at }), svg("circle", { class: "head small", r: 4.5, fill, ...at })]
      : [svg("circle", { class: "halo", r: 11.5, ...at }), svg("circle", { class: "head", r: 9, fill, ...at }), svg("text", { x: head.x, y: head.y + 3.4, style: `fill:${text}` }, String(place.number))]);
  }

  // One stop for the tab key; the arrow keys go from pin to pin.
  key(event, place) {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], zoom = { "+": 1, "-": -1 }[event.key];
    if (event.key !== "Enter" && event.key !== " " && !move && !zoom) return;
    event.preventDefault();
    if (zoom) { this.zoomBy(zoom); return this.focus(place); }
    if (!move) return this.open(place);
    const pins = [...this.node.querySelectorAll(".pin")];
    pins[(pins.indexOf(event.currentTarget) + move + pins.length) % pins.length].focus();
  }

  focus(place) { this.node.querySelector(`[data-place="${place}"]`)?.focus(); }
}

function freePlace(foot, heads, width) {
  const clear = spot => heads.every(other => Math.hypot(other.x - spot.x, other.y - spot.y) >= 23);
  for (const rise of [24, 46, 68, 90, -24, -46]) for (const slide of [0, 13, 26, -13, -26]) {
    const spot = { x: clamp(foot.x + slide, 12, width - 12), y: foot.y - rise };
    if (spot.y > foot.top + 12 && clear(spot)) return spot;
  }
  return { x: foot.x, y: foot.y - 24 };
}
