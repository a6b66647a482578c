// Package clientconfig knows how MCP clients are told of a server that they
// start: which file, which format, and how to put one entry into a file that is
// the user's without changing anything else of it, comments and layout included.
//
// It reads and makes text; it opens no file and asks nobody. What it can't put
// in safely it refuses, with the client's own command as the hint.
//
// Read clients.go first, the one table of clients, then jsonc.go and toml.go.
package clientconfig
