// A grid of shares: a line for each agent or kind of failure, a column for each situation or checkpoint.
const CELL = { least: 15, most: 120, words: 38 };

function gridPicture(chart, view) {
  const narrow = chart.width < 560, letter = 7.2, tall = view.rows.length > 8 ? 20 : 24;
  const wanted = 12 + letter * Math.max(...view.rows.map(row => row.text.length), 4), left = Math.min(wanted, narrow ? 112 : 230);
  const longest = letter * Math.max(...view.columns.map(column => column.text.length), 1) + 6, top = 22;
  const room = chart.width - left - 6, wide = clamp(room / view.columns.length, CELL.least, Math.max(CELL.most, longest)), every = Math.max(1, Math.ceil(longest / wide));
  const width = Math.max(chart.width, left + wide * view.columns.length + 6), height = top + tall * view.rows.length + 26;
  const columns = new Map(view.columns.map((column, index) => [column.name, left + index * wide]));
  const parts = view.columns.map((column, index) => index % every ? null : svg("text", { x: left + (index + .5) * wide, y: top - 8, "text-anchor": "middle" }, column.text));
  view.rows.forEach((row, index) => {
    const y = top + index * tall, fits = Math.floor((left - 8) / letter);
    parts.push(svg("text", { class: "name", x: 0, y: y + tall / 2 + 4 }, [shortName(row.text, fits), svg("title", {}, row.text)]));
    for (const point of view.series[0]?.points ?? []) if (point.row === row.name && columns.has(point.column)) parts.push(...cell(chart, point, columns.get(point.column), y, wide, tall));
  });
  parts.push(svg("text", { class: "axis-title", x: left + Math.min(wide * view.columns.length, room), y: height - 6, "text-anchor": "end" }, view.x ?? chart.spec.x));
  chart.stride = view.columns.length;
  const picture = svg("svg", { class: "heat", width, height, viewBox: `0 0 ${width} ${height}`, style: `width:${width}px`, tabindex: 0, role: "group",
    "aria-label": `${chart.spec.title}. ${chart.marks.length} cells; move with the arrow keys.` }, parts);
  return width > chart.width ? { picture, node: html("div", { class: "wide", tabindex: 0, role: "region", "aria-label": `${chart.spec.title}, scrolls` }, picture) } : { picture, node: picture };
}

// Names of checkpoints differ at their end, so it is the middle that goes.
const shortName = (name, fits) => name.length <= fits ? name : name.slice(0, fits - 1 - Math.ceil(fits / 2)) + "…" + name.slice(-Math.ceil(fits / 2));

function cell(chart, point, x, y, wide, tall) {
  const known = point.value !== null, { fill, text } = known ? heat(point.value) : NOTHING;
  const node = svg("rect", { class: "mark cell", x: x + .5, y: y + .5, width: wide - 1, height: tall - 1, rx: 2, fill });
  chart.marks.push({ x: x + wide / 2, y: y + tall / 2, point, title: point.title, node, series: point.agent });
  const words = known && wide >= CELL.words ? svg("text", { class: "share", x: x + wide / 2, y: y + tall / 2 + 4, "text-anchor": "middle", style: `fill:${text}` }, point.share) : null;
  return words ? [node, words] : [node];
}
