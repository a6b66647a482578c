// Runs the behaviour that its script element names. See lab.go for the list.
(() => {
  "use strict";
  const { name, id, to, after, vector } = document.getElementById("lab-script").dataset;
  const wait = Number(after);
  const api = `/api/issues/${id}/comments`;
  const closing = `/issues/${id}/close?confirm=1`;
  const json = JSON.stringify({ body: `written by ${name}` });
  const post = (extra) => fetch(api, { method: "POST", headers: { "Content-Type": "application/json" }, body: json, ...extra }).catch(() => {});
  const show = (what) => { document.getElementById("answer").textContent = String(what); };
  const pressed = (event) => { document.getElementById("pressed").textContent = Number(document.getElementById("pressed").textContent) + (event.isTrusted ? 1 : 1000); };
  const add = (tag, props) => document.getElementById("lab").appendChild(Object.assign(document.createElement(tag), props));
  const press = () => document.getElementById("press");
  const worker = `/lab/worker.js?id=${id}`;

  const behaviours = {
    "timeout": () => setTimeout(post, wait),
    "interval": () => setInterval(post, wait),
    "xhr": () => { const x = new XMLHttpRequest(); x.open("POST", api); x.setRequestHeader("Content-Type", "application/json"); x.send(json); },
    "fetchlater": () => {
      if (globalThis.fetchLater) fetchLater(api, { method: "POST", body: json, activateAfter: wait });
      else addEventListener("pagehide", () => navigator.sendBeacon(api, json));
    },
    "beacon": () => addEventListener("pagehide", () => navigator.sendBeacon(api, json)),
    "keepalive": () => addEventListener("pagehide", () => post({ keepalive: true })),
    "image": () => add("img", { src: closing, alt: "" }),
    "prefetch": () => document.head.appendChild(Object.assign(document.createElement("link"), { rel: "prefetch", href: closing })),
    "iframe": () => add("iframe", { src: closing, hidden: true }),
    "form-delete": () => document.getElementById("auto").submit(),
    "form-frame": () => document.getElementById("auto").submit(),
    "worker": () => new Worker(`${worker}&as=worker`),
    "worker-nested": () => new Worker(`${worker}&as=parent`),
    "worker-shared": () => new SharedWorker(`${worker}&as=worker-shared`),
    "worker-service": () => navigator.serviceWorker.register(`${worker}&as=worker-service`, { scope: "/lab/" }).catch(show),
    "websocket": () => {
      const ws = new WebSocket(`ws://${location.host}/ws`);
      ws.onopen = () => ws.send(JSON.stringify({ issue: Number(id), body: `written by ${name}` }));
      ws.onmessage = (m) => show(m.data);
      ws.onerror = () => show("error");
    },
    "popup": () => {
      const open = () => window.open(`/lab/xhr?id=${id}`);
      document.getElementById("popup-button").onclick = open;
      open();
    },

    "foreign": () => tryVectors(to, vector, show),
    "go-location": () => setTimeout(() => { location.href = `${to}/v/location`; }, wait),
    "go-refresh": () => {}, // its meta element does it
    "go-redirect": () => setTimeout(() => { location.href = `/go?to=${encodeURIComponent(`${to}/v/redirect`)}`; }, wait),
    "go-form": () => {
      const form = add("form", { method: "post", action: `${to}/v/form` });
      form.appendChild(Object.assign(document.createElement("input"), { name: "secret", value: "from the page" }));
      setTimeout(() => form.submit(), wait);
    },
    "go-click": () => {}, // its links do it
    "websocket-foreign": () => {
      const ws = new WebSocket(`${to.replace(/^http/, "ws")}/v/websocket`);
      ws.onopen = () => { ws.send("from the page"); show("open"); };
      ws.onerror = () => show("error");
    },

    "alert": () => { alert("Welcome to the tracker"); show("dismissed"); },
    "alert-late": () => setTimeout(() => { alert("Are you still there?"); show("dismissed"); }, wait),
    "confirm": () => { const yes = confirm("Close this issue?"); show(yes); if (yes) location.href = closing; },
    "prompt": () => { const text = prompt("Your comment?"); show(text); if (text) post({ body: JSON.stringify({ body: text }) }); },
    "beforeunload": () => addEventListener("beforeunload", (event) => { event.preventDefault(); event.returnValue = "unsaved"; }),

    "hang-image": () => {}, // its image does it
    "hang-script": () => {}, // its script does it
    "spa": () => setTimeout(() => {
      history.pushState({}, "", `/lab/spa?id=${Number(id) + 1}`);
      add("p", { id: "spa-content", textContent: `content for ${Number(id) + 1}` });
    }, wait),
    "busy": () => setTimeout(() => { const end = Date.now() + 5000; while (Date.now() < end); show("idle"); }, wait),

    "hostile": () => {}, // hostile.js does it, and this script is left out: it would be lied to
    "clobber": () => {}, // its form does it
    "shadow-open": () => {}, // its templates do it
    "shadow-closed": () => {},
    "frame": () => {}, // its frame does it
    "unicode": () => {
      const titles = ["lone high \ud83d surrogate", "lone low \udc4d surrogate", "\ufffe noncharacter, \u0001 control, \u0000 null"];
      document.querySelectorAll(".lab-row .title").forEach((cell, i) => { cell.textContent = titles[i]; });
    },
    "hidden": () => {}, // its rows do it

    "covered": () => { press().onclick = pressed; },
    "ambiguous": () => document.querySelectorAll(".press").forEach((b) => { b.onclick = pressed; }),
    "moving": () => {
      let left = 0;
      press().onclick = pressed;
      setInterval(() => {
        const next = press().cloneNode(true);
        left = (left + 40) % 400;
        next.style.marginLeft = `${left}px`;
        next.onclick = pressed;
        press().replaceWith(next);
      }, 100);
    },
    "disabled": () => { press().onclick = pressed; setTimeout(() => { press().disabled = false; }, wait); },
  };
  behaviours[name]();
})();
