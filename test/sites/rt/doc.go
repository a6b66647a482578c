// Package rt has the cases that the Request Tracker connector is held against,
// on a real Request Tracker. A case takes a [Caller] and does not know what
// stands behind it: the connector's module in a sandbox with a page of its own
// (live_test.go), or the whole product over MCP.
//
// Cases that write leave the site changed. Run them on a site of their own, and
// put it back with [Site.Restore].
package rt
