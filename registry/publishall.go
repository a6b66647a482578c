package registry

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// How much of a batch one run of git stores: its time and its files are limited.
const (
	storeBatch      = 256
	storeBatchBytes = 64 << 20
)

// PublishAll is Publish for many releases in one snapshot: all of them, or none. A
// plugin's versions have to come in ascending order. It is for moving a registry,
// or for publishing what belongs together.
func (m *Maintainer) PublishAll(ctx context.Context, keys Keys, all []Submission) error {
	if len(all) == 0 {
		return abi.Errorf(abi.ErrInvalidArgs, "publish", "nothing is given")
	}
	return m.change(ctx, keys, fmt.Sprintf("publish %d releases", len(all)), func(e *edit) error {
		for _, s := range all {
			r, err := decodeRelease("the release", s.Release)
			if err != nil {
				return err
			}
			if err := e.accept(r, s); err != nil {
				return fmt.Errorf("%s/%s %s: %w", r.Namespace, r.Name, r.Version, err)
			}
		}
		return m.putArtifacts(ctx, all)
	})
}

// putArtifacts stores modules under their refs, many at a time.
func (m *Maintainer) putArtifacts(ctx context.Context, all []Submission) error {
	for len(all) > 0 {
		n, size := 0, 0
		for n < min(len(all), storeBatch) && (n == 0 || size+len(all[n].Wasm) <= storeBatchBytes) {
			size += len(all[n].Wasm)
			n++
		}
		if err := m.putSome(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	if _, err := m.repo.run(ctx, nil, "pack-refs", "--all"); err != nil {
		return fmt.Errorf("packing the modules' names: %w", err)
	}
	return nil
}

// putSome stores modules in one pack, none as a change to another: they are
// fetched one by one.
func (m *Maintainer) putSome(ctx context.Context, some []Submission) error {
	var in bytes.Buffer
	for i, s := range some {
		fmt.Fprintf(&in, "blob\nmark :%d\ndata %d\n", i+1, len(s.Wasm))
		in.Write(s.Wasm)
		fmt.Fprintf(&in, "\nget-mark :%d\n", i+1)
	}
	out, err := m.repo.run(ctx, &in, "fast-import", "--quiet", "--depth=0")
	if err != nil {
		return fmt.Errorf("storing modules: %w", err)
	}
	ids := strings.Fields(out)
	if len(ids) != len(some) {
		return fmt.Errorf("storing modules: git names %d of %d", len(ids), len(some))
	}
	in.Reset()
	named := map[string]bool{} // versions may share a module
	for i, s := range some {
		if ref := artifactRef(hashOf(s.Wasm)); !named[ref] {
			named[ref] = true
			fmt.Fprintf(&in, "update %s %s\n", ref, ids[i])
		}
	}
	if _, err := m.repo.run(ctx, &in, "update-ref", "--stdin"); err != nil {
		return fmt.Errorf("naming modules: %w", err)
	}
	return nil
}
