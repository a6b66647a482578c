// Every way in which a page can send a request to another origin by itself. Each
// asks for its own path, so that the other side can tell which one got through.
function tryVectors(to, only, show) {
  "use strict";
  const at = (name) => `${to}/v/${name}`;
  const lab = document.getElementById("lab");
  const add = (tag, props, parent = lab) => parent.appendChild(Object.assign(document.createElement(tag), props));
  const form = (name, props) => { const f = add("form", { method: "post", action: at(name), ...props }); add("input", { name: "secret", value: "from the page" }, f); f.submit(); };
  const quiet = (promise) => promise.catch(() => {});
  const source = (code) => URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const nested = (name) => `new Worker(URL.createObjectURL(new Blob(["fetch(${JSON.stringify(JSON.stringify(at(name))).slice(1, -1)}, {mode: 'no-cors'})"], {type: "text/javascript"})))`;

  const vectors = {
    "fetch": () => quiet(fetch(at("fetch"), { mode: "no-cors", credentials: "include" })),
    "fetch-cors": () => quiet(fetch(at("fetch-cors"), { headers: { "X-Secret": "1" } })),
    "fetch-post": () => quiet(fetch(at("fetch-post"), { method: "POST", mode: "no-cors", body: "from the page" })),
    "fetch-keepalive": () => quiet(fetch(at("fetch-keepalive"), { method: "POST", mode: "no-cors", keepalive: true, body: "from the page" })),
    "fetch-redirected": () => quiet(fetch(`/go?to=${encodeURIComponent(at("fetch-redirected"))}`, { mode: "no-cors" })),
    "xhr": () => { const x = new XMLHttpRequest(); x.open("POST", at("xhr")); x.send("from the page"); },
    "beacon": () => navigator.sendBeacon(at("beacon"), "from the page"),
    "eventsource": () => new EventSource(at("eventsource")),
    "websocket": () => new WebSocket(at("websocket").replace(/^http/, "ws")),
    "image": () => add("img", { src: at("image"), alt: "" }),
    "image-redirected": () => add("img", { src: `/go?to=${encodeURIComponent(at("image-redirected"))}`, alt: "" }),
    "script": () => add("script", { src: at("script.js") }),
    "module": () => quiet(import(at("module.js"))),
    "style": () => add("link", { rel: "stylesheet", href: at("style.css") }, document.head),
    "style-image": () => { add("p", {}).style.backgroundImage = `url("${at("style-image")}")`; },
    "font": () => quiet(new FontFace("vector", `url("${at("font")}")`).load()),
    "iframe": () => add("iframe", { src: at("iframe"), hidden: true }),
    "iframe-redirected": () => add("iframe", { src: `/go?to=${encodeURIComponent(at("iframe-redirected"))}`, hidden: true }),
    "iframe-srcdoc": () => add("iframe", { srcdoc: `<img src="${at("iframe-srcdoc")}">` }),
    "object": () => add("object", { data: at("object"), type: "text/html" }),
    "video": () => add("video", { src: at("video"), preload: "auto" }),
    "prefetch": () => add("link", { rel: "prefetch", href: at("prefetch") }, document.head),
    "preload": () => add("link", { rel: "preload", as: "image", href: at("preload") }, document.head),
    "preconnect": () => add("link", { rel: "preconnect", href: to }, document.head),
    "speculation": () => add("script", { type: "speculationrules", textContent: JSON.stringify({ prefetch: [{ urls: [at("speculation")] }] }) }, document.head),
    "form-frame": () => { add("iframe", { name: "vector-sink", hidden: true }); form("form-frame", { target: "vector-sink" }); },
    "ping": () => add("a", { href: "#pinged", ping: at("ping") }).click(),
    "popup": () => window.open(at("popup")),
    "form-popup": () => form("form-popup", { target: "_blank" }),
    "worker": () => new Worker(source(`fetch(${JSON.stringify(at("worker"))}, {mode: "no-cors"})`)),
    "worker-nested": () => new Worker(source(nested("worker-nested"))),
    "worker-shared": () => new SharedWorker(source(`fetch(${JSON.stringify(at("worker-shared"))}, {mode: "no-cors"})`)),
    "worker-websocket": () => new Worker(source(`new WebSocket(${JSON.stringify(at("worker-websocket").replace(/^http/, "ws"))})`)),
    "pagehide": () => addEventListener("pagehide", () => navigator.sendBeacon(at("pagehide"), "from the page")),
    "webrtc": () => { const c = new RTCPeerConnection({ iceServers: [{ urls: `stun:${new URL(to).host}` }] }); c.createDataChannel("x"); return quiet(c.createOffer().then((o) => c.setLocalDescription(o))); },
  };
  const failed = [];
  for (const [name, go] of Object.entries(vectors)) {
    if (only && only !== name) continue;
    try { go(); } catch (e) { failed.push(`${name}: ${e.name}`); }
  }
  show(failed.length ? failed.join(", ") : "all tried");
}
