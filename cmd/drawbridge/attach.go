package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbridge-mcp/drawbridge/host/browser"
)

// attachVar names the environment variable that says which browser of the user's
// to attach to, by address or by profile directory.
const attachVar = "DRAWBRIDGE_ATTACH"

// attachFrom reads the value of attachVar.
func attachFrom(v string) browser.AttachOptions {
	if strings.Contains(v, "://") {
		return browser.AttachOptions{URL: v}
	}
	return browser.AttachOptions{Profile: v}
}

func attachFlags(cmd *cobra.Command, o *browser.AttachOptions) {
	cmd.Flags().StringVar(&o.URL, "attach", o.URL, "`address` of a running browser: ws://127.0.0.1:PORT/devtools/browser/ID")
	cmd.Flags().StringVar(&o.Profile, "attach-profile", o.Profile, "`directory` of the profile of a running browser")
	cmd.MarkFlagsMutuallyExclusive("attach", "attach-profile")
}

// chosen is what the command line says, whatever the environment says beside it.
func chosen(cmd *cobra.Command, o browser.AttachOptions) browser.AttachOptions {
	if cmd.Flags().Changed("attach") {
		o.Profile = ""
	} else {
		o.URL = ""
	}
	return o
}

// checkAttach refuses an address that no browser has, before anything is
// started. Whether the browser is there is found out when a call needs it.
func checkAttach(o browser.AttachOptions) (browser.AttachOptions, error) {
	if o.URL != "" {
		_, err := browser.ParseEndpoint(o.URL)
		return o, err
	}
	if o.Profile == "" {
		return o, nil
	}
	var err error
	o.Profile, err = filepath.Abs(o.Profile)
	return o, err
}
