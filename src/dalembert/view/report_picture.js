// The picture of a run: bodies, particles, lines, trails and joints at one instant, and the camera that a person moves.

const view = { yaw: run.camera.yaw, pitch: run.camera.pitch, target: run.camera.target.slice(),
  distance: run.follow < 0 ? run.camera.distance : run.camera.near }; // parts far from each other are seen one at a time
const FOV = 0.6;
const size = run.camera.size;

function makeScene(canvas) {
  const renderer = new Renderer(canvas);
  const meshes = run.meshes.map((m) => [unpack(m.vertices, Float32Array), unpack(m.faces, Uint32Array)]);
  const items = run.bodies.map((body) => {
    let [vertices, faces] = body.mesh >= 0 ? meshes[body.mesh] : [[], []];
    if (!faces.length) ({ vertices, faces } = ball(body.radius || 0.012 * size));
    const corners = meshCorners(vertices, faces, body.mesh >= 0 ? body.center : [0, 0, 0]);
    return { buffer: renderer.upload(corners), count: corners.length / 6, color: rgb(body.color) };
  });
  const cell = 10 ** Math.floor(Math.log10(size / 4));
  const spacing = size / cell > 20 ? 5 * cell : size / cell > 8 ? 2 * cell : cell;
  const [cx, cy] = run.camera.target.map((v) => Math.round(v / spacing) * spacing);
  const half = 24, far = half * spacing, grid = [];
  for (let i = -half; i <= half; i++) {
    const tint = [0.42, 0.47, 0.56, i % 5 ? 0.22 : 0.42];
    grid.push([[cx + i * spacing, cy - far, run.ground], [cx + i * spacing, cy + far, run.ground], tint]);
    grid.push([[cx - far, cy + i * spacing, run.ground], [cx + far, cy + i * spacing, run.ground], tint]);
  }
  const curves = run.curves.flatMap(({ points }) => points.slice(1).map((p, i) => [points[i], p]));
  const fixed = [grid, curves].map((pairs, i) => {
    const corners = segmentCorners(pairs, [0.35, 0.38, 0.45, 1]);
    return { buffer: renderer.upload(corners), count: corners.length / 12, width: i ? 2 : 1 };
  });
  const cables = run.cables.map((cable) => ({ ...cable, points: unpack(cable.points, Float32Array) }));
  const [moving, dots] = [renderer.upload(new Float32Array(0)), renderer.upload(new Float32Array(0))];
  const particles = new Particles(renderer, run.particles);
  byId("thinned").textContent = run.particles.note;
  byId("cell").textContent = `grid ${formatNumber(spacing)} m`;

  return function draw() {
    const models = run.bodies.map((_, b) => poseMatrix(...pose(b)));
    const [i, j, s] = between();
    particles.seek(i, j, s);
    const anchor = (end, point = end.anchor) => end.particle >= 0 ? add(particles.at(end.particle), sub(point, end.anchor))
      : end.body < 0 ? point : transform(models[end.body], point);
    if (state.follow >= 0) view.target = add(models[state.follow].slice(12, 15), state.offset);
    const direction = [Math.cos(view.pitch) * Math.cos(view.yaw), Math.cos(view.pitch) * Math.sin(view.yaw), Math.sin(view.pitch)];
    const aspect = canvas.clientWidth / Math.max(1, canvas.clientHeight);
    const distance = view.distance / Math.min(1, aspect); // a narrow picture is seen from further away
    const eye = add(view.target, scale(direction, distance));
    const near = 0.01 * distance;
    const camera = viewProjection(eye, view.target, FOV, aspect, near, 40 * distance + 40 * size);
    Object.assign(view, { right: camera.right, up: camera.up });
    renderer.begin(camera.matrix, near);
    renderer.gl.depthMask(false); // the grid hides nothing
    renderer.drawLines(fixed[0].buffer, fixed[0].count, 1, [cx, cy, far]);
    renderer.gl.depthMask(true);
    renderer.drawMeshes(items.map((item, b) => ({ ...item, model: models[b] })), run.ground);
    particles.draw({ ...camera, back: direction });
    renderer.drawLines(fixed[1].buffer, fixed[1].count, 2);
    const held = run.lines.filter((s) => s.until === null || state.t <= s.until);
    const pairs = held.flatMap((s) => coil(anchor(s.a), anchor(s.b), s.coils));
    const ropes = cables.flatMap((cable) => {
      const at = (k, n) => cable.points.subarray(3 * (k * cable.count + n), 3 * (k * cable.count + n) + 3);
      const path = Array.from({ length: cable.count }, (_, n) => add(scale(at(i, n), 1 - s), scale(at(j, n), s)));
      return path.slice(1).map((p, n) => [path[n], p]);
    });
    const corners = segmentCorners([...pairs, ...ropes, ...trail(models)], [0.25, 0.29, 0.36, 1]);
    renderer.drawLines(renderer.upload(corners, moving, renderer.gl.DYNAMIC_DRAW), corners.length / 12, 2);
    byId("forces-scale").textContent = "";
    if (contactPoints && byId("forces").checked) {
      const [arrows, words] = forceArrows(s > 0.5 ? j : i, 0.2 * size);
      const strokes = segmentCorners(arrows, [...FORCE_COLOR, 1]);
      renderer.gl.disable(renderer.gl.DEPTH_TEST); // nothing hides a force
      renderer.drawLines(renderer.upload(strokes, moving, renderer.gl.DYNAMIC_DRAW), strokes.length / 12, 2.5);
      renderer.gl.enable(renderer.gl.DEPTH_TEST);
      byId("forces-scale").textContent = run.contacts.note ? `${words}; ${run.contacts.note}` : words;
    }
    if (byId("anchors").checked) {
      const joints = run.joints.filter((j) => j.until === null || state.t <= j.until);
      const strokes = joints.filter((j) => j.axis).map((j) => {
        const along = scale(j.axis, 0.035 * run.marks);
        return [anchor(j.a, sub(j.a.anchor, along)), anchor(j.a, add(j.a.anchor, along))];
      });
      const axes = segmentCorners(strokes, [0.13, 0.16, 0.22, 1]);
      renderer.drawLines(renderer.upload(axes, moving, renderer.gl.DYNAMIC_DRAW), axes.length / 12, 3);
      const shown = joints.filter((j) => j.marked);
      const points = shown.flatMap((j) => [...anchor(j.b.body < 0 && j.b.particle < 0 ? j.a : j.b), 0.13, 0.16, 0.22, 1]);
      renderer.drawDots(renderer.upload(new Float32Array(points), dots, renderer.gl.DYNAMIC_DRAW), points.length / 7, 8);
    }
  };
}

// A helix from a to b (pairs of points), or the straight segment when it has no coils.
function coil(a, b, coils) {
  if (!coils) return [[a, b]];
  const axis = sub(b, a);
  const side = unit(cross(axis, Math.abs(axis[2]) > 0.9 * norm(axis) ? [1, 0, 0] : [0, 0, 1]));
  const other = unit(cross(axis, side));
  const points = [a];
  for (let i = 0; i <= 14 * coils; i++) {
    const [s, angle] = [0.1 + (0.8 * i) / (14 * coils), (2 * Math.PI * i) / 14];
    const radius = 0.016 * run.marks;
    points.push(add(add(a, scale(axis, s)), add(scale(side, radius * Math.cos(angle)), scale(other, radius * Math.sin(angle)))));
  }
  points.push(b);
  return points.slice(1).map((p, i) => [points[i], p]);
}

function trail(models) {
  const b = state.trail;
  if (b < 0) return [];
  const at = (i) => position.subarray(3 * (i * bodyCount + b), 3 * (i * bodyCount + b) + 3);
  const color = rgb(run.bodies[b].color).map((c) => 0.75 * c);
  const pairs = [];
  for (let i = 0; i < state.index; i++) pairs.push([at(i), at(i + 1), [...color, 0.15 + (0.65 * i) / state.index]]);
  pairs.push([at(state.index), models[b].slice(12, 15), [...color, 0.8]]);
  return pairs;
}

function orbitControls(canvas) {
  const pointers = new Map();
  const pan = (dx, dy) => {
    const k = (2 * view.distance * Math.tan(FOV / 2)) / canvas.clientHeight;
    const shift = add(scale(view.right, -dx * k), scale(view.up, dy * k));
    view.target = add(view.target, shift);
    if (state.follow >= 0) state.offset = add(state.offset, shift);
  };
  const zoom = (factor) => (view.distance = Math.min(Math.max(view.distance * factor, 0.02 * size), 60 * size));
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    pointers.set(e.pointerId, [e.clientX, e.clientY]);
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (e) => pointers.delete(e.pointerId));
  canvas.addEventListener("pointermove", (e) => {
    const last = pointers.get(e.pointerId);
    if (!last) return;
    const [dx, dy] = [e.clientX - last[0], e.clientY - last[1]];
    const others = [...pointers].filter(([id]) => id !== e.pointerId).map(([, p]) => p);
    if (others.length) {
      const spread = (p) => Math.hypot(p[0] - others[0][0], p[1] - others[0][1]);
      zoom(spread(last) / Math.max(1, spread([e.clientX, e.clientY])));
      pan(dx / 2, dy / 2);
    } else if (e.shiftKey || e.buttons & 6) pan(dx, dy);
    else {
      view.yaw -= 0.008 * dx;
      view.pitch = Math.min(Math.max(view.pitch + 0.008 * dy, -1.5), 1.5);
    }
    pointers.set(e.pointerId, [e.clientX, e.clientY]);
    state.dirty = true;
  });
  canvas.addEventListener("contextmenu", (e) => e.preventDefault());
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    zoom(Math.exp(0.0012 * e.deltaY));
    state.dirty = true;
  }, { passive: false });
}
