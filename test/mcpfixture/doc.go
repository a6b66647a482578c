// Package mcpfixture is a server for other people's MCP clients and for the
// protocol's own test suite: host/mcpserver as it ships, over a backend whose tools
// do as their names say, with a real gate before the one that destroys. What the
// suite wants and connectors can't give comes from an extension (suite.go).
package mcpfixture
