package main

import (
	"context"
	"net"

	"github.com/spf13/cobra"
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

// mcp carries messages between the client and the daemon, which speaks the
// protocol; so every client shares one browser, one consent and one audit log.
func (a *app) mcp(ctx context.Context, client string) error {
	d, err := a.daemon(ctx)
	if err != nil {
		return err
	}
	conn, err := d.JoinMCP(ctx, client)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	r := &relay{}
	go func() {
		_ = r.fromClient(conn, a.stdin) // its end is the client's end
		closeWrite(conn)
	}()
	err = r.toClient(a.stdout, conn)
	if ctx.Err() != nil {
		return nil // somebody ended us
	}
	return err
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
