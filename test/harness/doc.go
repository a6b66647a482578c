// Package harness builds a whole drawbridge for end-to-end tests: a registry in a
// real Git repository with real keys, the sample tracker, a recording server
// behind a foreign name, a real Chromium, and the host between them. A test
// that wants the command line, a terminal or MCP goes one floor higher, to the
// built command.
//
// Start at world.go. A package that uses it calls [Main] in its TestMain, because
// its test binary plays the sandbox's worker too.
package harness
