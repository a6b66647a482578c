// What a reader who can't see the page is told, and what nobody is shown.

const SECRET = new Set(["one-time-code", "current-password", "new-password", "cc-csc", "cc-number"]);
const SECRETIVE = /passw|pwd|secret|otp|one.?time|2fa|mfa|cvv|cvc/i;

// isSecret reports whether a field holds what must not leave the page: by its
// type, by what it is to be filled with, or by its name, because a password that
// its user wanted to see is a field of text.
function isSecret(e) {
  const tag = dom.tag(e);
  if (tag !== "input" && tag !== "textarea") return false;
  if (isPassword(e)) return true;
  if ((dom.attr(e, "autocomplete") || "").toLowerCase().split(/\s+/).some((t) => SECRET.has(t))) return true;
  return tag === "input" && ["name", "id"].some((a) => SECRETIVE.test(dom.attr(e, a) || ""));
}

const ROLES = {
  a: (e) => (dom.hasAttr(e, "href") ? "link" : ""), article: "article", aside: "complementary", button: "button", dd: "definition",
  details: "group", dialog: "dialog", dt: "term", fieldset: "group", figure: "figure", footer: "contentinfo", form: "form",
  h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading", h6: "heading", header: "banner", hr: "separator",
  iframe: "frame", img: "img", input: (e) => INPUTS[dom.inputType(e)] ?? "textbox", li: "listitem", main: "main", meter: "meter",
  nav: "navigation", ol: "list", option: "option", p: "paragraph", progress: "progressbar", search: "search",
  section: (e) => (dom.hasAttr(e, "aria-label") || dom.hasAttr(e, "aria-labelledby") ? "region" : ""),
  select: (e) => (dom.hasAttr(e, "multiple") ? "listbox" : "combobox"), summary: "button", table: "table", td: "cell",
  textarea: "textbox", th: "columnheader", tr: "row", ul: "list",
};
const INPUTS = {
  button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox", radio: "radio", range: "slider",
  number: "spinbutton", search: "searchbox", hidden: "", file: "button",
};
// These are named by what is in them.
const CONTENT = new Set(["button", "cell", "columnheader", "heading", "link", "option", "tab", "menuitem", "treeitem", "paragraph", "term"]);
const SKIPPED = new Set(["head", "script", "style", "template", "noscript", "link", "meta", "title"]);

const byTag = (e) => {
  const r = ROLES[dom.tag(e)];
  return Object.hasOwn(ROLES, dom.tag(e)) ? (typeof r === "function" ? r(e) : r) : "";
};
const roleOf = (e) => (/^[a-z]{2,20}$/.exec((dom.attr(e, "role") || "").trim().split(/\s+/)[0]) || [byTag(e)])[0];

// textOf is the text that an element shows, without what is in secret fields,
// scripts and hidden parts.
function textOf(node, left = 400) {
  if (dom.type(node) === ELEMENT && isSecret(node)) return "";
  let s = "";
  for (let n = dom.first(node); n && s.length < left; n = dom.next(n)) {
    if (dom.type(n) === TEXT) s += dom.value(n);
    else if (dom.type(n) === ELEMENT && !SKIPPED.has(dom.tag(n)) && dom.visible(n)) {
      const block = BLOCK.has(dom.tag(n)) || dom.tag(n) === "br" ? " " : "";
      s += block + (dom.tag(n) === "textarea" ? "" : textOf(n, left - s.length)) + block;
    }
  }
  return collapse(s);
}

const LABELS = ["button", "input", "meter", "output", "progress", "select", "textarea"];
const labelsOf = (e) => {
  const proto = [HTMLButtonElement, HTMLInputElement, HTMLMeterElement, HTMLOutputElement, HTMLProgressElement, HTMLSelectElement, HTMLTextAreaElement];
  const i = LABELS.indexOf(dom.tag(e));
  return i < 0 ? [] : Array.from(getter(proto[i].prototype, "labels")(e) || []);
};

function nameOf(e, role) {
  const root = dom.rootNode(e);
  const by = (dom.attr(e, "aria-labelledby") || "").split(/\s+/).filter(Boolean)
    .map((id) => one(root, "#" + CSS.escape(id))).filter(Boolean).map((l) => textOf(l)).join(" ");
  if (by) return collapse(by);
  for (const name of [dom.attr(e, "aria-label"), labelsOf(e).map((l) => textOf(l)).join(" "), dom.tag(e) === "img" ? dom.attr(e, "alt") : ""]) {
    if (name && collapse(name)) return collapse(name);
  }
  if (dom.tag(e) === "input" && role === "button" && !isSecret(e)) return collapse(controlValue(e) || "");
  if (CONTENT.has(role)) {
    const text = textOf(e);
    if (text) return text;
  }
  return collapse(dom.attr(e, "placeholder") || dom.attr(e, "title") || "");
}

// stateOf lists what a reader has to know beside role and name.
function stateOf(e, role) {
  const tag = dom.tag(e), out = [];
  if (/^h[1-6]$/.test(tag)) out.push("level=" + tag[1]);
  if (tag === "input" && (role === "checkbox" || role === "radio")) out.push(dom.checked(e) ? "checked" : "unchecked");
  if (dom.attr(e, "aria-checked") === "true") out.push("checked");
  if (dom.matches(e, ":disabled") || dom.attr(e, "aria-disabled") === "true") out.push("disabled");
  if (tag === "option" && dom.matches(e, ":checked") || dom.attr(e, "aria-selected") === "true") out.push("selected");
  const open = dom.attr(e, "aria-expanded");
  if (open === "true" || tag === "details" && dom.hasAttr(e, "open")) out.push("expanded");
  else if (open === "false" || tag === "details") out.push("collapsed");
  return out;
}

const VALUED = new Set(["textbox", "searchbox", "spinbutton", "slider", "combobox"]);

function valueOf(e, role) {
  if (!VALUED.has(role)) return null;
  if (isSecret(e)) return controlValue(e) ? "(hidden)" : "";
  if (dom.tag(e) === "select") {
    const chosen = all(e, "option").find((o) => dom.matches(o, ":checked"));
    return chosen ? textOf(chosen) : "";
  }
  return collapse(controlValue(e) ?? textOf(e));
}

const shorten = (s) => (s.length > 400 ? s.slice(0, 400) + "…" : s);
const sizeOf = ((encoder) => (s) => encoder.encode(s).length)(new TextEncoder());

// A Teller writes lines until its budget is spent.
class Teller {
  constructor(budget) {
    this.lines = [];
    this.left = budget;
    this.truncated = false;
  }

  line(depth, text) {
    const s = " ".repeat(Math.min(depth, 40)) + "- " + text;
    this.left -= sizeOf(s) + 1;
    if (this.left < 0) this.truncated = true;
    else this.lines.push(s);
  }

  // inside tells what is in node; named: its text has been told as a name.
  inside(node, depth, named) {
    let text = "";
    const flush = () => {
      if (!named && collapse(text)) this.line(depth, "text " + JSON.stringify(shorten(collapse(text))));
      text = "";
    };
    for (let n = dom.first(node); n && !this.truncated; n = dom.next(n)) {
      if (dom.type(n) === TEXT) text += dom.value(n);
      else if (dom.type(n) === ELEMENT && this.shown(n)) {
        if (dom.tag(n) === "br") text += " ";
        else if (this.plain(n)) text += this.flat(n);
        else {
          flush();
          this.element(n, depth, named);
        }
      }
    }
    flush();
  }

  shown(e) {
    return !SKIPPED.has(dom.tag(e)) && dom.attr(e, "aria-hidden") !== "true" && (dom.visible(e) || dom.tag(e) === "option");
  }

  // plain: an element that only formats text.
  plain(e) {
    return !roleOf(e) && !BLOCK.has(dom.tag(e)) && !dom.shadow(e) && !one(e, "*");
  }

  flat(e) {
    return textOf(e);
  }

  element(e, depth, named) {
    if (depth > 200) {
      this.truncated = true;
      return;
    }
    const role = dom.tag(e) === "input" && dom.inputType(e) === "hidden" ? null : roleOf(e);
    if (role === null) return;
    const tell = role && !(named && role === "paragraph");
    if (tell) {
      const name = nameOf(e, role), value = valueOf(e, role);
      this.line(depth, [role, name && JSON.stringify(shorten(name)), ...stateOf(e, role), value !== null && value !== "" ? "value=" + JSON.stringify(shorten(value)) : ""].filter(Boolean).join(" "));
    }
    if (dom.tag(e) === "textarea" || (role === "combobox" && dom.tag(e) === "select")) return;
    const below = tell ? depth + 1 : depth, known = named || (tell && CONTENT.has(role));
    const shadow = enter(e);
    if (shadow) this.inside(dom.type(shadow) === DOCUMENT ? dom.body(shadow) || shadow : shadow, below, false);
    this.inside(e, below, known);
  }
}

// snapshot: an element, or the page, as text.
api.snapshot = ({ within, selector, max }) => {
  const root = mustResolve(within);
  const e = selector ? one(root, selector) : root;
  if (!e) throw new Fault("selector_drift", `nothing matches ${quote(selector)}`);
  const t = new Teller(max);
  if (selector) t.element(e, 0, false);
  else t.inside(dom.type(e) === DOCUMENT ? dom.body(e) || e : e, 0, false);
  return { text: t.lines.join("\n"), truncated: t.truncated };
};

// within the page: where a rectangle of an element's own frame is in the window.
function toWindow(e, r) {
  const host = dom.frameElement(dom.owner(e));
  if (!host) return r;
  const f = dom.rect(host), style = getComputedStyle(host);
  const px = (name) => parseFloat(style.getPropertyValue(name)) || 0;
  return toWindow(host, {
    x: r.x + f.left + px("border-left-width") + px("padding-left"), y: r.y + f.top + px("border-top-width") + px("padding-top"),
    width: r.width, height: r.height,
  });
}

const rectOf = (e) => {
  const r = dom.rect(e);
  return toWindow(e, { x: r.left, y: r.top, width: r.width, height: r.height });
};

// turned reports whether a frame is drawn otherwise than moved: scaled, turned,
// mirrored. Where in it something is can't be told from where the frame is then.
function turned(frame) {
  const r = dom.rect(frame);
  if (Math.abs(r.width - dom.width(frame)) > 1 || Math.abs(r.height - dom.height(frame)) > 1) return true;
  for (let n = frame; n; n = parentOf(n)) {
    const style = getComputedStyle(n);
    const is = (name, ...plain) => !["", "none", ...plain].includes(style.getPropertyValue(name));
    if (is("transform") || is("rotate") || is("scale") || is("offset-path") || is("perspective") || is("zoom", "1")) return true;
  }
  return false;
}

const parentOf = (e) => {
  const up = dom.slot(e) || dom.parent(e);
  if (up && dom.type(up) === ELEMENT) return up;
  if (up && dom.type(up) === FRAGMENT) return dom.shadowHost(up);
  return dom.frameElement(dom.owner(e));
};

// masks lists what a picture must not show, below root: secret fields, and
// frames that can't be looked into.
function masks(root, out = []) {
  for (const e of all(root, "*")) {
    const tag = dom.tag(e), inside = enter(e);
    if (inside && dom.type(inside) === DOCUMENT) {
      const below = masks(inside);
      out.push(...(below.length && turned(e) ? [rectOf(e)] : below));
    } else if (inside) masks(inside, out);
    else if (tag === "iframe" || tag === "frame" || tag === "object" || tag === "embed") out.push(rectOf(e));
    if (isSecret(e)) out.push(rectOf(e));
  }
  return out;
}

// frame: what of the page a picture shows, in the window's coordinates.
api.frame = ({ within, selector }) => {
  const w = document.documentElement.clientWidth || innerWidth, h = innerHeight;
  let r = { x: 0, y: 0, width: w, height: h };
  if (selector) {
    const e = exactlyOne(within, selector);
    dom.scrollIntoView(e, { block: "center", inline: "center", behavior: "instant" });
    r = rectOf(e);
  }
  const x = Math.max(0, r.x), y = Math.max(0, r.y);
  const width = Math.min(w, r.x + r.width) - x, height = Math.min(h, r.y + r.height) - y;
  if (!(width >= 1 && height >= 1)) throw new Fault("selector_drift", `${selector ? quote(selector) : "the window"} shows nothing`);
  return { rect: { x, y, width, height }, left: visualViewport.pageLeft, top: visualViewport.pageTop, masks: masks(document) };
};
