// The player of a notebook: the page of a run without plots and tables. It draws when someone asks for it, as browsers keep few
// pictures in WebGL at a time, and where it is in sight.

function begin() {
  byId("begin").hidden = true;
  document.body.classList.remove("waiting");
  byId("loop").checked = true;
  state.speed = run.speed;
  const speeds = byId("speed");
  if (![...speeds.options].some((option) => Number(option.value) === run.speed))
    element("option", { value: String(run.speed), text: `${run.speed}×` }, speeds);
  speeds.value = String(run.speed);
  start();
  play(true);
}

// A browser that has too many pictures takes the oldest one away: show the still picture, from which it begins anew.
byId("stage").addEventListener("webglcontextlost", () => {
  play(false);
  document.body.classList.add("waiting");
  byId("begin").hidden = false;
  byId("begin").onclick = () => location.reload();
});
byId("begin").onclick = begin;
if (run.autoplay)
  new IntersectionObserver((seen, observer) => {
    if (!seen.some((one) => one.isIntersecting)) return;
    observer.disconnect();
    if (!byId("begin").hidden) begin();
  }).observe(document.body);
