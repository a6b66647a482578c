package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// refreshVar names the environment variable that sets how often a daemon fetches
// the registries.
const refreshVar = "DRAWBRIDGE_REFRESH"

// shortestRefresh keeps a typing error from asking a server all the time.
const shortestRefresh = time.Minute

// refresh is how often registries are fetched, by the environment; 0 is never.
func (a *app) refresh() (time.Duration, error) {
	text := a.getenv(refreshVar)
	switch text {
	case "":
		return host.DefaultRefresh, nil
	case "off":
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < shortestRefresh {
		return 0, abi.Errorf(abi.ErrInvalidArgs, "", `%s is %q: want a duration of at least %s such as "1h", or "off"`, refreshVar, text, shortestRefresh).
			WithHint("export %s=%s", refreshVar, host.DefaultRefresh)
	}
	return d, nil
}

func (a *app) registryFetchCmd() *cobra.Command {
	return &cobra.Command{
		Use: "fetch [REGISTRY]", Short: "fetch what is new and what is revoked, now", Args: cobra.MaximumNArgs(1),
		Long: `Fetches and verifies the newest snapshot of one registry, or of all. What is revoked
stops running at once; nothing is installed or updated. The daemon does the same by
itself every hour, or as often as ` + refreshVar + ` says.

A registry that can't be reached, or whose new snapshot is refused, stays as it was,
and the command ends with an error. So it does, with exit code 5, if the newest snapshot
that there is has expired.`,
		ValidArgsFunction: a.named("registries.list", "registry"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var p control.RegistryParams
			if len(args) > 0 {
				p.ID = args[0]
			}
			var list []host.FetchedRegistry
			if err := a.call(cmd.Context(), "registries.fetch", p, &list); err != nil {
				return err
			}
			a.show(fetchedResult{list}, func(w io.Writer) { printFetched(w, list) })
			a.ifNone(len(list), noneTrusted)
			return a.told(fetchProblem(list))
		},
	}
}

func printFetched(w io.Writer, list []host.FetchedRegistry) {
	t := table{head: []any{"REGISTRY", "SNAPSHOT", "EXPIRES", "STATE"}}
	for _, r := range list {
		state := "ok"
		switch {
		case r.Error != nil:
			state = "as before: " + r.Error.Why
		case r.Expired:
			state = "expired: what is installed works, nothing new is installed"
		}
		t.row(r.ID, r.Snapshot, expiry(r.RegistryInfo), state)
	}
	t.write(w)
}

// expiry says when a registry's snapshot expires.
func expiry(r host.RegistryInfo) string {
	if r.Builtin {
		return "with the program"
	}
	if r.Expired {
		return moment(r.Expires) + " (expired)"
	}
	return moment(r.Expires)
}

// fetchProblem is the first registry's that could not be fetched, else of the first
// whose newest snapshot has expired.
func fetchProblem(list []host.FetchedRegistry) error {
	for _, r := range list {
		if r.Error == nil {
			continue
		}
		e := abi.Errorf(r.Error.Code, "", "registry %q was not fetched", r.ID)
		e.Reason, e.Hint = r.Error.Reason, cmp.Or(r.Error.Hint, "drawbridge registry list")
		return e
	}
	for _, r := range list {
		if r.Expired {
			e := abi.Errorf(abi.ErrUntrusted, "", "the newest snapshot of registry %q expired at %s: nothing of it is installed or updated, and what was revoked since is not known", r.ID, moment(r.Expires))
			e.Reason = abi.ReasonSnapshotExpired
			return e.WithHint("%s", registry.RenewHint(r.ID))
		}
	}
	return nil
}

// plural puts a noun behind a number.
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
