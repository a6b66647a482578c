// One script for every kind of worker: it posts a comment as soon as it runs.
(() => {
  "use strict";
  const q = new URL(self.location.href).searchParams;
  const as = q.get("as");
  if (as === "parent") {
    new Worker(`/lab/worker.js?id=${q.get("id")}&as=worker-nested`);
    return;
  }
  const write = () => fetch(`/api/issues/${q.get("id")}/comments`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ body: `written by ${as}` }),
  }).catch(() => {});
  if (as === "worker-service") self.addEventListener("install", (event) => event.waitUntil(write()));
  else write();
})();
