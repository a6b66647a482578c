// Runs after page.js in tabs of a browser that is the user's: what leads to
// workers and tabs of the user's, which are under nobody's policy, is not there.
delete globalThis.BroadcastChannel;
// What is sent after a page has gone would go when the tab goes with us, and the
// guard with it.
delete globalThis.fetchLater;
if (globalThis.Navigator) delete Navigator.prototype.serviceWorker;
if (globalThis.ServiceWorkerRegistration) delete globalThis.ServiceWorkerRegistration;
