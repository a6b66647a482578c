package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/host/control"
)

func (a *app) clientsCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "clients", Short: "MCP clients: their tokens, and which may ask for confirmations"}
	cmd.AddCommand(a.clientsAddCmd(), a.clientsListCmd(), a.clientsMayAskCmd(), a.clientsRevokeCmd())
	return cmd
}

func (a *app) clientsAddCmd() *cobra.Command {
	var mayAsk bool
	cmd := &cobra.Command{
		Use: "add NAME", Short: "register a client and print its token, once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.newToken(cmd.Context(), "clients.add", control.ClientParams{Name: args[0], MayAsk: mayAsk})
		},
	}
	cmd.Flags().BoolVar(&mayAsk, "may-ask", false, "trust it to ask you for confirmations in a dialog of its own; needs a terminal")
	return cmd
}

// newToken calls a method that makes a token and prints it.
func (a *app) newToken(ctx context.Context, method string, p control.ClientParams) error {
	var res control.NewClient
	if err := a.call(ctx, method, p, &res); err != nil {
		return err
	}
	a.show(res, func(w io.Writer) {
		fmt.Fprintf(w, "url:    %s\ntoken:  %s\nheader: Authorization: Bearer %s\nstdio:  drawbridge mcp --client %s, with %s=%s in its environment\n",
			res.URL, res.Token, res.Token, res.Name, control.TokenVar, res.Token)
		a.note("the token is shown only now; drawbridge keeps its hash")
	})
	return nil
}

func (a *app) clientsMayAskCmd() *cobra.Command {
	var off bool
	cmd := &cobra.Command{
		Use: "may-ask NAME", Short: "trust a client to ask you for confirmations in a dialog of its own",
		Long: `Lets a registered client put the confirmation of a destructive call in a dialog
of its own (MCP elicitation) instead of leaving it to drawbridge approvals. The
client gets a new token, and has to show it from now on, over stdio too. Whoever
holds that token can answer in your name; SECURITY.md says what that means.

It needs a terminal that no connected MCP client started. --off takes the trust
away, and needs nothing.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.named("clients.list", "client"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := control.ClientParams{Name: args[0]}
			if !off {
				return a.newToken(cmd.Context(), "clients.trust", p)
			}
			if err := a.call(cmd.Context(), "clients.distrust", p, nil); err != nil {
				return err
			}
			a.show(mayAskResult{Client: args[0]}, func(w io.Writer) { fmt.Fprintf(w, "client %s may no longer ask\n", args[0]) })
			return nil
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "take the trust away")
	return cmd
}

func (a *app) clientsListCmd() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "list registered clients", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []control.ClientInfo
			if err := a.call(cmd.Context(), "clients.list", struct{}{}, &list); err != nil {
				return err
			}
			a.show(clientsResult{list}, func(w io.Writer) {
				t := table{head: []any{"CLIENT", "ADDED", "MAY ASK"}}
				for _, c := range list {
					t.row(c.Name, moment(c.Added), yesNo(c.MayAsk))
				}
				t.write(w)
			})
			a.ifNone(len(list), "no client is registered yet: drawbridge clients add NAME")
			return nil
		},
	}
}

func yesNo(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}

func (a *app) clientsRevokeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "make a client's token worthless", Args: cobra.ExactArgs(1),
		ValidArgsFunction: a.named("clients.list", "client"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.call(cmd.Context(), "clients.revoke", control.ClientParams{Name: args[0]}, nil); err != nil {
				return err
			}
			a.show(clientRemovedResult{args[0], true}, func(w io.Writer) { fmt.Fprintf(w, "client %s revoked\n", args[0]) })
			return nil
		},
	}
}
