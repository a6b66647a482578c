// The helper that lives in the isolated world of every document. Page scripts
// can't reach this world. What does cross is the DOM: a form's controls hide
// the form's own properties by their names, so every property and method is
// taken from its prototype here, once, and called directly.
//
// This file: captured functions, finding elements, text. It is the first of the
// files that make up one function body; `api` collects what the host may call.
"use strict";

const uncurry = Function.prototype.call.bind.bind(Function.prototype.call);
const getter = (proto, name) => uncurry(Object.getOwnPropertyDescriptor(proto, name).get);
const setter = (proto, name) => uncurry(Object.getOwnPropertyDescriptor(proto, name).set);

const dom = {
  qsDocument: uncurry(Document.prototype.querySelector),
  qsElement: uncurry(Element.prototype.querySelector),
  qsFragment: uncurry(DocumentFragment.prototype.querySelector),
  qsaDocument: uncurry(Document.prototype.querySelectorAll),
  qsaElement: uncurry(Element.prototype.querySelectorAll),
  qsaFragment: uncurry(DocumentFragment.prototype.querySelectorAll),
  matches: uncurry(Element.prototype.matches),
  closest: uncurry(Element.prototype.closest),
  contains: uncurry(Node.prototype.contains),
  rootNode: uncurry(Node.prototype.getRootNode),
  attr: uncurry(Element.prototype.getAttribute),
  hasAttr: uncurry(Element.prototype.hasAttribute),
  rect: uncurry(Element.prototype.getBoundingClientRect),
  rects: uncurry(Element.prototype.getClientRects),
  scrollIntoView: uncurry(Element.prototype.scrollIntoView),
  visible: uncurry(Element.prototype.checkVisibility),
  tag: getter(Element.prototype, "localName"),
  shadow: getter(Element.prototype, "shadowRoot"),
  shadowHost: getter(ShadowRoot.prototype, "host"),
  slot: getter(Element.prototype, "assignedSlot"),
  outer: getter(Element.prototype, "outerHTML"),
  type: getter(Node.prototype, "nodeType"),
  text: getter(Node.prototype, "textContent"),
  value: getter(Node.prototype, "nodeValue"),
  parent: getter(Node.prototype, "parentNode"),
  first: getter(Node.prototype, "firstChild"),
  next: getter(Node.prototype, "nextSibling"),
  owner: getter(Node.prototype, "ownerDocument"),
  base: getter(Node.prototype, "baseURI"),
  connected: getter(Node.prototype, "isConnected"),
  inner: getter(HTMLElement.prototype, "innerText"),
  width: getter(HTMLElement.prototype, "offsetWidth"),
  height: getter(HTMLElement.prototype, "offsetHeight"),
  frameDocument: getter(HTMLIFrameElement.prototype, "contentDocument"),
  view: getter(Document.prototype, "defaultView"),
  title: getter(Document.prototype, "title"),
  body: getter(Document.prototype, "body"),
  ready: getter(Document.prototype, "readyState"),
  dispatch: uncurry(EventTarget.prototype.dispatchEvent),
};

const ELEMENT = 1, TEXT = 3, DOCUMENT = 9, FRAGMENT = 11;

// Fault is an error that has a code for the host.
class Fault extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const quote = (s) => JSON.stringify(s.length > 200 ? s.slice(0, 200) + "…" : s);

// select runs a querySelector or querySelectorAll of the kind that root needs.
function select(root, selector, all) {
  const kind = dom.type(root);
  const f = kind === DOCUMENT ? (all ? dom.qsaDocument : dom.qsDocument)
    : kind === FRAGMENT ? (all ? dom.qsaFragment : dom.qsFragment)
      : (all ? dom.qsaElement : dom.qsElement);
  try {
    return f(root, selector);
  } catch (e) {
    if (e instanceof DOMException) throw new Fault("invalid_args", `invalid selector ${quote(selector)}`);
    throw e;
  }
}

const one = (root, selector) => select(root, selector, false);
const all = (root, selector) => Array.from(select(root, selector, true));

// enter returns what is inside a frame or shadow host, or null.
function enter(element) {
  const inside = dom.shadow(element);
  if (inside) return inside;
  try {
    return dom.frameDocument(element); // null if it is of another origin
  } catch {
    return null; // no frame
  }
}

// resolve follows within to the root that a selector is then looked up in. It
// returns null if a step isn't there yet.
function resolve(within) {
  let root = document;
  for (const step of within || []) {
    const host = one(root, step);
    root = host && enter(host);
    if (!root) return null;
  }
  return root;
}

function mustResolve(within) {
  const root = resolve(within);
  if (!root) throw new Fault("selector_drift", `no same-origin frame or open shadow root at ${quote(within.join(" > "))}`);
  return root;
}

const collapse = (s) => s.replace(/[\s\u00a0]+/g, " ").trim();

// ownText is the text of an element's own text nodes.
function ownText(element) {
  let s = "";
  for (let n = dom.first(element); n; n = dom.next(n)) if (dom.type(n) === TEXT) s += dom.value(n);
  return collapse(s);
}

// pre is the text as it stands in the markup, with each br as a line feed: for
// text whose white space counts and whose lines are broken by elements.
function pre(element) {
  let s = "";
  const walk = (node) => {
    for (let n = dom.first(node); n; n = dom.next(n)) {
      if (dom.type(n) === TEXT) s += dom.value(n);
      else if (dom.type(n) === ELEMENT && dom.tag(n) === "br") s += "\n";
      else walk(n);
    }
  };
  walk(element);
  return s;
}

const BLOCK = new Set(("address article aside blockquote dd details div dl dt fieldset figcaption figure footer form " +
  "h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tbody tfoot thead tr ul").split(" "));

// lines is the text with its line breaks: as rendered, or, in a document that
// is never rendered, by what the elements usually are.
function lines(element) {
  if (dom.view(dom.owner(element))) {
    try {
      return dom.inner(element).trim();
    } catch {
      return dom.text(element).trim(); // not an HTML element
    }
  }
  let out = "";
  const walk = (node) => {
    for (let n = dom.first(node); n; n = dom.next(n)) {
      if (dom.type(n) === TEXT) {
        out += dom.value(n).replace(/\s+/g, " ");
      } else if (dom.type(n) === ELEMENT) {
        const tag = dom.tag(n);
        if (tag === "script" || tag === "style" || tag === "template") continue;
        if (tag === "br") out += "\n";
        const block = BLOCK.has(tag);
        if (block && out && !out.endsWith("\n")) out += "\n";
        walk(n);
        if (block && !out.endsWith("\n")) out += "\n";
      }
    }
  };
  walk(element);
  return out.replace(/ *\n */g, "\n").trim();
}

const CONTROLS = ["input", "textarea", "select", "button", "option", "output"];

// control returns the prototype that holds a form control's value, or null.
function control(element) {
  switch (CONTROLS.indexOf(dom.tag(element))) {
    case 0: return HTMLInputElement.prototype;
    case 1: return HTMLTextAreaElement.prototype;
    case 2: return HTMLSelectElement.prototype;
    case 3: return HTMLButtonElement.prototype;
    case 4: return HTMLOptionElement.prototype;
    case 5: return HTMLOutputElement.prototype;
  }
  return null;
}

const isPassword = (element) => dom.tag(element) === "input" && getter(HTMLInputElement.prototype, "type")(element) === "password";

function controlValue(element) {
  const proto = control(element);
  return proto ? getter(proto, "value")(element) : null;
}

// markup is an element's markup without what stands in it of passwords: some pages
// write into the attribute what is typed.
function markup(element) {
  let s = dom.outer(element);
  for (const e of [element, ...all(element, "input")]) {
    if (!isPassword(e) || !dom.hasAttr(e, "value")) continue;
    const own = dom.outer(e); // its quotes are double ones, and none stands in a value
    s = s.replaceAll(own, () => own.replace(/\svalue="[^"]*"/, ""));
  }
  return s;
}

// tokens lists the values that a page holds for its own requests: hidden fields
// and meta elements. A page with a form for each of a hundred comments repeats
// the same few.
function tokens() {
  const found = new Set();
  for (const e of all(document, "input[type=hidden], meta[content]")) {
    const v = dom.tag(e) === "meta" ? dom.attr(e, "content") : controlValue(e);
    if (v && v.length >= 8 && v.length <= 4096 && found.size < 256) found.add(v);
  }
  return Array.from(found);
}

// A Raw is JSON already.
class Raw {
  constructor(json) {
    this.json = json;
  }
}

const api = {
  // page: where the page is.
  page: () => ({ url: location.href, title: collapse(dom.title(document)).slice(0, 1024) }),

  // exists: whether anything matches.
  exists: ({ within, selector }) => {
    const root = resolve(within);
    return !!root && !!one(root, selector);
  },

  // html: an element's markup, at most max UTF-16 units of it.
  html: ({ within, selector, max }) => {
    const root = mustResolve(within);
    const e = one(root, selector || (root === document ? "html" : "*"));
    if (!e) throw new Fault("selector_drift", `nothing matches ${quote(selector)}`);
    const s = markup(e);
    return { html: s.slice(0, max), truncated: s.length > max };
  },

  // text: the text or attribute of the one element that matches, or null.
  text: ({ within, selector, attr }) => {
    const found = all(mustResolve(within), selector);
    if (found.length > 1) throw new Fault("target_ambiguous", `${found.length} elements match ${quote(selector)}`);
    if (!found.length) return null;
    return attr ? dom.attr(found[0], attr) : collapse(dom.text(found[0]));
  },

  // values: what form fields or meta elements hold, one for each selector.
  values: ({ selectors }) => ({
    tokens: tokens(),
    values: selectors.map((selector) => {
      const found = all(document, selector);
      if (!found.length) throw new Fault("selector_drift", `no token at ${quote(selector)}`);
      if (isPassword(found[0])) throw new Fault("capability_denied", `${quote(selector)} is a password field`);
      const v = controlValue(found[0]) ?? dom.attr(found[0], "content") ?? dom.attr(found[0], "value");
      if (v === null) throw new Fault("selector_drift", `the element at ${quote(selector)} holds no value`);
      if (found.some((e) => (controlValue(e) ?? dom.attr(e, "content")) !== v)) {
        throw new Fault("target_ambiguous", `elements at ${quote(selector)} hold different values`);
      }
      return v;
    }),
  }),

  // tokens: as above, for the guard.
  tokens: () => tokens(),

  // ping answers if scripts can run.
  ping: () => true,

  // fence answers when what an event has put off, such as the submission of a
  // form, has had its turn.
  fence: () => new Promise((done) => setTimeout(() => setTimeout(done))),
};
