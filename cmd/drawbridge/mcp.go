package main

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/host/control"
)

func (a *app) mcpCmd() *cobra.Command {
	var client string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "serve MCP over stdio, joined to the daemon; what MCP clients start",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.mcp(cmd.Context(), client) },
	}
	cmd.Flags().StringVar(&client, "client", "stdio", "the name that policies, approvals and the audit log know this client by")
	return cmd
}

// mcp copies bytes between the client and the daemon, which speaks the
// protocol; so every client shares one browser, one consent and one audit log.
func (a *app) mcp(ctx context.Context, client string) error {
	d, err := a.daemon(ctx)
	if err != nil {
		return err
	}
	conn, err := d.JoinMCP(ctx, control.JoinParams{Client: client, Token: a.getenv(control.TokenVar)})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	go func() {
		_, _ = io.Copy(conn, a.stdin) // its end is the client's end
		closeWrite(conn)
	}()
	if _, err := io.Copy(a.stdout, conn); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// closeWrite tells the daemon that the client says no more, so that it can
// finish what it is answering.
func closeWrite(c net.Conn) {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite()
		return
	}
	_ = c.Close()
}
