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
  const plots = [energyPanel(parent, onSeek)];
  if (run.balance) {
    const values = unpack(run.balance, Float32Array);
    const plot = new Plot(parent, times, { title: "Energy error, J", unit: "J", least: run.least.error, onSeek });
    plot.setSeries([{ name: "error", values, color: PALETTE[4] }]);
    plots.push(plot);
  }
  const momenta = [["linear", run.momentumBalance, "kg m/s"], ["angular", run.spinBalance, "kg m²/s"]];
  for (const [kind, data, unit] of momenta) if (data) plots.push(momentumPanel(parent, kind, data, unit, onSeek));
  const errors = [["position", run.jointError, "m"], ["velocity", run.jointVelocityError, "m/s"]];
  for (const [kind, data, unit] of errors) if (data) plots.push(errorPanel(parent, kind, data, unit, onSeek));
  if (run.reactionForce || run.reactionTorque) plots.push(reactionPanel(parent, onSeek));
  if (run.contacts && run.contacts.pairs.length) plots.push(pairPanel(parent, onSeek));
  if (Object.keys(run.contact).length) plots.push(contactPanel(parent, onSeek));
  return plots;
}

// Each part on those before it: what is positive upwards from 0, what is negative downwards.
function stack(parts) {
  const [up, down] = [new Float64Array(times.length), new Float64Array(times.length)];
  return parts.map((values) => [[up, Math.max], [down, Math.min]].map(([side, choose]) => {
    const from = side.slice();
    values.forEach((v, i) => (side[i] += choose(v, 0)));
    return [from, side.slice()];
  }));
}

// What the energy at the start has become, stacked (the sum stays level), or every entry of the ledger as a line.
function energyPanel(parent, onSeek) {
  const plot = new Plot(parent, times, { title: "Energy, J", unit: "J", least: run.least.energy, onSeek });
  const colored = ({ name, values, strong }, i) => (
    { name, values: unpack(values, Float32Array), color: strong ? INK : PALETTE[i % PALETTE.length], dash: strong });
  const [lines, parts] = [run.energies.map(colored), run.ledger.map(colored)];
  stack(parts.map((part) => part.values)).forEach((bands, i) => (parts[i].bands = bands));
  const choice = element("select", { "aria-label": "Energy: stacked or lines" }, plot.tools);
  for (const text of ["stacked", "lines"]) element("option", { value: text, text }, choice);
  choice.addEventListener("change", () => plot.setSeries(choice.value === "stacked" ? parts : lines));
  plot.setSeries(parts);
  return plot;
}

// How far the solver stopped from the law of contact, how deep anything overlapped, and how many contacts there were.
function contactPanel(parent, onSeek) {
  const kinds = { contact_residual: ["Residual of contact", "m/s", true], penetration: ["Deepest overlap", "m", true],
    contacts: ["Contacts", "", false] };
  const plot = new Plot(parent, times, { title: "Contact", unit: "", onSeek });
  const choice = element("select", { "aria-label": "Contact: which quantity" }, plot.tools);
  for (const [name, [text]] of Object.entries(kinds)) if (run.contact[name]) element("option", { value: name, text }, choice);
  const show = () => {
    const [text, unit, log] = kinds[choice.value];
    Object.assign(plot.options, { unit, log });
    plot.setTitle(unit ? `${text}, ${unit}` : text);
    plot.setSeries([{ name: unit ? "largest" : "number", values: unpack(run.contact[choice.value], Float32Array), color: PALETTE[0] }]);
  };
  choice.addEventListener("change", show);
  show();
  return plot;
}

function jointChooser(plot, first, onChange) {
  const select = element("select", { "aria-label": `${plot.options.title}: joint` }, plot.tools);
  if (first) element("option", { value: "-1", text: first }, select);
  run.jointNames.forEach((name, i) => element("option", { value: String(i), text: name }, select));
  select.addEventListener("change", () => onChange(Number(select.value)));
  return select;
}

// What momentum has changed beyond the impulses of forces and reactions.
function momentumPanel(parent, kind, data, unit, onSeek) {
  const flat = unpack(data, Float32Array);
  const plot = new Plot(parent, times, { title: `Residual of ${kind} momentum, ${unit}`, unit, least: run.least[kind], onSeek });
  plot.setSeries([0, 1, 2].map((k) => ({ name: "xyz"[k], values: column(flat, 3, k), color: PALETTE[AXES[k]] })));
  return plot;
}

function errorPanel(parent, kind, data, unit, onSeek) {
  const n = run.jointNames.length;
  const flat = unpack(data, Float32Array);
  const plot = new Plot(parent, times, { title: `Joint error: ${kind}, ${unit}`, unit, log: true, onSeek });
  const worst = () => Float32Array.from({ length: times.length }, (_, i) => Math.max(...flat.subarray(i * n, i * n + n)));
  const show = (j) => plot.setSeries([{ name: j < 0 ? "largest" : run.jointNames[j], color: PALETTE[0], values: j < 0 ? worst() : column(flat, n, j) }]);
  jointChooser(plot, "largest of all", show);
  show(-1);
  return plot;
}

function reactionPanel(parent, onSeek) {
  const n = run.jointNames.length;
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
        const sentence = typeof value === "string" && value.length > 30;
        element("td", { text: formatNumber(value, 6), class: sentence ? "given" : "number" }, row);
      }
    }
  }
  if (run.stages.length) stageBars(section("Stage times"));
  makeRerun(element("section", {}, parent));
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
  const drawn = run.listing.length ? [] : [["Joints", run.joints], ["Springs", run.springs]];
  for (const [title, links] of drawn) {
    if (!links.length) continue;
    const rows = head(section(title, links.length), ["name", "kind", "between"]);
    for (const link of links) {
      const row = element("tr", {}, rows);
      for (const text of [link.name, link.kind, link.between]) element("td", { text }, row);
    }
  }
  for (const { title, columns, rows, leftOut } of run.listing) {
    const table = section(`Scene: ${title.toLowerCase()}`, rows.length + leftOut);
    table.closest("section").classList.add("wide");
    const body = head(table, columns);
    for (const cells of rows) {
      const row = element("tr", {}, body);
      for (const text of cells) element("td", { text }, row);
    }
    if (leftOut) element("td", { text: `and ${leftOut} more`, colspan: String(columns.length) }, element("tr", {}, body));
  }
}

// Where the time went: a bar a stage.
function stageBars(table) {
  const total = run.stages.reduce((sum, [, value]) => sum + value, 0);
  const most = Math.max(...run.stages.map(([, value]) => value));
  const body = element("tbody", {}, table);
  for (const [name, value] of run.stages) {
    const row = element("tr", {}, body);
    element("td", { text: name }, row);
    element("div", { class: "bar", style: `width:${(100 * value) / most}%` }, element("td", { class: "bars" }, row));
    element("td", { text: `${formatNumber(1000 * value, 3)} ms`, class: "number" }, row);
    element("td", { text: `${Math.round((100 * value) / total)} %`, class: "number" }, row);
  }
}

// How the run was made, and the program that makes it again.
function makeRerun(parent) {
  const box = element("details", { open: "" }, parent);
  element("summary", { text: "How it was run" }, box);
  const body = element("tbody", {}, element("table", {}, element("div", { class: "scroll" }, box)));
  for (const [name, value] of run.provenance) {
    const row = element("tr", {}, body);
    element("td", { text: name }, row);
    element("td", { text: value, class: "given" }, row);
  }
  const head = element("p", { class: "again", text: "To run it again: " }, box);
  const copy = element("button", { type: "button", id: "copy", text: "copy" }, head);
  const code = element("pre", { id: "rerun", tabindex: "0", text: run.rerun }, box);
  copy.addEventListener("click", () => {
    getSelection().selectAllChildren(code);
    copy.textContent = document.execCommand("copy") ? "copied" : "selected";
  });
}
