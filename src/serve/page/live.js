// What the engine does at this moment, from the server's metrics.
import {element} from "./markdown.js";

const EVERY_MS = 1000, KEPT = 60;

// {name: sum over its labels}
export function readMetrics(text) {
  const found = {};
  for (const line of text.split("\n")) {
    const parts = /^([a-zA-Z_:][\w:]*)(?:\{[^}]*\})? (\S+)/.exec(line);
    if (parts) found[parts[1]] = (found[parts[1]] ?? 0) + Number(parts[2]);
  }
  return found;
}

function chart(values) {
  const most = Math.max(...values, 1);
  const points = values.map((value, i) => `${(i / (KEPT - 1)) * 100},${30 - (value / most) * 28}`).join(" ");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 30");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "Tokens per second of the last minute");
  const line = document.createElementNS(svg.namespaceURI, "polyline");
  line.setAttribute("points", points);
  svg.append(line);
  return svg;
}

const reusedOf = ({sinter_prompt_tokens_total: all, sinter_reused_tokens_total: reused}) =>
  (all ? `${Math.round((100 * reused) / all)} %` : undefined);

// As they are sent: sinter_answer_tokens_total grows only where an answer ends.
const tokensOf = metrics => (metrics.sinter_time_to_first_token_seconds_count ?? 0) + (metrics.sinter_inter_token_latency_seconds_count ?? 0);

export function watchEngine(place, headers) {
  const rates = Array(KEPT).fill(0);
  let last = null;
  const look = async () => {
    if (document.hidden || !place.checkVisibility()) return;
    const response = await fetch("/metrics", {headers: headers()});
    if (!response.ok) return place.replaceChildren();
    const now = {at: performance.now(), ...readMetrics(await response.text())};
    if (last) {
      rates.push((tokensOf(now) - tokensOf(last)) / ((now.at - last.at) / 1000));
      rates.shift();
    }
    last = now;
    const rows = [
      ["Tokens per second", rates.at(-1).toFixed(0)],
      ["Sequences running", now.sinter_sequences_running], ["Requests waiting", now.sinter_sequences_waiting],
      ["Pages in use", now.sinter_pages === undefined ? undefined : `${now.sinter_pages - now.sinter_pages_free} of ${now.sinter_pages}`],
      ["Prompt tokens reused", reusedOf(now)],
      ["Preemptions", now.sinter_preemptions_total],
    ].filter(([, value]) => value !== undefined);
    const facts = element("dl", {}, ...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]));
    place.replaceChildren(chart(rates), facts);
  };
  setInterval(() => look().catch(() => place.replaceChildren()), EVERY_MS);
}
