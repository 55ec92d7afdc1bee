// Markdown as models write it, made of DOM nodes alone: no text of an answer is ever parsed as HTML.

const BLOCK = /^(```|~~~|#{1,6} |[-*+] |\d+[.)] |> |\|)/;

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// Within a line: code, links, bold, italic. Links lead to the web only.
export function inline(text) {
  const nodes = [];
  const pattern = /(`+)([\s\S]*?[^`])\1(?!`)|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)|\*\*([^*]+(?:\*(?!\*)[^*]*)*)\*\*|\*([^\s*][^*]*)\*|(https?:\/\/[^\s<>)]+)/;
  for (let rest = text; rest;) {
    const found = pattern.exec(rest);
    if (!found) {
      nodes.push(rest);
      break;
    }
    if (found.index) nodes.push(rest.slice(0, found.index));
    const [all, , code, label, link, bold, italic, bare] = found;
    const leads = (href, children) => element("a", {href, target: "_blank", rel: "noopener noreferrer"}, ...children);
    if (code !== undefined) nodes.push(element("code", {}, code.trim()));
    else if (link) nodes.push(leads(link, inline(label)));
    else if (bold) nodes.push(element("strong", {}, ...inline(bold)));
    else if (italic) nodes.push(element("em", {}, ...inline(italic)));
    else nodes.push(leads(bare, [bare]));
    rest = rest.slice(found.index + all.length);
  }
  return nodes;
}

function codeBlock(lines) {
  const fence = lines.shift().match(/^(```+|~~~+)\s*(\S*)/);
  const code = [];
  while (lines.length && !lines[0].startsWith(fence[1])) code.push(lines.shift());
  lines.shift(); // absent while it is written
  const text = code.join("\n");
  const copy = element("button", {type: "button", textContent: "Copy"});
  copy.addEventListener("click", () => navigator.clipboard?.writeText(text).then(() => (copy.textContent = "Copied")));
  return element("pre", {}, copy, element("code", {className: fence[2] ? "language-" + fence[2] : ""}, text));
}

function list(lines) {
  const isOrdered = /^\s*\d/.test(lines[0]);
  const made = element(isOrdered ? "ol" : "ul");
  if (isOrdered) made.start = parseInt(lines[0], 10);
  const marker = isOrdered ? /^\d+[.)] +/ : /^[-*+] +/;
  while (lines.length && marker.test(lines[0])) {
    const item = [lines.shift().replace(marker, "")];
    while (lines.length && (/^\s{2,}/.test(lines[0]) || (lines[0] === "" && /^\s{2,}/.test(lines[1] ?? ""))))
      item.push(lines.shift().replace(/^\s{1,4}/, ""));
    const children = item.length > 1 ? blocks(item) : inline(item[0]);
    made.append(element("li", {}, ...children));
    while (lines[0] === "" && marker.test(lines[1] ?? "")) lines.shift();
  }
  return made;
}

function table(lines) {
  const cells = line => line.trim().replace(/^\||\|$/g, "").split("|").map(cell => cell.trim());
  const made = element("table");
  const row = (tag, line) => made.append(element("tr", {}, ...cells(line).map(cell => element(tag, {}, ...inline(cell)))));
  row("th", lines.shift());
  lines.shift();
  while (lines.length && lines[0].startsWith("|")) row("td", lines.shift());
  return made;
}

export function blocks(lines) {
  const made = [];
  while (lines.length) {
    const line = lines[0];
    if (line.trim() === "") lines.shift();
    else if (/^(```|~~~)/.test(line)) made.push(codeBlock(lines));
    else if (/^#{1,6} /.test(line)) {
      const level = line.match(/^#+/)[0].length;
      made.push(element("h" + Math.min(level + 1, 6), {}, ...inline(lines.shift().replace(/^#+ /, ""))));
    } else if (/^([-*+]|\d+[.)]) /.test(line)) made.push(list(lines));
    else if (/^(-{3,}|\*{3,})\s*$/.test(line)) made.push((lines.shift(), element("hr")));
    else if (line.startsWith(">")) {
      const quoted = [];
      while (lines.length && lines[0].startsWith(">")) quoted.push(lines.shift().replace(/^> ?/, ""));
      made.push(element("blockquote", {}, ...blocks(quoted)));
    } else if (line.startsWith("|") && /^\|[\s:|-]+$/.test(lines[1] ?? "")) made.push(table(lines));
    else {
      const text = [lines.shift()];
      while (lines.length && lines[0].trim() !== "" && !BLOCK.test(lines[0])) text.push(lines.shift());
      made.push(element("p", {}, ...inline(text.join("\n"))));
    }
  }
  return made;
}

export const markdown = text => blocks(text.split("\n"));
