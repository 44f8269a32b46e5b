// The report page: playback, camera, panels and tables. `run` is the recorded run; arrays are flat, frame by frame.

const times = unpack(run.times, Float64Array);
const position = unpack(run.position, Float32Array);
const orientation = unpack(run.orientation, Float32Array);
const bodyCount = run.recorded;
const byId = (id) => document.getElementById(id);
const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
const state = { t: times[0], index: 0, playing: false, speed: 1, follow: run.follow, offset: [0, 0, 0], trail: run.trail, dirty: true };
const duration = times[times.length - 1] - times[0];

// The frames before and after time state.t, and how far it is from the one to the other, 0 to 1.
function between() {
  const i = state.index, j = Math.min(i + 1, times.length - 1);
  const gap = times[j] - times[i];
  return [i, j, gap > 0 ? (state.t - times[i]) / gap : 0];
}

// Position and orientation of body b at time state.t: linear between frames, normalized for the quaternion.
function pose(b) {
  if (b >= bodyCount) return [run.bodies[b].position, run.bodies[b].orientation];
  const [i, j, s] = between();
  const [p, r] = [3 * (i * bodyCount + b), 3 * (j * bodyCount + b)];
  const [q, u] = [4 * (i * bodyCount + b), 4 * (j * bodyCount + b)];
  const sign = [0, 1, 2, 3].reduce((sum, k) => sum + orientation[q + k] * orientation[u + k], 0) < 0 ? -1 : 1;
  const mix = [0, 1, 2, 3].map((k) => (1 - s) * orientation[q + k] + s * sign * orientation[u + k]);
  const length = Math.hypot(...mix) || 1;
  return [[0, 1, 2].map((k) => (1 - s) * position[p + k] + s * position[r + k]), mix.map((v) => v / length)];
}

function frameAt(t) {
  let low = 0, high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle;
    else high = middle;
  }
  return times[high] <= t ? high : low;
}

function seek(t) {
  state.t = Math.min(Math.max(t, times[0]), times[times.length - 1]);
  state.index = frameAt(state.t);
  state.dirty = true;
}

// Stop at time t and show it now rather than at the next animation frame.
function jump(t) {
  play(false);
  seek(t);
  refresh();
}

const step = (frames) => jump(times[Math.min(Math.max(state.index + frames, 0), times.length - 1)]);
let refresh = () => {};

function play(on) {
  if (on && state.t >= times[times.length - 1]) seek(times[0]);
  state.playing = on && duration > 0;
  byId("play").textContent = state.playing ? "❚❚" : "▶";
  byId("play").setAttribute("aria-label", state.playing ? "Pause" : "Play");
}

// ---- controls --------------------------------------------------------------------------------------------------

function chooser(id, first, names, value, onChange) {
  const select = byId(id);
  if (first) element("option", { value: "-1", text: first }, select);
  names.forEach((name, i) => element("option", { value: String(i), text: name }, select));
  select.value = String(value);
  select.addEventListener("change", () => (onChange(Number(select.value)), (state.dirty = true)));
}

function wireControls() {
  const recorded = run.bodies.slice(0, bodyCount).map((b) => b.name);
  for (const id of ["follow", "trail"]) byId(id).parentElement.hidden = !bodyCount;
  chooser("follow", "free camera", recorded, state.follow, (b) => {
    state.follow = b;
    state.offset = [0, 0, 0];
  });
  chooser("trail", "no trail", recorded, state.trail, (b) => (state.trail = b));
  byId("speed").addEventListener("change", (e) => (state.speed = Number(e.target.value)));
  byId("play").addEventListener("click", () => play(!state.playing));
  byId("back").addEventListener("click", () => step(-1));
  byId("forward").addEventListener("click", () => step(1));
  for (const id of ["anchors", "forces"]) byId(id).addEventListener("change", () => (state.dirty = true));
  byId("forces").parentElement.hidden = !contactPoints;
  byId("reset").addEventListener("click", () => {
    Object.assign(view, { ...run.camera, target: run.camera.target.slice() });
    [state.offset, state.follow] = [[0, 0, 0], -1];
    byId("follow").value = "-1";
    state.dirty = true;
  });
  const scrub = byId("scrub");
  scrub.addEventListener("input", () => jump(times[0] + (duration * scrub.value) / scrub.max));
  window.addEventListener("keydown", (e) => {
    const tag = e.target.tagName;
    if (tag === "SELECT" || (tag === "BUTTON" && e.key === " ")) return;
    const big = e.shiftKey ? 10 : 1;
    const action = { " ": () => play(!state.playing), ArrowLeft: () => step(-big), ArrowRight: () => step(big),
      Home: () => jump(times[0]), End: () => jump(times[times.length - 1]) }[e.key];
    if (action) (e.preventDefault(), action());
  });
}

function start() {
  const stage = byId("stage");
  let draw = () => {};
  try {
    draw = makeScene(stage);
    orbitControls(stage);
    document.body.dataset.renderer = "webgl";
  } catch (error) {
    document.body.dataset.renderer = "none";
    byId("no-webgl").hidden = false;
  }
  wireControls();
  const plots = run.player ? [] : makePanels(jump);
  if (!run.player) fillTables();
  new ResizeObserver(() => (state.dirty = true)).observe(stage);
  refresh = () => {
    state.dirty = false;
    draw();
    const k = state.t - times[state.index] > times[Math.min(state.index + 1, times.length - 1)] - state.t ? 1 : 0;
    for (const plot of plots) plot.seek(state.t, state.index + k);
    byId("scrub").value = duration > 0 ? (byId("scrub").max * (state.t - times[0])) / duration : 0;
    byId("clock").textContent = `${state.t.toFixed(3)} s`;
    const shown = Math.max(0, state.follow >= 0 ? state.follow : state.trail);
    if (bodyCount) {
      const p = pose(shown)[0].map((v) => v.toFixed(4).replace("-", "\u2212"));
      byId("where").textContent = `${run.bodies[shown].name}: x ${p[0]}, y ${p[1]}, z ${p[2]} m`;
    }
  };
  let last = 0;
  const tick = (now) => {
    const elapsed = Math.min(now - last, 100) / 1000;
    last = now;
    if (state.playing) {
      seek(state.t + state.speed * elapsed);
      if (state.t >= times[times.length - 1]) byId("loop").checked ? seek(times[0]) : play(false);
    }
    if (state.dirty) refresh();
    requestAnimationFrame(tick);
  };
  const wanted = /^#t=([0-9.e+-]+)$/.exec(location.hash);
  seek(wanted ? Number(wanted[1]) : times[0]);
  refresh();
  requestAnimationFrame(tick);
}

if (!run.player) start();
