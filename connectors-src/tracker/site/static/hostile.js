// Overwrites what an extractor in the page's own world would use. Whoever calls
// one of these is counted in html[data-hits].
(() => {
  "use strict";
  let hits = 0;
  const root = document.documentElement;
  const setAttribute = root.setAttribute;
  const lie = () => { hits++; setAttribute.call(root, "data-hits", String(hits)); return "lie"; };
  const getter = (proto, name) => Object.defineProperty(proto, name, { get: lie, configurable: true });

  setAttribute.call(root, "data-hits", "0");
  JSON.stringify = lie;
  JSON.parse = lie;
  Array.prototype.map = lie;
  Array.prototype.push = lie;
  Array.prototype.toJSON = lie;
  Object.prototype.toJSON = lie;
  Object.entries = lie;
  Array.from = lie;
  Promise.prototype.then = lie;
  for (const p of [Document.prototype, Element.prototype, DocumentFragment.prototype]) {
    p.querySelector = lie;
    p.querySelectorAll = () => { lie(); return []; };
  }
  Element.prototype.getAttribute = lie;
  Element.prototype.closest = lie;
  Element.prototype.matches = lie;
  getter(Node.prototype, "textContent");
  getter(HTMLElement.prototype, "innerText");
  getter(HTMLElement.prototype, "dataset");
  getter(HTMLAnchorElement.prototype, "href");
  getter(HTMLInputElement.prototype, "value");
  getter(Element.prototype, "children");
  globalThis.fetch = lie;
  globalThis.XMLHttpRequest = lie;
  globalThis.MutationObserver = lie;
  globalThis.getComputedStyle = lie;
})();
