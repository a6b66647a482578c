// Package browser is the only part of the host that speaks the Chrome DevTools
// Protocol. It launches a Chromium with a profile of its own, or attaches to one
// that the user has started ([Attach], join.go), opens background tabs in it, and does in a tab what host calls ask for: navigate, wait,
// extract, act, fetch and show.
//
// A tab is under a [Policy] from its first byte to its last. Every request of
// the tab, of its frames, workers and popups is held until the policy has said
// yes; WebSockets are cut off, service workers are not installed, popups are
// closed. Whatever was refused is told by [Page.Refused].
//
// Wait, Extract and Fetch are one message each, to a helper that lives in an
// isolated world of each document and that the page can neither see nor change.
// The helper is declarative: no connector's code runs in a page.
//
// What the guard cannot see is taken away instead: WebTransport, WebRTC, payment
// requests and shared workers are removed from pages, preloading is switched off
// in the profile. What it does not stop is whatever a user does in a tab that this
// package did not open.
//
// Read browser.go first (targets and sessions), then guard.go, page.go and
// js/dom.js. RATIONALE.md says why things are as they are.
package browser
