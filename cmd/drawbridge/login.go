package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
)

func (a *app) loginCmd() *cobra.Command {
	var form bool
	cmd := &cobra.Command{
		Use:   "login CONNECTOR",
		Short: "sign in at a connector's site",
		Long: `Shows the browser at the connector's login page and waits until the site says
that somebody is signed in. With --form it asks for name and password on this
terminal and types them into the page, for machines without a display.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.named("plugins.list", "connectors"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := control.LoginParams{Connector: args[0], Form: form}
			if err := a.hasConnector(cmd.Context(), args[0]); err != nil {
				return err
			}
			if form {
				if err := a.credentials(cmd, &p); err != nil {
					return err
				}
			} else {
				a.note("sign in, in the browser window that opens; this command ends when the site knows you")
			}
			var res control.LoginResult
			if err := a.call(cmd.Context(), "login", p, &res); err != nil {
				return err
			}
			a.show(loginResult{args[0], res}, func(w io.Writer) { fmt.Fprintln(w, signedIn(args[0], res)) })
			return nil
		},
	}
	cmd.Flags().BoolVar(&form, "form", false, "ask for name and password here and type them into the login form")
	return cmd
}

func (a *app) logoutCmd() *cobra.Command {
	var identity bool
	cmd := &cobra.Command{
		Use:   "logout CONNECTOR",
		Short: "forget a site's session: its cookies and stored data in drawbridge's browser",
		Long: `Removes what the connector's site keeps in drawbridge's own browser profile, after
you agreed. The site is not told: sign out there to end the session for good.
With --identity the identity providers that the connector names are forgotten
too; without it, the site may sign in again through them by itself.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.named("plugins.list", "connectors"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var res control.LogoutResult
			if err := a.call(cmd.Context(), "logout", control.LogoutParams{Connector: args[0], Identity: identity}, &res); err != nil {
				return err
			}
			a.show(logoutResult{args[0], res}, func(w io.Writer) {
				fmt.Fprintf(w, "signed out of %s: %d cookies removed, and what %s stored\n", args[0], res.Cookies, strings.Join(res.Origins, ", "))
			})
			return nil
		},
	}
	cmd.Flags().BoolVar(&identity, "identity", false, "forget its identity providers too, which other connectors may use")
	return cmd
}

// credentials asks for name and password; neither may stand on a command line.
func (a *app) credentials(cmd *cobra.Command, p *control.LoginParams) error {
	if a.terminal() == nil {
		return abi.Errorf(abi.ErrInvalidArgs, "login", "name and password are asked for on a terminal, and standard input is none").
			WithHint("the same command, typed in a terminal")
	}
	fmt.Fprint(a.stderr, "name: ")
	name, err := a.line(cmd.Context())
	if err != nil {
		return err
	}
	password, err := a.secret("password")
	if err != nil {
		return err
	}
	p.Username, p.Password = name, string(password)
	return nil
}

// hasConnector refuses a connector that is not there before a person is asked to
// type anything.
func (a *app) hasConnector(ctx context.Context, id string) error {
	var list []host.PluginInfo
	if err := a.call(ctx, "plugins.list", struct{}{}, &list); err != nil {
		return err
	}
	for _, p := range list {
		if slices.Contains(p.Connectors, id) {
			return nil
		}
	}
	return abi.Errorf(abi.ErrNotFound, "login", "no connector %q is installed", id).WithHint("drawbridge list")
}

func signedIn(connector string, res control.LoginResult) string {
	text := "signed in at " + connector
	if res.Already {
		text = "somebody is signed in at " + connector + " already"
	}
	if res.Account != "" {
		text += ", as " + res.Account
	}
	if res.Already {
		text += "; nothing was typed (to sign in as somebody else, drawbridge logout " + connector + " --identity first)"
	}
	return text
}
