// Package health knows how each connector is: unknown, ok, signed out, or
// failing, and since when. What it knows comes from calls that end and from
// checks that visit a page of the connector's; it decides when to check, and
// which calls are answered without being tried.
//
// Connectors of one plugin share a login: one that is found signed out pauses
// all of them, and one that is found signed in resumes all. A check that fails
// in another way pauses that connector alone. Nothing is checked for a connector
// that nobody uses.
//
// It opens no page itself and calls no tool again: the check is the caller's
// function. Read monitor.go first; state.go is what is known of one connector.
package health
