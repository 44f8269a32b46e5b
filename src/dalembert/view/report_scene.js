// Linear algebra on plain arrays, meshes with crease-aware normals, and a small WebGL 1 renderer. z is up.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a) => scale(a, 1 / (norm(a) || 1));

// Column-major 4×4 matrix of the pose x → position + R(q) x.
function poseMatrix(p, q) {
  const [w, x, y, z] = q;
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
    2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
    2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y), 0,
    p[0], p[1], p[2], 1,
  ];
}

const transform = (m, v) => [0, 1, 2].map((i) => m[i] * v[0] + m[4 + i] * v[1] + m[8 + i] * v[2] + m[12 + i]);

function multiply(a, b) {
  const c = new Array(16).fill(0);
  for (let j = 0; j < 4; j++)
    for (let i = 0; i < 4; i++)
      for (let k = 0; k < 4; k++) c[4 * j + i] += a[4 * k + i] * b[4 * j + k];
  return c;
}

function viewProjection(eye, target, fov, aspect, near, far) {
  const back = unit(sub(eye, target));
  const right = unit(cross([0, 0, 1], back));
  const up = cross(back, right);
  const view = [
    right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
    -dot(right, eye), -dot(up, eye), -dot(back, eye), 1,
  ];
  const f = 1 / Math.tan(fov / 2);
  const projection = [
    f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0,
  ];
  return { matrix: multiply(projection, view), right, up };
}

// Triangles as position + normal (6 floats a corner). Faces that meet at less than about 37° share a smooth normal.
function meshCorners(vertices, faces, center) {
  const count = faces.length / 3;
  const normals = [];
  const around = new Map();
  const point = (i) => [0, 1, 2].map((k) => vertices[3 * i + k] - center[k]);
  const key = (i) => `${vertices[3 * i].toFixed(6)},${vertices[3 * i + 1].toFixed(6)},${vertices[3 * i + 2].toFixed(6)}`;
  const keys = Array.from({ length: vertices.length / 3 }, (_, i) => key(i));
  for (let f = 0; f < count; f++) {
    const [a, b, c] = [0, 1, 2].map((k) => point(faces[3 * f + k]));
    normals.push(cross(sub(b, a), sub(c, a)));
    for (let k = 0; k < 3; k++) {
      const name = keys[faces[3 * f + k]];
      if (!around.has(name)) around.set(name, []);
      around.get(name).push(f);
    }
  }
  const out = new Float32Array(18 * count);
  for (let f = 0; f < count; f++) {
    const own = unit(normals[f]);
    for (let k = 0; k < 3; k++) {
      const i = faces[3 * f + k];
      let smooth = [0, 0, 0];
      for (const g of around.get(keys[i])) if (dot(own, unit(normals[g])) > 0.8) smooth = add(smooth, normals[g]);
      out.set([...point(i), ...unit(smooth)], 18 * f + 6 * k);
    }
  }
  return out;
}

// A small ball, for bodies without a mesh: an octahedron split twice.
function ball(radius) {
  const vertices = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]];
  let faces = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
  const middle = (a, b) => vertices.push(unit(add(vertices[a], vertices[b]))) - 1;
  for (let level = 0; level < 2; level++)
    faces = faces.flatMap(([a, b, c]) => {
      const [d, e, f] = [middle(a, b), middle(b, c), middle(c, a)];
      return [[a, d, f], [d, b, e], [f, e, c], [d, e, f]];
    });
  return { vertices: vertices.flatMap((v) => scale(v, radius)), faces: faces.flat() };
}

const LIGHT = unit([0.35, -0.5, 1]);

const MESH_VERTEX = `
attribute vec3 position; attribute vec3 normal;
uniform mat4 camera; uniform mat4 model; uniform float shadow; uniform float ground; uniform mediump vec3 light;
varying mediump vec3 n;
void main() {
  vec4 p = model * vec4(position, 1.0);
  n = (model * vec4(normal, 0.0)).xyz;
  if (shadow > 0.5) { p.xyz -= light * (max(p.z - ground, 0.0) / light.z); p.z = ground; }
  gl_Position = camera * p;
}`;
const MESH_FRAGMENT = `
precision mediump float;
uniform vec4 color; uniform mediump vec3 light; uniform float shade;
varying mediump vec3 n;
void main() {
  vec3 m = normalize(gl_FrontFacing ? n : -n);
  float lit = 0.56 + 0.16 * m.z + 0.46 * max(dot(m, light), 0.0);
  gl_FragColor = vec4(min(color.rgb * mix(1.0, lit, shade) + shade * 0.02, 1.0), color.a);
}`;
const LINE_VERTEX = `
attribute vec3 start; attribute vec3 end; attribute vec2 corner; attribute vec4 tint;
uniform mat4 camera; uniform vec2 viewport; uniform float width; uniform float near;
varying vec4 c; varying vec3 w;
void main() {
  vec4 a = camera * vec4(start, 1.0), b = camera * vec4(end, 1.0);
  if (a.w < near && b.w > near) a = mix(a, b, (near - a.w) / (b.w - a.w));
  else if (b.w < near && a.w > near) b = mix(b, a, (near - b.w) / (a.w - b.w));
  vec2 along = (b.xy / b.w - a.xy / a.w) * viewport;
  vec2 d = length(along) > 0.0 ? normalize(along) : vec2(1.0, 0.0);
  vec4 p = corner.x < 0.5 ? a : b;
  p.xy += vec2(-d.y, d.x) * corner.y * width * p.w / viewport;
  gl_Position = p; c = tint; w = mix(start, end, corner.x);
}`;
const LINE_FRAGMENT = `
precision mediump float;
varying vec4 c; varying highp vec3 w; uniform highp vec3 fade;
void main() {
  float k = fade.z > 0.0 ? 1.0 - smoothstep(0.35, 1.0, distance(w.xy, fade.xy) / fade.z) : 1.0;
  gl_FragColor = vec4(c.rgb, c.a * k);
}`;
const DOT_VERTEX = `
attribute vec3 position; attribute vec4 tint; uniform mat4 camera; uniform float size; varying vec4 c;
void main() { gl_Position = camera * vec4(position, 1.0); gl_PointSize = size; c = tint; }`;
const DOT_FRAGMENT = `
precision mediump float; varying vec4 c;
void main() {
  float r = length(gl_PointCoord - 0.5) * 2.0;
  if (r > 1.0) discard;
  gl_FragColor = r > 0.62 ? vec4(1.0, 1.0, 1.0, c.a) : c;
}`;

// Segments (pairs of points) with one colour, as the corners that LINE_VERTEX widens: 12 floats a corner.
function segmentCorners(pairs, color) {
  const out = new Float32Array(72 * pairs.length);
  const corners = [[0, -1], [1, -1], [1, 1], [0, -1], [1, 1], [0, 1]];
  pairs.forEach(([a, b, tint], i) =>
    corners.forEach((corner, k) => out.set([...a, ...b, ...corner, ...(tint || color)], 72 * i + 12 * k)));
  return out;
}

class Renderer {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl", { antialias: true, stencil: true, alpha: true });
    if (!gl) throw new Error("WebGL is not available");
    this.gl = gl;
    this.mesh = this.program(MESH_VERTEX, MESH_FRAGMENT, [["position", 3], ["normal", 3]]);
    this.line = this.program(LINE_VERTEX, LINE_FRAGMENT, [["start", 3], ["end", 3], ["corner", 2], ["tint", 4]]);
    this.dots = this.program(DOT_VERTEX, DOT_FRAGMENT, [["position", 3], ["tint", 4]]);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  program(vertex, fragment, attributes) {
    const gl = this.gl;
    const handle = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(handle, shader);
    }
    attributes.forEach(([name], i) => gl.bindAttribLocation(handle, i, name));
    gl.linkProgram(handle);
    if (!gl.getProgramParameter(handle, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(handle));
    const uniforms = {};
    for (let i = gl.getProgramParameter(handle, gl.ACTIVE_UNIFORMS) - 1; i >= 0; i--) {
      const name = gl.getActiveUniform(handle, i).name;
      uniforms[name] = gl.getUniformLocation(handle, name);
    }
    return { handle, attributes, uniforms, stride: attributes.reduce((sum, a) => sum + a[1], 0) };
  }

  upload(data, buffer = this.gl.createBuffer(), usage = this.gl.STATIC_DRAW) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data, usage);
    return buffer;
  }

  bind(program, buffer) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    let offset = 0;
    program.attributes.forEach(([, size], i) => {
      gl.enableVertexAttribArray(i);
      gl.vertexAttribPointer(i, size, gl.FLOAT, false, 4 * program.stride, 4 * offset);
      offset += size;
    });
    for (let i = program.attributes.length; i < 4; i++) gl.disableVertexAttribArray(i);
  }

  begin(camera, near) {
    const { gl, canvas } = this;
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    const [w, h] = [canvas.clientWidth, canvas.clientHeight].map((s) => Math.max(1, Math.round(s * this.ratio)));
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    gl.viewport(0, 0, w, h);
    gl.clearColor(0, 0, 0, 0);
    gl.enable(gl.DEPTH_TEST);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    [this.camera, this.near] = [camera, near];
  }

  // items: {buffer, count, model, color}; one shadow pass on the ground, then the shaded pass.
  drawMeshes(items, ground) {
    const { gl } = this;
    const { uniforms, handle } = this.mesh;
    gl.useProgram(handle);
    gl.uniformMatrix4fv(uniforms.camera, false, this.camera);
    gl.uniform3fv(uniforms.light, LIGHT);
    gl.uniform1f(uniforms.ground, ground);
    for (const shadow of [1, 0]) {
      gl.uniform1f(uniforms.shadow, shadow);
      gl.uniform1f(uniforms.shade, 1 - shadow);
      gl.depthMask(!shadow);
      if (shadow) {
        gl.enable(gl.STENCIL_TEST);
        gl.stencilFunc(gl.EQUAL, 0, 255);
        gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
      } else gl.disable(gl.STENCIL_TEST);
      for (const item of items) {
        this.bind(this.mesh, item.buffer);
        gl.uniformMatrix4fv(uniforms.model, false, item.model);
        gl.uniform4fv(uniforms.color, shadow ? [0.1, 0.13, 0.2, 0.24] : [...item.color, 1]);
        gl.drawArrays(gl.TRIANGLES, 0, item.count);
      }
    }
  }

  drawLines(buffer, count, width, fade = [0, 0, 0]) {
    const { gl } = this;
    const { uniforms, handle } = this.line;
    gl.useProgram(handle);
    gl.uniformMatrix4fv(uniforms.camera, false, this.camera);
    gl.uniform2f(uniforms.viewport, this.canvas.width, this.canvas.height);
    gl.uniform1f(uniforms.width, width * this.ratio);
    gl.uniform1f(uniforms.near, this.near);
    gl.uniform3fv(uniforms.fade, fade);
    this.bind(this.line, buffer);
    gl.drawArrays(gl.TRIANGLES, 0, count);
  }

  drawDots(buffer, count, size) {
    const { gl } = this;
    gl.useProgram(this.dots.handle);
    gl.uniformMatrix4fv(this.dots.uniforms.camera, false, this.camera);
    gl.uniform1f(this.dots.uniforms.size, size * this.ratio);
    gl.disable(gl.DEPTH_TEST);
    this.bind(this.dots, buffer);
    gl.drawArrays(gl.POINTS, 0, count);
    gl.enable(gl.DEPTH_TEST);
  }
}
