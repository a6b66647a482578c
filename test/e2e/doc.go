// Package e2e holds the end-to-end tests: what a user relies on, each in a real
// Chromium with real keys, repositories and processes.
package e2e
