// The chat page: conversations in the browser's storage, answers from /v1/chat/completions.
import {copyText, element, markdown} from "./markdown.js";
import {watchEngine} from "./live.js";
import {Models} from "./models.js";

const $ = id => document.getElementById(id);

// Fields of a request that the settings offer; empty: the model's own.
const NUMBERS = [
  ["temperature", "Temperature", 0, 5, 0.05], ["top_p", "Top-p", 0, 1, 0.01],
  ["top_k", "Top-k", 0, 1000, 1], ["min_p", "Min-p", 0, 1, 0.01],
  ["repeat_penalty", "Repeat penalty", 0.1, 5, 0.05], ["presence_penalty", "Presence penalty", -2, 2, 0.1],
  ["max_tokens", "Max tokens", 1, 1000000, 1], ["seed", "Seed", 0, 4294967295, 1],
];
const STORE = "sinter-chat:"; // one entry for each chat: two tabs do not overwrite each other's
const phone = matchMedia("(max-width: 45rem)"), isPhone = () => phone.matches;

let chats = load(), current = null, running = null, editing = null;

function load() {
  const found = [];
  for (const key of Object.keys(localStorage).filter(each => each.startsWith(STORE))) {
    try {
      const chat = JSON.parse(localStorage.getItem(key));
      if (Array.isArray(chat.messages)) found.push(chat);
    } catch {
      console.warn("not a chat:", key);
    }
  }
  return found.sort((a, b) => b.at - a.at);
}

function save(chat = current) {
  if (!chats.includes(chat)) return;
  try {
    localStorage.setItem(STORE + chat.id, JSON.stringify(chat));
  } catch {
    say("The browser's storage is full, so this chat is not kept. Export it, or delete older chats.", true);
  }
}

function say(text, isBad = false) {
  $("notice").textContent = text;
  $("notice").classList.toggle("bad", isBad);
}

const headers = () => {
  const key = sessionStorage.getItem("sinter-key");
  return {"Content-Type": "application/json", ...(key ? {Authorization: "Bearer " + key} : {})};
};

// ---- chats ----

function newChat() {
  stop();
  editing = null;
  current = {id: crypto.randomUUID?.() ?? String(Math.random()), at: Date.now(), title: "New chat", messages: [],
             system: current?.system ?? "", settings: {...(current?.settings ?? {})}, model: $("model").value};
  show();
  if (document.activeElement !== $("key")) $("message").focus();
}

function openChat(chat) {
  if (chat !== current) stop();
  current = chat;
  editing = null;
  if ([...$("model").options].some(option => option.value === chat.model)) $("model").value = chat.model;
  show();
}

function removeChat(chat) {
  if (!confirm(`Delete “${chat.title}”?`)) return;
  chats = chats.filter(each => each !== chat);
  localStorage.removeItem(STORE + chat.id);
  if (chat === current) newChat();
  else showChats();
}

function showChats() {
  $("chats").replaceChildren(...chats.map(chat => {
    const open = element("button", {className: "open", textContent: chat.title});
    open.setAttribute("aria-current", chat === current);
    open.addEventListener("click", () => { openChat(chat); showSide(!isPhone()); });
    const remove = element("button", {textContent: "×", title: "Delete “" + chat.title + "”"});
    remove.setAttribute("aria-label", remove.title);
    remove.addEventListener("click", () => removeChat(chat));
    return element("li", {}, open, remove);
  }));
}

function show() {
  $("system").value = current.system;
  for (const [name] of NUMBERS) $(name).value = current.settings[name] ?? "";
  showChats();
  const hint = element("p", {className: "empty"}, "Enter sends, Shift+Enter begins a line, Escape stops. Chats stay in this browser.");
  $("log").replaceChildren(...(current.messages.length ? current.messages.map(article) : [hint]));
  $("log").scrollTop = $("log").scrollHeight;
}

// ---- messages ----

function button(text, action) {
  const made = element("button", {type: "button", textContent: text});
  made.addEventListener("click", action);
  return made;
}

function article(message, index) {
  const isUser = message.role === "user";
  const who = element("div", {className: "who"}, element("span", {}, isUser ? "You" : message.model));
  const copy = button("Copy", () => copyText(message.content, copy));
  who.append(copy, isUser ? button("Edit", () => edit(index)) : button("Regenerate", () => regenerate(index)));
  const made = element("article", {className: message.role}, who, element("div", {className: "body"}));
  fill(made, message);
  return made;
}

function thinking(message) {
  const made = element("details", {}, element("summary", {}, "Thinking"));
  made.append(...markdown(message.reasoning));
  return made;
}

function fill(made, message) {
  const body = made.querySelector(".body");
  if (message.role === "user") {
    body.textContent = message.content;
    return;
  }
  const nodes = markdown(message.content);
  if (message.reasoning) {
    nodes.unshift(thinking(message));
    nodes[0].open = body.querySelector("details")?.open ?? false;
  }
  if (message.note) nodes.push(element("p", {className: "note"}, message.note));
  if (message.error) nodes.push(element("p", {className: "error"}, message.error));
  // What did not change stays: what is selected or focused in it, and how far it is scrolled.
  nodes.forEach((node, i) => {
    const old = body.childNodes[i];
    if (!old) body.append(node);
    else if (!old.isEqualNode(node)) old.replaceWith(node);
  });
  while (body.childNodes.length > nodes.length) body.lastChild.remove();
}

// The message and what follows it stay until the new text is sent.
function edit(index) {
  stop();
  editing = index;
  $("message").value = current.messages[index].content;
  say("Sending replaces the message and what follows it. Escape leaves it as it is.");
  resize();
  $("message").focus();
}

function regenerate(index) {
  stop();
  editing = null;
  current.messages.length = index;
  show();
  answer();
}

function send() {
  const text = $("message").value.trim();
  if (!text || running) return;
  if (editing !== null) current.messages.length = editing;
  editing = null;
  if (!chats.includes(current)) chats.unshift(current);
  if (!current.messages.length) current.title = text.split("\n", 1)[0].slice(0, 60);
  current.messages.push({role: "user", content: text});
  $("message").value = "";
  resize();
  show();
  answer();
}

function requestOf(chat) {
  const messages = chat.messages.map(({role, content}) => ({role, content}));
  if (chat.system) messages.unshift({role: "system", content: chat.system});
  return {model: chat.model, messages, stream: true, stream_options: {include_usage: true, continuous_usage_stats: true}, ...chat.settings};
}

async function errorOf(response) {
  const text = await response.text();
  if (response.status === 401) {
    showSettings(true);
    $("key").focus();
  }
  try {
    return JSON.parse(text).error?.message ?? text;
  } catch {
    return text || response.statusText;
  }
}

// Calls `take` with each object of a stream of server-sent events.
async function readEvents(response, take) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let held = ""; ;) {
    const {value, done} = await reader.read();
    if (done) throw new Error("The answer broke off: the connection to the server ended.");
    const events = (held + value).split("\n\n");
    held = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter(line => line.startsWith("data: ")).map(line => line.slice(6)).join("\n");
      if (data === "[DONE]") return;
      if (data) take(JSON.parse(data));
    }
  }
}

// Draws an answer that grows, at most a fifth of the time, and follows its end where the reader does.
function drawer(made, message) {
  let timer = 0, pause = 0;
  const draw = () => {
    timer = clearTimeout(timer);
    const log = $("log"), isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80, began = performance.now();
    fill(made, message);
    if (isAtEnd) log.scrollTop = log.scrollHeight;
    pause = Math.max(30, 4 * (performance.now() - began));
  };
  return {draw, soon: () => (timer ||= setTimeout(draw, pause))};
}

// "128 tokens, 31.4/s"
function countText(tokens, first) {
  const seconds = (performance.now() - first) / 1000;
  return `${tokens} token${tokens === 1 ? "" : "s"}` + (tokens > 1 && seconds > 0.5 ? `, ${((tokens - 1) / seconds).toFixed(1)}/s` : "");
}

function sayUsage(usage, began, first) {
  const rate = (usage.completion_tokens - 1) / Math.max((performance.now() - first) / 1000, 1e-3);
  say(`${usage.prompt_tokens} tokens in, ${usage.completion_tokens} out` + (first && usage.completion_tokens > 1 ?
      `, first after ${Math.round(first - began)} ms, then ${rate.toFixed(1)} per second` : ""));
}

async function answer() {
  const chat = current;
  chat.model = $("model").value;
  chat.at = Date.now();
  chats.sort((a, b) => b.at - a.at);
  const message = {role: "assistant", content: "", model: chat.model};
  const request = requestOf(chat);
  save(chat);
  showChats();
  chat.messages.push(message);
  const made = article(message, chat.messages.length - 1), body = made.querySelector(".body");
  const {draw, soon} = drawer(made, message);
  const count = element("span", {className: "count"}); // grows with the answer, and nobody reads it aloud
  count.setAttribute("aria-hidden", "true");
  made.querySelector(".who").append(count);
  $("log").append(made);
  $("log").scrollTop = $("log").scrollHeight;
  body.classList.add("working");
  say("");
  const stopper = new AbortController(), mine = {chat, abort: () => stopper.abort()};
  setRunning(mine);
  const began = performance.now();
  let first = 0, usage = null;
  try {
    const response = await fetch("/v1/chat/completions",
      {method: "POST", headers: headers(), body: JSON.stringify(request), signal: stopper.signal});
    if (!response.ok) throw new Error(await errorOf(response));
    await readEvents(response, event => {
      if (event.error) throw new Error(event.error.message ?? event.error);
      usage = event.usage ?? usage;
      const {delta = {}, finish_reason: reason} = event.choices?.[0] ?? {};
      if (delta.content || delta.reasoning_content) first ||= performance.now();
      if (first && usage?.completion_tokens) count.textContent = countText(usage.completion_tokens, first);
      message.content += delta.content ?? "";
      if (delta.reasoning_content) message.reasoning = (message.reasoning ?? "") + delta.reasoning_content;
      if (reason === "length") message.note = "Cut off: the limit of tokens, or the model's context, is reached.";
      soon();
    });
    if (usage && chat === current) sayUsage(usage, began, first);
  } catch (error) {
    if (error.name === "AbortError") message.note = "Stopped.";
    else message.error = error.message;
    stopper.abort(); // nothing more is read
  }
  body.classList.remove("working");
  draw();
  save(chat);
  if (running === mine) setRunning(null);
}

function stop() {
  running?.abort();
  setRunning(null);
}

function setRunning(it) {
  const hadFocus = document.activeElement === $("send") || document.activeElement === $("stop");
  running = it;
  $("send").hidden = Boolean(it);
  $("stop").hidden = !it;
  $("log").setAttribute("aria-busy", Boolean(it));
  if (hadFocus) $(it ? "stop" : "send").focus();
}

// ---- the rest ----

function exportChat() {
  const lines = [`# ${current.title}`, ""];
  if (current.system) lines.push("## system", "", current.system, "");
  for (const {role, content} of current.messages) lines.push(`## ${role}`, "", content, "");
  const link = element("a", {download: (current.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "chat") + ".md",
    href: URL.createObjectURL(new Blob([lines.join("\n")], {type: "text/markdown"}))});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// `wanted`: of these, the one to choose.
async function loadModels(wanted = $("model").value) {
  try {
    const response = await fetch("/v1/models", {headers: headers()});
    if (!response.ok) throw new Error(await errorOf(response));
    const {data} = await response.json();
    $("model").replaceChildren(...data.map(({id}) => element("option", {value: id, textContent: id})));
    const found = data.find(({id}) => id === wanted || id === wanted.replace(/:latest$/, ""));
    if (found) $("model").value = found.id;
    say(data.length ? "" : "The server has no model yet. Models, above, pulls one.", !data.length);
  } catch (error) {
    say("The models could not be listed: " + error.message, true);
  }
}

function resize() {
  const box = $("message");
  box.style.height = "auto";
  box.style.height = box.scrollHeight + 2 + "px";
}

function makeNumbers() {
  for (const [name, label, min, max, step] of NUMBERS) {
    const input = element("input", {id: name, type: "number", min, max, step, placeholder: "model's own"});
    input.addEventListener("change", () => {
      if (input.value === "" || !input.reportValidity()) delete current.settings[name]; // the browser says why
      else current.settings[name] = Number(input.value);
      save();
    });
    $("numbers").append(element("label", {}, label, input));
  }
}

// One of the two at a time.
function showPanel(name, is) {
  for (const each of ["settings", "models"]) {
    $(each).hidden = each !== name || !is;
    $("toggle-" + each).setAttribute("aria-expanded", !$(each).hidden);
  }
}

function showSettings(is) {
  showPanel("settings", is);
}

function showSide(is) {
  $("side").hidden = !is;
  $("toggle-side").setAttribute("aria-expanded", is);
}

function leave() {
  if (running) stop();
  else if (editing !== null) {
    editing = null;
    $("message").value = "";
    say("");
    resize();
  } else if (!$("settings").hidden || !$("models").hidden) showPanel("", false);
  else if (isPhone()) showSide(false);
}

const models = new Models($("models"), headers, loadModels);
makeNumbers();
$("composer").addEventListener("submit", event => { event.preventDefault(); send(); });
$("settings").addEventListener("submit", event => event.preventDefault());
$("stop").addEventListener("click", stop);
$("new").addEventListener("click", () => { newChat(); showSide(!isPhone()); });
$("export").addEventListener("click", exportChat);
$("log").addEventListener("click", ({target}) => { // code comes and goes while an answer grows
  if (target.className === "copy") copyText(target.closest(".code").querySelector("pre").textContent, target);
});
$("message").addEventListener("input", resize);
$("message").addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); }
});
$("system").addEventListener("change", () => { current.system = $("system").value; save(); });
$("key").addEventListener("change", () => { sessionStorage.setItem("sinter-key", $("key").value); loadModels(); });
$("toggle-settings").addEventListener("click", () => showSettings($("settings").hidden));
$("toggle-models").addEventListener("click", () => {
  showPanel("models", $("models").hidden);
  if (!$("models").hidden) models.show();
});
$("toggle-side").addEventListener("click", () => showSide($("side").hidden));
document.addEventListener("keydown", event => {
  if (event.key === "Escape") leave();
  if (event.key.toLowerCase() === "o" && event.ctrlKey && event.shiftKey) { event.preventDefault(); newChat(); }
});
addEventListener("pagehide", () => { if (running) save(running.chat); });
addEventListener("storage", () => { // another tab's chats
  chats = load().map(chat => (chat.id === current.id ? current : chat));
  showChats();
});
phone.addEventListener("change", () => showSide(!isPhone()));
showSide(!isPhone());
await loadModels();
if (chats.length) openChat(chats[0]);
else newChat();
watchEngine($("live"), headers);
