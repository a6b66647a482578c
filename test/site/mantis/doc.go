// Package mantis replays a MantisBT for tests: it shows pages that it was given,
// and takes the forms on them as MantisBT does. It is no MantisBT: what it has no
// page for is missing, and a request that changes something is taken only if a
// record says that a real MantisBT took one like it, with the same method, path,
// encoding and fields in the same order. Everything else comes back as MantisBT's
// error for a form that it does not know.
//
// Each form of each page carries a fresh token, which its session knows, for that
// form alone and once. What was taken shows on the pages afterwards.
//
// Pages come from two places: [Own], a small set that is part of this package, and
// [Recorded], a folder of pages and requests that were recorded from a real
// MantisBT and are no part of this repository. [Site.Harm] is what went through by GET
// though it changes something, as in MantisBT itself.
//
// Start at site.go, then writes.go.
package mantis
