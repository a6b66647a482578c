package main

import (
	"context"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// displayVars say where a window can be shown. The first two each name a display.
func displayVars() []string {
	return []string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE"}
}

// surroundings are what a command tells the daemon of where its user sits: a
// daemon that an MCP client or the system started has no ssh agent, no display,
// or those of another session.
func (a *app) surroundings() control.Surroundings {
	s := control.Surroundings{}
	for _, name := range slices.Concat(displayVars(), registry.UserVars()) {
		if v := a.getenv(name); v != "" {
			s[name] = v
		}
	}
	return s
}

// displayKey is the context key of the display that a command has.
type displayKey struct{}

// around makes what a command's surroundings mean part of its context.
func around(ctx context.Context, s control.Surroundings) context.Context {
	var display []string
	for _, name := range displayVars() {
		if v := s[name]; v != "" {
			display = append(display, name+"="+v)
		}
	}
	if s["DISPLAY"] != "" || s["WAYLAND_DISPLAY"] != "" {
		ctx = context.WithValue(ctx, displayKey{}, display)
	}
	return registry.WithUserVars(ctx, s)
}

// displayOf is the display of the command that ctx is about, as variables of an
// environment; empty if it has none.
func displayOf(ctx context.Context) []string {
	d, _ := ctx.Value(displayKey{}).([]string)
	return d
}
