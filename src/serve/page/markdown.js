// Markdown as models write it, made of DOM nodes alone: no text of an answer is ever parsed as HTML.
// Each pattern reads a text in about linear time, whatever it holds, and nesting has a bound.

const FENCE = /^(`{3,}|~{3,})\s*([^\s`]*)/, HEADING = /^#{1,6} /, ITEM = /^([-*+]|\d{1,9}[.)]) +/, RULE = /^([-*_])( *\1){2,} *$/;
const MOST_NESTED = 12, MOST_CELLS = 100;

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// Code, links with a label, bold, italic, bare links. Links lead to the web only.
const INLINE = new RegExp([
  /(?<!`)(`+)(?!`)([^]*?[^`])\1(?!`)/, /\[([^[\]]{1,1000})\]\((https?:\/\/[^\s)]{1,2000})\)/,
  /\*\*(?=\S)([^*]+(?:\*(?!\*)[^*]*)*)\*\*/, /\*(?=[^\s*])([^*]+)\*/, /(https?:\/\/[^\s<>()"'`*]*[^\s<>()"'`*.,;:!?])/,
].map(each => each.source).join("|"), "g");

function inline(text) {
  const nodes = [];
  let at = 0;
  const link = (href, ...children) => element("a", {href, target: "_blank", rel: "noopener noreferrer"}, ...children);
  for (const found of text.matchAll(INLINE)) {
    const [all, , code, label, target, bold, italic, bare] = found;
    nodes.push(text.slice(at, found.index));
    if (code !== undefined) nodes.push(element("code", {}, code.trim()));
    else if (target) nodes.push(link(target, ...inline(label)));
    else if (bold) nodes.push(element("strong", {}, ...inline(bold)));
    else if (italic) nodes.push(element("em", {}, ...inline(italic)));
    else nodes.push(link(bare, bare));
    at = found.index + all.length;
  }
  nodes.push(text.slice(at));
  return nodes.filter(node => node !== "");
}

export function bytesText(bytes) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  for (; bytes >= 1000 && unit + 1 < units.length; ++unit) bytes /= 1000;
  return `${unit && bytes < 10 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

// Without a secure context (plain HTTP from another machine), or where they refuse, browsers have the old way only.
export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = element("textarea", {value: text});
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
    button.focus();
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

// Lines still to be read, last one first: taking one costs the same however many follow.
const next = lines => lines.at(-1);
const after = lines => lines.at(-2);

function codeBlock(lines) {
  const [, fence, language] = FENCE.exec(lines.pop().trimStart());
  const code = [];
  while (lines.length && !next(lines).trimStart().startsWith(fence)) code.push(lines.pop());
  lines.pop(); // absent while it is written
  const text = code.join("\n");
  const copy = element("button", {type: "button", textContent: "Copy", className: "copy"});
  return element("div", {className: "code"}, element("div", {className: "who"}, element("span", {}, language), copy),
                 element("pre", {tabIndex: 0}, element("code", {}, text)));
}

const indentOf = line => line.length - line.trimStart().length;

function list(lines, depth) {
  const isOrdered = /^\s*\d/.test(next(lines));
  const made = element(isOrdered ? "ol" : "ul");
  if (isOrdered) made.start = parseInt(next(lines), 10);
  const isItem = line => line !== undefined && indentOf(line) < 2 && ITEM.test(line.trimStart()) && /^\s*\d/.test(line) === isOrdered;
  const belongs = line => line !== undefined && line !== "" && indentOf(line) >= 2;
  while (isItem(next(lines))) {
    const item = [lines.pop().trimStart().replace(ITEM, "")];
    let indent = 0;
    while (lines.length && (belongs(next(lines)) || (next(lines) === "" && belongs(after(lines))))) {
      const line = lines.pop();
      indent ||= indentOf(line);
      item.push(line.slice(Math.min(indent, indentOf(line))));
    }
    made.append(element("li", {}, ...(item.length > 1 ? blocks(item.reverse(), depth + 1) : inline(item[0]))));
    while (next(lines) === "" && isItem(after(lines))) lines.pop();
  }
  return made;
}

const isTable = lines => next(lines).includes("|") && /^[\s:|-]+$/.test(after(lines) ?? "") && /-.*\||\|.*-/.test(after(lines));

function table(lines) {
  const row = (tag, line) => {
    const cells = line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/, MOST_CELLS);
    return element("tr", {}, ...cells.map(cell => element(tag, {}, ...inline(cell.trim().replaceAll("\\|", "|")))));
  };
  const made = element("table", {}, row("th", lines.pop()));
  lines.pop();
  while (next(lines)?.includes("|")) made.append(row("td", lines.pop()));
  return element("div", {className: "table", tabIndex: 0}, made);
}

function quote(lines, depth) {
  const quoted = [];
  while (next(lines)?.startsWith(">")) quoted.push(lines.pop().replace(/^> ?/, ""));
  return element("blockquote", {}, ...blocks(quoted.reverse(), depth + 1));
}

const startsBlock = line => FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || line.startsWith(">");

function paragraph(lines) {
  const text = [lines.pop()];
  while (lines.length && next(lines).trim() !== "" && !startsBlock(next(lines)) && !isTable(lines)) text.push(lines.pop());
  return element("p", {}, ...inline(text.join("\n")));
}

function blocks(lines, depth = 0) {
  const made = [];
  while (lines.length) {
    const line = next(lines).replace(/^ {1,3}(?=\S)/, "");
    const isDeep = depth >= MOST_NESTED;
    if (line.trim() === "") lines.pop();
    else if (FENCE.test(line)) made.push(codeBlock(lines));
    else if (HEADING.test(line)) {
      lines.pop();
      made.push(element("h" + Math.min(line.indexOf(" ") + 1, 6), {}, ...inline(line.replace(HEADING, ""))));
    } else if (RULE.test(line)) made.push((lines.pop(), element("hr")));
    else if (ITEM.test(line) && !isDeep) {
      lines[lines.length - 1] = line;
      made.push(list(lines, depth));
    } else if (line.startsWith(">") && !isDeep) {
      lines[lines.length - 1] = line;
      made.push(quote(lines, depth));
    } else if (isTable(lines)) made.push(table(lines));
    else made.push(paragraph(lines));
  }
  return made;
}

export const markdown = text => blocks(text.split(/\r?\n/).reverse());
