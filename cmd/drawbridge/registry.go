package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

func (a *app) registryCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "registry", Short: "pin, list and drop registries; make one"}
	cmd.AddCommand(a.registryAddCmd(), a.registryListCmd(), a.registryFetchCmd(), a.registryRemoveCmd(), a.registryInitCmd(), a.registryPublisherCmd(), a.registryRefreshCmd(), a.registryMirrorCmd(), a.registrySetURLCmd(),
		a.registryEndPublisherCmd(), a.registryYankCmd(), a.registryRevokeCmd(), a.registryRotateCmd(), a.registryPendingCmd(), a.registrySignCmd(),
		a.registryCheckCmd(), a.registryLogCmd(), a.registryAcceptCmd(), a.registryPushCmd())
	return cmd
}

func (a *app) registryAddCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "add URL FINGERPRINT",
		Short: "trust the registry at URL whose owner's key has this full fingerprint",
		Long: `URL is https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH, or a path of this
machine. Names and passwords come from git's own credential helpers and from your
ssh agent; a URL that holds one is refused, and drawbridge keeps none. A proxy is
taken from git's configuration (http.proxy) or from https_proxy.

FINGERPRINT is the owner's, 40 or 64 hex digits, told to you by somebody you trust.
The registry is fetched and held against it first; then you are asked, and nothing of
it is kept before you agree.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := signing.ParseFingerprint(args[1]); err != nil {
				return usage(err)
			}
			where, err := registryURL(args[0])
			if err != nil {
				return err
			}
			if err := registry.CheckAddress(where); err != nil {
				return usage(err)
			}
			var res host.RegistryInfo
			if err := a.call(cmd.Context(), "registries.add", control.RegistryParams{URL: where, Fingerprint: args[1]}, &res); err != nil {
				return err
			}
			a.show(res, func(w io.Writer) {
				fmt.Fprintf(w, "registry %s added, pinned to %s\n", res.ID, res.Fingerprint)
			})
			return nil
		},
	}
}

// registryURL makes a local path absolute: the daemon runs elsewhere.
func registryURL(text string) (string, error) {
	if before, _, ok := strings.Cut(text, ":"); ok && !strings.Contains(before, "/") || strings.HasPrefix(text, "-") {
		return text, nil
	}
	return filepath.Abs(text)
}

func (a *app) registryListCmd() *cobra.Command {
	var removed bool
	cmd := &cobra.Command{
		Use: "list", Short: "list the registries that are trusted", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if removed {
				return a.listRemoved(cmd.Context())
			}
			var list []host.RegistryInfo
			if err := a.call(cmd.Context(), "registries.list", struct{}{}, &list); err != nil {
				return err
			}
			a.show(registriesResult{list}, func(w io.Writer) {
				if len(list) == 0 {
					return
				}
				row(w, "REGISTRY", "FINGERPRINT", "SNAPSHOT", "EXPIRES", "URL")
				for _, r := range list {
					where := r.URL
					switch {
					case r.Builtin:
						where = "carried by this program"
					case r.Elsewhere:
						where += " (of another machine: registry set-url gives it an address)"
					}
					row(w, r.ID, r.Fingerprint, r.Snapshot, expiry(r), where)
				}
			})
			a.ifNone(len(list), noneTrusted)
			if own, err := carried(a.carries()); err == nil && own == nil {
				a.note("this build of drawbridge carries no connectors of its own (make build puts some in)")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&removed, "removed", false, "list those that were removed, and what is remembered of them")
	return cmd
}
