"use strict";
(() => {
  // src/address.ts
  var NOT_FILTERS = /* @__PURE__ */ new Set(["at", "set", "from"]);
  function parse(hash) {
    const text = hash.replace(/^#?\/?/, "");
    const cut2 = text.indexOf("?");
    const [name2 = "", number2 = ""] = (cut2 < 0 ? text : text.slice(0, cut2)).split("/");
    const parameters = [...new URLSearchParams(cut2 < 0 ? "" : text.slice(cut2 + 1))];
    const address = { view: "grid", sample: 0, filters: [], options: {} };
    if (name2 === "sample" && /^\d{1,15}$/.test(number2)) {
      address.view = "sample";
      address.sample = Number(number2);
    } else if (name2 === "batch" || name2 === "compare" || name2 === "about") {
      address.view = name2;
    }
    const filtered = address.view === "grid" || address.view === "sample";
    for (const [key2, value] of parameters) {
      if (!filtered || NOT_FILTERS.has(key2)) address.options[key2] = value;
      else if (value !== "") address.filters.push([key2, value]);
    }
    return address;
  }
  function format(address) {
    const path = {
      grid: "",
      sample: `sample/${address.sample}`,
      batch: "batch",
      compare: "compare",
      about: "about"
    }[address.view];
    return `#/${path}${query(address.filters, address.options)}`;
  }
  function query(filters, more = {}) {
    const pairs = [...filters, ...Object.entries(more)];
    const escaped = pairs.map(
      ([name2, value]) => `${encodeURIComponent(name2)}=${encodeURIComponent(value)}`
    );
    return escaped.length === 0 ? "" : `?${escaped.join("&")}`;
  }
  function setOf(second) {
    return second ? { set: "b" } : {};
  }
  function isSecond(address) {
    return address.options.set === "b";
  }
  function grid(filters, at, second = false) {
    const options = setOf(second);
    if (at !== void 0) options.at = String(at);
    return { view: "grid", sample: 0, filters: [...filters], options };
  }
  function sample(index, filters = [], second = false) {
    return { view: "sample", sample: index, filters: [...filters], options: setOf(second) };
  }
  function values(filters, name2) {
    return filters.filter(([key2]) => key2 === name2).map(([, value]) => value);
  }
  function without(filters, name2, value) {
    return filters.filter(([key2, its]) => key2 !== name2 || value !== void 0 && its !== value);
  }
  function toggled(filters, name2, value) {
    const rest = without(filters, name2, value);
    return rest.length < filters.length ? rest : [...filters, [name2, value]];
  }
  function whole(text) {
    return text !== void 0 && /^\d{1,15}$/.test(text) ? Number(text) : null;
  }
  function range(text) {
    const [from = "", to = ""] = text.split("..");
    const end = (part2) => part2 === "" || !Number.isFinite(Number(part2)) ? null : Number(part2);
    return [end(from), end(to)];
  }

  // src/dom.ts
  var SVG = "http://www.w3.org/2000/svg";
  function h(tag, props, ...children) {
    const element = document.createElement(tag);
    set(element, props ?? null);
    add(element, children);
    return element;
  }
  function s(tag, props, ...children) {
    const element = document.createElementNS(SVG, tag);
    set(element, props ?? null);
    add(element, children);
    return element;
  }
  function set(element, props) {
    for (const [name2, value] of Object.entries(props ?? {})) {
      if (name2.startsWith("on")) {
        element.addEventListener(name2.slice(2), value);
      } else if (value === null || value === void 0 || value === false) {
        element.removeAttribute(name2);
      } else {
        element.setAttribute(name2, value === true ? "" : String(value));
      }
    }
  }
  function add(element, children) {
    for (const child of children) {
      if (child !== null && child !== void 0 && child !== false) {
        element.append(child instanceof Node ? child : String(child));
      }
    }
  }
  function longText(label, text, className = "") {
    return h(
      "pre",
      { class: className || null, role: "group", tabindex: "0", "aria-label": label },
      text
    );
  }
  function fill(element, ...children) {
    element.replaceChildren();
    add(element, children);
  }
  function say(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }
  function failure(what, error, retry2) {
    return h(
      "div",
      { class: "failure", role: "alert" },
      h("strong", null, what),
      h("p", null, error instanceof Error ? error.message : String(error)),
      retry2 && h("button", { type: "button", onclick: retry2 }, "Try again")
    );
  }

  // src/format.ts
  var WHOLE = new Intl.NumberFormat("en");
  var ROUNDED = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  function count(n) {
    return WHOLE.format(n);
  }
  function number(value) {
    return Number.isInteger(value) ? WHOLE.format(value) : ROUNDED.format(value);
  }
  function bytes(n) {
    if (n < 1024) return `${n} B`;
    const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let value = n / 1024;
    let unit = 0;
    while (value >= 1024 && unit < units.length - 1) {
      value /= 1024;
      unit += 1;
    }
    return `${value.toFixed(2)} ${units[unit]}`;
  }
  var JSON_WIDTH = 32;
  function compact(value, indent = "") {
    const line = flat(value);
    if (indent.length + line.length <= JSON_WIDTH || !isTree(value)) return line;
    const inner = `${indent}  `;
    if (!Array.isArray(value)) {
      const parts = Object.entries(value).map(([name2, item]) => {
        const key2 = `${inner}${JSON.stringify(name2)}: `;
        const rest = flat(item);
        const fits2 = key2.length + rest.length <= JSON_WIDTH;
        return key2 + (fits2 ? rest : compact(item, inner));
      });
      return `{
${parts.join(",\n")}
${indent}}`;
    }
    const lines = [];
    for (const item of value) {
      const text = compact(item, inner);
      const last = lines.at(-1);
      const joined = `${last}, ${text}`;
      if (last !== void 0 && !isTree(item) && joined.length < JSON_WIDTH)
        lines[lines.length - 1] = joined;
      else lines.push(inner + text);
    }
    return `[
${lines.join(",\n")}
${indent}]`;
  }
  function isTree(value) {
    return typeof value === "object" && value !== null;
  }
  function flat(value) {
    if (Array.isArray(value)) return `[${value.map(flat).join(", ")}]`;
    if (!isTree(value)) return JSON.stringify(value) ?? "";
    const parts = Object.entries(value).map(
      ([name2, item]) => `${JSON.stringify(name2)}: ${flat(item)}`
    );
    return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
  }
  function plural(n, one, many = `${one}s`) {
    return `${count(n)} ${n === 1 ? one : many}`;
  }
  function tail(key2) {
    return key2.slice(key2.lastIndexOf("/") + 1) || key2;
  }
  function short(value) {
    if (typeof value === "number") return number(value);
    if (typeof value === "string") return value;
    return JSON.stringify(value) ?? "";
  }

  // src/server.ts
  var Refused = class extends Error {
    constructor(status, message) {
      super(message);
      this.status = status;
    }
    status;
  };
  var Lost = class extends Error {
    constructor() {
      super("The server does not answer.");
    }
  };
  var lost = false;
  var listeners = /* @__PURE__ */ new Set();
  function onLost(listener) {
    listeners.add(listener);
  }
  function setLost(now) {
    if (lost === now) return;
    lost = now;
    for (const listener of listeners) listener(now);
  }
  function isAbort(error) {
    return error instanceof DOMException && error.name === "AbortError";
  }
  function isQuiet(error) {
    return isAbort(error) || error instanceof Lost;
  }
  async function answer(path, signal) {
    let response;
    try {
      response = await fetch(path, signal ? { signal } : {});
    } catch (error) {
      if (isAbort(error)) throw error;
      setLost(true);
      throw new Lost();
    }
    setLost(false);
    if (response.ok) return response;
    throw new Refused(response.status, await cause(response));
  }
  async function cause(response) {
    if (response.status === 403) {
      return "The address is not of this run of the server. Open the one that fdconvert view printed last.";
    }
    try {
      const said = await response.json();
      if (typeof said === "object" && said !== null && "error" in said) return String(said.error);
    } catch {
    }
    return `The server answers ${response.status} ${response.statusText}`;
  }
  async function whole2(read) {
    try {
      return await read;
    } catch (error) {
      if (error instanceof TypeError) {
        setLost(true);
        throw new Lost();
      }
      throw error;
    }
  }
  async function ask(path, signal) {
    return whole2((await answer(path, signal)).json());
  }
  async function askBytes(path, signal) {
    return whole2((await answer(path, signal)).blob());
  }
  async function poll(everyMs, signal, once) {
    while (!signal.aborted) {
      try {
        if (await once()) return;
      } catch (error) {
        if (isAbort(error)) return;
        if (!(error instanceof Lost)) throw error;
      }
      await new Promise((wake) => setTimeout(wake, everyMs));
    }
  }

  // src/damage.ts
  var POLL_MS = 700;
  var begun = false;
  var DamageCheck = class {
    start = h("button", { type: "button" }, "Check all checksums");
    bar = h("progress", { "aria-label": "Samples checked", hidden: true });
    said = h("p", { role: "status" });
    list = h("div");
    root = h("div", { class: "damage" }, this.start, this.bar, this.said, this.list);
    polling = new AbortController();
    listed = -1;
    constructor(dataset) {
      if (!dataset.checksums) {
        this.start.disabled = true;
        say(this.said, "The dataset holds no checksums, so that damage cannot be seen.");
        return;
      }
      this.start.addEventListener("click", () => this.begin());
      if (begun) this.begin();
    }
    retry() {
      if (begun) this.begin();
    }
    stop() {
      this.polling.abort();
    }
    begin() {
      begun = true;
      this.start.disabled = true;
      this.bar.hidden = false;
      this.polling.abort();
      const { signal } = this.polling = new AbortController();
      poll(POLL_MS, signal, async () => {
        const answer2 = await ask("api/damage", signal);
        this.show(answer2);
        return answer2.checked >= answer2.samples;
      }).catch((error) => {
        if (isAbort(error)) return;
        this.start.disabled = false;
        fill(
          this.list,
          failure("The check cannot be made", error, () => this.begin())
        );
      });
    }
    show({ checked, samples, found: n, damaged }) {
      const done = checked >= samples;
      this.bar.max = Math.max(1, samples);
      this.bar.value = checked;
      this.bar.hidden = done;
      const total = n ?? damaged.length;
      const first = total > damaged.length ? `, of which the first ${count(damaged.length)} are listed` : "";
      const found = total === 0 ? "none damaged" : `${plural(total, "sample")} damaged${first}`;
      this.said.setAttribute("aria-live", done ? "polite" : "off");
      say(
        this.said,
        done ? `${plural(samples, "sample")} checked, ${found}.` : `${count(checked)} of ${count(samples)} checked, ${found} so far.`
      );
      if (damaged.length === this.listed) return;
      this.listed = damaged.length;
      const items = damaged.map(
        ({ sample: sample2, key: key2, cause: cause2 }) => h(
          "li",
          null,
          h(
            "a",
            { href: format(sample(sample2)) },
            `#${count(sample2)} ${key2}`
          ),
          " ",
          h("span", { class: "muted" }, cause2)
        )
      );
      const all = h(
        "a",
        { href: format(grid([["damaged", "1"]])) },
        "Show them in the grid"
      );
      fill(
        this.list,
        items.length > 0 && all,
        items.length > 0 && h("ul", { class: "plain-list" }, ...items)
      );
    }
  };

  // src/where.ts
  function quoted(text) {
    return `"${text.replace(/[\\"]/g, "\\$&")}"`;
  }
  function unquoted(value) {
    return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/gs, "$1") : value;
  }
  function expression(filters) {
    const names = [...new Set(filters.map(([name2]) => name2))];
    const parts = names.map((name2) => part(name2, values(filters, name2)));
    return parts.filter((text) => text !== "").join(" && ");
  }
  function asked(filters) {
    const text = expression(filters);
    const where = text === "" ? [] : [["where", text]];
    return [...where, ...filters.filter(([name2]) => name2 === "damaged")];
  }
  function part(name2, chosen) {
    const last = chosen.at(-1) ?? "";
    if (name2 === "damaged") return "";
    const property = /^any\((\w+)\)$/.exec(name2)?.[1];
    if (property !== void 0) return `any(${part(property, chosen)})`;
    if (name2 === "key") return `key contains ${quoted(last)}`;
    if (!last.startsWith('"') && last.includes("..")) {
      const [from, to] = range(last);
      const ends = [from !== null && `${name2} >= ${from}`, to !== null && `${name2} <= ${to}`];
      return ends.filter((end) => end !== false).join(" && ");
    }
    return chosen.length === 1 ? `${name2} == ${last}` : `${name2} in [${chosen.join(", ")}]`;
  }

  // src/about.ts
  var MAX_NAMES = 5e3;
  var AboutView = class {
    root;
    title;
    damage;
    constructor(app) {
      const { dataset } = app;
      this.title = `About · ${dataset.name}`;
      this.damage = new DamageCheck(dataset);
      this.root = h(
        "div",
        { class: "about" },
        h("h1", { tabindex: "-1" }, dataset.name),
        section("Dataset", summary(dataset)),
        section("Fields", schema(dataset.schema)),
        dataset.splits.length > 0 && section("Splits", splits(dataset)),
        section("Damage", this.damage.root),
        Object.keys(dataset.details).length > 0 && section("Details", tree(dataset.details)),
        section(
          "Provenance",
          dataset.provenance === null ? h("p", { class: "muted" }, "None is recorded.") : tree(dataset.provenance)
        )
      );
    }
    show(to) {
      return to.view === "about";
    }
    retry() {
      this.damage.retry();
    }
    stop() {
      this.damage.stop();
    }
  };
  function section(title, ...children) {
    return h("section", null, h("h2", null, title), ...children);
  }
  function summary(dataset) {
    const facts = [
      ["Path", dataset.path],
      ["Format", dataset.format],
      ["Samples", count(dataset.samples)],
      ["Checksums", dataset.checksums ? "of every sample" : "none"],
      ["fdconvert", dataset.version]
    ];
    if (dataset.second !== null)
      facts.push([
        "Compared with",
        `${dataset.second.path} (${plural(dataset.second.samples, "sample")})`
      ]);
    return h(
      "dl",
      null,
      ...facts.flatMap(([name2, value]) => [h("dt", null, name2), h("dd", null, value)])
    );
  }
  function schema(fields) {
    const classes2 = ({ name: name2, classes: classes3 }) => {
      if (!Array.isArray(classes3) || classes3.length === 0) return "";
      const root = h(
        "details",
        null,
        h("summary", null, plural(classes3.length, "class", "classes"))
      );
      root.addEventListener("toggle", () => {
        if (!root.open || root.childElementCount > 1) return;
        const names = classes3.slice(0, MAX_NAMES).map((text, label) => `${label}: ${text}`);
        if (classes3.length > MAX_NAMES)
          names.push(`and ${count(classes3.length - MAX_NAMES)} more`);
        root.append(longText(`Classes of ${name2}`, names.join("\n")));
      });
      return root;
    };
    const rows = fields.map(
      (field) => h(
        "tr",
        null,
        h("th", { scope: "row" }, field.name),
        h("td", null, field.kind),
        h("td", null, classes2(field))
      )
    );
    return table(["Field", "Kind", "Classes"], rows);
  }
  function splits(dataset) {
    const rows = dataset.splits.map(
      ({ name: name2, samples }) => h(
        "tr",
        null,
        h(
          "th",
          { scope: "row" },
          h("a", { href: format(grid([["split", quoted(name2)]])) }, name2)
        ),
        h("td", { class: "n" }, count(samples))
      )
    );
    return table(["Split", "Samples"], rows);
  }
  function table(heads, rows) {
    const head = h("tr", null, ...heads.map((text) => h("th", { scope: "col" }, text)));
    return h(
      "div",
      { class: "wide", tabindex: "0", role: "group", "aria-label": heads.join(", ") },
      h("table", null, h("thead", null, head), h("tbody", null, ...rows))
    );
  }
  function tree(value, depth = 0) {
    if (Array.isArray(value) && value.some((item) => typeof item === "object" && item !== null)) {
      return h(
        "ol",
        { class: "tree" },
        ...value.map((item) => h("li", null, tree(item, depth + 1)))
      );
    }
    if (Array.isArray(value)) return h("span", null, value.map(short).join(", "));
    if (typeof value !== "object" || value === null) return h("span", null, short(value));
    if (depth > 6) return h("code", null, JSON.stringify(value));
    const parts = Object.entries(value).flatMap(([name2, item]) => [
      h("dt", null, name2),
      h("dd", null, tree(item, depth + 1))
    ]);
    return h("dl", { class: "tree" }, ...parts);
  }

  // src/pages.ts
  var PAGES_KEPT = 60;
  var Pages = class {
    /** `size` are the rows of a page. */
    constructor(size) {
      this.size = size;
    }
    size;
    /** How many rows there are, as far as is known. */
    total = null;
    error = null;
    pages = /* @__PURE__ */ new Map();
    asked = /* @__PURE__ */ new Map();
    listeners = /* @__PURE__ */ new Set();
    wanted = [0, 0];
    onChange(listener) {
      this.listeners.add(listener);
      return () => this.listeners.delete(listener);
    }
    row(index) {
      return this.pages.get(Math.floor(index / this.size))?.rows[index % this.size] ?? null;
    }
    /** Fetches the rows of a range of places, and breaks off what was fetched for others. */
    want(first, end) {
      this.wanted = [first, end];
      const firstPage = Math.floor(first / this.size);
      const lastPage = Math.floor(Math.max(first, end - 1) / this.size);
      for (const [page2, request] of this.asked) {
        if (page2 < firstPage || page2 > lastPage) {
          request.abort();
          this.asked.delete(page2);
        }
      }
      for (let page2 = firstPage; page2 <= lastPage; page2 += 1) {
        const known = this.pages.get(page2);
        if ((known === void 0 || known.stale) && !this.asked.has(page2))
          void this.fetch(page2);
      }
    }
    /** Looks once more for what may have been found since. */
    refresh() {
      for (const page3 of this.pages.values()) {
        if (page3.rows.length < this.size) page3.stale = true;
      }
      const page2 = this.pages.get(Math.floor(this.wanted[0] / this.size));
      if (page2 !== void 0) page2.stale = true;
      this.want(...this.wanted);
    }
    retry() {
      this.error = null;
      this.want(...this.wanted);
    }
    /** The row at a place, waited for; null behind the last. */
    async find(index, signal) {
      const known = this.row(index);
      if (known !== null) return known;
      if (index < 0 || this.total !== null && index >= this.total) return null;
      return (await this.request(index, 1, signal))[0] ?? null;
    }
    stop() {
      for (const request of this.asked.values()) request.abort();
      this.asked.clear();
      this.listeners.clear();
    }
    async fetch(page2) {
      const request = new AbortController();
      this.asked.set(page2, request);
      try {
        this.keep(page2, await this.request(page2 * this.size, this.size, request.signal));
        this.error = null;
      } catch (error) {
        if (isAbort(error)) return;
        if (!(error instanceof Lost)) this.error = error;
      } finally {
        if (this.asked.get(page2) === request) this.asked.delete(page2);
      }
      for (const listener of this.listeners) listener();
    }
    keep(page2, rows) {
      this.pages.delete(page2);
      this.pages.set(page2, { rows, stale: false });
      for (const oldest of this.pages.keys()) {
        if (this.pages.size <= PAGES_KEPT) break;
        this.pages.delete(oldest);
      }
    }
  };

  // src/selection.ts
  var PAGE = 200;
  var Selection = class extends Pages {
    constructor(filters, samples, second) {
      super(PAGE);
      this.filters = filters;
      this.samples = samples;
      this.second = second;
      this.total = filters.length === 0 ? samples : null;
    }
    filters;
    samples;
    second;
    scanned = 0;
    get growing() {
      return this.filters.length > 0 && this.scanned < this.samples;
    }
    /** The sample at a place; known without asking where nothing is filtered. */
    sampleAt(index) {
      if (this.filters.length === 0) return index < this.samples ? index : null;
      return this.row(index)?.sample ?? null;
    }
    /** The place of a sample, or null where the filters leave it out. */
    async position(sample2, signal) {
      if (this.filters.length === 0) return sample2 < this.samples ? sample2 : null;
      const path = `api/position${query(asked(this.filters), { sample: sample2, ...setOf(this.second) })}`;
      return (await ask(path, signal)).position;
    }
    async request(start2, count2, signal) {
      const more = { start: start2, count: count2, ...setOf(this.second) };
      const answer2 = await ask(`api/samples${query(asked(this.filters), more)}`, signal);
      this.total = answer2.total;
      this.scanned = answer2.scanned;
      return answer2.samples;
    }
  };

  // src/app.ts
  var App = class {
    constructor(dataset, second, shared) {
      this.dataset = dataset;
      this.second = second;
      this.shared = shared;
    }
    dataset;
    second;
    shared;
    last = null;
    lastFilters = "";
    /** The parameters of a request about this dataset. */
    query(filters, more = {}) {
      return query(asked(filters), { ...more, ...setOf(this.second) });
    }
    /** The address of its grid. */
    grid(filters, at) {
      return grid(filters, at, this.second);
    }
    /** The selection of these filters; the last one is kept for the way back from a sample. */
    selection(filters) {
      const text = query(filters);
      if (this.last === null || this.lastFilters !== text) {
        this.last?.stop();
        this.last = new Selection(filters, this.dataset.samples, this.second);
        this.lastFilters = text;
      }
      return this.last;
    }
    /** The name of a class, or its number where it has none. */
    className(label) {
      return this.classes()[label] ?? String(label);
    }
    classes() {
      const field = this.dataset.schema[this.dataset.label ?? -1];
      return Array.isArray(field?.classes) ? field.classes : [];
    }
    /** A filter as people read it. */
    filterText([name2, value]) {
      return name2 === "damaged" ? name2 : expression([[name2, value]]);
    }
  };

  // src/palette.ts
  var GOLDEN_ANGLE = 137.508;
  function colour(label) {
    const hue = ((label ?? 0) * GOLDEN_ANGLE + 205) % 360;
    const [red, green, blue] = rgb(hue, 0.85, 0.6);
    const light = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    return { fill: `hsl(${hue.toFixed(1)} 85% 60%)`, text: light > 0.179 ? "#000" : "#fff" };
  }
  function rgb(hue, saturation, lightness) {
    const reach = saturation * Math.min(lightness, 1 - lightness);
    const channel = (n) => {
      const k = (n + hue / 30) % 12;
      return lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    };
    return [channel(0), channel(8), channel(4)];
  }
  function linear(channel) {
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  }

  // src/overlay.ts
  var KINDS = ["boxes", "polygons", "keypoints", "masks", "names"];
  var MAX_NAMES2 = 200;
  function overlay(objects, masks) {
    const root = drawing(objects, masks);
    return {
      root,
      controls: controls(root, objects.items, masks.length > 0),
      toggle: () => root.classList.toggle("off")
    };
  }
  function drawing(objects, masks) {
    const [width, height] = objects.size;
    const picture = s("svg", {
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true"
    });
    const names = h("div", { class: "names", "aria-hidden": "true" });
    const root = h("div", { class: "overlay" }, picture, names);
    for (const mask of masks) picture.append(maskImage(mask, objects.size));
    const items = [...objects.items].sort((a, b) => area(b) - area(a));
    for (const item of items) picture.append(shape(item, objects.size));
    for (const item of items.slice(-MAX_NAMES2)) {
      const its = name(item, objects.size);
      if (its !== null) names.append(its);
    }
    return root;
  }
  function outlines({ size: [width, height], items }) {
    const picture = s("svg", { viewBox: `0 0 ${width} ${height}`, fill: "none" });
    for (const { box, class: label } of [...items].sort((a, b) => area(b) - area(a))) {
      if (!box) continue;
      const at = { ...corners(box), "vector-effect": "non-scaling-stroke" };
      picture.append(
        s("rect", { ...at, stroke: "#000b", "stroke-width": 3 }),
        s("rect", { ...at, stroke: colour(label).fill, "stroke-width": 1.5 })
      );
    }
    return new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" });
  }
  function area(item) {
    if (!item.box) return Infinity;
    const { width, height } = corners(item.box);
    return width * height;
  }
  function corners([x0, y0, x1, y1]) {
    return {
      x: Math.min(x0, x1),
      y: Math.min(y0, y1),
      width: Math.abs(x1 - x0),
      height: Math.abs(y1 - y0)
    };
  }
  function maskImage(url, [width, height]) {
    return s("image", { class: "masks", href: url, width, height, preserveAspectRatio: "none" });
  }
  function shape(item, size) {
    const group = s("g", { "data-class": item.class ?? "" });
    group.style.setProperty("--class", colour(item.class).fill);
    if (item.mask) group.append(maskImage(item.mask, size));
    for (const polygon of item.polygons ?? []) {
      group.append(...edged("polygon", "polygons", { points: polygon.join(" ") }));
    }
    if (item.box) group.append(...edged("rect", "boxes", corners(item.box)));
    for (const [x, y, visible] of item.keypoints ?? []) {
      if (visible > 0)
        group.append(
          ...edged("path", visible > 1 ? "keypoints" : "keypoints covered", {
            d: `M${x} ${y}h0.001`
          })
        );
    }
    return group;
  }
  function edged(tag, kind, at) {
    return [s(tag, { class: `edge ${kind}`, ...at }), s(tag, { class: kind, ...at })];
  }
  function name(item, [width, height]) {
    const first = item.polygons?.[0];
    const x = item.box?.[0] ?? first?.[0];
    const y = item.box?.[1] ?? first?.[1];
    if (x === void 0 || y === void 0) return null;
    const its = h(
      "span",
      { "data-class": item.class ?? "" },
      item.name ?? (item.class === null ? "" : `class ${item.class}`)
    );
    const { fill: fill2, text } = colour(item.class);
    its.style.left = `${Math.max(0, x / width * 100)}%`;
    its.style.top = `${Math.max(0, y / height * 100)}%`;
    its.style.background = fill2;
    its.style.color = text;
    return its;
  }
  function controls(root, items, fieldMasks, named = true) {
    const have = {
      boxes: items.some((item) => item.box),
      polygons: items.some((item) => item.polygons?.length),
      keypoints: items.some((item) => item.keypoints?.length),
      masks: fieldMasks || items.some((item) => item.mask),
      names: items.length > 0
    };
    const kinds = KINDS.filter((kind) => have[kind]).map((kind) => {
      const show2 = (on2) => root.classList.toggle(`no-${kind}`, !on2);
      const on = kind !== "names" || named;
      show2(on);
      return check(kind, show2, void 0, on);
    });
    return h(
      "div",
      { class: "controls" },
      h("div", { class: "checks", role: "group", "aria-label": "What is drawn" }, ...kinds),
      h(
        "div",
        { class: "checks", role: "group", "aria-label": "Classes" },
        ...classes(root, items)
      )
    );
  }
  function classes(root, items) {
    const found = /* @__PURE__ */ new Map();
    for (const item of items) {
      const known = found.get(item.class) ?? {
        name: item.name ?? `class ${item.class ?? "unknown"}`,
        n: 0
      };
      known.n += 1;
      found.set(item.class, known);
    }
    return [...found].map(([label, { name: name2, n }]) => {
      const toggle = (on) => {
        for (const element of root.querySelectorAll("[data-class]")) {
          if (element.getAttribute("data-class") === String(label ?? ""))
            element.classList.toggle("hidden", !on);
        }
      };
      const swatch = h("span", { class: "swatch" });
      swatch.style.background = colour(label).fill;
      return check(`${name2} (${count(n)})`, toggle, swatch);
    });
  }
  function check(text, toggle, swatch, checked = true) {
    const box = h("input", { type: "checkbox", checked });
    box.addEventListener("change", () => toggle(box.checked));
    return h("label", { class: "check" }, box, swatch, text);
  }

  // src/batch.ts
  var CHOICES = [
    { name: "step", title: "Step", value: "0", most: 1e9 },
    { name: "epoch", title: "Epoch", value: "0", most: 1e9 },
    { name: "seed", title: "Seed", value: "0", most: 1e15 },
    { name: "rows", title: "Rows", value: "16", least: 1, most: 64 },
    { name: "views", title: "Views", value: "1", least: 1, most: 64 }
  ];
  var CUT = '{"RandomResizedCrop": {"size": [224, 224]}}';
  var FLIP = '{"RandomHorizontalFlip": {}}';
  var LISTS = [
    ["Training", list(CUT, FLIP)],
    ["Evaluation", list('{"Resize": {"size": 256}}', '{"CenterCrop": {"size": [224, 224]}}')],
    ["Letterbox", list('{"Letterbox": {"size": [224, 224]}}')],
    ["AutoAugment", list(CUT, FLIP, '{"AutoAugment": {}}')],
    ["RandAugment", list(CUT, FLIP, '{"RandAugment": {}}')],
    ["TrivialAugment", list(CUT, FLIP, '{"TrivialAugmentWide": {}}')]
  ];
  var DEFAULT = LISTS[0]?.[1] ?? "";
  function list(...transforms) {
    return `[
${transforms.map((transform) => `  ${transform}`).join(",\n")}
]`;
  }
  function code(transform) {
    return Object.entries(transform).map(([name2, its]) => {
      const given = Object.entries(its).filter(([, value]) => value !== null);
      const text = (key2, value) => key2 === "transforms" ? `[${value.map(code).join(", ")}]` : JSON.stringify(value).replaceAll(",", ", ");
      return `${name2}(${given.map(([key2, value]) => `${key2}=${text(key2, value)}`).join(", ")})`;
    }).join(", ");
  }
  var BatchView = class {
    constructor(app, to) {
      this.app = app;
      this.title = `Batch · ${app.dataset.name}`;
      const form = h(
        "form",
        {
          class: "batch-form",
          "aria-label": "How the batch is made",
          onsubmit: (event) => event.preventDefault()
        },
        ...CHOICES.map((choice) => this.control(choice)),
        h("label", { class: "field" }, h("span", null, "Usual lists"), this.usual),
        h(
          "label",
          { class: "field list" },
          h("span", null, "Transforms, by their names in torchvision.transforms.v2"),
          this.text
        ),
        h(
          "div",
          { class: "line steps" },
          this.stepper("‹ Previous step", -1),
          this.stepper("Next step ›", 1)
        )
      );
      this.usual.addEventListener("change", () => {
        const [, text] = LISTS.find(([title]) => title === this.usual.value) ?? [];
        if (text !== void 0) this.text.value = text;
      });
      form.addEventListener("change", () => this.go());
      this.root = h(
        "div",
        { class: "batch-view" },
        h("h1", { tabindex: "-1" }, "What a batch looks like"),
        form,
        this.problem,
        this.applied,
        this.under,
        this.result
      );
      this.use(to);
    }
    app;
    title;
    inputs = /* @__PURE__ */ new Map();
    text = h("textarea", {
      name: "transform",
      rows: 4,
      spellcheck: "false",
      required: true
    });
    usual = h(
      "select",
      { name: "list" },
      ...LISTS.map(([title]) => h("option", { value: title }, title)),
      h("option", { value: "", disabled: true }, "As written")
    );
    result = h("div", {
      class: "batch",
      role: "list",
      "aria-label": "Rows of the batch"
    });
    problem = h("div");
    applied = h("ol", { class: "applied", "aria-label": "Transforms" });
    root;
    asking = new AbortController();
    /** Switches for what is drawn over the images. */
    under = h("div", { class: "drawn" });
    blob = "";
    masks = "";
    show(to) {
      if (to.view !== "batch") return false;
      this.use(to);
      return true;
    }
    retry() {
      void this.load();
    }
    stop() {
      this.asking.abort();
      this.forget();
    }
    control({ name: name2, title, value, least, most }) {
      const input = h("input", {
        name: name2,
        type: "number",
        min: least ?? 0,
        max: most,
        step: 1,
        required: true
      });
      input.value = value;
      this.inputs.set(name2, input);
      return h("label", { class: "field" }, h("span", null, title), input);
    }
    stepper(text, by) {
      const step = () => {
        const input = this.inputs.get("step");
        if (!input) return;
        input.value = String(Math.max(0, Number(input.value) + by));
        this.go();
      };
      return h("button", { type: "button", onclick: step }, text);
    }
    use(to) {
      for (const { name: name2, value } of CHOICES) {
        const input = this.inputs.get(name2);
        const wanted = to.options[name2] ?? value;
        if (input) input.value = whole(wanted) === null ? value : wanted;
      }
      this.text.value = to.options.transform ?? DEFAULT;
      const [title] = LISTS.find(([, text]) => text === this.text.value) ?? [""];
      this.usual.value = title;
      void this.load();
    }
    chosen() {
      const numbers2 = CHOICES.map(({ name: name2 }) => [name2, this.inputs.get(name2)?.value ?? ""]);
      return { ...Object.fromEntries(numbers2), transform: this.text.value };
    }
    go() {
      for (const input of [...this.inputs.values(), this.text]) {
        if (!input.reportValidity()) return;
      }
      const usual = new Map(CHOICES.map(({ name: name2, value }) => [name2, value]));
      usual.set("transform", DEFAULT);
      const changed = Object.entries(this.chosen()).filter(
        ([name2, value]) => usual.get(name2) !== value
      );
      const options = Object.fromEntries(changed);
      this.app.shared.go({ view: "batch", sample: 0, filters: [], options });
    }
    async load() {
      this.asking.abort();
      const { signal } = this.asking = new AbortController();
      const parameters = query([], this.chosen());
      this.result.setAttribute("aria-busy", "true");
      try {
        const [batch, picture] = await Promise.all([
          ask(`api/batch${parameters}`, signal),
          askBytes(`batch.png${parameters}`, signal)
        ]);
        if (signal.aborted) return;
        const masks = batch.masks ? await askBytes(`batch-masks.png${parameters}`, signal) : null;
        if (signal.aborted) return;
        this.forget();
        this.blob = URL.createObjectURL(picture);
        this.masks = masks === null ? "" : URL.createObjectURL(masks);
        fill(this.problem);
        const last = this.inputs.get("step");
        if (batch.steps !== void 0 && last)
          last.max = String(Math.max(0, batch.steps - 1));
        fill(this.applied, ...batch.transform.map((its) => h("li", null, code(its))));
        fill(this.result, ...batch.rows.map((_, at) => this.tile(batch, at)));
        this.result.style.setProperty("--views", String(batch.views));
        this.result.style.setProperty("--tile", `${tileSide(batch)}px`);
        this.switches(batch);
      } catch (error) {
        if (isQuiet(error)) return;
        fill(this.applied);
        fill(this.under);
        fill(this.result);
        fill(
          this.problem,
          failure("The batch cannot be made", error, () => void this.load())
        );
      } finally {
        if (!signal.aborted) this.result.removeAttribute("aria-busy");
      }
    }
    forget() {
      URL.revokeObjectURL(this.blob);
      URL.revokeObjectURL(this.masks);
    }
    switches({ rows, masks = false }) {
      const items = rows.flatMap(({ objects }) => objects?.flat() ?? []);
      const some = masks || items.length > 0;
      fill(this.under, some && controls(this.result, items, masks, false));
    }
    /** A row: its views beside each other. The picture has all of them below each other. */
    tile({ rows, views, width, height }, at) {
      const row = rows[at];
      if (row === void 0) return h("div");
      const name2 = row.label === null ? "" : this.app.className(row.label);
      const images = rows.length * views;
      const pictures = Array.from({ length: views }, (_, view) => {
        const place = at * views + view;
        const cut2 = (name3, url) => {
          const picture2 = h("span", { class: name3 });
          picture2.style.backgroundImage = `url("${url}")`;
          picture2.style.backgroundSize = `100% ${images * 100}%`;
          const down = images > 1 ? place / (images - 1) * 100 : 0;
          picture2.style.backgroundPosition = `0 ${down}%`;
          return picture2;
        };
        const picture = cut2("crop", this.blob);
        picture.style.maxWidth = `${width}px`;
        picture.style.aspectRatio = `${width} / ${height}`;
        const items = row.objects?.[view];
        if (items !== void 0 || this.masks !== "") {
          const over = drawing({ size: [width, height], items: items ?? [] }, []);
          if (this.masks !== "") over.prepend(cut2("masks", this.masks));
          picture.append(over);
        }
        return picture;
      });
      const lines = [row.failed ? "failed" : name2 || `#${count(row.sample)}`, tail(row.key)];
      const caption = h("span", { class: "caption" }, lines.join("\n"));
      const link = {
        href: format(sample(row.sample)),
        title: row.key,
        "aria-label": `Row ${at}: ${lines.join(" ")}`
      };
      const all = h("span", { class: "views" }, ...pictures);
      return h("div", { role: "listitem" }, h("a", link, all, caption));
    }
  };
  function tileSide({ rows, views }) {
    const images = rows.length * views;
    return images <= 8 ? 224 : images <= 16 ? 176 : 136;
  }

  // src/pairs.ts
  var SIDE = 384;
  function pairRow(pair) {
    const state = pair.same ? "the same" : pair.a === null ? "only in B" : pair.b === null ? "only in A" : "changed";
    return h(
      "div",
      { class: "pair", role: "listitem" },
      h(
        "div",
        { class: "pair-head" },
        h("span", { class: `state ${state.replaceAll(" ", "-")}` }, state),
        h("span", { class: "key" }, pair.key)
      ),
      h("div", { class: "images" }, side("A", pair.a, false), side("B", pair.b, true))
    );
  }
  function side(letter, sample2, second) {
    if (sample2 === null) return h("div", { class: `none ${letter}` }, `not in ${letter}`);
    const to = sample(sample2, [], second);
    const image = h("img", {
      src: `image/${sample2}?side=${SIDE}${second ? "&set=b" : ""}`,
      loading: "lazy",
      alt: ""
    });
    const link = {
      class: letter,
      href: format({ ...to, options: { ...to.options, from: "compare" } }),
      "aria-label": `${letter} #${count(sample2)}`
    };
    const its = h("a", link, image, h("span", { class: "letter" }, `${letter} #${count(sample2)}`));
    image.addEventListener(
      "error",
      () => image.replaceWith(h("span", { class: "none" }, "cannot be shown; open it for the cause"))
    );
    return its;
  }

  // src/scroll.ts
  var CAP = 8e6;
  var REST_MS = 160;
  var Scroll = class {
    constructor(scroller, canvas, moved) {
      this.scroller = scroller;
      this.canvas = canvas;
      this.moved = moved;
      scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
      scroller.addEventListener("pointerdown", (event) => {
        this.dragging = event.target === scroller && event.offsetX >= scroller.clientWidth;
      });
      for (const other of ["wheel", "touchstart", "keydown"]) {
        scroller.addEventListener(other, () => this.dragging = false, { passive: true });
      }
      scroller.addEventListener("pointermove", (event) => {
        if (event.buttons === 0) this.dragging = false;
      });
    }
    scroller;
    canvas;
    moved;
    /** Pixels from the top of the whole range. */
    top = 0;
    height = 0;
    seen = 0;
    dragging = false;
    timer = 0;
    get view() {
      return this.scroller.clientHeight;
    }
    get max() {
      return Math.max(0, this.height - this.view);
    }
    /** Where a place of the whole range lies within the canvas now. */
    offset(place) {
      return this.seen + place - this.top;
    }
    resize(height) {
      this.height = height;
      this.canvas.style.height = `${Math.min(height, CAP)}px`;
      this.to(this.top);
    }
    to(top) {
      this.top = Math.min(Math.max(0, top), this.max);
      this.settle();
      this.moved();
    }
    stop() {
      clearTimeout(this.timer);
    }
    get realMax() {
      return Math.max(0, Math.min(this.height, CAP) - this.view);
    }
    scrolled() {
      const real = this.scroller.scrollTop;
      const by = real - this.seen;
      if (by === 0) return;
      this.seen = real;
      if (this.max === this.realMax) {
        this.top = real;
      } else if (this.dragging || Math.abs(by) > 2 * this.view) {
        this.top = real / this.realMax * this.max;
      } else {
        this.top = Math.min(Math.max(0, this.top + by), this.max);
        const atEdge = real <= 0 || real >= this.realMax;
        if (atEdge) this.settle();
        else this.settleLater();
      }
      this.moved();
    }
    settleLater() {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => {
        this.settle();
        this.moved();
      }, REST_MS);
    }
    settle() {
      clearTimeout(this.timer);
      const wanted = this.max === 0 ? 0 : this.top / this.max * this.realMax;
      if (Math.abs(this.scroller.scrollTop - wanted) >= 1) this.scroller.scrollTop = wanted;
      this.seen = this.scroller.scrollTop;
    }
  };

  // src/pairlist.ts
  var PAGE2 = 100;
  var GAP = 16;
  var OVERSCAN = 1;
  var WIDTH = 320;
  var AROUND = 46;
  var SIDES = 18;
  var BETWEEN = 8;
  var FLYING_MS = 80;
  var Pairs = class extends Pages {
    constructor(states) {
      super(PAGE2);
      this.states = states;
    }
    states;
    complete = false;
    /** The last answer, which counts all states. */
    last = null;
    get growing() {
      return !this.complete;
    }
    async request(start2, count2, signal) {
      const states = this.states.map((state) => ["state", state]);
      const path = `api/compare${query(states, { start: start2, count: count2 })}`;
      const answer2 = await ask(path, signal);
      this.last = answer2;
      this.complete = answer2.complete;
      this.total = this.states.length === 0 ? 0 : answer2.total;
      return this.states.length === 0 ? [] : answer2.rows;
    }
  };
  var PairList = class {
    constructor(pairs, moved) {
      this.pairs = pairs;
      this.moved = moved;
      this.observer.observe(this.root);
    }
    pairs;
    moved;
    rows = h("div", {
      class: "pairs beside",
      role: "list",
      "aria-label": "Pairs of samples"
    });
    canvas = h("div", { class: "canvas" }, this.rows);
    root = h("div", { class: "scroller", tabindex: "-1" }, this.canvas);
    shown = /* @__PURE__ */ new Map();
    scroll = new Scroll(this.root, this.canvas, () => this.render());
    observer = new ResizeObserver(() => this.layout());
    columns = 1;
    pitch = 300;
    over = false;
    measured = false;
    drawnTop = 0;
    flying = 0;
    /** A place that comes into sight when the list reaches there. */
    target = null;
    unlisten = () => void 0;
    /** Shows other pairs, from a place on. */
    use(pairs, at) {
      this.unlisten();
      this.pairs = pairs;
      this.unlisten = pairs.onChange(() => this.layout());
      this.clear();
      this.scroll.top = 0;
      this.target = at > 0 ? at : null;
      this.layout();
      this.draw(0, 1);
    }
    /** Both images in one place, of the second one the part right of `cut` percent. */
    arrange(over, cut2) {
      this.rows.classList.toggle("over", over);
      this.rows.classList.toggle("beside", !over);
      this.rows.style.setProperty("--cut", `${100 - cut2}%`);
      if (over === this.over) return;
      this.over = over;
      this.layout();
    }
    /** The first pair in sight. */
    get place() {
      if (this.target !== null) return this.target;
      const row = Math.max(0, Math.ceil(this.scroll.top / this.pitch - 0.5));
      return Math.min(row * this.columns, Math.max(0, (this.pairs.total ?? 0) - 1));
    }
    stop() {
      this.unlisten();
      this.observer.disconnect();
      this.scroll.stop();
      clearTimeout(this.flying);
    }
    clear() {
      for (const row of this.shown.values()) row.remove();
      this.shown.clear();
    }
    layout() {
      const width = this.root.clientWidth - 2 * GAP;
      if (width <= 0) return;
      const place = this.place;
      const before = `${this.columns} ${this.pitch}`;
      this.columns = Math.max(1, Math.floor((width + GAP) / (WIDTH + GAP)));
      const inner = (width - GAP * (this.columns - 1)) / this.columns - SIDES;
      const image = this.over ? inner : (inner - BETWEEN) / 2;
      this.pitch = Math.round(image) + AROUND + GAP;
      this.rows.style.gridTemplateColumns = `repeat(${this.columns}, minmax(0, 1fr))`;
      this.rows.style.gridAutoRows = `${this.pitch - GAP}px`;
      const total = this.pairs.total ?? 0;
      const top = Math.floor(place / this.columns) * this.pitch;
      const arrived = this.target !== null && (this.target < total || !this.pairs.growing);
      if (arrived) this.target = null;
      if (arrived || this.measured && before !== `${this.columns} ${this.pitch}`)
        this.scroll.top = top;
      this.measured = true;
      const rows = Math.ceil(total / this.columns);
      this.scroll.resize(rows === 0 ? 0 : rows * this.pitch + GAP);
    }
    render() {
      const total = this.pairs.total ?? 0;
      const { top, view } = this.scroll;
      const firstRow = Math.max(0, Math.floor(top / this.pitch) - OVERSCAN);
      const endRow = Math.ceil((top + view) / this.pitch) + OVERSCAN;
      const first = Math.min(firstRow * this.columns, total);
      const end = Math.min(endRow * this.columns, total);
      this.put(first, end);
      this.rows.style.transform = `translateY(${this.scroll.offset(firstRow * this.pitch + GAP)}px)`;
      const far = Math.abs(top - this.drawnTop) > view / 2;
      this.drawnTop = top;
      clearTimeout(this.flying);
      if (far) this.flying = window.setTimeout(() => this.draw(first, end), FLYING_MS);
      else this.draw(first, end);
      this.moved();
    }
    draw(first, end) {
      const from = this.target ?? first;
      this.pairs.want(from, Math.max(end, from + 1));
    }
    /** Puts the pairs of a range into the page, in order, and takes the others out. */
    put(first, end) {
      for (const [index, row] of this.shown) {
        if (index >= first && index < end) continue;
        const hadFocus = row.contains(document.activeElement);
        row.remove();
        this.shown.delete(index);
        if (hadFocus) this.root.focus({ preventScroll: true });
      }
      let after = this.rows.firstElementChild;
      for (let index = first; index < end; index += 1) {
        const known = this.shown.get(index);
        const pair = this.pairs.row(index);
        let row = known;
        if (row === void 0 || row.dataset.waits !== void 0 && pair !== null) {
          row = pair === null ? waiting() : pairRow(pair);
          if (known === void 0) this.rows.insertBefore(row, after);
          else known.replaceWith(row);
          this.shown.set(index, row);
        }
        after = row.nextElementSibling;
        set(row, {
          "data-index": index,
          "aria-posinset": index + 1,
          "aria-setsize": this.pairs.total ?? -1
        });
      }
    }
  };
  function waiting() {
    return h("div", { class: "pair", role: "listitem", "data-waits": true });
  }

  // src/compare.ts
  var POLL_MS2 = 800;
  var NOTE_MS = 300;
  var STATES = [
    ["changed", "changed"],
    ["only_a", "only in A"],
    ["only_b", "only in B"],
    ["same", "the same"]
  ];
  var AT_FIRST = ["changed", "only_a", "only_b"];
  var CompareView = class {
    constructor(app, to) {
      this.app = app;
      this.title = `Compare · ${app.dataset.name}`;
      const { second } = app.dataset;
      if (second === null) {
        const what = "There is one dataset. Give fdconvert view two of them to compare their samples.";
        this.root.append(h("p", { class: "empty" }, what));
        return;
      }
      this.root.append(
        h(
          "p",
          { class: "versus" },
          h("b", null, "A"),
          ` ${app.dataset.path} `,
          h("b", null, "B"),
          ` ${second.path}`
        ),
        h(
          "div",
          { class: "counts", role: "group", "aria-label": "Pairs that are shown" },
          ...this.boxes.map(({ box, label }) => h("label", { class: "check" }, box, label))
        ),
        h(
          "div",
          { class: "toolbar" },
          h("label", { class: "check" }, this.over, "One over the other"),
          this.cut,
          h("span", { class: "muted" }, "b swaps A and B"),
          this.progress
        ),
        this.message,
        this.list.root
      );
      for (const { box } of this.boxes)
        box.addEventListener("change", () => this.app.shared.go(this.address(0)));
      this.over.addEventListener("change", () => this.arrange());
      this.cut.addEventListener("input", () => this.arrange());
      this.arrange();
      this.use(to);
    }
    app;
    title;
    root = h("div", { class: "compare" }, h("h1", { tabindex: "-1" }, "Compare"));
    boxes = STATES.map(([state, text]) => ({
      state,
      text,
      box: h("input", { type: "checkbox" }),
      label: h("span", null, text)
    }));
    progress = h("p", { class: "muted", role: "status" });
    message = h("div", { class: "message" });
    over = h("input", { type: "checkbox" });
    cut = h("input", {
      type: "range",
      min: 0,
      max: 100,
      value: 50,
      "aria-label": "Share of the second image"
    });
    pairs = new Pairs([]);
    list = new PairList(this.pairs, () => this.moved());
    polling = new AbortController();
    unlisten = () => void 0;
    noteTimer = 0;
    show(to) {
      if (to.view !== "compare") return false;
      if (this.app.dataset.second !== null) this.use(to);
      return true;
    }
    key(event) {
      if (event.key !== "b" || this.app.dataset.second === null) return false;
      this.over.checked = true;
      this.cut.value = Number(this.cut.value) < 50 ? "100" : "0";
      this.arrange();
      return true;
    }
    retry() {
      this.pairs.retry();
    }
    stop() {
      this.unlisten();
      this.polling.abort();
      clearTimeout(this.noteTimer);
      this.pairs.stop();
      this.list.stop();
    }
    arrange() {
      this.list.arrange(this.over.checked, Number(this.cut.value));
      this.cut.disabled = !this.over.checked;
    }
    get states() {
      return this.boxes.filter(({ box }) => box.checked).map(({ state }) => state);
    }
    address(at) {
      const options = {};
      const states = this.states.join();
      if (states !== AT_FIRST.join()) options.show = states;
      if (at > 0) options.at = String(at);
      return { view: "compare", sample: 0, filters: [], options };
    }
    use(to) {
      const wanted = to.options.show?.split(",") ?? AT_FIRST;
      for (const { state, box } of this.boxes) box.checked = wanted.includes(state);
      this.app.shared.compared = format(to);
      this.unlisten();
      this.polling.abort();
      this.pairs.stop();
      this.pairs = new Pairs(this.states);
      fill(this.message);
      say(this.progress, "");
      this.unlisten = this.pairs.onChange(() => this.changed());
      this.list.use(this.pairs, whole(to.options.at) ?? 0);
      this.follow();
    }
    /** Looks again while the datasets are compared, and once more at the end. */
    follow() {
      const { pairs } = this;
      const { signal } = this.polling = new AbortController();
      void poll(POLL_MS2, signal, async () => {
        const { complete } = pairs;
        pairs.refresh();
        return Promise.resolve(complete);
      });
    }
    changed() {
      const { last, total, error, states } = this.pairs;
      if (last !== null) {
        for (const { state, text, label } of this.boxes)
          say(label, `${count(last.counts[state])} ${text}`);
        const of = `${count(last.scanned)} of ${count(this.app.dataset.samples)} compared`;
        say(this.progress, last.complete ? "" : of);
      }
      if (error !== null) {
        const again = () => this.pairs.retry();
        fill(this.message, failure("The datasets cannot be compared", error, again));
      } else if (total === 0) {
        const none = states.length === 0 ? "Choose which pairs are shown." : this.pairs.growing ? "Nothing found so far." : "No pairs match.";
        fill(this.message, h("p", { class: "empty" }, none));
      } else {
        fill(this.message);
      }
    }
    /** Keeps the fragment at what is in sight, once it rests. */
    moved() {
      clearTimeout(this.noteTimer);
      this.noteTimer = window.setTimeout(() => {
        const to = this.address(this.list.place);
        this.app.shared.compared = format(to);
        this.app.shared.note(to);
      }, NOTE_MS);
    }
  };

  // src/copy.ts
  function copier(label, shown2) {
    const said = h("span", { role: "status", class: "muted" });
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(shown2.textContent ?? "");
        fill(said, "copied");
      } catch {
        getSelection()?.selectAllChildren(shown2);
        fill(said, "selected; copy it with Ctrl+C");
      }
    };
    const button = h("button", { type: "button", onclick: () => void copy() }, label);
    return h("div", { class: "line" }, button, said);
  }

  // src/chips.ts
  var MAX_CHIPS = 12;
  var COMMON = /* @__PURE__ */ new Set(["key", "codec", "width", "height", "bytes", "width / height"]);
  function drawSets(nav, app, filters) {
    const common = filters.filter(([name2]) => COMMON.has(name2));
    const link = (letter, second) => {
      const current = second === app.second;
      const href = format(grid(current ? filters : common, void 0, second));
      const label = `Samples of ${letter}`;
      return h("a", { href, "aria-current": current && "true", "aria-label": label }, letter);
    };
    fill(nav, link("A", false), link("B", true));
  }
  function drawChips(list2, app, filters, choose) {
    const chip = (filter) => {
      const text = app.filterText(filter);
      const remove = () => choose(without(filters, filter[0], filter[1]));
      const label = `Remove the filter ${text}`;
      const props = { type: "button", class: "chip", onclick: remove, "aria-label": label };
      return h("li", null, h("button", props, text));
    };
    fill(list2, ...filters.slice(0, MAX_CHIPS).map(chip));
    if (filters.length > 1) {
      const props = { type: "button", class: "plain", onclick: () => choose([]) };
      list2.append(h("li", null, h("button", props, "Clear all")));
    }
    list2.hidden = filters.length === 0;
  }
  function drawExpression(root, filters) {
    const text = expression(filters);
    const code2 = h("code", { tabindex: "0", role: "group", "aria-label": "Expression" }, text);
    fill(root, code2, copier("Copy for pack --where", code2));
    root.hidden = text === "";
  }

  // src/exports.ts
  function exportMenu(app, filters) {
    const summary2 = h("summary", null, "Export");
    const root = h("details", { class: "menu" }, summary2);
    let body = null;
    const outside = (event) => {
      if (event.target instanceof Node && !root.contains(event.target)) root.open = false;
    };
    root.addEventListener("toggle", () => {
      body?.remove();
      if (root.open) document.addEventListener("pointerdown", outside);
      else document.removeEventListener("pointerdown", outside);
      body = root.open ? contents(app, filters()) : null;
      if (body !== null) root.append(body);
    });
    root.addEventListener("focusout", (event) => {
      const to = event.relatedTarget;
      if (to instanceof Node && !root.contains(to)) root.open = false;
    });
    return {
      root,
      close() {
        if (!root.open) return false;
        root.open = false;
        summary2.focus();
        return true;
      }
    };
  }
  function contents(app, filters) {
    const how = h(
      "select",
      { id: "sheet-count" },
      ...[25, 100, 400, 1e3].map((n) => h("option", { value: n, selected: n === 100 }, n))
    );
    const side3 = h(
      "select",
      { id: "sheet-side" },
      ...[64, 128, 256].map((n) => h("option", { value: n, selected: n === 128 }, `${n} px`))
    );
    const png = h("a", { download: "sheet.png" }, "Contact sheet, PNG");
    const html = h("a", { download: "sheet.html" }, "Contact sheet, HTML");
    const link = () => {
      const more = { count: how.value, side: side3.value };
      png.href = `sheet.png${app.query(filters, more)}`;
      html.href = `sheet.html${app.query(filters, more)}`;
    };
    how.addEventListener("change", link);
    side3.addEventListener("change", link);
    link();
    return h(
      "div",
      { class: "sheet" },
      h(
        "a",
        { href: `keys.txt${app.query(filters)}`, download: "keys.txt" },
        "Keys, for pack --keys"
      ),
      png,
      html,
      h(
        "div",
        { class: "line" },
        h("label", { for: "sheet-count" }, "First"),
        how,
        h("label", { for: "sheet-side" }, "at"),
        side3
      )
    );
  }

  // src/images.ts
  var AT_ONCE = 5;
  var KEPT = 1024;
  var waiting2 = [];
  var kept = /* @__PURE__ */ new Map();
  var running = 0;
  function load(url, signal, make = askBytes) {
    const known = kept.get(url);
    if (known !== void 0) {
      kept.delete(url);
      kept.set(url, known);
      return Promise.resolve(known);
    }
    return new Promise((done, failed) => {
      waiting2.push({ url, signal, make, done, failed });
      next();
    });
  }
  function next() {
    while (running < AT_ONCE) {
      const request = waiting2.shift();
      if (request === void 0) return;
      if (request.signal.aborted) {
        request.failed(new DOMException("scrolled past", "AbortError"));
        continue;
      }
      running += 1;
      request.make(request.url, request.signal).then((blob) => request.done(keep(request.url, blob)), request.failed).finally(() => {
        running -= 1;
        next();
      });
    }
  }
  function keep(url, blob) {
    const address = kept.get(url) ?? URL.createObjectURL(blob);
    kept.set(url, address);
    for (const [oldest, its] of kept) {
      if (kept.size <= KEPT) break;
      kept.delete(oldest);
      URL.revokeObjectURL(its);
    }
    return address;
  }
  var SIDES2 = [64, 96, 128, 192, 256, 384, 512, 768, 1024];
  function side2(pixels) {
    const wanted = pixels * Math.min(window.devicePixelRatio || 1, 2);
    return SIDES2.find((size) => size >= wanted) ?? 1024;
  }

  // src/tile.ts
  var TILE_NODES = 3;
  var BARE_TILE_NODES = 2;
  var Tile = class {
    constructor(app, index, withCaption) {
      this.app = app;
      this.index = index;
      this.root.append(this.image);
      if (withCaption) this.root.append(this.caption);
      this.root.dataset.index = String(index);
    }
    app;
    index;
    root = h("a", {
      class: "tile",
      role: "option",
      tabindex: "-1",
      "aria-selected": "false"
    });
    image = h("img", { alt: "", draggable: "false", decoding: "async" });
    caption = h("span", { class: "caption" });
    request = null;
    url = "";
    boxes = false;
    isFocus = false;
    described = "";
    /** Says what is known of the sample. */
    describe(selection) {
      const row = selection.row(this.index);
      const sample2 = selection.sampleAt(this.index);
      const total = selection.total ?? -1;
      const state = `${sample2} ${row?.key} ${total}`;
      if (state === this.described) return;
      this.described = state;
      const name2 = row?.label == null ? "" : this.app.className(row.label);
      const key2 = row === null ? "" : tail(row.key);
      const number2 = sample2 === null ? "" : `#${count(sample2)}`;
      const lines = row === null ? [number2] : [name2 || number2, key2];
      this.caption.textContent = lines.join("\n");
      set(this.root, {
        "aria-setsize": total,
        "aria-posinset": this.index + 1,
        // What is seen stands in it as it is seen, for those who speak to their computer.
        "aria-label": number2 === "" ? "not read yet" : `${lines.join(" ")}${name2 === "" ? "" : `, ${number2}`}`,
        title: row === null ? null : `${row.key}
${number2}`,
        href: sample2 === null ? null : format(sample(sample2, selection.filters, selection.second)),
        "data-sample": sample2
      });
      if (row?.error !== void 0) this.fail(row.error);
    }
    /** Asks for the image and, if wanted, for the boxes over it, unless that was asked for already. */
    draw(sample2, side3, boxes) {
      const url = `image/${sample2}${this.app.query([], { side: side3 })}`;
      if (url === this.url && boxes === this.boxes) return;
      this.stop();
      this.url = url;
      this.boxes = boxes;
      this.root.style.removeProperty("--boxes");
      const request = new AbortController();
      this.request = request;
      load(url, request.signal).then(
        (blob) => {
          if (request.signal.aborted) return;
          this.image.src = blob;
          if (boxes) void this.drawBoxes(sample2, request.signal);
        },
        (error) => {
          if (isAbort(error) || request.signal.aborted) return;
          if (error instanceof Lost) this.url = "";
          else this.fail(error instanceof Error ? error.message : String(error));
        }
      );
    }
    /** Draws the boxes after the image. Where they cannot be read, the sample's page says why. */
    async drawBoxes(sample2, signal) {
      const make = async (url) => {
        const objects = await ask(url, signal);
        const [width, height] = objects.size;
        const { naturalWidth, naturalHeight } = this.image;
        const isTurned = (width - height) * (naturalWidth - naturalHeight) < 0;
        return outlines(isTurned ? { ...objects, items: [] } : objects);
      };
      try {
        await this.image.decode();
        const url = await load(`api/boxes/${sample2}${this.app.query([])}`, signal, make);
        if (!signal.aborted) this.root.style.setProperty("--boxes", `url("${url}")`);
      } catch (error) {
        if (error instanceof Lost) this.url = "";
      }
    }
    /** Breaks off the requests for what is not there yet. */
    stop() {
      this.request?.abort();
      this.request = null;
    }
    select(isFocus) {
      if (isFocus === this.isFocus) return;
      this.isFocus = isFocus;
      set(this.root, { tabindex: isFocus ? 0 : -1, "aria-selected": String(isFocus) });
    }
    fail(cause2) {
      this.root.dataset.error = cause2;
      const label = this.root.getAttribute("aria-label") ?? "";
      if (!label.includes(cause2))
        this.root.setAttribute("aria-label", `${label}, not shown: ${cause2}`);
    }
  };

  // src/grid.ts
  var GAP2 = 8;
  var OVERSCAN2 = 2;
  var CAPTION = 36;
  var CAPTION_FROM = 104;
  var NODES = 490;
  var REST_OF_PAGE = 190;
  var FLYING_MS2 = 80;
  var Grid = class {
    constructor(app, selection, side3, moved) {
      this.app = app;
      this.selection = selection;
      this.side = side3;
      this.moved = moved;
      this.tiles.setAttribute("aria-label", `Samples of ${app.dataset.name}`);
      this.tiles.addEventListener("keydown", (event) => {
        if (this.key(event)) event.preventDefault();
      });
      this.tiles.addEventListener("focusin", (event) => {
        const index = event.target.dataset.index;
        if (index !== void 0) this.setFocus(Number(index));
      });
      this.observer.observe(this.root);
      this.use(selection);
    }
    app;
    selection;
    side;
    moved;
    /** Has the tiles; its parents carry the scroll range. */
    tiles = h("div", { class: "tiles", role: "listbox", tabindex: "-1" });
    canvas = h("div", { class: "canvas" }, this.tiles);
    root = h("div", { class: "scroller" }, this.canvas);
    focus = 0;
    shown = /* @__PURE__ */ new Map();
    scroll = new Scroll(this.root, this.canvas, () => this.render());
    observer = new ResizeObserver(() => this.layout());
    columns = 1;
    cell = 160;
    pitch = 200;
    captions = true;
    /** Sizes are known as soon as the grid is in the page. */
    measured = false;
    drawnTop = 0;
    boxes = false;
    flying = 0;
    stopListening = () => void 0;
    /** Shows another selection from its start. */
    use(selection) {
      this.stopListening();
      this.selection = selection;
      this.stopListening = selection.onChange(() => this.layout());
      for (const index of [...this.shown.keys()]) this.drop(index);
      this.focus = 0;
      this.bring(0);
      this.layout();
    }
    resize(side3) {
      this.side = side3;
      this.layout();
    }
    /** Draws the boxes of objects, or none. */
    showBoxes(on) {
      this.boxes = on;
      if (this.measured) this.render();
    }
    /** Puts a place at the top, with the focus on it. */
    jump(index, takeFocus2) {
      this.layout();
      this.focus = this.clamp(index);
      this.bring(Math.floor(this.focus / this.columns) * this.pitch);
      this.scroll.to(this.scroll.top);
      if (takeFocus2) this.takeFocus();
    }
    /** What a link to here names: the focus, or what is on top where that is out of sight. */
    get place() {
      const row = Math.floor(this.focus / this.columns);
      const first = Math.ceil(this.scroll.top / this.pitch - 0.5);
      const last = Math.floor((this.scroll.top + this.scroll.view) / this.pitch);
      return row >= first && row <= last ? this.focus : this.clamp(first * this.columns);
    }
    takeFocus() {
      if (!this.measured) this.layout();
      this.reveal(this.focus);
      (this.shown.get(this.focus)?.root ?? this.tiles).focus({ preventScroll: true });
    }
    key(event) {
      const page2 = Math.max(1, Math.floor(this.scroll.view / this.pitch)) * this.columns;
      const end = (this.selection.total ?? 0) - 1;
      const steps = {
        ArrowLeft: this.focus - 1,
        ArrowRight: this.focus + 1,
        ArrowUp: this.focus - this.columns,
        ArrowDown: this.focus + this.columns,
        PageUp: this.focus - page2,
        PageDown: this.focus + page2,
        Home: 0,
        End: end
      };
      if (event.key === " " || event.key === "Enter" && event.target === this.tiles) {
        this.shown.get(this.focus)?.root.click();
        return true;
      }
      const to = steps[event.key];
      if (to === void 0 || event.ctrlKey || event.metaKey || event.altKey) return false;
      const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
      if (!(vertical && (to < 0 || to > end))) this.setFocus(this.clamp(to));
      this.takeFocus();
      return true;
    }
    /** Lays out afresh if the rest of the page has grown too much beside the tiles. */
    keepBudget() {
      if (document.getElementsByTagName("*").length > NODES) this.layout();
    }
    retry() {
      this.selection.retry();
      this.render();
    }
    stop() {
      this.stopListening();
      this.observer.disconnect();
      this.scroll.stop();
      clearTimeout(this.flying);
      for (const tile of this.shown.values()) tile.stop();
    }
    /** Takes a place as the next to be drawn: it was asked for, and is not scrolled past. */
    bring(top) {
      this.scroll.top = top;
      this.drawnTop = Math.min(top, this.scroll.max);
    }
    clamp(index) {
      return Math.max(0, Math.min(index, (this.selection.total ?? 1) - 1));
    }
    setFocus(index) {
      if (index !== this.focus) {
        this.shown.get(this.focus)?.select(false);
        this.focus = index;
        this.moved();
      }
      this.rove();
    }
    /** One tile takes the tab key: that of the focus, or the first where that is out of sight. */
    rove() {
      const first = this.tiles.firstElementChild;
      const inSight = this.shown.has(this.focus) || !(first instanceof HTMLElement) ? this.focus : Number(first.dataset.index);
      for (const [index, tile] of this.shown) tile.select(index === inSight);
    }
    reveal(index) {
      const top = Math.floor(index / this.columns) * this.pitch;
      const { view } = this.scroll;
      if (top < this.scroll.top) this.scroll.to(top);
      else if (top + this.pitch + GAP2 > this.scroll.top + view)
        this.scroll.to(top + this.pitch + GAP2 - view);
    }
    layout() {
      const width = this.root.clientWidth - 2 * GAP2;
      if (width <= 0) return;
      this.measured = true;
      const place = this.scroll.top > 0 ? this.place : 0;
      const before = [this.columns, this.pitch, this.captions].join();
      this.measure(width);
      const rows = Math.ceil((this.selection.total ?? 0) / this.columns);
      const changed = before !== [this.columns, this.pitch, this.captions].join();
      if (changed) {
        for (const index of [...this.shown.keys()]) this.drop(index);
        this.tiles.style.gridTemplateColumns = `repeat(${this.columns}, 1fr)`;
        this.tiles.style.gridAutoRows = `${this.pitch - GAP2}px`;
        this.root.style.setProperty("--cell", `${this.cell}px`);
      }
      if (changed && this.scroll.top > 0)
        this.scroll.top = Math.floor(place / this.columns) * this.pitch;
      this.scroll.resize(rows === 0 ? 0 : rows * this.pitch + GAP2);
    }
    /** Finds the least side, from the chosen one on, at which the page has not too many elements. */
    measure(width) {
      const others = document.getElementsByTagName("*").length - this.tiles.getElementsByTagName("*").length;
      const budget = NODES - Math.max(others, REST_OF_PAGE);
      const { view } = this.scroll;
      for (let side3 = this.side; ; side3 += 8) {
        this.columns = Math.max(1, Math.floor((width + GAP2) / (side3 + GAP2)));
        this.cell = (width - GAP2 * (this.columns - 1)) / this.columns;
        this.captions = side3 >= CAPTION_FROM;
        this.pitch = Math.round(this.cell) + (this.captions ? CAPTION : 0) + GAP2;
        const rows = Math.ceil(view / this.pitch) + 1 + 2 * OVERSCAN2;
        const nodes = rows * this.columns * (this.captions ? TILE_NODES : BARE_TILE_NODES);
        if (nodes <= budget || this.columns === 1) return;
      }
    }
    render() {
      const total = this.selection.total ?? 0;
      const { top, view } = this.scroll;
      const firstRow = Math.max(0, Math.floor(top / this.pitch) - OVERSCAN2);
      const endRow = Math.ceil((top + view) / this.pitch) + OVERSCAN2;
      const first = Math.min(firstRow * this.columns, total);
      const end = Math.min(endRow * this.columns, total);
      this.arrange(first, end);
      this.tiles.style.transform = `translateY(${this.scroll.offset(firstRow * this.pitch + GAP2)}px)`;
      this.tiles.hidden = total === 0;
      this.rove();
      const far = Math.abs(top - this.drawnTop) > view / 2;
      this.drawnTop = top;
      clearTimeout(this.flying);
      if (far && this.shown.size > 0)
        this.flying = window.setTimeout(() => this.draw(first, end), FLYING_MS2);
      else this.draw(first, end);
      this.moved();
    }
    /** Puts the tiles of a range into the page, in order, and takes the others out. */
    arrange(first, end) {
      for (const index of [...this.shown.keys()]) {
        if (index < first || index >= end) this.drop(index);
      }
      let after = this.tiles.firstElementChild;
      for (let index = first; index < end; index += 1) {
        let tile = this.shown.get(index);
        if (tile === void 0) {
          tile = new Tile(this.app, index, this.captions);
          this.shown.set(index, tile);
          this.tiles.insertBefore(tile.root, after);
        } else {
          after = tile.root.nextElementSibling;
        }
        tile.describe(this.selection);
      }
    }
    /** Asks for rows and images: first those in sight, then those around them. */
    draw(first, end) {
      if (end > first || this.selection.total === null)
        this.selection.want(first, Math.max(end, first + 1));
      const { top, view } = this.scroll;
      const from = Math.floor(top / this.pitch) * this.columns;
      const to = Math.ceil((top + view) / this.pitch) * this.columns;
      const inSight = (tile) => tile.index >= from && tile.index < to;
      const tiles = [...this.shown.values()];
      const pixels = side2(this.cell);
      for (const tile of [...tiles.filter(inSight), ...tiles.filter((tile2) => !inSight(tile2))]) {
        const sample2 = this.selection.sampleAt(tile.index);
        if (sample2 !== null && this.app.dataset.image !== null)
          tile.draw(sample2, pixels, this.boxes);
      }
    }
    drop(index) {
      const tile = this.shown.get(index);
      if (tile === void 0) return;
      const hadFocus = document.activeElement === tile.root;
      tile.stop();
      tile.root.remove();
      this.shown.delete(index);
      if (hadFocus) this.tiles.focus({ preventScroll: true });
    }
  };

  // src/numbers.ts
  var WIDTH2 = 240;
  var HEIGHT = 48;
  var NumbersBody = class {
    constructor(name2, filters, choose) {
      this.name = name2;
      this.filters = filters;
      this.choose = choose;
      this.clear.addEventListener("click", () => this.set("", ""));
      for (const input of [this.from, this.to]) {
        input.addEventListener("change", () => this.set(this.from.value, this.to.value));
      }
      this.picture.addEventListener("pointerdown", (event) => this.press(event));
      this.picture.addEventListener("pointermove", (event) => this.move(event));
      this.picture.addEventListener("pointerup", () => this.release());
      this.picture.addEventListener("pointercancel", () => this.cancel());
      this.picture.addEventListener("pointerleave", () => this.drag ?? this.caption());
    }
    name;
    filters;
    choose;
    bars = s("path", { class: "bars" });
    chosen = s("path", { class: "bars chosen" });
    picture = s(
      "svg",
      {
        class: "histogram",
        role: "img",
        viewBox: `0 0 ${WIDTH2} ${HEIGHT}`,
        preserveAspectRatio: "none"
      },
      this.bars,
      this.chosen
    );
    under = h("p", { class: "bin" });
    from = this.field("least");
    to = this.field("most");
    clear = h("button", { type: "button", class: "plain" }, "Clear");
    root = h(
      "div",
      { class: "numbers" },
      this.picture,
      this.under,
      h("div", { class: "ends" }, this.from, "–", this.to, this.clear)
    );
    bins = [];
    drag = null;
    update(facet) {
      if (facet.kind !== "numbers") return;
      this.bins = facet.bins;
      const ends = `${number(facet.min)} to ${number(facet.max)}`;
      const most = this.bins.reduce(
        (best, bin) => best && best.n >= bin.n ? best : bin,
        null
      );
      const peak = most === null ? "" : `, most of them from ${number(most.from)} to ${number(most.to)}`;
      set(this.picture, { "aria-label": `Histogram of ${facet.title}, ${ends}${peak}` });
      set(this.from, { "aria-label": `${facet.title}, at least`, placeholder: short2(facet.min) });
      set(this.to, { "aria-label": `${facet.title}, at most`, placeholder: short2(facet.max) });
      this.draw();
    }
    field(name2) {
      return h("input", { type: "number", step: "any", class: name2, autocomplete: "off" });
    }
    draw() {
      const [low, high] = this.range();
      this.bars.setAttribute(
        "d",
        this.path(() => true)
      );
      const isChosen = (bin) => bin.to >= (low ?? -Infinity) && bin.from <= (high ?? Infinity);
      const any = low !== null || high !== null || this.drag !== null;
      const dragged = (_, at) => this.drag !== null && at >= Math.min(...this.drag) && at <= Math.max(...this.drag);
      this.chosen.setAttribute(
        "d",
        any ? this.path(this.drag === null ? isChosen : dragged) : ""
      );
      this.picture.classList.toggle("ranged", any);
      for (const [input, value] of [
        [this.from, low],
        [this.to, high]
      ]) {
        if (document.activeElement !== input) input.value = value === null ? "" : String(value);
      }
      this.clear.hidden = low === null && high === null;
      if (this.drag === null) this.caption();
    }
    path(wanted) {
      const most = Math.max(1, ...this.bins.map(({ n }) => n));
      const step = WIDTH2 / Math.max(1, this.bins.length);
      return this.bins.map((bin, at) => {
        if (bin.n === 0 || !wanted(bin, at)) return "";
        const tall = Math.max(2, bin.n / most * HEIGHT);
        const x = (at * step).toFixed(2);
        return `M${x} ${HEIGHT}v${(-tall).toFixed(2)}h${(step - 1).toFixed(2)}V${HEIGHT}z`;
      }).join("");
    }
    range() {
      const text = values(this.filters(), this.name).at(-1);
      return text === void 0 ? [null, null] : range(text);
    }
    set(from, to) {
      const rest = without(this.filters(), this.name);
      this.choose(
        from === "" && to === "" ? rest : [...rest, [this.name, `${from}..${to}`]]
      );
    }
    binAt(event) {
      const box = this.picture.getBoundingClientRect();
      const at = Math.floor(
        (event.clientX - box.left) / Math.max(1, box.width) * this.bins.length
      );
      return Math.max(0, Math.min(at, this.bins.length - 1));
    }
    press(event) {
      if (event.button !== 0 || this.bins.length === 0) return;
      event.preventDefault();
      this.picture.setPointerCapture(event.pointerId);
      const at = this.binAt(event);
      this.drag = [at, at];
      this.draw();
    }
    move(event) {
      const at = this.binAt(event);
      if (this.drag !== null) {
        this.drag = [this.drag[0], at];
        this.draw();
      }
      this.caption(this.drag ?? [at, at]);
    }
    release() {
      if (this.drag === null) return;
      const first = this.bins[Math.min(...this.drag)];
      const last = this.bins[Math.max(...this.drag)];
      this.drag = null;
      if (first && last) this.set(String(first.from), String(last.to));
    }
    cancel() {
      this.drag = null;
      this.draw();
    }
    /** Says the ends and the number of some bins; without any, of all. */
    caption(some) {
      const first = this.bins[some ? Math.min(...some) : 0];
      const last = this.bins[some ? Math.max(...some) : this.bins.length - 1];
      const isEmpty = this.bins.every(({ n: n2 }) => n2 === 0);
      this.picture.toggleAttribute("hidden", isEmpty);
      if (!first || !last || isEmpty) return say(this.under, "No samples match.");
      const n = this.bins.slice(this.bins.indexOf(first), this.bins.indexOf(last) + 1).reduce((sum, bin) => sum + bin.n, 0);
      say(this.under, `${number(first.from)} – ${number(last.to)}${some ? `: ${count(n)}` : ""}`);
    }
  };
  function short2(value) {
    return String(Number.isInteger(value) ? value : Number(value.toPrecision(4)));
  }

  // src/values.ts
  var AT_ONCE2 = 8;
  var MAX_NAMED = 200;
  var ValuesBody = class {
    constructor(app, name2, filters, choose) {
      this.app = app;
      this.name = name2;
      this.filters = filters;
      this.choose = choose;
      this.find.addEventListener("input", () => this.turn(0));
      this.back.addEventListener("click", () => this.turn(this.start - AT_ONCE2));
      this.next.addEventListener("click", () => this.turn(this.start + AT_ONCE2));
    }
    app;
    name;
    filters;
    choose;
    find = h("input", {
      type: "search",
      class: "find",
      placeholder: "Find",
      autocomplete: "off",
      spellcheck: "false"
    });
    list = h("div", { class: "values", role: "group" });
    back = h("button", { type: "button", "aria-label": "Values before" }, "‹");
    next = h("button", { type: "button", "aria-label": "Values after" }, "›");
    where = h("span");
    pager = h("div", { class: "pager" }, this.back, this.where, this.next);
    root = h("div", null, this.find, this.list, this.pager);
    buttons = /* @__PURE__ */ new Map();
    known = [];
    more = 0;
    start = 0;
    update(facet) {
      if (facet.kind !== "values") return;
      this.known = facet.values;
      this.more = facet.more;
      this.find.setAttribute("aria-label", `Find in ${facet.title}`);
      this.list.setAttribute("aria-label", facet.title);
      this.draw();
    }
    turn(start2) {
      this.start = Math.max(0, start2);
      this.draw();
    }
    draw() {
      const text = this.find.value.trim().toLowerCase();
      const all = this.all(text);
      const found = all.filter((value) => fits(value, text));
      if (this.start >= found.length) this.start = 0;
      const shown2 = found.slice(this.start, this.start + AT_ONCE2);
      const most = Math.max(1, ...all.map(({ n }) => n ?? 0));
      const focused = document.activeElement;
      fill(this.list, ...shown2.map((value) => this.button(value, most)));
      if (focused instanceof HTMLElement && this.list.contains(focused))
        focused.focus({ preventScroll: true });
      this.find.hidden = all.length <= AT_ONCE2;
      const last = this.start + shown2.length;
      const isShort = found.length <= AT_ONCE2 && (this.more === 0 || text !== "");
      this.pager.hidden = isShort && shown2.length > 0;
      const rest = this.more > 0 && text === "" ? `, ${count(this.more)} rarer` : "";
      say(
        this.where,
        shown2.length === 0 ? text === "" ? "No samples match." : "none" : `${this.start + 1}–${last} of ${count(found.length)}${rest}`
      );
      this.back.hidden = this.next.hidden = shown2.length === 0;
      this.back.disabled = this.start === 0;
      this.next.disabled = last >= found.length;
    }
    /** What was counted, what is chosen without having been counted, and classes that have a name. */
    all(text) {
      const all = [...this.known];
      const have = new Set(all.map(({ value }) => value));
      const chosen = new Set(values(this.filters(), this.name));
      for (const value of chosen) {
        if (!have.has(value)) all.push({ value, title: unquoted(value), n: null });
        have.add(value);
      }
      if (this.name === "label" && text !== "") all.push(...this.named(text, have));
      const isChosen = ({ value }) => chosen.has(value);
      return all.length <= AT_ONCE2 ? all : [...all.filter(isChosen), ...all.filter((value) => !isChosen(value))];
    }
    /** Classes with such a name that were not counted; of a million of them, the first few. */
    named(text, have) {
      const found = [];
      for (const title of this.app.classes()) {
        const shown2 = { value: quoted(title), title, n: null };
        if (fits(shown2, text) && !have.has(shown2.value)) found.push(shown2);
        if (found.length === MAX_NAMED) break;
      }
      return found;
    }
    button({ value, title, n }, most) {
      let button = this.buttons.get(value);
      if (button === void 0) {
        const choose = () => this.choose(toggled(this.filters(), this.name, value));
        button = h(
          "button",
          { type: "button", class: "value", onclick: choose },
          h("span"),
          h("span", { class: "n" })
        );
        this.buttons.set(value, button);
      }
      const [name2, number2] = button.children;
      if (name2) say(name2, title === "" ? "(empty)" : title);
      if (number2) say(number2, n === null ? "" : count(n));
      button.title = title;
      button.setAttribute(
        "aria-pressed",
        String(values(this.filters(), this.name).includes(value))
      );
      button.style.setProperty("--share", `${(n ?? 0) / most * 100}%`);
      return button;
    }
  };
  function fits({ title }, text) {
    return title.toLowerCase().includes(text);
  }

  // src/panel.ts
  var POLL_MS3 = 800;
  var OPEN = 6;
  var Panel = class {
    constructor(app, choose, heard) {
      this.app = app;
      this.choose = choose;
      this.heard = heard;
      this.progress(0, app.dataset.samples, false);
    }
    app;
    choose;
    heard;
    closer = h("button", { type: "button", class: "closer" }, "Close");
    bar = h("progress", { "aria-label": "Samples looked at" });
    scanned = h("p", { class: "scanned" });
    list = h("div", { class: "facets" });
    problem = h("div");
    root = h(
      "aside",
      { class: "panel", id: "panel", "aria-label": "Filters" },
      this.closer,
      h("div", { class: "progress" }, this.bar, this.scanned),
      this.problem,
      this.list
    );
    sections = /* @__PURE__ */ new Map();
    filters = [];
    polling = new AbortController();
    /** Shows the facets beside these filters, until the catalog is complete. */
    show(filters) {
      this.filters = filters;
      for (const section2 of this.sections.values()) section2.body?.update(section2.facet, filters);
      this.polling.abort();
      const polling = new AbortController();
      this.polling = polling;
      poll(POLL_MS3, polling.signal, async () => {
        const answer2 = await ask(
          `api/facets${this.app.query(filters)}`,
          polling.signal
        );
        if (polling.signal.aborted) return true;
        this.update(answer2);
        return answer2.scanned >= answer2.samples;
      }).catch((error) => {
        if (isAbort(error)) return;
        fill(
          this.problem,
          failure("Filters cannot be counted", error, () => this.show(this.filters))
        );
      });
    }
    stop() {
      this.polling.abort();
    }
    update({ scanned, samples, facets }) {
      fill(this.problem);
      this.progress(scanned, samples, true);
      const names = new Set(facets.map((facet) => facet.name));
      for (const [name2, section2] of this.sections) {
        if (!names.has(name2)) {
          section2.root.remove();
          this.sections.delete(name2);
        }
      }
      for (const [index, facet] of facets.entries()) {
        const section2 = this.sections.get(facet.name) ?? this.section(facet, index);
        section2.facet = facet;
        section2.body?.update(facet, this.filters);
      }
      this.heard.found();
      this.heard.drawn();
    }
    progress(scanned, samples, known) {
      const whole3 = known && scanned >= samples;
      this.bar.hidden = whole3;
      this.bar.max = Math.max(1, samples);
      this.bar.value = scanned;
      say(
        this.scanned,
        whole3 ? `Counts of ${plural(samples, "sample")}` : `Counts of ${count(scanned)} of ${plural(samples, "sample")} so far`
      );
    }
    section(facet, index) {
      const root = h("details", { class: "facet" }, h("summary", null, facet.title));
      const section2 = { root, body: null, facet };
      root.addEventListener("toggle", () => {
        section2.body?.root.remove();
        section2.body = root.open ? this.body(section2.facet) : null;
        if (section2.body !== null) root.append(section2.body.root);
        this.heard.drawn();
      });
      root.open = index < OPEN || values(this.filters, facet.name).length > 0;
      this.sections.set(facet.name, section2);
      this.list.append(root);
      return section2;
    }
    body(facet) {
      const current = () => this.filters;
      const body = facet.kind === "values" ? new ValuesBody(this.app, facet.name, current, this.choose) : new NumbersBody(facet.name, current, this.choose);
      body.update(facet, this.filters);
      return body;
    }
  };

  // src/storage.ts
  function stored(name2) {
    try {
      return localStorage.getItem(`fdconvert.${name2}`);
    } catch {
      return null;
    }
  }
  function store(name2, value) {
    try {
      localStorage.setItem(`fdconvert.${name2}`, value);
    } catch {
    }
  }

  // src/gridview.ts
  var NOTE_MS2 = 300;
  var TYPING_MS = 250;
  var GridView = class {
    constructor(app, to) {
      this.app = app;
      this.filters = to.filters;
      this.exports = exportMenu(app, () => this.filters);
      this.selection = app.selection(this.filters);
      this.size.value = stored("side") ?? "160";
      this.grid = new Grid(app, this.selection, Number(this.size.value), () => this.moved());
      this.panel = new Panel(app, (filters) => this.filter(filters), {
        found: () => this.selection.growing && this.selection.refresh(),
        drawn: () => this.grid.keepBudget()
      });
      this.root = h(
        "div",
        { class: "gridview" },
        this.panel.root,
        h(
          "section",
          { class: "results", "aria-label": "Samples" },
          h("h1", { class: "unseen" }, app.dataset.name),
          h(
            "div",
            { class: "toolbar" },
            app.dataset.second !== null && this.sets,
            this.toggle,
            this.search,
            this.total,
            this.jumpForm(),
            app.dataset.objects !== null && h("label", { class: "check" }, this.boxes, "Boxes"),
            this.size,
            this.exports.root
          ),
          this.chips,
          this.where,
          this.message,
          this.grid.root
        )
      );
      this.listen();
      this.use(to);
    }
    app;
    search = h("input", {
      type: "search",
      placeholder: "Search keys",
      "aria-label": "Search keys",
      "aria-keyshortcuts": "/",
      autocomplete: "off",
      spellcheck: "false",
      maxlength: 1024
    });
    jump = h("input", {
      type: "text",
      inputmode: "numeric",
      placeholder: "# number",
      "aria-label": "Jump to sample number",
      "aria-keyshortcuts": "g",
      autocomplete: "off",
      maxlength: 15
    });
    size = h("input", {
      type: "range",
      min: 64,
      max: 384,
      step: 8,
      "aria-label": "Size of thumbnails"
    });
    boxes = h("input", { type: "checkbox", checked: stored("boxes") !== "off" });
    total = h("span", { class: "total", role: "status" });
    chips = h("ul", { class: "chips", "aria-label": "Filters in use" });
    where = h("div", { class: "where" });
    message = h("div", { class: "message" });
    exports;
    toggle = h(
      "button",
      { type: "button", class: "toggle", "aria-expanded": "false", "aria-controls": "panel" },
      "Filters"
    );
    sets = h("nav", { class: "sets", "aria-label": "Dataset" });
    grid;
    panel;
    root;
    filters;
    selection;
    unlisten = () => void 0;
    noteTimer = 0;
    typing = 0;
    coming = null;
    focusThere = false;
    /** A sample that an address names, and that the catalog has not come to yet. */
    waitingFor = null;
    get title() {
      return [
        ...this.filters.map((filter) => this.app.filterText(filter)),
        this.app.dataset.name
      ].join(" · ");
    }
    show(to) {
      if (to.view !== "grid" || isSecond(to) !== this.app.second) return false;
      this.filters = to.filters;
      this.selection = this.app.selection(this.filters);
      this.grid.use(this.selection);
      this.use(to);
      return true;
    }
    key(event) {
      if (event.key === "/") this.search.focus();
      else if (event.key === "g") this.jump.focus();
      else if (event.key === "Escape") return this.escape();
      else return document.activeElement === document.body && this.grid.key(event);
      return true;
    }
    retry() {
      this.grid.retry();
      this.panel.show(this.filters);
    }
    /** Brings the keyboard to the tiles. */
    takeFocus() {
      if (this.coming === null) this.grid.takeFocus();
      else this.focusThere = true;
    }
    stop() {
      this.unlisten();
      this.coming?.abort();
      clearTimeout(this.noteTimer);
      clearTimeout(this.typing);
      this.grid.stop();
      this.panel.stop();
    }
    jumpForm() {
      const submit = (event) => {
        event.preventDefault();
        const sample2 = whole(this.jump.value.replace(/[#,\s]/g, ""));
        if (sample2 === null)
          return this.complain("A sample's number is needed, counted from 0.");
        void this.jumpTo(sample2, true);
      };
      return h("form", { class: "jump", onsubmit: submit }, this.jump);
    }
    listen() {
      for (const own of ["wheel", "pointerdown", "keydown"]) {
        this.root.addEventListener(own, () => this.waitingFor = null, { passive: true });
      }
      this.search.addEventListener("input", () => {
        clearTimeout(this.typing);
        this.typing = window.setTimeout(() => this.searchNow(), TYPING_MS);
      });
      this.search.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== "ArrowDown") return;
        event.preventDefault();
        clearTimeout(this.typing);
        this.searchNow();
        this.grid.takeFocus();
      });
      this.size.addEventListener("input", () => {
        this.grid.resize(Number(this.size.value));
        store("side", this.size.value);
      });
      const drawBoxes = () => this.grid.showBoxes(this.app.dataset.objects !== null && this.boxes.checked);
      this.boxes.addEventListener("change", () => {
        store("boxes", this.boxes.checked ? "on" : "off");
        drawBoxes();
      });
      drawBoxes();
      this.toggle.addEventListener(
        "click",
        () => this.openPanel(!this.panel.root.classList.contains("open"))
      );
      this.panel.closer.addEventListener("click", () => {
        this.openPanel(false);
        this.toggle.focus();
      });
    }
    openPanel(open2) {
      this.panel.root.classList.toggle("open", open2);
      this.toggle.setAttribute("aria-expanded", String(open2));
      if (open2) this.panel.closer.focus();
    }
    escape() {
      if (this.exports.close()) return true;
      if (this.panel.root.classList.contains("open")) {
        this.openPanel(false);
        this.toggle.focus();
        return true;
      }
      if (document.activeElement instanceof HTMLInputElement) {
        this.grid.takeFocus();
        return true;
      }
      return false;
    }
    /** Takes over the filters of an address, and goes to the place it names. */
    use(to) {
      this.unlisten();
      this.waitingFor = null;
      this.unlisten = this.selection.onChange(() => {
        this.changed();
        if (this.waitingFor !== null) void this.jumpTo(this.waitingFor, false);
      });
      if (document.activeElement !== this.search) {
        this.search.value = values(this.filters, "key").at(-1) ?? "";
      }
      drawSets(this.sets, this.app, this.filters);
      drawChips(this.chips, this.app, this.filters, (filters) => this.filter(filters));
      drawExpression(this.where, this.filters);
      if (values(this.filters, "damaged").length > 0)
        ask(`api/damage${this.app.query([])}`).catch(() => void 0);
      this.panel.show(this.filters);
      this.changed();
      const at = whole(to.options.at);
      if (at !== null) void this.jumpTo(at, false);
    }
    filter(filters, replace = false) {
      this.app.shared.go(this.app.grid(filters), replace);
    }
    searchNow() {
      const before = values(this.filters, "key");
      const text = this.search.value.trim();
      if (text === (before.at(-1) ?? "")) return;
      const rest = without(this.filters, "key");
      this.filter(text === "" ? rest : [...rest, ["key", text]], before.length > 0);
    }
    async jumpTo(sample2, byHand) {
      this.coming?.abort();
      if (this.waitingFor !== sample2) this.waitingFor = null;
      if (sample2 >= this.app.dataset.samples) return this.complain(this.notThere(sample2));
      const coming = new AbortController();
      this.coming = coming;
      try {
        const place = await this.selection.position(sample2, coming.signal);
        if (coming.signal.aborted) return;
        if (place === null) {
          this.complain(this.notThere(sample2));
          this.waitingFor = this.selection.growing ? sample2 : null;
          return;
        }
        if (this.selection.total === null) await this.selection.find(place, coming.signal);
        if (coming.signal.aborted) return;
        this.waitingFor = null;
        this.changed();
        this.coming = null;
        this.jump.value = "";
        this.grid.jump(place, byHand || this.focusThere);
        this.focusThere = false;
      } catch (error) {
        if (coming.signal.aborted) return;
        this.coming = null;
        if (!isQuiet(error))
          this.complain(error instanceof Error ? error.message : String(error));
      }
    }
    notThere(sample2) {
      const last = this.app.dataset.samples - 1;
      if (sample2 > last)
        return `There is no sample #${count(sample2)}: the last is #${count(last)}.`;
      if (this.selection.growing)
        return `Sample #${count(sample2)} is not among those found so far.`;
      return `Sample #${count(sample2)} is not among those that the filters keep.`;
    }
    complain(text) {
      this.coming = null;
      if (this.message.textContent === text) return;
      fill(this.message, h("p", { class: "failure", role: "alert" }, text));
    }
    changed() {
      const { total, growing, error } = this.selection;
      const { samples } = this.app.dataset;
      if (total === null) say(this.total, "");
      else if (this.filters.length === 0) say(this.total, plural(total, "sample"));
      else say(this.total, `${count(total)} of ${count(samples)}${growing ? " so far" : ""}`);
      if (error !== null) {
        fill(
          this.message,
          failure("The samples cannot be listed", error, () => this.selection.retry())
        );
      } else if (this.waitingFor !== null) {
      } else if (total === 0) {
        const none = growing ? "Nothing found so far." : samples === 0 ? "The dataset has no samples." : "No samples match. ";
        const all = h("a", { href: format(this.app.grid([])) }, "Clear filters");
        fill(this.message, h("p", { class: "empty" }, none, !growing && samples > 0 && all));
      } else {
        fill(this.message);
      }
    }
    /** Keeps the fragment at what is in sight, once it rests. */
    moved() {
      clearTimeout(this.noteTimer);
      this.noteTimer = window.setTimeout(() => {
        if (this.coming !== null || this.waitingFor !== null) return;
        const place = this.grid.place;
        const at = place === 0 ? void 0 : this.selection.sampleAt(place) ?? void 0;
        this.app.shared.note(this.app.grid(this.filters, at));
      }, NOTE_MS2);
    }
  };

  // src/keys.ts
  var KEYS = [
    ["← ↑ ↓ →", "another sample; on a sample's page, the one before and the next"],
    ["Home End", "the first and the last sample"],
    ["Page Up Page Down", "a screen up and down"],
    ["Enter", "opens the sample"],
    ["Esc", "back to the grid"],
    ["/", "searches keys"],
    ["g", "jumps to a sample by its number"],
    ["f", "the image fitted, or at its size"],
    ["o", "what is drawn over the image, or not"],
    ["b", "swaps the two images of a comparison"],
    ["t", "light or dark"],
    ["?", "these keys"]
  ];
  function showKeys() {
    if (document.querySelector("dialog[open]") !== null) return;
    const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
    const list2 = h(
      "dl",
      { class: "keys" },
      ...KEYS.flatMap(([key2, does]) => [h("dt", null, h("kbd", null, key2)), h("dd", null, does)])
    );
    const dialog = h(
      "dialog",
      { "aria-labelledby": "keys-title" },
      h("h2", { id: "keys-title" }, "Keys"),
      list2,
      close
    );
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  // src/fields.ts
  function fieldsTable(sample2, set2) {
    const rows = sample2.values.map(
      (value, at) => h(
        "tr",
        null,
        h(
          "th",
          { scope: "row" },
          value.name,
          h("span", { class: "kind" }, value.mask ? "mask" : value.kind)
        ),
        h("td", null, ...contents2(value, `${sample2.sample}/${at}${set2}`))
      )
    );
    return h("table", { class: "fields" }, h("tbody", null, ...rows));
  }
  function contents2(value, place) {
    const download = (text) => h("a", { href: `field/${place}`, download: true }, text);
    switch (value.kind) {
      case "image": {
        const size = value.width && value.height ? `${count(value.width)} × ${count(value.height)}` : null;
        const stored2 = value.bytes == null ? null : bytes(value.bytes);
        const facts = [value.codec, size, stored2].filter(Boolean).join(", ");
        return [
          facts,
          h(
            "div",
            { class: "line" },
            h("a", { href: `image/${place}`, target: "_blank", rel: "noopener" }, "Open"),
            download("Download")
          )
        ];
      }
      case "bytes":
      case "array": {
        const shape2 = value.shape ? ` [${value.shape.join(", ")}]` : "";
        const facts = [
          `${value.dtype ?? ""}${shape2}`.trim(),
          value.bytes == null ? "" : bytes(value.bytes)
        ].filter(Boolean);
        const parts = [];
        if (value.numbers)
          parts.push(
            longText(
              `Numbers of ${value.name}`,
              numbers(value.numbers, value.shape ?? null)
            )
          );
        if (value.hex)
          parts.push(longText(`First bytes of ${value.name}`, hexDump(value.hex), "hex"));
        return [facts.join(", "), h("div", { class: "line" }, download("Download")), ...parts];
      }
      case "json": {
        const text = typeof value.value === "string" ? parsed(value.value) : compact(value.value);
        return [longText(value.name, text), ...cut(value, download)];
      }
      case "text":
        return [
          longText(value.name, String(value.value ?? ""), "text"),
          ...cut(value, download)
        ];
      default: {
        const its = typeof value.value === "number" ? plain(value.value) : String(value.value ?? "");
        return value.class == null ? [its] : [h("strong", null, value.class), ` ${its}`];
      }
    }
  }
  function cut(value, download) {
    return value.cut ? [
      h(
        "div",
        { class: "line" },
        h("span", { class: "muted" }, "Only its beginning."),
        download("Download all")
      )
    ] : [];
  }
  function plain(value) {
    return Number.isInteger(value) ? String(value) : number(value);
  }
  function parsed(text) {
    try {
      return compact(JSON.parse(text));
    } catch {
      return text;
    }
  }
  function numbers(all, shape2) {
    const columns = shape2 && shape2.length > 1 ? Math.max(1, shape2.at(-1) ?? 8) : 8;
    const lines = [];
    for (let at = 0; at < all.length; at += columns) {
      lines.push(
        all.slice(at, at + columns).map((value) => typeof value === "number" ? plain(value) : String(value ?? "nan")).join(", ")
      );
    }
    return lines.join("\n");
  }
  function hexDump(hex) {
    const pairs = hex.match(/[0-9a-f]{2}/gi) ?? [];
    const lines = [];
    for (let at = 0; at < pairs.length; at += 16) {
      const line = pairs.slice(at, at + 16);
      const text = line.map((pair) => {
        const code2 = Number.parseInt(pair, 16);
        return code2 >= 32 && code2 < 127 ? String.fromCharCode(code2) : "·";
      });
      lines.push(
        `${at.toString(16).padStart(4, "0")}  ${line.join(" ").padEnd(47)}  ${text.join("")}`
      );
    }
    return lines.join("\n");
  }

  // src/stage.ts
  var MAX_ENLARGED = 12;
  var Stage = class {
    image = h("img", { alt: "" });
    frame = h("div", { class: "frame" }, this.image);
    room = h("div", { class: "room", tabindex: "0", role: "group" }, this.frame);
    toggle = h("button", { type: "button", "aria-keyshortcuts": "f" });
    zoom = h("span", { class: "muted" });
    root = h("div", { class: "stage" }, this.room);
    tools = h("div", { class: "line" }, this.toggle, this.zoom);
    observer = new ResizeObserver(() => this.fit());
    request = new AbortController();
    size = null;
    fitted = true;
    blob = "";
    isGiven;
    constructor(url, label, size, over, asStored) {
      this.size = size;
      this.image.alt = label;
      this.room.setAttribute("aria-label", label);
      this.toggle.addEventListener("click", () => this.swap());
      this.frame.classList.toggle("stored", asStored);
      if (over !== null) this.frame.append(over);
      this.isGiven = over !== null && size !== null;
      this.observer.observe(this.room);
      this.fit();
      void this.load(url);
    }
    /** Fitted or at its size, whichever it is not. */
    swap() {
      this.fitted = !this.fitted;
      this.fit();
    }
    stop() {
      this.observer.disconnect();
      this.request.abort();
      if (this.blob !== "") URL.revokeObjectURL(this.blob);
    }
    async load(url) {
      try {
        this.blob = URL.createObjectURL(await askBytes(url, this.request.signal));
        if (this.request.signal.aborted) return URL.revokeObjectURL(this.blob);
        this.image.src = this.blob;
        await this.image.decode();
        if (!this.isGiven) this.size = [this.image.naturalWidth, this.image.naturalHeight];
        this.fit();
      } catch (error) {
        if (isQuiet(error) || this.request.signal.aborted) return;
        fill(this.room, failure("The image cannot be shown", error));
      }
    }
    fit() {
      say(this.toggle, this.fitted ? "100 %" : "Fit");
      this.room.classList.toggle("fitted", this.fitted);
      if (this.size === null) return;
      const [width, height] = this.size;
      const room = Math.min(this.room.clientWidth / width, this.room.clientHeight / height);
      const scale = this.fitted && room > 0 ? Math.min(room, MAX_ENLARGED) : 1;
      this.frame.style.width = `${Math.max(1, Math.floor(width * scale))}px`;
      this.frame.style.height = `${Math.max(1, Math.floor(height * scale))}px`;
      this.frame.classList.toggle("enlarged", scale >= 4);
      say(this.zoom, `${Math.round(scale * 100)} %`);
    }
  };

  // src/sampleview.ts
  var SampleView = class {
    constructor(app, at) {
      this.app = app;
      this.at = at;
      this.title = `#${at.sample} · ${app.dataset.name}`;
      this.second = isSecond(at);
      this.selection = app.selection(at.filters);
      const back = h(
        "a",
        { class: "button", href: this.backTo(), "aria-keyshortcuts": "Escape" },
        "Back"
      );
      fill(this.heading, h("span", { class: "muted" }, `#${count(at.sample)}`));
      this.root.append(
        h(
          "header",
          { class: "sample-head" },
          back,
          this.heading,
          h(
            "nav",
            { class: "line", "aria-label": "Samples beside" },
            this.where,
            this.before,
            this.after
          )
        ),
        this.body
      );
      void this.load();
      void this.findNeighbours();
    }
    app;
    at;
    root = h("div", { class: "sample" });
    title;
    heading = h("h1", { tabindex: "-1" });
    before = h(
      "a",
      { class: "button", "aria-keyshortcuts": "ArrowLeft" },
      "‹ Previous"
    );
    after = h(
      "a",
      { class: "button", "aria-keyshortcuts": "ArrowRight" },
      "Next ›"
    );
    where = h("span", { class: "muted" });
    body = h("div", { class: "sample-body" });
    asking = new AbortController();
    selection;
    second;
    stage = null;
    over = null;
    key(event) {
      const steps = {
        ArrowLeft: this.before,
        ArrowRight: this.after
      };
      const scrolls = event.target instanceof Element && event.target.closest(".room:not(.fitted), pre") !== null;
      const step = scrolls ? void 0 : steps[event.key];
      if (event.key === "Escape") location.hash = this.backTo();
      else if (event.key === "f") this.stage?.swap();
      else if (event.key === "o") this.over?.toggle();
      else if (step !== void 0 && step.hasAttribute("href")) step.click();
      else return false;
      return true;
    }
    takeFocus() {
      this.heading.focus({ preventScroll: true });
    }
    retry() {
      void this.load();
      void this.findNeighbours();
    }
    stop() {
      this.asking.abort();
      this.stage?.stop();
    }
    get set() {
      return this.second ? "?set=b" : "";
    }
    backTo() {
      if (this.at.options.from === "compare") return this.app.shared.compared;
      return format(this.app.grid(this.at.filters, this.at.sample));
    }
    async load() {
      try {
        const sample2 = await ask(
          `api/sample/${this.at.sample}${this.set}`,
          this.asking.signal
        );
        this.draw(sample2);
      } catch (error) {
        if (!isQuiet(error))
          fill(
            this.body,
            failure(
              `Sample #${count(this.at.sample)} cannot be read`,
              error,
              () => this.retry()
            )
          );
      }
    }
    async findNeighbours() {
      const link = (anchor, sample2) => {
        if (sample2 === void 0) anchor.removeAttribute("href");
        else anchor.href = format({ ...this.at, sample: sample2 });
        anchor.toggleAttribute("aria-disabled", sample2 === void 0);
      };
      try {
        const { signal } = this.asking;
        const place = await this.selection.position(this.at.sample, signal);
        const beside = async (step) => {
          const index = (place ?? 0) + step;
          if (place === null || index < 0) return void 0;
          if (this.selection.filters.length === 0)
            return this.selection.sampleAt(index) ?? void 0;
          return (await this.selection.find(index, signal))?.sample;
        };
        const [before, after] = await Promise.all([beside(-1), beside(1)]);
        link(this.before, before);
        link(this.after, after);
        const of = this.selection.total === null ? "" : ` of ${count(this.selection.total)}`;
        fill(
          this.where,
          place === null ? "not among the filtered" : `${count(place + 1)}${of}`
        );
      } catch (error) {
        if (!isQuiet(error)) fill(this.where, "neighbours unknown");
      }
    }
    draw(sample2) {
      this.title = `${tail(sample2.key)} · #${sample2.sample} · ${this.app.dataset.name}`;
      this.app.shared.retitle(this.title);
      fill(this.heading, h("span", { class: "muted" }, `#${count(sample2.sample)} `), sample2.key);
      const images = sample2.values.flatMap(
        (value, at) => value.kind === "image" && !value.mask ? [{ value, at }] : []
      );
      const room = h("div", { class: "pictures" });
      const choose = (chosen) => {
        const image = images[chosen];
        if (image !== void 0)
          fill(room, ...this.picture(sample2, image.value, image.at, chosen === 0));
      };
      if (images.length === 0) fill(room, h("p", { class: "empty" }, "The sample has no image."));
      choose(0);
      const choice = h(
        "select",
        { "aria-label": "Image field" },
        ...images.map(({ value }, at) => h("option", { value: at }, value.name))
      );
      choice.addEventListener("change", () => choose(Number(choice.value)));
      fill(
        this.body,
        h("div", { class: "main" }, images.length > 1 && choice, room),
        this.facts(sample2)
      );
    }
    /** The image with what is known of it drawn over it; objects are of the first image. */
    picture(sample2, image, at, first) {
      this.stage?.stop();
      const size = image.width && image.height ? [image.width, image.height] : null;
      const masks = sample2.values.flatMap(
        (value, field) => value.mask ? [`mask/${sample2.sample}/${field}${this.set}`] : []
      );
      let objects = first ? sample2.objects : null;
      if (objects === null && first && masks.length > 0 && size !== null)
        objects = { size, items: [] };
      this.over = objects === null ? null : overlay(objects, masks);
      const label = `Image ${image.name} of ${sample2.key}`;
      const asStored = objects !== null && size !== null && objects.size[0] === size[0] && objects.size[1] === size[1];
      this.stage = new Stage(
        `image/${sample2.sample}/${at}${this.set}`,
        label,
        objects?.size ?? size,
        this.over?.root ?? null,
        asStored
      );
      return [
        this.stage.root,
        h("div", { class: "under" }, this.stage.tools, this.over?.controls ?? "")
      ];
    }
    facts(sample2) {
      const { place } = sample2;
      const split = sample2.split === null ? null : fact("Split", sample2.split);
      const stored2 = place && [
        fact("File", place.path),
        fact("Offset", `${count(place.offset)}, ${bytes(place.bytes)} long`),
        place.xxh3 === null ? null : fact("XXH3", place.xxh3, true)
      ];
      const damaged = `DAMAGED: ${sample2.cause ?? "the bytes are not those that were stored"}`;
      const verified = sample2.verified === null ? "none is stored" : sample2.verified ? "fits the bytes" : damaged;
      return h(
        "div",
        { class: "facts" },
        sample2.objects_error !== void 0 && h("p", { class: "failure" }, `Objects cannot be drawn: ${sample2.objects_error}`),
        h("section", null, h("h2", null, "Fields"), fieldsTable(sample2, this.set)),
        h(
          "section",
          null,
          h("h2", null, "Stored"),
          h("dl", null, ...flat2([split, ...stored2 ?? [], fact("Checksum", verified)]))
        ),
        sample2.exif.length > 0 && h(
          "section",
          null,
          h("h2", null, "EXIF"),
          h(
            "dl",
            null,
            ...flat2(sample2.exif.map(({ name: name2, value }) => fact(name2, short(value))))
          )
        ),
        this.python(sample2.python)
      );
    }
    python(text) {
      const code2 = longText("Python", text);
      return h(
        "section",
        null,
        h("h2", null, "Python"),
        code2,
        copier("Copy as Python", code2)
      );
    }
  };
  function fact(name2, value, isCode = false) {
    return [h("dt", null, name2), h("dd", null, isCode ? h("code", null, value) : value)];
  }
  function flat2(facts) {
    return facts.flatMap((pair) => pair ?? []);
  }

  // src/theme.ts
  var dark = matchMedia("(prefers-color-scheme: dark)");
  function isDark() {
    const { theme } = document.documentElement.dataset;
    return theme === void 0 ? dark.matches : theme === "dark";
  }
  function applyTheme() {
    const theme = stored("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  }
  function swapTheme() {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    store("theme", theme);
  }

  // src/main.ts
  var main = h("main", { id: "main", tabindex: "-1" });
  var brand = h(
    "a",
    { class: "brand", href: "#/" },
    h("img", { src: "icon.svg", alt: "", width: 20, height: 20 }),
    h("span", null, "fdconvert")
  );
  var pages = h("nav", { class: "pages", "aria-label": "Pages" });
  var notice = h("div", { class: "notice", role: "alert", hidden: true });
  var apps = null;
  var page = null;
  var shown = "";
  function show(to) {
    if (apps === null) return;
    shown = location.hash;
    const from = page;
    if (from?.show?.(to) !== true) {
      from?.stop();
      page = open(apps, to);
      fill(main, page.root);
      if (from !== null) takeFocus(page);
    }
    document.title = page?.title ?? "";
    const above = to.options.from === "compare" ? "compare" : "grid";
    const view = to.view === "sample" ? above : to.view;
    for (const link of pages.querySelectorAll("a")) {
      if (link.dataset.view === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }
  function open([first, second], to) {
    const app = (isSecond(to) ? second : null) ?? first;
    switch (to.view) {
      case "sample":
        return new SampleView(app, to);
      case "batch":
        return new BatchView(first, to);
      case "compare":
        return new CompareView(first, to);
      case "about":
        return new AboutView(first);
      case "grid":
        return new GridView(app, to);
    }
  }
  function takeFocus(page2) {
    if (page2 instanceof GridView) page2.takeFocus();
    else page2.root.querySelector("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  function go(to, replace = false) {
    const hash = format(to);
    if (hash === location.hash) return show(to);
    if (!replace) {
      location.hash = hash;
      return;
    }
    history.replaceState(null, "", hash);
    show(to);
  }
  function note(to) {
    if (location.hash !== shown) return;
    const hash = format(to);
    if (hash === shown) return;
    history.replaceState(null, "", hash);
    shown = location.hash;
  }
  function follow() {
    if (location.hash !== shown) show(parse(location.hash));
  }
  var NO_TEXT = /* @__PURE__ */ new Set(["checkbox", "range"]);
  function key(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]") !== null) return;
    const { target } = event;
    const types = target instanceof HTMLSelectElement || target instanceof HTMLInputElement && !NO_TEXT.has(target.type);
    if (types && event.key !== "Escape") return;
    follow();
    if (page?.key?.(event) === true) return event.preventDefault();
    if (event.key === "?") showKeys();
    else if (event.key === "t") swapTheme();
    else if (event.key === "/" || event.key === "g") toGrid(event);
    else return;
    event.preventDefault();
  }
  function toGrid(event) {
    const from = parse(location.hash);
    const to = grid(from.filters, void 0, isSecond(from));
    history.pushState(null, "", format(to));
    show(to);
    page?.key?.(event);
  }
  function drawLost(lost2) {
    notice.hidden = !lost2;
    if (!lost2) {
      fill(notice);
      page?.retry?.();
      return;
    }
    const again = h("button", { type: "button", onclick: () => void retry(again) }, "Try again");
    fill(
      notice,
      h("span", null, "The server does not answer. Has fdconvert view been ended?"),
      again
    );
  }
  async function retry(button) {
    button.disabled = true;
    try {
      if (apps === null) return await start();
      await ask("api/dataset");
    } catch {
    } finally {
      button.disabled = false;
    }
  }
  function drawPages({ second }) {
    const links = [
      ["grid", "Samples", "#/"],
      ["batch", "Batch", "#/batch"],
      ["about", "About", "#/about"]
    ];
    if (second !== null) links.splice(2, 0, ["compare", "Compare", "#/compare"]);
    fill(pages, ...links.map(([view, text, href]) => h("a", { href, "data-view": view }, text)));
  }
  async function start() {
    try {
      const dataset = await ask("api/dataset");
      const retitle = (title) => document.title = title;
      const shared = { go, note, retitle, compared: "#/compare" };
      const first = new App(dataset, false, shared);
      const b = dataset.second === null ? null : await ask("api/dataset?set=b");
      apps = [first, b && new App(b, true, shared)];
      brand.setAttribute("aria-label", dataset.name);
      fill(
        brand,
        ...brand.querySelectorAll("img"),
        h("span", { title: dataset.path }, dataset.name)
      );
      drawPages(dataset);
      show(parse(location.hash));
    } catch (error) {
      if (!(error instanceof Lost))
        fill(
          main,
          failure("The dataset cannot be shown", error, () => void start())
        );
    }
  }
  applyTheme();
  document.body.append(
    h(
      "a",
      {
        class: "skip",
        href: "#main",
        onclick: (event) => (event.preventDefault(), main.focus())
      },
      "Skip to content"
    ),
    h(
      "header",
      { class: "bar" },
      brand,
      pages,
      h(
        "button",
        {
          type: "button",
          class: "icon",
          "aria-label": "Light or dark",
          title: "Light or dark (t)",
          onclick: swapTheme
        },
        "◐"
      ),
      h(
        "button",
        {
          type: "button",
          class: "icon",
          "aria-label": "Keys",
          title: "Keys (?)",
          onclick: showKeys
        },
        "?"
      )
    ),
    notice,
    main
  );
  onLost(drawLost);
  addEventListener("hashchange", follow);
  addEventListener("keydown", key);
  void start();
})();
