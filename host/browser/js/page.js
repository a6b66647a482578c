// Runs in the page's own world before its scripts, in every frame: what no
// guard can see is not there.
for (const name of ["SharedWorker", "WebTransport", "RTCPeerConnection", "webkitRTCPeerConnection", "PaymentRequest"]) delete globalThis[name];
// A passkey question makes the browser itself ask any server that a page names.
if (globalThis.Navigator) delete Navigator.prototype.credentials;
delete globalThis.PublicKeyCredential;
