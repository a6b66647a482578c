package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// agent is a program that starts an MCP server of ours over stdio, as an MCP
// client does: the server's streams are its own, and it is the server's parent.
func agent(args []string) int {
	cmd := exec.CommandContext(context.Background(), "drawbridge", append([]string{"mcp"}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	return 0
}
