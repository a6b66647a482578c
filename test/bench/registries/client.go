package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// clientArg makes this program play a user's registry client, so that its memory is
// its own.
const clientArg = "client"

// A clientTask is what it does, and clientTimes how long each part took.
type clientTask struct {
	Home, URL, Fingerprint string
	Add                    bool   // else the registry is added already
	Ref                    string // what is installed; empty is nothing
}

type clientTimes struct {
	Add     time.Duration `json:"add"`     // fetch and verify the registry for the first time
	Install time.Duration `json:"install"` // fetch what is new, verify, fetch the module
	Verify  time.Duration `json:"verify"`  // the snapshot and the index, from the copy that is there
	Load    time.Duration `json:"load"`    // the installed bytes, as for each load
}

// playClient reads a task from in and writes the times to out.
func playClient(ctx context.Context, in io.Reader, out io.Writer) error {
	var task clientTask
	if err := json.NewDecoder(in).Decode(&task); err != nil {
		return err
	}
	times, err := task.do(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(times)
}

func (t clientTask) do(ctx context.Context) (times clientTimes, err error) {
	c, err := registry.New(registry.Config{Dir: t.Home})
	if err != nil {
		return times, err
	}
	began := time.Now()
	if t.Add {
		if _, err := c.AddRegistry(ctx, t.URL, signing.Fingerprint(t.Fingerprint)); err != nil {
			return times, err
		}
		times.Add = time.Since(began)
	}
	if t.Ref == "" {
		return times, nil
	}
	return times, t.install(ctx, c, &times)
}

// install installs one plugin and verifies it.
func (t clientTask) install(ctx context.Context, c *registry.Client, times *clientTimes) error {
	ref, err := registry.ParseRef(t.Ref)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		took *time.Duration
		do   func() error
	}{
		{&times.Install, func() error {
			_, err := c.Install(ctx, ref, registry.InstallOptions{Consent: func(context.Context, registry.Review) error { return nil }})
			return err
		}},
		{&times.Verify, func() error {
			_, err := c.Resolve(ctx, ref)
			return err
		}},
		{&times.Load, func() error {
			l, err := c.Load(ref.Plugin())
			if err == nil && len(l.Wasm) == 0 {
				err = errors.New("an empty module")
			}
			return err
		}},
	} {
		began := time.Now()
		if err := part.do(); err != nil {
			return err
		}
		*part.took = time.Since(began)
	}
	return nil
}
