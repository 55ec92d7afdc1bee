// The chat page: conversations in the browser's storage, answers from /v1/chat/completions.
import {element, markdown} from "./markdown.js";
import {watchEngine} from "./live.js";

const $ = id => document.getElementById(id);

// Fields of a request that the settings offer; empty: the model's own.
const NUMBERS = [
  ["temperature", "Temperature", 0, 5, 0.05], ["top_p", "Top-p", 0, 1, 0.01],
  ["top_k", "Top-k", 0, 1000, 1], ["min_p", "Min-p", 0, 1, 0.01],
  ["repeat_penalty", "Repeat penalty", 0.1, 5, 0.05], ["presence_penalty", "Presence penalty", -2, 2, 0.1],
  ["max_tokens", "Most tokens", 1, 1000000, 1], ["seed", "Seed", 0, 4294967295, 1],
];
const STORE = "sinter-chats";

let chats = load(), current = null, running = null;

function load() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? [];
  } catch {
    return [];
  }
}

function save() {
  try {
    localStorage.setItem(STORE, JSON.stringify(chats));
  } catch {
    say("The browser's storage is full: older chats are no longer kept.", true);
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
  current = {id: crypto.randomUUID?.() ?? String(Math.random()), title: "New chat", messages: [],
             system: current?.system ?? "", settings: {...(current?.settings ?? {})}, model: $("model").value};
  show();
  $("message").focus();
}

function openChat(chat) {
  stop();
  current = chat;
  if ([...$("model").options].some(option => option.value === chat.model)) $("model").value = chat.model;
  show();
}

function removeChat(chat) {
  chats = chats.filter(each => each !== chat);
  save();
  if (chat === current) newChat();
  else showChats();
}

function showChats() {
  $("chats").replaceChildren(...chats.map(chat => {
    const open = element("button", {className: "open", textContent: chat.title});
    open.setAttribute("aria-current", chat === current);
    open.addEventListener("click", () => openChat(chat));
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
  $("log").replaceChildren(...current.messages.map(article));
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
  const who = element("div", {className: "who"}, isUser ? "You" : current.model);
  if (isUser) who.append(button("Edit", () => edit(index)));
  else who.append(button("Copy", () => navigator.clipboard?.writeText(message.content)),
                  button("Regenerate", () => regenerate(index)));
  const made = element("article", {className: message.role}, who, element("div", {className: "body"}));
  fill(made, message);
  return made;
}

function fill(made, message) {
  const body = made.querySelector(".body");
  if (message.role === "user") {
    body.textContent = message.content;
    return;
  }
  const wasOpen = body.querySelector("details")?.open ?? false;
  const nodes = markdown(message.content);
  if (message.reasoning)
    nodes.unshift(element("details", {open: wasOpen}, element("summary", {}, "Thinking"), ...markdown(message.reasoning)));
  if (message.error) nodes.push(element("p", {className: "error"}, message.error));
  body.replaceChildren(...nodes);
}

function edit(index) {
  stop();
  $("message").value = current.messages[index].content;
  current.messages.length = index;
  save();
  show();
  resize();
  $("message").focus();
}

function regenerate(index) {
  stop();
  current.messages.length = index;
  show();
  answer();
}

function send() {
  const text = $("message").value.trim();
  if (!text || running) return;
  if (!chats.includes(current)) chats.unshift(current);
  if (!current.messages.length) current.title = text.slice(0, 60);
  current.messages.push({role: "user", content: text});
  $("message").value = "";
  resize();
  show();
  answer();
}

function requestOf(chat) {
  const messages = chat.messages.map(({role, content}) => ({role, content}));
  if (chat.system) messages.unshift({role: "system", content: chat.system});
  return {model: chat.model, messages, stream: true, stream_options: {include_usage: true}, ...chat.settings};
}

async function errorOf(response) {
  const text = await response.text();
  if (response.status === 401) $("settings").hidden = false;
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
    if (done) return;
    const events = (held + value).split("\n\n");
    held = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter(line => line.startsWith("data: ")).map(line => line.slice(6)).join("\n");
      if (data && data !== "[DONE]") take(JSON.parse(data));
    }
  }
}

async function answer() {
  const chat = current;
  chat.model = $("model").value;
  const message = {role: "assistant", content: ""};
  const request = requestOf(chat);
  chat.messages.push(message);
  const made = article(message, chat.messages.length - 1);
  $("log").append(made);
  made.querySelector(".body").classList.add("working");
  const mine = running = new AbortController();
  setRunning(true);
  const began = performance.now();
  let first = 0, drawn = false, usage = null;
  const draw = () => {
    drawn = false;
    const log = $("log"), isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
    fill(made, message);
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  };
  try {
    const response = await fetch("/v1/chat/completions",
      {method: "POST", headers: headers(), body: JSON.stringify(request), signal: mine.signal});
    if (!response.ok) throw new Error(await errorOf(response));
    await readEvents(response, event => {
      if (event.error) throw new Error(event.error.message ?? event.error);
      usage = event.usage ?? usage;
      const delta = event.choices?.[0]?.delta;
      if (!delta) return;
      if (delta.content || delta.reasoning_content) first ||= performance.now();
      message.content += delta.content ?? "";
      if (delta.reasoning_content) message.reasoning = (message.reasoning ?? "") + delta.reasoning_content;
      if (!drawn) drawn = Boolean(requestAnimationFrame(draw));
    });
    if (usage) {
      const seconds = (performance.now() - first) / 1000;
      say(`${usage.prompt_tokens} tokens in, ${usage.completion_tokens} out, first after ${Math.round(first - began)} ms, ` +
          `${(usage.completion_tokens / Math.max(seconds, 1e-3)).toFixed(1)} per second`);
    }
  } catch (error) {
    if (error.name !== "AbortError") message.error = error.message;
  }
  made.querySelector(".body").classList.remove("working");
  draw();
  save();
  if (running === mine) setRunning(false);
}

function stop() {
  running?.abort();
  setRunning(false);
}

function setRunning(is) {
  if (!is) running = null;
  $("send").hidden = is;
  $("stop").hidden = !is;
}

// ---- the rest ----

function exportChat() {
  const lines = [`# ${current.title}`, ""];
  for (const {role, content} of current.messages) lines.push(`## ${role}`, "", content, "");
  const link = element("a", {download: "chat.md",
    href: URL.createObjectURL(new Blob([lines.join("\n")], {type: "text/markdown"}))});
  link.click();
  URL.revokeObjectURL(link.href);
}

async function loadModels() {
  try {
    const response = await fetch("/v1/models", {headers: headers()});
    if (!response.ok) throw new Error(await errorOf(response));
    const {data} = await response.json();
    $("model").replaceChildren(...data.map(({id}) => element("option", {value: id, textContent: id})));
    say(data.length ? "" : "The server has no model yet.", !data.length);
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
      if (input.value === "" || !input.checkValidity()) delete current.settings[name];
      else current.settings[name] = Number(input.value);
      save();
    });
    $("numbers").append(element("label", {}, label, input));
  }
}

function flip(buttonId, apply) {
  $(buttonId).addEventListener("click", () => $(buttonId).setAttribute("aria-expanded", apply()));
}

makeNumbers();
$("composer").addEventListener("submit", event => { event.preventDefault(); send(); });
$("settings").addEventListener("submit", event => event.preventDefault());
$("stop").addEventListener("click", stop);
$("new").addEventListener("click", () => { stop(); newChat(); });
$("export").addEventListener("click", exportChat);
$("message").addEventListener("input", resize);
$("message").addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); }
});
$("system").addEventListener("change", () => { current.system = $("system").value; save(); });
$("key").addEventListener("change", () => { sessionStorage.setItem("sinter-key", $("key").value); loadModels(); });
flip("toggle-settings", () => !($("settings").hidden = !$("settings").hidden));
flip("toggle-side", () => {
  const isPhone = matchMedia("(max-width: 45rem)").matches;
  return document.body.classList.toggle(isPhone ? "wide" : "narrow") === isPhone;
});
document.addEventListener("keydown", event => {
  if (event.key === "Escape") stop();
  if (event.key.toLowerCase() === "o" && event.ctrlKey && event.shiftKey) { event.preventDefault(); stop(); newChat(); }
});
await loadModels();
if (chats.length) openChat(chats[0]);
else newChat();
watchEngine($("live"), headers);
