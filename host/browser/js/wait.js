// Waiting: one message that answers when something holds or the time is over.

// changedAt is when the document last changed while somebody waited.
let changedAt = 0;

// until resolves with the first value of test that isn't null or undefined, or
// with null after ms. It looks again whenever the document changes, and every
// tenth of a second for what changes without that: style, frames, time.
function until(test, ms) {
  return new Promise((done, fail) => {
    let ended = false;
    const end = (f, v) => {
      ended = true;
      observer.disconnect();
      clearInterval(timer);
      clearTimeout(last);
      f(v);
    };
    const look = () => {
      if (ended) return;
      try {
        const v = test();
        if (v !== null && v !== undefined) end(done, v);
        else if (performance.now() >= deadline) end(done, null);
      } catch (e) {
        end(fail, e);
      }
    };
    const deadline = performance.now() + ms;
    const observer = new MutationObserver(() => {
      changedAt = performance.now();
      look();
    });
    const timer = setInterval(look, 100);
    const last = setTimeout(look, ms + 1);
    observer.observe(document, { childList: true, subtree: true, attributes: true, characterData: true });
    look();
  });
}

const isVisible = (e) => dom.visible(e, { visibilityProperty: true }) && dom.rects(e).length > 0;

function inState(within, selector, state) {
  const root = resolve(within);
  if (state === "detached") return !root || !one(root, selector);
  if (!root) return false;
  return state === "visible" ? all(root, selector).some(isVisible) : !!one(root, selector);
}

// wait: until a selector is in a state; false when the time is over.
api.wait = ({ within, selector, state, ms }) =>
  until(() => (inState(within, selector, state) ? true : null), ms).then((v) => v === true);

const status = () => {
  const [entry] = performance.getEntriesByType("navigation");
  return entry ? entry.responseStatus : 0;
};

// PATIENCE is how long, in milliseconds, a document that is not parsed to its
// end has to stand still to be taken for whole: a script that never loads must
// not hold the call up.
const PATIENCE = 2000;

const whole = () => dom.ready(document) !== "loading" || performance.now() - changedAt > PATIENCE;

// holds reports whether everything that condition c gives is so.
function holds(c) {
  if (c.status && c.status !== status()) return false;
  if (c.origin && c.origin !== location.origin) return false;
  if (c.path && !(c.path.endsWith("*") ? location.pathname.startsWith(c.path.slice(0, -1)) : location.pathname === c.path)) return false;
  if (c.title && !dom.title(document).includes(c.title)) return false;
  if (c.selector && !one(document, c.selector)) return false;
  if (c.text) {
    const scope = c.selector ? all(document, c.selector) : [dom.body(document)];
    if (!scope.some((e) => e && collapse(dom.text(e)).includes(c.text))) return false;
  }
  // What has not arrived yet is not absent.
  return !c.absent || (whole() && !one(document, c.absent));
}

// classify: which of the manifest's kinds of page this is, in the order in
// which the host looks; signed in only when the document is whole, since what
// says otherwise may stand at its end. "" when the time is over and it is none.
api.classify = ({ pages, wait, ms }) => {
  changedAt = performance.now();
  const test = () => {
    for (const kind of ["signed_out", "forbidden", "missing"]) {
      if ((pages[kind] || []).some(holds)) return kind;
    }
    const conditions = pages.signed_in || [];
    const good = !conditions.length || conditions.some(holds);
    return good && whole() && (!wait || one(document, wait)) ? "signed_in" : null;
  };
  return until(test, ms).then((kind) => ({ class: kind || "", status: status(), ...api.page(), tokens: tokens() }));
};
