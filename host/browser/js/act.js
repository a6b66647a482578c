// Acting: finding the one element, bringing it into view, and telling the host
// where to click. Clicks and keys themselves are the browser's trusted events.

Object.assign(dom, {
  focus: uncurry(HTMLElement.prototype.focus),
  selectInput: uncurry(HTMLInputElement.prototype.select),
  selectArea: uncurry(HTMLTextAreaElement.prototype.select),
  label: getter(HTMLLabelElement.prototype, "control"),
  editable: getter(HTMLElement.prototype, "isContentEditable"),
  inputType: getter(HTMLInputElement.prototype, "type"),
  checked: getter(HTMLInputElement.prototype, "checked"),
  fromPoint: { [DOCUMENT]: uncurry(Document.prototype.elementFromPoint), [FRAGMENT]: uncurry(ShadowRoot.prototype.elementFromPoint) },
  active: { [DOCUMENT]: getter(Document.prototype, "activeElement"), [FRAGMENT]: getter(ShadowRoot.prototype, "activeElement") },
  frameElement: (doc) => dom.view(doc) && dom.view(doc).frameElement,
});

// target is the element that the step in hand is about.
let target = null;

function describe(e) {
  const id = dom.attr(e, "id"), cls = dom.attr(e, "class");
  return `<${dom.tag(e)}${id ? ` id=${quote(id)}` : ""}${cls ? ` class=${quote(cls)}` : ""}>`;
}

function exactlyOne(within, selector) {
  const found = all(mustResolve(within), selector);
  if (!found.length) throw new Fault("selector_drift", `nothing matches ${quote(selector)}`);
  if (found.length > 1) throw new Fault("target_ambiguous", `${found.length} elements match ${quote(selector)}`);
  if (dom.matches(found[0], ":disabled")) throw new Fault("selector_drift", `${describe(found[0])} is disabled`);
  return found[0];
}

const frame = () => new Promise((done) => {
  requestAnimationFrame(done);
  setTimeout(done, 100);
});

// steady waits until the element stands still for two frames: before its first
// frame a page takes no clicks.
async function steady(e) {
  let last = "";
  for (let still = 0, i = 0; still < 2 && i < 60; i++) {
    await frame();
    const r = dom.rect(e);
    const now = `${r.left},${r.top},${r.width},${r.height}`;
    still = now === last ? still + 1 : 0;
    last = now;
  }
}

// centre is where to click, in its own frame's coordinates.
function centre(e) {
  const r = Array.from(dom.rects(e)).find((c) => c.width > 0 && c.height > 0);
  if (!r || !isVisible(e)) throw new Fault("selector_drift", `${describe(e)} is not visible`);
  return { x: r.left + r.width / 2, y: r.top + r.height / 2 };
}

// inView reports whether the place to click is inside the viewport. What can't be
// seen at all is centre's to say.
function inView(e) {
  const r = Array.from(dom.rects(e)).find((c) => c.width > 0 && c.height > 0);
  const root = dom.rootNode(e);
  return !r || !!dom.fromPoint[dom.type(root)](root, r.left + r.width / 2, r.top + r.height / 2);
}

// receives checks that a click at p would reach e.
function receives(e, { x, y }) {
  const root = dom.rootNode(e);
  const hit = dom.fromPoint[dom.type(root)](root, x, y);
  if (!hit) throw new Fault("selector_drift", `${describe(e)} can't be brought into view`);
  const label = dom.closest(hit, "label");
  if (hit === e || dom.contains(e, hit) || (label && dom.label(label) === e)) return;
  throw new Fault("covered_by", `${describe(e)} is covered by ${describe(hit)}`);
}

// outward turns a point of e's frame into one of the page, and checks on the
// way that no frame is covered.
function outward(e, p) {
  receives(e, p);
  const host = dom.frameElement(dom.owner(e));
  if (!host) return p;
  const r = dom.rect(host);
  const style = getComputedStyle(host);
  const px = (name) => parseFloat(style.getPropertyValue(name)) || 0;
  return outward(host, {
    x: p.x + r.left + px("border-left-width") + px("padding-left"),
    y: p.y + r.top + px("border-top-width") + px("padding-top"),
  });
}

// locate: bring the element into view and say where to click.
api.locate = async ({ within, selector }) => {
  const e = exactlyOne(within, selector);
  for (let i = 0; i < 3 && (i === 0 || !inView(e)); i++) { // a page that is still being laid out scrolls it away
    dom.scrollIntoView(e, { block: "center", inline: "center", behavior: "instant" });
    await steady(e);
    if (!dom.connected(e)) throw new Fault("stale_ref", `the element at ${quote(selector)} left the page`);
  }
  target = e;
  const checkable = dom.tag(e) === "input" && ["checkbox", "radio"].includes(dom.inputType(e));
  return { ...outward(e, centre(e)), checkable, checked: checkable && dom.checked(e), tokens: tokens() };
};

// relocate: the same once more, after the pointer has arrived.
api.relocate = () => {
  if (!target || !dom.connected(target)) throw new Fault("stale_ref", "the element left the page");
  return outward(target, centre(target));
};

// checked: whether the element is.
api.checked = () => !!target && dom.checked(target);

const DIRECT = ["date", "time", "datetime-local", "month", "week", "color", "range"];
const REFUSED = ["checkbox", "radio", "file", "submit", "button", "image", "reset", "hidden"];

function changed(e) {
  for (const name of ["input", "change"]) dom.dispatch(e, new Event(name, { bubbles: true, composed: true }));
}

// focus: give the element the keyboard; with select its content is selected. It
// says how a value is put in: typed, or directly where there is no typing.
api.focus = async ({ within, selector, select }) => {
  const e = exactlyOne(within, selector);
  dom.scrollIntoView(e, { block: "center", inline: "center", behavior: "instant" });
  await steady(e);
  target = e;
  dom.focus(e);
  const root = dom.rootNode(e);
  if (dom.active[dom.type(root)](root) !== e) throw new Fault("selector_drift", `${describe(e)} takes no keyboard input`);
  const editor = dom.editable(e) && dom.tag(e) !== "textarea" && dom.tag(e) !== "input";
  return { direct: select ? prepare(e) : false, editor, tokens: tokens() };
};

// prepare selects what e holds and reports whether its value is set directly.
function prepare(e) {
  const tag = dom.tag(e);
  if ((tag === "textarea" || tag === "input") && dom.hasAttr(e, "readonly")) {
    throw new Fault("selector_drift", `${describe(e)} is read-only`);
  }
  switch (tag) {
    case "textarea":
      dom.selectArea(e);
      return false;
    case "input":
      if (REFUSED.includes(dom.inputType(e))) throw new Fault("unsupported_action", `${describe(e)} holds no text`);
      if (DIRECT.includes(dom.inputType(e))) return true;
      dom.selectInput(e);
      return false;
  }
  if (!dom.editable(e)) throw new Fault("unsupported_action", `${describe(e)} holds no text`);
  dom.view(dom.owner(e)).getSelection().selectAllChildren(e);
  return false;
}

// put: set the value of a control that isn't typed into.
api.put = ({ value }) => {
  setter(HTMLInputElement.prototype, "value")(target, value);
  changed(target);
};

const unified = (s) => s.replace(/\r\n?/g, "\n");

// filled: whether the element holds value now.
api.filled = ({ value }) => {
  if (!target || !dom.connected(target)) throw new Fault("stale_ref", "the element left the page");
  const held = controlValue(target);
  if (held === null || unified(held) === unified(value)) return true; // an editor renders what it gets
  throw new Fault("unsupported_action", `${describe(target)} did not take the whole value`);
};

// choose: select the option that has this value.
api.choose = ({ within, selector, value }) => {
  const e = exactlyOne(within, selector);
  if (dom.tag(e) !== "select") throw new Fault("unsupported_action", `${describe(e)} is not a select element`);
  const options = all(e, "option").filter((o) => controlValue(o) === value && !dom.matches(o, ":disabled"));
  if (options.length !== 1) {
    throw new Fault(options.length ? "target_ambiguous" : "selector_drift", `${options.length} options have the value ${quote(value)}`);
  }
  target = e;
  setter(HTMLSelectElement.prototype, "value")(e, value);
  changed(e);
  return { tokens: tokens() };
};
