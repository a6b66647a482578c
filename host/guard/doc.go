// Package guard decides about every HTTP request of a page, from the request and
// a tool's signed lists alone. It speaks to no browser and keeps no clock.
//
// The HTTP method says nothing about what a request does: there are applications
// that delete by a plain link, and others that tunnel DELETE through POST. So
// everything is refused that a positive list does not name:
//
//   - writes: requests that an approved destructive tool may cause, each with a
//     closed set of parameters bound to the arguments that were approved, each at
//     most Max times; a request is counted before it goes out;
//   - reads: requests that may be repeated at will;
//   - resources: what the page itself loads by GET, never what the connector asks
//     for and never a document;
//   - login: GET requests to the identity providers' origins, and the callback
//     that brings the user back.
//
// Writes are looked at first, so that a wide read entry can't lift a write's
// limit. WebSockets are on no list.
//
// A refusal is an *abi.Error with the code origin_denied. It names the request,
// with what looks like a secret masked, the list entry that came nearest, and as
// its hint the entry that would allow it.
//
// Read guard.go first, then entry.go.
package guard
