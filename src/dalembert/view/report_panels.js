// Elements, unpacking, the plots of a run and its tables. All text goes in as text, never as markup.

function element(tag, attributes, parent) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name === "text") node.textContent = value;
    else node.setAttribute(name, value);
  if (parent) parent.appendChild(node);
  return node;
}

function unpack(text, Type) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Type(bytes.buffer);
}

const PALETTE = ["#3566b0", "#d1772a", "#3b8a5a", "#8a5aa8", "#b4434d", "#2d8f9b", "#8b7a2f", "#6b7280"];

const AXES = [4, 2, 0]; // of the palette: red, green and blue for x, y and z

const column = (flat, width, k) => Float32Array.from({ length: flat.length / width }, (_, i) => flat[i * width + k]);

function makePanels(onSeek) {
  const parent = document.getElementById("plots");
  const energy = new Plot(parent, times, { title: "Energy, J", unit: "J", onSeek });
  energy.setSeries(run.energies.map(({ name, values, strong }, i) => (
    { name, values: unpack(values, Float32Array), color: strong ? INK : PALETTE[i % PALETTE.length], dash: strong })));
  const plots = [energy];
  if (run.balance) {
    const values = unpack(run.balance, Float32Array);
    const plot = new Plot(parent, times, { title: "Residual of the energy ledger, J", unit: "J", onSeek });
    plot.setSeries([{ name: "balance", values, color: PALETTE[4] }]);
    plots.push(plot);
  }
  const momenta = [["linear", run.momentumBalance, "kg m/s"], ["angular", run.spinBalance, "kg m²/s"]];
  for (const [kind, data, unit] of momenta) if (data) plots.push(momentumPanel(parent, kind, data, unit, onSeek));
  const errors = [["position", run.jointError, "m"], ["velocity", run.jointVelocityError, "m/s"]];
  for (const [kind, data, unit] of errors) if (data) plots.push(errorPanel(parent, kind, data, unit, onSeek));
  if (run.reactionForce || run.reactionTorque) plots.push(reactionPanel(parent, onSeek));
  return plots;
}

function jointChooser(plot, first, onChange) {
  const select = element("select", { "aria-label": `${plot.options.title}: joint` }, plot.tools);
  if (first) element("option", { value: "-1", text: first }, select);
  run.joints.slice(0, run.recordedJoints).forEach((joint, i) => element("option", { value: String(i), text: joint.name }, select));
  select.addEventListener("change", () => onChange(Number(select.value)));
  return select;
}

// What momentum has changed beyond the impulses of forces and reactions.
function momentumPanel(parent, kind, data, unit, onSeek) {
  const flat = unpack(data, Float32Array);
  const plot = new Plot(parent, times, { title: `Residual of ${kind} momentum, ${unit}`, unit, onSeek });
  plot.setSeries([0, 1, 2].map((k) => ({ name: "xyz"[k], values: column(flat, 3, k), color: PALETTE[AXES[k]] })));
  return plot;
}

function errorPanel(parent, kind, data, unit, onSeek) {
  const n = run.recordedJoints;
  const flat = unpack(data, Float32Array);
  const plot = new Plot(parent, times, { title: `Joint error: ${kind}, ${unit}`, unit, log: true, onSeek });
  const worst = () => Float32Array.from({ length: times.length }, (_, i) => Math.max(...flat.subarray(i * n, i * n + n)));
  const show = (j) => plot.setSeries([{ name: j < 0 ? "largest" : run.joints[j].name, color: PALETTE[0], values: j < 0 ? worst() : column(flat, n, j) }]);
  jointChooser(plot, "largest of all", show);
  show(-1);
  return plot;
}

function reactionPanel(parent, onSeek) {
  const n = run.recordedJoints;
  const data = { N: run.reactionForce, "N m": run.reactionTorque };
  const plot = new Plot(parent, times, { title: "Reaction", unit: "N", onSeek });
  const show = () => {
    const flat = unpack(data[kind.value], Float32Array);
    const parts = [0, 1, 2].map((k) => column(flat, 3 * n, 3 * Number(joint.value) + k));
    const size = Float32Array.from(parts[0], (_, i) => Math.hypot(parts[0][i], parts[1][i], parts[2][i]));
    plot.options.unit = kind.value;
    plot.setTitle(`Reaction ${kind.value === "N" ? "force, N" : "torque, N m"}`);
    plot.setSeries([...parts.map((values, k) => ({ name: "xyz"[k], values, color: PALETTE[AXES[k]] })),
      { name: "magnitude", values: size, color: INK, dash: true }]);
  };
  const kind = element("select", { "aria-label": "Reaction: force or torque" }, plot.tools);
  if (data.N) element("option", { value: "N", text: "force" }, kind);
  if (data["N m"]) element("option", { value: "N m", text: "torque" }, kind);
  const joint = jointChooser(plot, null, show);
  kind.addEventListener("change", show);
  show();
  return plot;
}

function fillTables() {
  const parent = document.getElementById("tables");
  const section = (title, count) => {
    const box = element("details", count > 14 ? {} : { open: "" }, element("section", {}, parent));
    element("summary", { text: count === undefined ? title : `${title} (${count})` }, box);
    return element("table", {}, element("div", { class: "scroll" }, box));
  };
  const head = (table, names) => {
    const row = element("tr", {}, element("thead", {}, table));
    for (const name of names) element("th", { text: name, scope: "col" }, row);
    return element("tbody", {}, table);
  };
  if (run.report.length) {
    const body = element("tbody", {}, section("End of the run"));
    for (const [name, value] of run.report) {
      const row = element("tr", {}, body);
      if (value === null) element("th", { text: name, colspan: "2", class: "group" }, row);
      else {
        element("td", { text: name }, row);
        element("td", { text: formatNumber(value, 6), class: "number" }, row);
      }
    }
  }
  const named = (row, { name, color }) => {
    const cell = element("td", {}, row);
    element("span", { class: "chip", style: `background:${color}` }, cell);
    cell.append(name);
  };
  const bodies = run.bodies.length && head(section("Bodies", run.bodies.length), ["name", "mass", "shape"]);
  for (const body of run.bodies) {
    const row = element("tr", {}, bodies);
    named(row, body);
    element("td", { text: body.mass === null ? "fixed" : `${formatNumber(body.mass)}\u00a0kg` }, row);
    element("td", { text: body.shape }, row);
  }
  const groups = run.particles.groups;
  const particles = groups.length && head(section("Particles", groups.length), ["name", "number", "drawn as"]);
  for (const group of groups) {
    const row = element("tr", {}, particles);
    named(row, group);
    element("td", { text: String(group.number) }, row);
    element("td", { text: group.kind }, row);
  }
  for (const [title, links] of [["Joints", run.joints], ["Springs", run.springs]]) {
    if (!links.length) continue;
    const rows = head(section(title, links.length), ["name", "kind", "between"]);
    for (const link of links) {
      const row = element("tr", {}, rows);
      element("td", { text: link.name }, row);
      element("td", { text: link.kind }, row);
      element("td", { text: link.between }, row);
    }
  }
}
