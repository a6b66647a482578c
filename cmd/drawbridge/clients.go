package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/host/control"
)

func (a *app) clientsCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "clients", Short: "MCP clients over HTTP: their tokens"}
	cmd.AddCommand(a.clientsAddCmd(), a.clientsListCmd(), a.clientsRevokeCmd())
	return cmd
}

func (a *app) clientsAddCmd() *cobra.Command {
	return &cobra.Command{
		Use: "add NAME", Short: "register a client and print its token, once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var res control.NewClient
			if err := a.call(cmd.Context(), "clients.add", control.ClientParams{Name: args[0]}, &res); err != nil {
				return err
			}
			a.show(res, func(w io.Writer) {
				fmt.Fprintf(w, "url:    %s\ntoken:  %s\nheader: Authorization: Bearer %s\n", res.URL, res.Token, res.Token)
				a.note("the token is shown only now; drawbridge keeps its hash")
			})
			return nil
		},
	}
}

func (a *app) clientsListCmd() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "list registered clients", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []control.ClientInfo
			if err := a.call(cmd.Context(), "clients.list", struct{}{}, &list); err != nil {
				return err
			}
			a.show(list, func(w io.Writer) {
				row(w, "CLIENT", "ADDED")
				for _, c := range list {
					row(w, c.Name, c.Added.Format("2006-01-02 15:04"))
				}
			})
			return nil
		},
	}
}

func (a *app) clientsRevokeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "make a client's token worthless", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.call(cmd.Context(), "clients.revoke", control.ClientParams{Name: args[0]}, nil); err != nil {
				return err
			}
			a.show(map[string]string{"revoked": args[0]}, func(w io.Writer) { fmt.Fprintf(w, "client %s revoked\n", args[0]) })
			return nil
		},
	}
}
