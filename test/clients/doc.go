// Package clients runs other people's MCP clients against host/mcpserver: the two
// TypeScript SDKs, the Go SDK and the Inspector, over stdio and HTTP, in both eras.
// checks.mjs and gosdk_test.go say what each of them does.
package clients
