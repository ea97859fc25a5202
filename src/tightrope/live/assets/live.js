"use strict";(() => {
// Asks now and then whether there is more to show. A page that is out of date is loaded again, in the same place.
const SECOND = 1000, MOST_MISSES = 3, TO_LEAVE = 60 * SECOND;
const bar = document.getElementById("live"), told = bar.querySelector("[data-told]"), line = bar.querySelector("progress");
const version = bar.dataset.version;
let misses = 0, left = -Infinity;
// Loading again would take back the click of whoever is on the way to a page that takes a while to make.
addEventListener("beforeunload", () => { left = performance.now(); });

function busy() { // whoever types, watches or leaves is not interrupted
  const films = [...document.querySelectorAll("video")];
  return performance.now() - left < TO_LEAVE || document.activeElement?.matches("input, select, textarea") || films.some(film => film.matches("dialog *, .panel *") && !film.paused && !film.ended);
}
function show(state) {
  told.textContent = state.told;
  line.hidden = state.share === null;
  if (state.share !== null) line.value = state.share;
}
async function look() {
  try {
    const answer = await fetch(`state.json?v=${version}`, { cache: "no-store", redirect: "error" });
    if (!answer.ok) throw new Error(answer.statusText);
    const state = await answer.json();
    misses = 0;
    show(state);
    if (state.version !== version && !busy()) { location.reload(); return; }
    if (state.version === version && state.over) return;
  } catch {
    misses += 1;
    if (misses >= MOST_MISSES) { show({ told: "The server of this page has stopped. This is the last state it sent.", share: null }); return; }
  }
  setTimeout(look, SECOND);
}
addEventListener("load", () => setTimeout(look, SECOND / 4));
})();
