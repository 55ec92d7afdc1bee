// Tokens per second that memory allows at most, by sequences in a step, and what the engine makes of it.
// A decode step reads the weights once, however many sequences it has; both scales are logarithmic.

const WIDTH = 240, HEIGHT = 110, LEFT = 6, RIGHT = 6, TOP = 8, BOTTOM = 14, MOST_SEQUENCES = 64, DECADES = 3.6;

function drawn(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Of weights alone: {"steps": a second at most}; null where the machine or the model is not known.
export function roofOf({bytes_per_second: rate, models = []} = {}, running = []) {
  const known = models.filter(model => model.weight_bytes && (!running.length || running.includes(model.model)));
  if (!rate || known.length !== 1) return null;
  return {steps: rate / known[0].weight_bytes, rate, bytes: known[0].weight_bytes};
}

// `points`: {batch, tokens} a second each, the newest last.
export function roofline(roof, points) {
  const top = Math.log10(roof.steps * MOST_SEQUENCES);
  const x = batch => LEFT + (WIDTH - LEFT - RIGHT) * Math.min(Math.log2(Math.max(batch, 1)) / Math.log2(MOST_SEQUENCES), 1);
  const y = tokens => TOP + (HEIGHT - TOP - BOTTOM) * Math.min(Math.max((top - Math.log10(Math.max(tokens, 1e-6))) / DECADES, 0), 1);
  const svg = drawn("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "roofline"});
  const last = points.at(-1);
  const share = last ? Math.round((100 * last.tokens) / (roof.steps * last.batch)) : 0;
  svg.setAttribute("aria-label", last ? `Decode runs at ${share} % of what memory allows` : "What memory allows for decode");
  for (const batch of [1, 4, 16, 64]) {
    svg.append(drawn("line", {x1: x(batch), x2: x(batch), y1: TOP, y2: HEIGHT - BOTTOM, class: "grid"}),
               drawn("text", {x: x(batch), y: HEIGHT - 3, "text-anchor": batch === 1 ? "start" : batch === 64 ? "end" : "middle"}, batch));
  }
  svg.append(drawn("line", {x1: x(1), y1: y(roof.steps), x2: x(MOST_SEQUENCES), y2: y(roof.steps * MOST_SEQUENCES), class: "roof"}));
  for (const [batch, anchor, below] of [[1, "start", 11], [MOST_SEQUENCES, "end", 18]])
    svg.append(drawn("text", {x: x(batch), y: y(roof.steps * batch) + below, "text-anchor": anchor}, Math.round(roof.steps * batch).toLocaleString("en")));
  points.forEach(({batch, tokens}, i) => svg.append(drawn("circle",
    {cx: x(batch), cy: y(tokens), r: i === points.length - 1 ? 3.5 : 1.8, opacity: 0.15 + (0.85 * (i + 1)) / points.length})));
  return svg;
}
