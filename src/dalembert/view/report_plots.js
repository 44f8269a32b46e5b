// Line plots on canvas, with a cursor that follows the animation and can be dragged.

const INK = "#232a35", FAINT = "#e4e7ec", MUTED = "#6a7382";

function niceTicks(low, high, target) {
  const raw = (high - low) / Math.max(1, target);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || raw;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(i * step);
  return ticks;
}

function formatNumber(x, digits = 4) {
  if (typeof x !== "number" || !Number.isFinite(x)) return String(x);
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e15) return x.toLocaleString("en-US").replace(/,/g, "\u202f").replace("-", "\u2212");
  const text = size >= 1e5 || size < 1e-3 ? x.toExponential(digits - 1).replace(/\.?0+e/, "e") : String(Number(x.toPrecision(digits)));
  return text.replace(/e([+-])(\d+)/, (_, s, n) => `e${s === "-" ? "\u2212" : ""}${n}`).replace(/^-/, "\u2212");
}

class Plot {
  // options: {title, unit, log, least, onSeek(t)}, least the least length of its axis; series: [{name, color, values, dash, bands}] over times (n,);
  // bands, pairs of edges, are filled.
  constructor(parent, times, options) {
    Object.assign(this, { times, options, series: [], hidden: new Set(), index: 0 });
    this.root = element("figure", { class: "plot" }, parent);
    const head = element("figcaption", {}, this.root);
    this.title = element("span", { class: "plot-title", text: options.title }, head);
    this.tools = element("span", { class: "plot-tools" }, head);
    this.box = element("div", { class: "plot-box" }, this.root);
    this.canvas = element("canvas", { "aria-label": options.title, role: "img" }, this.box);
    this.cursor = element("canvas", { class: "cursor" }, this.box);
    this.legend = element("div", { class: "legend" }, this.root);
    const seek = (event) => {
      const x = event.clientX - this.cursor.getBoundingClientRect().left;
      options.onSeek(this.low + ((x - this.left) / (this.right - this.left)) * (this.high - this.low));
    };
    this.cursor.addEventListener("pointerdown", (e) => (this.cursor.setPointerCapture(e.pointerId), seek(e)));
    this.cursor.addEventListener("pointermove", (e) => e.buttons && seek(e));
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  setTitle(text) {
    this.title.textContent = text;
  }

  setSeries(series) {
    this.series = series;
    this.legend.replaceChildren();
    for (const line of series) {
      const key = element("button", { class: "key", type: "button", title: "Show or hide" }, this.legend);
      element("span", { class: line.dash ? "swatch dashed" : "swatch", style: `border-color:${line.color}` }, key);
      element("span", { text: line.name }, key);
      line.readout = element("span", { class: "value" }, key);
      key.classList.toggle("off", this.hidden.has(line.name));
      key.addEventListener("click", () => {
        if (!this.hidden.delete(line.name)) this.hidden.add(line.name);
        key.classList.toggle("off", this.hidden.has(line.name));
        this.draw();
      });
    }
    this.draw();
  }

  range() {
    let low = Infinity, high = -Infinity;
    for (const { name, values, bands } of this.series) {
      if (this.hidden.has(name)) continue;
      for (const v of bands ? bands.flatMap(([from, to]) => [...from, ...to]) : values) {
        if (!Number.isFinite(v) || (this.options.log && v <= 0)) continue;
        low = Math.min(low, v);
        high = Math.max(high, v);
      }
    }
    if (low > high) [low, high] = this.options.log ? [1e-16, 1] : [-1, 1];
    if (this.options.log) {
      const [a, b] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
      return [a, Math.max(b, a + 1)];
    }
    const more = Math.max((this.options.least || 0) - (high - low), 0) / 2; // what is much smaller is drawn flat
    [low, high] = [low - more, high + more];
    const pad = 0.06 * (high - low) || Math.abs(high) * 0.1 || 1;
    return [low - pad, high + pad];
  }

  surface(canvas) {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const [w, h] = [this.box.clientWidth, this.box.clientHeight];
    [canvas.width, canvas.height] = [Math.max(1, w * ratio), Math.max(1, h * ratio)];
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "11px system-ui, sans-serif";
    return [pen, w, h];
  }

  draw() {
    if (!this.box.clientWidth) return;
    const [pen, w, h] = this.surface(this.canvas);
    Object.assign(this, { left: 60, right: w - 10, top: 8, bottom: h - 22 });
    [this.low, this.high] = [this.times[0], this.times[this.times.length - 1]];
    if (!(this.high > this.low)) this.high = this.low + 1;
    const [bottom, top] = this.range();
    const y = (v) => this.bottom - (((this.options.log ? Math.log10(v) : v) - bottom) / (top - bottom)) * (this.bottom - this.top);
    pen.lineWidth = 1;
    this.axes(pen, y, bottom, top);
    pen.save();
    pen.beginPath();
    pen.rect(this.left, this.top, this.right - this.left, this.bottom - this.top);
    pen.clip();
    for (const line of this.series) if (!this.hidden.has(line.name)) this.stroke(pen, line, y);
    pen.restore();
    this.drawCursor();
  }

  axes(pen, y, bottom, top) {
    const { log } = this.options;
    pen.fillStyle = MUTED;
    pen.strokeStyle = FAINT;
    const line = (x0, y0, x1, y1) => (pen.beginPath(), pen.moveTo(x0, y0), pen.lineTo(x1, y1), pen.stroke());
    const values = log ? niceTicks(bottom, top, 5).filter(Number.isInteger).map((e) => 10 ** e) : niceTicks(bottom, top, 5);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const v of values) {
      line(this.left, Math.round(y(v)) + 0.5, this.right, Math.round(y(v)) + 0.5);
      pen.fillText(log ? `1e${Math.round(Math.log10(v))}`.replace("-", "\u2212") : formatNumber(Number(v.toPrecision(6)), 3), this.left - 6, y(v));
    }
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (const t of niceTicks(this.low, this.high, (this.right - this.left) / 80)) {
      line(Math.round(this.x(t)) + 0.5, this.bottom, Math.round(this.x(t)) + 0.5, this.bottom + 4);
      pen.fillText(`${formatNumber(Number(t.toPrecision(6)))}${t === 0 ? "" : " s"}`, Math.min(this.x(t), this.right - 10), this.bottom + 7);
    }
  }

  x(t) {
    return this.left + ((t - this.low) / (this.high - this.low)) * (this.right - this.left);
  }

  stroke(pen, { values, color, dash, bands }, y) {
    pen.fillStyle = color;
    for (const [from, to] of bands || []) {
      pen.beginPath();
      for (let i = 0; i < this.times.length; i++) pen.lineTo(this.x(this.times[i]), y(from[i]));
      for (let i = this.times.length - 1; i >= 0; i--) pen.lineTo(this.x(this.times[i]), y(to[i]));
      pen.fill();
    }
    if (bands) return;
    pen.strokeStyle = color;
    pen.lineWidth = 1.6;
    pen.lineJoin = "round";
    pen.setLineDash(dash ? [5, 4] : []);
    pen.beginPath();
    let down = false;
    values.forEach((v, i) => {
      const drawn = Number.isFinite(v) && !(this.options.log && v <= 0);
      if (drawn) pen[down ? "lineTo" : "moveTo"](this.x(this.times[i]), y(v));
      down = drawn;
    });
    pen.stroke();
    pen.setLineDash([]);
  }

  // Move the cursor to time t, between samples `index` and `index + 1`; the legend shows the nearest sample.
  seek(t, index) {
    Object.assign(this, { t, index });
    if (this.right) this.drawCursor();
  }

  drawCursor() {
    const [pen] = this.surface(this.cursor);
    const x = Math.round(this.x(this.t || 0)) + 0.5;
    pen.strokeStyle = INK;
    pen.globalAlpha = 0.55;
    pen.beginPath();
    pen.moveTo(x, this.top);
    pen.lineTo(x, this.bottom);
    pen.stroke();
    for (const { readout, values } of this.series)
      readout.textContent = `${formatNumber(values[this.index], 4)} ${this.options.unit}`.trim();
  }
}
