// Package rt has the cases that the Request Tracker connector is held against,
// on a real Request Tracker. A case takes a [Caller] and does not know what
// stands behind it: the host with registry, sandbox, gate and browser, as here
// (live_test.go), or the whole product over MCP.
//
// Cases that write leave the site changed. Run them on a site of their own, and
// put it back with [Site.Restore].
package rt
