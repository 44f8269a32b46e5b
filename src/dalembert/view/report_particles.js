// Particles at one instant: dots shaded as balls, threads, two-sided surfaces, and their shadows on the ground.

const SHADOWED = `
uniform mat4 camera; uniform float shadow; uniform float ground; uniform mediump vec3 light;
vec4 seen(vec3 p) {
  if (shadow > 0.5) { p -= light * (max(p.z - ground, 0.0) / light.z); p.z = ground; }
  return camera * vec4(p, 1.0);
}`;
const GRAIN_VERTEX = `
attribute vec3 position; attribute vec3 tint; attribute float radius;
uniform float pixels; uniform float least; varying mediump vec3 c; ${SHADOWED}
void main() {
  gl_Position = seen(position);
  gl_PointSize = max(2.0 * radius * pixels / gl_Position.w, least);
  c = tint;
}`;
// The normal of the ball's front is known in the axes of the view; so are the light, and the upward direction.
const GRAIN_FRAGMENT = `
precision mediump float; varying mediump vec3 c;
uniform float flat_; uniform float squash; uniform vec4 dark; uniform vec3 lamp; uniform vec3 up;
void main() {
  vec2 r = 2.0 * gl_PointCoord - 1.0;
  if (dot(r, r) + flat_ * r.y * r.y * (1.0 / (squash * squash) - 1.0) > 1.0) discard;
  vec3 n = vec3(r.x, -r.y, sqrt(max(1.0 - dot(r, r), 0.0)));
  float lit = 0.66 + 0.16 * dot(n, up) + 0.42 * max(dot(n, lamp), 0.0);
  gl_FragColor = flat_ > 0.5 ? dark : vec4(min(c * lit + 0.04, 1.0), 1.0);
}`;
const SURFACE_VERTEX = `
attribute vec3 position; attribute vec3 normal; attribute vec3 tint;
varying mediump vec3 n; varying mediump vec3 c; ${SHADOWED}
void main() { gl_Position = seen(position); n = normal; c = tint; }`;
const SURFACE_FRAGMENT = `
precision mediump float; varying mediump vec3 n; varying mediump vec3 c;
uniform float flat_; uniform vec4 dark; uniform mediump vec3 light;
void main() {
  vec3 m = normalize(gl_FrontFacing ? n : -n);
  float lit = 0.56 + 0.08 * m.z + 0.4 * max(dot(m, light), 0.0);
  gl_FragColor = flat_ > 0.5 ? dark : vec4(min(c * (gl_FrontFacing ? 1.0 : 0.75) * lit + 0.04, 1.0), 1.0);
}`;

class Particles {
  constructor(renderer, data) {
    this.renderer = renderer;
    this.count = data.count;
    const [low, step] = [unpack(data.low, Float32Array), unpack(data.span, Float32Array)];
    this.recorded = Float32Array.from(unpack(data.position, Uint16Array), (v, i) => low[i % low.length] + v * step[i % low.length]);
    this.now = new Float32Array(3 * this.count);
    this.grain = renderer.program(GRAIN_VERTEX, GRAIN_FRAGMENT, [["position", 3], ["tint", 3], ["radius", 1]]);
    this.surface = renderer.program(SURFACE_VERTEX, SURFACE_FRAGMENT, [["position", 3], ["normal", 3], ["tint", 3]]);
    renderer.gl.getExtension("OES_element_index_uint");
    const tints = data.groups.map(groupTint);
    this.surfaces = data.groups.flatMap((group, g) => (group.faces ? [this.makeSurface(group, tints[g])] : []));
    this.makeDots(data.groups, tints);
    this.makeThreads(data.groups, tints);
  }

  makeSurface(group, tint) {
    const { gl } = this.renderer;
    const faces = unpack(group.faces, Uint32Array);
    const data = new Float32Array(9 * group.count);
    for (let i = 0; i < group.count; i++) data.set(tint(i), 9 * i + 6);
    const elements = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, elements);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
    return { first: group.first, count: group.count, faces, data, elements, buffer: gl.createBuffer() };
  }

  makeDots(groups, tints) {
    const rows = groups.flatMap((group, g) => Array.from(unpack(group.dots, Uint32Array), (i) => [group, tints[g], i]));
    this.dots = { which: Uint32Array.from(rows, ([group, , i]) => group.first + i), data: new Float32Array(7 * rows.length) };
    rows.forEach(([group, tint, i], k) => this.dots.data.set([...tint(i), group.radius], 7 * k + 3));
    this.dots.buffer = this.renderer.gl.createBuffer();
  }

  makeThreads(groups, tints) {
    const ends = [], pairs = [];
    groups.forEach((group, g) => {
      const segments = group.segments ? unpack(group.segments, Uint32Array) : [];
      for (let k = 0; k < segments.length; k += 2) {
        ends.push(group.first + segments[k], group.first + segments[k + 1]);
        pairs.push([[0, 0, 0], [0, 0, 0], [...tints[g](segments[k]), 1]]);
      }
    });
    const buffers = [0, 1].map(() => this.renderer.gl.createBuffer());
    const data = segmentCorners(pairs, [0, 0, 0, 1]);
    const below = segmentCorners(pairs.map(([a, b]) => [a, b, SHADE]), SHADE);
    this.threads = { ends, data, below, buffers };
  }

  // Positions between frames i and j.
  seek(i, j, s) {
    const { now, recorded, dots, surfaces } = this;
    const width = now.length;
    for (let k = 0; k < width; k++) now[k] = (1 - s) * recorded[i * width + k] + s * recorded[j * width + k];
    dots.which.forEach((p, k) => {
      for (let c = 0; c < 3; c++) dots.data[7 * k + c] = now[3 * p + c];
    });
    for (const surface of surfaces) shapeSurface(surface, now);
    this.placeThreads();
  }

  at(particle) {
    return Array.from(this.now.subarray(3 * particle, 3 * particle + 3));
  }

  placeThreads() {
    const { ends, data, below } = this.threads;
    const place = (to, at, x, y, z) => {
      to[at] = x;
      to[at + 1] = y;
      to[at + 2] = z;
    };
    for (let k = 0; k < ends.length; k++) {
      const p = 3 * ends[k], x = this.now[p], y = this.now[p + 1], z = this.now[p + 2];
      const fall = Math.max(z - run.ground, 0) / LIGHT[2];
      for (let at = 72 * (k >> 1) + 3 * (k & 1), last = at + 60; at <= last; at += 12) {
        place(data, at, x, y, z);
        place(below, at, x - fall * LIGHT[0], y - fall * LIGHT[1], run.ground);
      }
    }
  }

  // camera: {matrix, right, up, back}; one pass for shadows, each place darkened once, then the shaded pass.
  draw(camera) {
    const { renderer, dots, threads } = this;
    const { gl } = renderer;
    const send = (part) => part.data.length && renderer.upload(part.data, part.buffer, gl.DYNAMIC_DRAW);
    [dots, ...this.surfaces].forEach(send);
    threads.buffers.forEach((buffer, i) => renderer.upload(i ? threads.below : threads.data, buffer, gl.DYNAMIC_DRAW));
    for (const shadow of [1, 0]) {
      gl.depthMask(!shadow);
      if (shadow) {
        gl.enable(gl.STENCIL_TEST);
        gl.stencilFunc(gl.EQUAL, 0, 255);
        gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
      } else gl.disable(gl.STENCIL_TEST);
      this.begin(this.surface, camera, shadow);
      for (const surface of this.surfaces) {
        renderer.bind(this.surface, surface.buffer);
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, surface.elements);
        gl.drawElements(gl.TRIANGLES, surface.faces.length, gl.UNSIGNED_INT, 0);
      }
      this.begin(this.grain, camera, shadow);
      renderer.bind(this.grain, dots.buffer);
      if (dots.which.length) gl.drawArrays(gl.POINTS, 0, dots.which.length);
      if (threads.ends.length) renderer.drawLines(threads.buffers[shadow], 3 * threads.ends.length, 2);
    }
  }

  begin({ handle, uniforms }, camera, shadow) {
    const { gl, canvas, ratio } = this.renderer;
    gl.useProgram(handle);
    gl.uniformMatrix4fv(uniforms.camera, false, camera.matrix);
    gl.uniform3fv(uniforms.light, LIGHT);
    gl.uniform1f(uniforms.ground, run.ground);
    gl.uniform1f(uniforms.shadow, shadow);
    gl.uniform1f(uniforms.flat_, shadow);
    gl.uniform4fv(uniforms.dark, SHADE);
    if (!uniforms.pixels) return;
    const inView = (v) => [camera.right, camera.up, camera.back].map((axis) => dot(axis, v));
    gl.uniform1f(uniforms.pixels, canvas.height / 2 / Math.tan(FOV / 2));
    gl.uniform1f(uniforms.least, 1.6 * ratio);
    gl.uniform1f(uniforms.squash, Math.max(0.12, Math.abs(camera.back[2])));
    gl.uniform3fv(uniforms.lamp, inView(LIGHT));
    gl.uniform3fv(uniforms.up, inView([0, 0, 1]));
  }
}

const SHADE = [0.1, 0.13, 0.2, 0.13];

// The colour of each particle of a group.
function groupTint(group) {
  if (!group.colors) return () => rgb(group.color);
  const all = unpack(group.colors, Uint8Array);
  return (i) => [0, 1, 2].map((k) => all[3 * i + k] / 255);
}

// Positions and smooth normals, the mean of the faces around a vertex by their area.
function shapeSurface({ first, count, faces, data }, now) {
  for (let i = 0; i < count; i++)
    for (let c = 0; c < 3; c++) {
      data[9 * i + c] = now[3 * (first + i) + c];
      data[9 * i + 3 + c] = 0;
    }
  for (let f = 0; f < faces.length; f += 3) {
    const [a, b, c] = [9 * faces[f], 9 * faces[f + 1], 9 * faces[f + 2]];
    const [ux, uy, uz] = [data[b] - data[a], data[b + 1] - data[a + 1], data[b + 2] - data[a + 2]];
    const [vx, vy, vz] = [data[c] - data[a], data[c + 1] - data[a + 1], data[c + 2] - data[a + 2]];
    const [nx, ny, nz] = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
    for (let k = 0; k < 3; k++) {
      const at = 9 * faces[f + k] + 3;
      data[at] += nx;
      data[at + 1] += ny;
      data[at + 2] += nz;
    }
  }
  for (let i = 3; i < data.length; i += 9) {
    const length = Math.hypot(data[i], data[i + 1], data[i + 2]) || 1;
    for (let c = 0; c < 3; c++) data[i + c] /= length;
  }
}
