// Command tracker-site serves the sample tracker on 127.0.0.1 until it is
// interrupted. It prints where, and who may sign in.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
)

func main() {
	os.Exit(doMain(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // this is main
}

func doMain(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "tracker-site: error: %v\n", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("tracker-site", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var o site.Options
	flags.IntVar(&o.AppPort, "app-port", 8421, "port of the tracker; 0 takes a free one")
	flags.IntVar(&o.AssetsPort, "assets-port", 8422, "port of its assets")
	flags.IntVar(&o.IdentityPort, "identity-port", 8423, "port of the identity provider")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s := site.New(o)
	if err := s.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "tracker   %s\nassets    %s\nidentity  %s\n", s.AppURL(), s.AssetsURL(), s.IdentityURL())
	for _, u := range site.Users() {
		if u.Password != "" {
			fmt.Fprintf(stdout, "login     %s / %s\n", u.Login, u.Password)
		}
	}
	fmt.Fprintf(stdout, "settings  --set base_url=%s --set assets_url=%s --set login_url=%s\n", s.AppURL(), s.AssetsURL(), s.IdentityURL())
	<-ctx.Done()
	return s.Close()
}
