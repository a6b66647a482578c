package main

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/host/clientconfig"
	"github.com/drawbridge-mcp/drawbridge/host/control"
)

func (a *app) mcpCmd() *cobra.Command {
	var client, config string
	var write bool
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "serve MCP over stdio, joined to the daemon; what MCP clients start",
		Long: `Serves MCP on standard input and output, joined to the daemon, which it starts if
none runs.

With --print-config it prints what an MCP client has to be told to start it, in
that client's own format; with --write too it puts that into the client's file,
after you agreed, keeps everything else of the file, and a copy of it beside.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			named := cmd.Flags().Changed("client")
			switch {
			case config == "" && write:
				return usage(errors.New("--write needs --print-config"))
			case config == "":
				return a.mcp(cmd.Context(), client)
			case !named:
				client = config
			}
			return a.clientConfig(cmd.Context(), config, client, write)
		},
	}
	cmd.Flags().StringVar(&client, "client", "stdio", "the name that policies, approvals and the audit log know this client by")
	cmd.Flags().StringVar(&config, "print-config", "", "print the configuration for a client: "+strings.Join(clientconfig.IDs(), ", "))
	cmd.Flags().BoolVar(&write, "write", false, "put it into the client's own file, after asking")
	_ = cmd.RegisterFlagCompletionFunc("print-config", cobra.FixedCompletions(clientconfig.IDs(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return cmd
}

// mcp carries messages between the client and the daemon, which speaks the
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
	if a.terminal() != nil {
		a.note("this is what an MCP client starts; it waits for its messages here (drawbridge mcp --help)")
	}
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
