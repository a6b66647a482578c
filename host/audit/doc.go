// Package audit keeps the log of what was called, by whom, and how it ended.
//
// A call has one row before it goes out and one after. The first is on disk
// before [Log.Begin] returns, so that whatever happens afterwards something
// tells of it; a row without its end, after a crash, gets one that says that
// the outcome is not known. Administrative events have a row each.
//
// Rows are linked by an HMAC-SHA256 chain, whose key lies in a file of its own.
// [Log.Verify] finds a row that was changed, removed, inserted or moved. A
// chain says nothing about rows that are missing at its end; for that its head
// is also kept in a small file beside the log. Whoever can read the key can
// forge all of it: this protects a log against those who have only the log.
//
// What is logged is redacted: arguments are stored without secrets, together
// with an HMAC of all of them, by which a known value can be confirmed and an
// unknown one not be guessed from the log alone. Results are stored as an HMAC
// and a size. Cookies, headers, bodies and typed secrets are never passed in.
//
// Start with [Log] in audit.go; row.go is the format of a row, chain.go of the
// chain, head.go of the head.
package audit
