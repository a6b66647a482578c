// Package gate decides whether a call may run: allow, ask or refuse.
package gate
