// Renders /api/openapi.json. Everything is put on the page as text, never as markup.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];
const SCHEMA_DEPTH_MAX = 4;

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

// Backticks are the only markup that descriptions use.
function prose(text) {
  return (text ?? "").split("`").map((part, index) => (index % 2 ? make("code", {}, part) : part));
}

class Api {
  constructor(document) {
    this.document = document;
  }

  resolve(schema) {
    let found = schema ?? {};
    for (let hops = 0; found.$ref && hops < 10; hops += 1) {
      const steps = found.$ref.replace("#/", "").split("/");
      found = steps.reduce((place, step) => place?.[step], this.document) ?? {};
    }
    return found;
  }

  // A schema without the "or null" that optional fields carry, and with the parts of an
  // allOf put together.
  flatten(schema) {
    let found = this.resolve(schema);
    const choices = (found.oneOf ?? found.anyOf ?? []).filter((choice) => choice.type !== "null");
    if (choices.length === 1) return this.flatten(choices[0]);
    if (found.allOf) {
      const parts = found.allOf.map((part) => this.flatten(part));
      found = {
        ...found,
        type: "object",
        properties: Object.assign({}, ...parts.map((part) => part.properties), found.properties),
        required: [...parts.flatMap((part) => part.required ?? []), ...(found.required ?? [])],
      };
    }
    return found;
  }

  kind(schema) {
    const found = this.flatten(schema);
    if (found.enum) return found.enum.map((value) => JSON.stringify(value)).join(" | ");
    const choices = (found.oneOf ?? found.anyOf ?? []).filter((choice) => choice.type !== "null");
    if (choices.length) return choices.map((choice) => this.kind(choice)).join(" | ");
    const types = [found.type ?? "any"].flat().filter((type) => type !== "null");
    if (types[0] === "array") return `${this.kind(found.items)}[]`;
    if (found.additionalProperties && !found.properties) return "map";
    return found.format ? `${types.join(" | ")} (${found.format})` : types.join(" | ");
  }

  // Rows for a table: one for each field, nested ones with their path.
  fields(schema, prefix = "", depth = 0) {
    const found = this.flatten(schema);
    if (found.type === "array" || [found.type].flat().includes("array")) {
      return this.fields(found.items, `${prefix}[]`, depth + 1);
    }
    if (!found.properties || depth > SCHEMA_DEPTH_MAX) return [];
    return Object.entries(found.properties).flatMap(([name, property]) => {
      const path = prefix ? `${prefix}.${name}` : name;
      const inner = this.flatten(property);
      const row = {
        name: path,
        needed: (found.required ?? []).includes(name),
        kind: this.kind(property),
        description: property.description ?? inner.description,
      };
      return [row, ...this.fields(property, path, depth + 1)];
    });
  }

  example(schema, depth = 0) {
    const found = this.flatten(schema);
    if (found.example !== undefined) return found.example;
    if (found.enum) return found.enum[0];
    const choices = (found.oneOf ?? found.anyOf ?? []).filter((choice) => choice.type !== "null");
    if (choices.length) return this.example(choices[0], depth);
    const type = [found.type].flat().find((each) => each !== "null");
    if (type === "array") return depth > SCHEMA_DEPTH_MAX ? [] : [this.example(found.items, depth + 1)];
    if (type === "integer" || type === "number") return Math.max(found.minimum ?? 1, 1);
    if (type === "boolean") return false;
    if (type === "string") return "…";
    if (!found.properties || depth > SCHEMA_DEPTH_MAX) return {};
    const needed = Object.entries(found.properties).filter(([name]) => (found.required ?? []).includes(name));
    return Object.fromEntries(needed.map(([name, property]) => [name, this.example(property, depth + 1)]));
  }

  calls() {
    return Object.entries(this.document.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]).map((method) => ({
        method,
        path,
        id: `${method}${path.replace(/[^A-Za-z0-9]+/g, "-")}`,
        tag: item[method].tags?.[0] ?? "other",
        operation: item[method],
        scopes: scopesOf(item[method]),
      })),
    );
  }
}

// null for a public call, else the scopes that may use it.
function scopesOf(operation) {
  const requirements = operation.security ?? [];
  if (requirements.some((requirement) => Object.keys(requirement).length === 0)) return null;
  const named = requirements.flatMap((requirement) => Object.values(requirement).flat());
  return [...new Set([...named, "admin"])];
}

function table(heads, rows) {
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}

function fieldRow({ name, needed, kind, description, place }) {
  return make(
    "tr",
    {},
    make("td", {}, make("code", {}, name), needed ? make("span", { class: "needed" }, " needed") : ""),
    make("td", {}, make("code", { class: "kind" }, kind), place ? make("span", { class: "kind" }, ` in ${place}`) : ""),
    make("td", {}, ...prose(description)),
  );
}

function curl(api, call) {
  const lines = [`curl${call.method === "get" ? "" : ` -X ${call.method.toUpperCase()}`} "${location.origin}${call.path}"`];
  if (call.scopes) lines.push(`-H "Authorization: Bearer $FORGE_TOKEN"`);
  const json = call.operation.requestBody?.content?.["application/json"];
  if (json) {
    lines.push(`-H "Content-Type: application/json"`);
    lines.push(`-d '${JSON.stringify(api.example(json.schema))}'`);
  } else if (call.operation.requestBody) {
    lines.push(`--data-binary @file`);
  }
  return lines.join(" \\\n  ");
}

function copyable(text) {
  const button = make("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      // Without https there is no clipboard: select the text instead.
      const range = document.createRange();
      range.selectNodeContents(button.previousElementSibling);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected";
    }
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1500);
  });
  return make("div", { class: "curl" }, make("pre", { tabindex: "0" }, text), button);
}

function inside(api, call) {
  const { operation } = call;
  const box = make("div", { class: "inside" });
  if (operation.description) box.append(make("p", {}, ...prose(operation.description)));
  const who = call.scopes ? `A token with one of these scopes: ${call.scopes.join(", ")}.` : "Everybody; no token is needed.";
  box.append(make("h3", {}, "Who may"), make("p", {}, who));
  if (operation.parameters?.length) {
    const rows = operation.parameters.map((parameter) =>
      fieldRow({
        name: parameter.name,
        needed: parameter.required,
        kind: api.kind(parameter.schema),
        description: parameter.description,
        place: parameter.in,
      }),
    );
    box.append(make("h3", {}, "Parameters"), table(["Name", "Kind", "Meaning"], rows));
  }
  for (const [type, content] of Object.entries(operation.requestBody?.content ?? {})) {
    box.append(make("h3", {}, `Body, ${type}`));
    const rows = api.fields(content.schema).map(fieldRow);
    box.append(rows.length ? table(["Field", "Kind", "Meaning"], rows) : make("p", {}, make("code", {}, api.kind(content.schema))));
  }
  const answers = Object.entries(operation.responses ?? {}).map(([status, response]) => {
    const content = Object.entries(response.content ?? {}).map(([type, { schema }]) => (schema ? api.kind(schema) : type));
    const name = Object.values(response.content ?? {})[0]?.schema;
    const shape = name?.$ref?.split("/").pop() ?? (name?.items?.$ref ? `${name.items.$ref.split("/").pop()}[]` : content[0]);
    return make(
      "tr",
      {},
      make("td", {}, make("code", {}, status)),
      make("td", {}, shape ? make("code", { class: "kind" }, shape) : ""),
      make("td", {}, ...prose(response.description)),
    );
  });
  box.append(make("h3", {}, "Answers"), table(["Status", "Body", "Meaning"], answers));
  const good = Object.entries(operation.responses ?? {}).find(([status]) => status.startsWith("2"));
  const schema = good?.[1].content?.["application/json"]?.schema;
  const fields = schema ? api.fields(schema) : [];
  if (fields.length) {
    box.append(make("h3", {}, `Fields of the ${good[0]} answer`), table(["Field", "Kind", "Meaning"], fields.map(fieldRow)));
  }
  box.append(make("h3", {}, "With curl"), copyable(curl(api, call)));
  return box;
}

function badge(method) {
  return make("span", { class: `method ${method}` }, method.toUpperCase());
}

function card(api, call) {
  const summary = make(
    "summary",
    {},
    badge(call.method),
    make("code", {}, call.path),
    make("span", { class: "summary" }, call.operation.summary ?? ""),
    make("span", { class: "who" }, call.scopes ? call.scopes.join(", ") : "public"),
  );
  const details = make("details", { class: "call", id: call.id }, summary);
  // Filled when it is first opened, so that a long document shows at once.
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(inside(api, call));
  });
  return details;
}

function show(api) {
  const { info, tags = [] } = api.document;
  document.title = `${info.title} API`;
  document.getElementById("title").textContent = info.title;
  document.getElementById("version").textContent = `API ${info.version}`;
  document.getElementById("description").replaceChildren(...prose(info.description));
  const calls = api.calls();
  const order = [...new Set([...tags.map((tag) => tag.name), ...calls.map((call) => call.tag)])];
  const main = document.getElementById("calls");
  const contents = document.getElementById("contents");
  const shown = [];
  for (const tag of order) {
    const own = calls.filter((call) => call.tag === tag);
    if (own.length === 0) continue;
    const described = tags.find((each) => each.name === tag)?.description;
    const group = make("section", { class: "group" }, make("h2", {}, tag), described ? make("p", {}, described) : "");
    const list = make("ul");
    const part = make("div", {}, make("h2", {}, tag), list);
    for (const call of own) {
      const element = card(api, call);
      const entry = make("li", {}, make("a", { href: `#${call.id}` }, badge(call.method), make("code", {}, call.path.replace("/api", ""))));
      const words = [call.method, call.path, call.operation.summary, call.operation.description, ...(call.scopes ?? ["public"])];
      shown.push({ element, entry, group, part, text: words.join(" ").toLowerCase() });
      group.append(element);
      list.append(entry);
    }
    main.append(group);
    contents.append(part);
  }
  return shown;
}

function filter(shown, wanted) {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const alive = new Set();
  let count = 0;
  for (const { element, entry, group, part, text } of shown) {
    const fits = words.every((word) => text.includes(word));
    element.hidden = entry.hidden = !fits;
    if (fits) {
      alive.add(group).add(part);
      count += 1;
    }
  }
  for (const { group, part } of shown) {
    group.hidden = !alive.has(group);
    part.hidden = !alive.has(part);
  }
  document.getElementById("status").textContent = words.length ? `${count} of ${shown.length} calls` : "";
}

function openFromAddress() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

async function start() {
  const status = document.getElementById("status");
  try {
    const answer = await fetch("/api/openapi.json");
    if (!answer.ok) throw new Error(`the hub answered ${answer.status}`);
    const shown = show(new Api(await answer.json()));
    status.textContent = "";
    const find = document.getElementById("find");
    find.addEventListener("input", () => filter(shown, find.value));
    addEventListener("hashchange", openFromAddress);
    openFromAddress();
  } catch (error) {
    status.textContent = `The API description could not be loaded: ${error.message}. Reload to try again.`;
  }
}

start();
