package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

const (
	registryID = "bench"
	namespace  = "acme"
	batch      = 64 << 20 // bytes of modules published in one snapshot
)

// A size says how large a registry is.
type size struct {
	Connectors, Versions, Module int // module in bytes
}

func (s size) String() string {
	return fmt.Sprintf("%d connectors × %d versions × %s", s.Connectors, s.Versions, bytesOf(float64(s.Module)))
}

// generateArg makes this program generate a registry and end, so that what that
// takes isn't in the memory of the programs that are measured: a process begins
// with its parent's peak.
const generateArg = "generate"

// A made is a generated registry.
type made struct {
	Dir         string              `json:"dir"` // bare repository
	Fingerprint signing.Fingerprint `json:"fingerprint"`
	PublishOne  time.Duration       `json:"publish_one"` // of one more version, when all others were there

	key *signing.SecretKey
}

// playGenerate reads a size from in, and says on out what it made in dir.
func playGenerate(ctx context.Context, dir string, in io.Reader, out, progress io.Writer) error {
	var s size
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return err
	}
	m, err := generate(ctx, dir, s, func(message string) { fmt.Fprintln(progress, message) })
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(m)
}

func pluginName(i int) string { return fmt.Sprintf("connector%03d", i) }

func versionName(i int) string { return fmt.Sprintf("1.%d.0", i) }

// module makes an incompressible module: an empty one with a custom section of
// pseudo-random bytes. The same numbers make the same module.
func module(plugin, version, n int) []byte {
	payload := make([]byte, n)
	src := rand.New(rand.NewPCG(uint64(plugin), uint64(version))) //nolint:gosec // bytes that can't be compressed, no secret
	for i := 0; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(payload[i:], src.Uint64())
	}
	const name = "bench"
	body := append([]byte{byte(len(name))}, name...)
	out := binary.AppendUvarint([]byte("\x00asm\x01\x00\x00\x00\x00"), uint64(len(body)+n))
	return append(append(out, body...), payload...)
}

const manifest = `
name: %[1]s
version: %[2]s
category: connector
title: Connector %[1]s
description: Lists the tickets of a system that many people use at work.
connectors:
  - id: %[1]s
    title: Connector %[1]s
    base_url: https://%[1]s.example
    origins: ["https://%[1]s.example/*"]
    pages:
      signed_in: [{selector: .account}]
      signed_out: [{path: /login}]
    tools:
      - name: list
        title: List tickets
        description: Lists tickets with their state and whom they are assigned to.
        destructive: false
        capabilities: [read]
        input: {type: object, additionalProperties: false}
        output: {type: object}
        reads: [{method: GET, path: /tickets}]
`

// submission signs one version.
func (m *made) submission(plugin, version, n int) (registry.Submission, error) {
	man, err := release.ParseManifest(fmt.Appendf(nil, manifest, pluginName(plugin), versionName(version)))
	if err != nil {
		return registry.Submission{}, err
	}
	wasm := module(plugin, version, n)
	r, err := release.Build(man, release.BuildInfo{Registry: registryID, Namespace: namespace, Module: wasm, Imports: []string{string(abi.CapRead)}})
	if err != nil {
		return registry.Submission{}, err
	}
	data, err := release.Canonical(r)
	if err != nil {
		return registry.Submission{}, err
	}
	sig, err := m.key.Sign(data, time.Now())
	return registry.Submission{Release: data, Signature: sig, Wasm: wasm}, err
}

// generate makes a registry in dir with real keys and the maintainer's own code.
func generate(ctx context.Context, dir string, s size, progress func(string)) (*made, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	m := &made{Dir: filepath.Join(dir, "registry.git"), key: key, Fingerprint: key.Fingerprint()}
	all := []registry.Signer{key}
	keys := registry.Keys{Owners: all, Snapshot: all, Revocation: all}
	maintainer, err := registry.Init(ctx, m.Dir, registryID, keys, nil)
	if err == nil {
		err = maintainer.AddPublisher(ctx, keys, namespace, key.Certificate())
	}
	if err != nil {
		return nil, err
	}
	var waiting []registry.Submission
	for c := range s.Connectors {
		for v := range s.Versions {
			sub, err := m.submission(c, v, s.Module)
			if err != nil {
				return nil, err
			}
			waiting = append(waiting, sub)
		}
		if len(waiting)*s.Module >= batch || c == s.Connectors-1 {
			if err := maintainer.PublishAll(ctx, keys, waiting); err != nil {
				return nil, err
			}
			waiting = nil
			progress(fmt.Sprintf("published %d of %d connectors", c+1, s.Connectors))
		}
	}
	sub, err := m.submission(0, s.Versions, s.Module)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	err = maintainer.Publish(ctx, keys, sub)
	m.PublishOne = time.Since(began)
	return m, err
}

// newKey makes a key that stands in no file.
func newKey() (*signing.SecretKey, error) {
	pass := func(signing.Fingerprint) ([]byte, error) { return []byte("of this run alone"), nil }
	armored, err := signing.GenerateKey("Bench <bench@example.org>", time.Now().Add(-time.Hour), pass)
	if err != nil {
		return nil, err
	}
	return signing.OpenSecretKey(armored, pass)
}

// sizeOnDisk sums the files below a folder.
func sizeOnDisk(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		total += info.Size()
		return err
	})
	return total, err
}
