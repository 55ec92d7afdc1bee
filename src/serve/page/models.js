// The server's models: what there is, pulling one with its progress, deleting one. Ollama's routes.
import {bytesText, element} from "./markdown.js";

// Calls `take` with each object of a stream of lines.
async function readLines(response, take) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let held = ""; ;) {
    const {value, done} = await reader.read();
    const lines = (held + (value ?? "")).split("\n");
    held = done ? "" : lines.pop();
    for (const line of lines) if (line.trim()) take(JSON.parse(line));
    if (done) return;
  }
}

// What to do instead where the server says no more than that.
async function errorOf(response) {
  const text = await response.text();
  let said = text;
  try {
    const {error} = JSON.parse(text);
    said = error?.message ?? error ?? text;
  } catch {
    // no JSON: as it stands
  }
  if (response.status === 501) said += " — `sinter pull NAME` in a terminal, or a file's path after `sinter serve`, adds one.";
  return said || response.statusText;
}

// Sums of parts, each known by its digest: {"status", "digest", "total", "completed"}.
class Progress {
  #parts = new Map();

  take({digest, total, completed}) {
    if (digest && total) this.#parts.set(digest, {total, completed: completed ?? this.#parts.get(digest)?.completed ?? 0});
  }
  get total() { return this.#sum("total"); }
  get completed() { return this.#sum("completed"); }
  #sum(name) { return [...this.#parts.values()].reduce((sum, part) => sum + part[name], 0); }
}

const timeText = seconds => (seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`);

export class Models {
  #pulling = null; // aborts the one that runs

  // `headers()`: of every request; `changed(name)`: there are other models, or a new one of that name.
  constructor(place, headers, changed) {
    const made = (tag, properties, ...children) => element(tag, properties, ...children);
    this.headers = headers;
    this.changed = changed;
    this.list = made("ul", {className: "models"});
    this.name = made("input", {id: "pull-name", placeholder: "smollm2, or a name of the registry", autocomplete: "off", spellcheck: false});
    this.pullButton = made("button", {type: "submit", textContent: "Pull"});
    this.bar = made("progress", {hidden: true});
    this.bar.setAttribute("aria-label", "Pulled so far");
    this.said = made("p", {className: "said"});
    this.said.setAttribute("role", "status");
    const form = made("form", {className: "row"}, made("label", {className: "grow"}, "Pull a model ", this.name), this.pullButton);
    form.addEventListener("submit", event => {
      event.preventDefault();
      if (this.#pulling) this.#pulling.abort();
      else this.pull(this.name.value.trim());
    });
    place.append(this.list, form, this.bar, this.said);
  }

  say(text, isBad = false) {
    this.said.textContent = text;
    this.said.classList.toggle("bad", isBad);
  }

  async show() {
    try {
      const response = await fetch("/api/tags", {headers: this.headers()});
      if (!response.ok) throw new Error(await errorOf(response));
      const {models} = await response.json();
      this.list.replaceChildren(...models.map(model => this.#row(model)));
    } catch (error) {
      this.list.replaceChildren();
      this.say("The models could not be listed: " + error.message, true);
    }
  }

  #row({name, size, details = {}}) {
    const facts = [details.parameter_size, details.quantization_level, size && bytesText(size)].filter(Boolean).join(" · ");
    const remove = element("button", {type: "button", textContent: "Delete", title: `Deletes ${name} from the server`});
    remove.addEventListener("click", () => this.#remove(name));
    return element("li", {className: "row"}, element("span", {className: "grow"}, name), element("span", {className: "facts"}, facts), remove);
  }

  async #remove(name) {
    if (!confirm(`Delete the model “${name}” from the server?`)) return;
    try {
      const response = await fetch("/api/delete", {method: "DELETE", headers: this.headers(), body: JSON.stringify({model: name})});
      if (!response.ok) throw new Error(await errorOf(response));
      this.say(`${name} is deleted.`);
      this.changed();
    } catch (error) {
      this.say(`${name} is not deleted: ${error.message}`, true);
    }
    this.show();
  }

  async pull(name) {
    if (!name) return this.say("Which model?", true);
    const stopper = (this.#pulling = new AbortController());
    const progress = new Progress(), began = performance.now();
    this.pullButton.textContent = "Cancel";
    this.bar.removeAttribute("value"); // moves without an end until there is one
    this.bar.hidden = false;
    this.say("asking …");
    let isDone = false, first = null;
    try {
      const response = await fetch("/api/pull",
        {method: "POST", headers: this.headers(), body: JSON.stringify({model: name, stream: true}), signal: stopper.signal});
      if (!response.ok) throw new Error(await errorOf(response));
      await readLines(response, line => {
        if (line.error) throw new Error(line.error);
        progress.take(line);
        first ??= progress.total ? {at: performance.now(), completed: progress.completed} : null;
        isDone ||= line.status === "success";
        this.#showProgress(line.status ?? "", progress, first ?? {at: began, completed: 0});
      });
      if (!isDone) throw new Error("the connection ended before the model was whole. Pull again to go on.");
      this.say(`${name} is here.`);
      this.name.value = "";
    } catch (error) {
      this.say(error.name === "AbortError" ? "Cancelled. Pull again to go on." : `${name} is not pulled: ${error.message}`, error.name !== "AbortError");
      stopper.abort();
    }
    this.#pulling = null;
    this.pullButton.textContent = "Pull";
    this.bar.hidden = true;
    if (!isDone) return;
    this.show();
    this.changed(name);
  }

  #showProgress(status, progress, first) {
    const {completed, total} = progress;
    if (!total) return this.say(status);
    this.bar.max = total;
    this.bar.value = completed;
    const seconds = (performance.now() - first.at) / 1000;
    const rate = seconds > 0.5 ? (completed - first.completed) / seconds : 0; // less says nothing
    this.say(`${status}: ${bytesText(completed)} of ${bytesText(total)}` +
             (rate > 0 && completed < total ? `, ${bytesText(rate)}/s, ${timeText((total - completed) / rate)} left` : ""));
  }
}
