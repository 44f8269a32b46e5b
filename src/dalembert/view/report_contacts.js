// Contact forces: arrows in the picture, whose longest one is told, and the force between two things over time.

const FORCE_COLOR = [0.76, 0.16, 0.15];
const contactPoints = run.contacts && {
  starts: unpack(run.contacts.starts, Uint32Array), known: unpack(run.contacts.known, Uint8Array),
  position: unpack(run.contacts.position, Float32Array), force: unpack(run.contacts.force, Float32Array),
};

// A force with its unit in thousands.
function formatForce(value) {
  const [factor, prefix] = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"]].find(([f]) => value >= f) || [1, ""];
  return `${formatNumber(value / factor, 3)} ${prefix}N`;
}

// Segments of the arrows at frame i, and what the longest of them means. `longest` is its length in m.
function forceArrows(i, longest) {
  const { starts, known, position, force } = contactPoints;
  if (!known[i]) return [[], "the contact points of this instant were not kept"];
  const sizes = [];
  for (let k = starts[i]; k < starts[i + 1]; k++) sizes.push(Math.hypot(force[3 * k], force[3 * k + 1], force[3 * k + 2]));
  const most = Math.max(0, ...sizes);
  if (!most) return [[], "no contact force"];
  const pairs = sizes.flatMap((one, n) => {
    if (one < 0.01 * most) return [];
    const at = 3 * (starts[i] + n);
    const [from, vector] = [[...position.subarray(at, at + 3)], scale([...force.subarray(at, at + 3)], longest / most)];
    const [to, along] = [add(from, vector), unit(vector)];
    const side = scale(unit(cross(along, Math.abs(along[2]) > 0.9 ? [1, 0, 0] : [0, 0, 1])), 0.05 * longest);
    const back = sub(to, scale(along, 0.14 * longest));
    return [[from, to], [add(back, side), to], [sub(back, side), to]];
  });
  return [pairs, `longest arrow: ${formatForce(most)}`];
}

// The force of one on another, by components.
function pairPanel(parent, onSeek) {
  const plot = new Plot(parent, times, { title: "Contact force", unit: "N", onSeek });
  const choice = element("select", { "aria-label": "Contact force: of which pair" }, plot.tools);
  run.contacts.pairs.forEach(({ name }, i) => element("option", { value: String(i), text: name }, choice));
  const show = () => {
    const { name, force } = run.contacts.pairs[Number(choice.value)];
    const flat = unpack(force, Float32Array);
    const parts = [0, 1, 2].map((k) => column(flat, 3, k));
    const size = Float32Array.from(parts[0], (_, i) => Math.hypot(parts[0][i], parts[1][i], parts[2][i]));
    plot.setTitle(`Contact force, ${name}, N`);
    plot.setSeries([...parts.map((values, k) => ({ name: "xyz"[k], values, color: PALETTE[AXES[k]] })),
      { name: "magnitude", values: size, color: INK, dash: true }]);
  };
  choice.addEventListener("change", show);
  show();
  return plot;
}
