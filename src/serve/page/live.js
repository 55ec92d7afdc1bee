// What the engine does at this moment, from the server's metrics.
import {bytesText, element} from "./markdown.js";
import {roofline, roofOf} from "./roofline.js";

const EVERY_MS = 1000, ASK_AGAIN_MS = 20000, KEPT = 60, POINTS = 30;

// {name: sum over its labels}, and the models that run a sequence.
export function readMetrics(text) {
  const found = {}, running = [];
  for (const line of text.split("\n")) {
    const parts = /^([a-zA-Z_:][\w:]*)(\{[^}]*\})? (\S+)/.exec(line);
    if (!parts) continue;
    const [, name, labels = "", value] = parts;
    found[name] = (found[name] ?? 0) + Number(value);
    if (name === "sinter_sequences_running" && Number(value) > 0) running.push(/model="([^"]*)"/.exec(labels)?.[1]);
  }
  return {found, running};
}

function chart(values) {
  const most = Math.max(...values, 1);
  const points = values.map((value, i) => `${(i / (KEPT - 1)) * 100},${30 - (value / most) * 28}`).join(" ");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 30");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("class", "rates");
  svg.setAttribute("aria-label", `Tokens per second of the last minute, at most ${Math.round(most)}`);
  const line = document.createElementNS(svg.namespaceURI, "polyline");
  line.setAttribute("points", points);
  svg.append(line);
  return svg;
}

const reusedOf = ({sinter_prompt_tokens_total: all, sinter_reused_tokens_total: reused}) =>
  (all ? `${Math.round((100 * reused) / all)} %` : undefined);

// As they are sent.
const decodedOf = metrics => metrics.sinter_inter_token_latency_seconds_count ?? 0;
const tokensOf = metrics => (metrics.sinter_time_to_first_token_seconds_count ?? 0) + decodedOf(metrics);

class Watch {
  #rates = Array(KEPT).fill(0);
  #points = [];
  #last = null;
  #machine = null; // as GET /roofline says; null: not asked yet
  #place;
  #headers;

  constructor(place, headers) {
    this.#place = place;
    this.#headers = headers;
  }

  async look() {
    if (document.hidden || !this.#place.checkVisibility()) return;
    const response = await fetch("/metrics", {headers: this.#headers()});
    if (!response.ok) return this.#place.replaceChildren();
    const {found, running} = readMetrics(await response.text());
    const now = {at: performance.now(), ...found};
    await this.#askMachine(now, running);
    const step = this.#last && this.#stepSince(this.#last, now);
    this.#last = now;
    this.#show(now, running, step);
  }

  // Bandwidth is measured where nothing runs, so it may not be known at first.
  async #askMachine(now, running) {
    const models = now.sinter_model_bytes ?? 0; // others may be loaded by now
    if (this.#machine?.loaded === models && (this.#machine.bytes_per_second || running.length || now.at - this.#machine.at < ASK_AGAIN_MS))
      return;
    const response = await fetch("/roofline", {headers: this.#headers()});
    this.#machine = {loaded: models, at: now.at, ...(response.ok ? await response.json() : {})};
  }

  // What decode did between two looks.
  #stepSince(last, now) {
    const seconds = (now.at - last.at) / 1000;
    this.#rates.push((tokensOf(now) - tokensOf(last)) / seconds);
    this.#rates.shift();
    const steps = now.sinter_decode_steps_total - last.sinter_decode_steps_total;
    const tokens = decodedOf(now) - decodedOf(last);
    if (!(steps > 0) || !(tokens > 0)) return null;
    this.#points.push({batch: Math.max(tokens / steps, 1), tokens: tokens / seconds});
    if (this.#points.length > POINTS) this.#points.shift();
    return {batch: tokens / steps, steps: steps / seconds};
  }

  #show(now, running, step) {
    const rows = [
      ["Tokens per second", this.#rates.at(-1).toFixed(0)],
      ["Sequences running", now.sinter_sequences_running], ["Requests waiting", now.sinter_sequences_waiting],
      ["Sequences a step", step?.batch.toFixed(1) ?? (now.sinter_decode_steps_total === undefined ? undefined : "–")],
      ["Pages in use", now.sinter_pages === undefined ? undefined : `${now.sinter_pages - now.sinter_pages_free} of ${now.sinter_pages}`],
      ["Prompt tokens reused", reusedOf(now)],
      ["Preemptions", now.sinter_preemptions_total],
    ].filter(([, value]) => value !== undefined);
    const facts = element("dl", {}, ...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]));
    this.#place.replaceChildren(chart(this.#rates), facts, ...this.#roofs(running, step));
  }

  #roofs(running, step) {
    const roof = roofOf(this.#machine ?? {}, running);
    if (!roof) return [];
    const share = step ? `Decode at ${Math.round((100 * step.steps) / roof.steps)} % of the memory roof. ` : "";
    const words = `${share}Memory ${bytesText(roof.rate)}/s, weights ${bytesText(roof.bytes)} a step: at most ${Math.round(roof.steps)} steps a second.`;
    return [element("h2", {}, "Roofline: tokens per second by sequences a step"), roofline(roof, this.#points), element("p", {}, words)];
  }
}

export function watchEngine(place, headers) {
  const watch = new Watch(place, headers);
  const look = () => watch.look().catch(() => place.replaceChildren()).finally(() => setTimeout(look, EVERY_MS));
  look();
}
