// Runs in a shared worker before its script: its sockets are not covered by the
// rule that cuts off those of pages.
for (const name of ["WebSocket", "WebSocketStream"]) delete globalThis[name];
