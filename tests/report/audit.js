// What an accessibility checker looks for, as far as it can be told from the page alone; returns the faults.
() => {
  const lum = c => { const f = c.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
  const parse = t => { const m = t.match(/[\d.]+/g)?.map(Number) ?? [0,0,0,0]; return m.length === 3 ? [...m, 1] : m; };
  const ground = node => { const chain = []; for (let n = node; n; n = n.parentElement) chain.push(parse(getComputedStyle(n).backgroundColor)); let out = [255,255,255]; for (const [r,g,b,a] of chain.reverse()) out = [r,g,b].map((v,i) => v*a + out[i]*(1-a)); return out; };
  const faults = [];
  for (const node of document.querySelectorAll("body *")) {
    if (node.closest("svg, [hidden], script, style") || !node.checkVisibility({ checkOpacity: true })) continue;
    if (![...node.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    if (node.closest(".visually-hidden, .skip, [disabled]")) continue;
    const style = getComputedStyle(node), back = ground(node), [r,g,b,a] = parse(style.color), ink = [r,g,b].map((v,i) => v*a + back[i]*(1-a));
    const [x, y] = [lum(ink), lum(back)].sort((p, q) => q - p), ratio = (x + .05) / (y + .05), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5) - .01) faults.push(`contrast ${ratio.toFixed(2)}: ${node.tagName}.${node.className} "${node.textContent.trim().slice(0, 30)}"`);
  }
  const ids = [...document.querySelectorAll("[id]")].map(n => n.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push(`the id ${id} twice`);
  const named = n => n.getAttribute("aria-label") || n.textContent.trim() || n.title || n.labels?.length;
  for (const n of document.querySelectorAll("button, a, select, input, [role=button]")) if (!named(n)) faults.push(`no name: ${n.outerHTML.slice(0, 80)}`);
  for (const n of document.querySelectorAll("img:not([alt])")) faults.push(`no alt: ${n.className}`);
  for (const n of document.querySelectorAll("video:not([aria-label])")) faults.push("a video without a name");
  for (const n of document.querySelectorAll("[aria-hidden=true] button, [aria-hidden=true] a")) faults.push("hidden but reachable");
  let level = 0;
  for (const n of document.querySelectorAll("h1,h2,h3,h4")) { const at = Number(n.tagName[1]); if (n.checkVisibility()) { if (at > level + 1) faults.push(`heading ${n.textContent} skips a level`); level = at; } }
  for (const n of document.querySelectorAll("*")) if (n.checkVisibility() && n.scrollWidth > n.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(n).overflowX) && n.tabIndex < 0) faults.push(`cannot be scrolled by key: ${n.tagName}.${n.className}`);
  for (const list of document.querySelectorAll("ul")) for (const child of list.children) if (child.tagName !== "LI") faults.push("a list with other than items");
  return [...new Set(faults)];
}
