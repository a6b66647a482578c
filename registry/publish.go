package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// Refresh signs a new snapshot, which is all that keeps a registry from expiring.
// It needs the snapshot keys.
func (m *Maintainer) Refresh(ctx context.Context, keys Keys) error {
	return m.change(ctx, keys, "refresh", func(*edit) error { return nil })
}

// AddPublisher lets a key publish in a namespace from now on. The namespace is
// made if it is new. It needs the owners' and the snapshot keys; for a publisher that
// is there already, whose certificate was renewed or revoked, the snapshot keys.
func (m *Maintainer) AddPublisher(ctx context.Context, keys Keys, namespace string, publisher signing.Certificate) error {
	return m.change(ctx, keys, "add publisher to "+namespace, func(e *edit) error {
		if !validName(namespace) {
			return abi.Errorf(abi.ErrInvalidArgs, "", "namespace %q, want lower-case letters, digits and dashes", namespace)
		}
		if _, err := signing.ReadCertificate(publisher.Raw, publisher.Fingerprint); err != nil {
			return err
		}
		n, err := e.namespace(namespace)
		if err != nil {
			return err
		}
		known := func(p Publisher) bool { return p.Key == publisher.Fingerprint && p.Until == nil }
		if slices.ContainsFunc(n.Publishers, known) {
			return e.renewKey(publisher, namespace)
		}
		n.Version++
		n.Publishers = append(n.Publishers, Publisher{Key: publisher.Fingerprint, From: At(e.now)})
		e.addKey(publisher)
		return e.putSigned(namespacePath(namespace), n, keys.Owners)
	})
}

// RemovePublisher ends a key's right to publish. What it published stays valid;
// Revoke is for a key that was stolen. It needs the owners' and the snapshot keys.
func (m *Maintainer) RemovePublisher(ctx context.Context, keys Keys, namespace string, key signing.Fingerprint) error {
	return m.change(ctx, keys, "remove publisher from "+namespace, func(e *edit) error {
		n, err := e.namespace(namespace)
		if err != nil {
			return err
		}
		now, ended := At(e.now), false
		for i, p := range n.Publishers {
			if p.Key == key && p.Until == nil {
				n.Publishers[i].Until, ended = &now, true
			}
		}
		if !ended {
			return abi.Errorf(abi.ErrNotFound, "", "%q isn't a publisher of %q", key, namespace)
		}
		n.Version++
		return e.putSigned(namespacePath(namespace), n, keys.Owners)
	})
}

// namespace reads a namespace, or makes an empty one.
func (e *edit) namespace(name string) (*Namespace, error) {
	n := Namespace{Type: typeNamespace, Format: Format, Registry: e.root.Registry, Namespace: name, Publishers: []Publisher{}}
	if _, ok := e.files[namespacePath(name)]; !ok {
		return &n, nil
	}
	n = Namespace{}
	return &n, e.get(namespacePath(name), &n)
}

// A Submission is what a publisher hands in.
type Submission struct {
	Release   []byte  // canonical JSON
	Signature []byte  // detached, by the publisher
	Wasm      []byte  // the module that the release names
	Channel   Channel // empty means Stable
}

// Publish takes a release in: it checks what a client will check, stores the
// module under its ref, and then commits the release with a new snapshot. It needs
// the snapshot keys.
func (m *Maintainer) Publish(ctx context.Context, keys Keys, s Submission) error {
	r, err := decodeRelease("the release", s.Release)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("publish %s/%s %s", r.Namespace, r.Name, r.Version)
	return m.change(ctx, keys, what, func(e *edit) error {
		if err := e.accept(r, s); err != nil {
			return err
		}
		return m.putArtifact(ctx, r.Module, s.Wasm)
	})
}

// accept checks a submission and adds it to the files.
func (e *edit) accept(r abi.Release, s Submission) error {
	if r.Registry != e.root.Registry {
		return refuse(abi.ReasonWrongName, nil, "release for registry %q, this is %q", r.Registry, e.root.Registry)
	}
	if int64(len(s.Wasm)) != r.Module.Size || hashOf(s.Wasm) != r.Module.SHA256 {
		return refuse(abi.ReasonTampered, nil, "the module isn't the one that the release names, %q", r.Module.SHA256)
	}
	n, err := e.namespace(r.Namespace)
	if err != nil {
		return err
	}
	path := releasePath(r.Namespace, r.Name, r.Version)
	e.files[path], e.files[signaturePath(path)] = s.Release, s.Signature
	j := judge{e.read, e.now}
	if _, err := j.verify(path, s.Release, Role{Keys: n.publishersAt(At(e.now)), Threshold: 1}, signing.Install); err != nil {
		if e, ok := errors.AsType[*abi.Error](err); ok {
			return e.WithHint("drawbridge registry add-publisher DIR %s CERTIFICATE FINGERPRINT lets a key publish here", r.Namespace)
		}
		return err
	}
	return e.list(r, s)
}

func (e *edit) read(path string) ([]byte, error) {
	data, ok := e.files[path]
	if !ok {
		return nil, missingError{path}
	}
	return data, nil
}

// list adds a release to its index.
func (e *edit) list(r abi.Release, s Submission) error {
	path := indexPath(r.Namespace, r.Name)
	x := Index{
		Type: typeIndex, Format: Format, Registry: r.Registry, Namespace: r.Namespace, Name: r.Name, Versions: []Version{},
	}
	if _, ok := e.files[path]; ok {
		x = Index{}
		if err := e.get(path, &x); err != nil {
			return err
		}
	}
	if n := len(x.Versions); n > 0 && compareVersions(x.Versions[n-1].Version, r.Version) >= 0 {
		return abi.Errorf(abi.ErrInvalidArgs, "", "version %q isn't above %q, the newest of %q",
			r.Version, x.Versions[n-1].Version, r.Name).WithHint("raise version in plugin.yaml, then drawbridge connector build again")
	}
	channel := s.Channel
	if channel == "" {
		channel = Stable
	}
	x.Versions = append(x.Versions, Version{
		Version: r.Version, Channel: channel, Published: At(e.now), Release: fileHash(s.Release),
	})
	_, err := e.put(path, &x)
	return err
}

// Yank keeps a version from being chosen. Who has it keeps it. It needs the
// snapshot keys.
func (m *Maintainer) Yank(ctx context.Context, keys Keys, ref Ref, version, reason string) error {
	return m.change(ctx, keys, "yank "+ref.Plugin()+" "+version, func(e *edit) error {
		var x Index
		path := indexPath(ref.Namespace, ref.Name)
		if err := e.get(path, &x); err != nil {
			return err
		}
		i := slices.IndexFunc(x.Versions, func(v Version) bool { return v.Version == version })
		if i < 0 || reason == "" {
			return abi.Errorf(abi.ErrInvalidArgs, "", "no version %q of %q, or no reason", version, ref.Plugin())
		}
		x.Versions[i].Yanked = reason
		_, err := e.put(path, &x)
		return err
	})
}

// A Revocation names what must not be used any more, wherever it is installed.
type Revocation struct {
	Keys      []signing.Fingerprint
	Artifacts []string // sha256 of modules or releases
	Reason    string
}

// Revoke adds to the revocation list; there is no way back. It needs the
// revocation and the snapshot keys.
func (m *Maintainer) Revoke(ctx context.Context, keys Keys, rev Revocation) error {
	return m.change(ctx, keys, "revoke", func(e *edit) error {
		var r Revocations
		if err := e.get(revocationsPath, &r); err != nil {
			return err
		}
		for _, k := range rev.Keys {
			r.Keys = append(r.Keys, RevokedKey{k, rev.Reason, At(e.now)})
		}
		for _, a := range rev.Artifacts {
			r.Artifacts = append(r.Artifacts, RevokedArtifact{a, rev.Reason, At(e.now)})
		}
		slices.SortStableFunc(r.Keys, func(a, b RevokedKey) int { return strings.Compare(string(a.Key), string(b.Key)) })
		slices.SortStableFunc(r.Artifacts, func(a, b RevokedArtifact) int { return strings.Compare(a.SHA256, b.SHA256) })
		r.Version++
		return e.putSigned(revocationsPath, &r, keys.Revocation)
	})
}

// Rotate hands the registry to other keys: a new root, signed by the outgoing
// owners and the new ones, and everything that owners and revokers sign, signed
// again. keys are the new ones, all three roles.
func (m *Maintainer) Rotate(ctx context.Context, outgoing []Signer, keys Keys) error {
	return m.change(ctx, keys, "rotate", func(e *edit) error {
		both := slices.Concat(outgoing, keys.Owners)
		if err := e.addRoot(e.root.Registry, e.root.Version+1, both); err != nil {
			return err
		}
		for path := range e.files {
			signers := keys.Owners
			if path == revocationsPath {
				signers = keys.Revocation
			} else if !strings.HasPrefix(path, "namespaces/") || !strings.HasSuffix(path, ".json") {
				continue
			}
			sig, err := signAll(e.files[path], signers, e.now)
			if err != nil {
				return fmt.Errorf("signing %q: %w", path, err)
			}
			e.files[signaturePath(path)] = sig
		}
		return nil
	})
}

// putArtifact stores a module under its ref.
func (m *Maintainer) putArtifact(ctx context.Context, module abi.Module, wasm []byte) error {
	id, err := m.repo.run(ctx, bytes.NewReader(wasm), "hash-object", "-w", "--stdin")
	if err != nil {
		return fmt.Errorf("storing the module: %w", err)
	}
	if _, err := m.repo.run(ctx, nil, "update-ref", artifactRef(module.SHA256), strings.TrimSpace(id)); err != nil {
		return fmt.Errorf("naming the module: %w", err)
	}
	return nil
}

// Push sends the registry to where clients fetch it: artifacts first, then the
// branch that names them. It runs git with the user's own configuration and
// credentials, since it acts for the user, but with no hooks. A forge that takes
// only branches and tags gets the artifacts as tags.
func (m *Maintainer) Push(ctx context.Context, to string) error {
	if _, err := parseAddress(to); err != nil {
		return err
	}
	err := m.push(ctx, to, "refs/drawbridge/artifacts/*:refs/drawbridge/artifacts/*")
	if err != nil {
		err = m.push(ctx, to, "refs/drawbridge/artifacts/*:refs/tags/drawbridge/artifacts/*")
	}
	if err != nil {
		return err
	}
	return m.push(ctx, to, branch+":"+branch)
}

func (m *Maintainer) push(ctx context.Context, to, refs string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := m.repo.command(ctx, "push", "--quiet", "--no-verify", "--", to, refs)
	cmd.Args = append([]string{"git", "-c", "core.hooksPath=" + os.DevNull, "--git-dir=" + m.repo.dir},
		cmd.Args[slices.Index(cmd.Args, "push"):]...)
	cmd.Env = os.Environ()
	stderr := &capped{}
	cmd.Stderr = stderr
	if err := cmd.Run(); err != nil {
		return abi.Errorf(abi.ErrNotFound, "push", "registry %q can't be pushed to: %w", to,
			&gitError{[]string{"push"}, stderr.String(), err})
	}
	return nil
}
