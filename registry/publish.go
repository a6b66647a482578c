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

// Latest returns the snapshot and the root in force, as they stand on the branch.
func (m *Maintainer) Latest(ctx context.Context) (Snapshot, Root, error) {
	e, err := m.load(ctx, branch, Keys{})
	if err != nil {
		return Snapshot{}, Root{}, err
	}
	if err := e.trusted(); err != nil {
		return Snapshot{}, Root{}, err
	}
	var s Snapshot
	err = e.get(snapshotPath, &s)
	return s, e.root, err
}

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
	_, err := e.acceptBy(r, s)
	return err
}

// acceptBy is accept, and says who signed.
func (e *edit) acceptBy(r abi.Release, s Submission) (signing.Fingerprint, error) {
	if r.Registry != e.root.Registry {
		return "", refuse(abi.ReasonWrongName, nil, "release for registry %q, this is %q", r.Registry, e.root.Registry)
	}
	none := r.Module == abi.Module{} && len(s.Wasm) == 0 // a kind that no host of ours runs
	if !none && (int64(len(s.Wasm)) != r.Module.Size || hashOf(s.Wasm) != r.Module.SHA256) {
		return "", refuse(abi.ReasonTampered, nil, "the module isn't the one that the release names, %q", r.Module.SHA256)
	}
	if err := e.usable(r, s.Release); err != nil {
		return "", err
	}
	n, err := e.namespace(r.Namespace)
	if err != nil {
		return "", err
	}
	path := releasePath(r.Namespace, r.Name, r.Version)
	e.files[path], e.files[signaturePath(path)] = s.Release, s.Signature
	if len(s.Signature) == 0 {
		delete(e.files, signaturePath(path))
	}
	verdict, err := judge{e.read, e.now}.verify(path, s.Release, Role{Keys: n.publishersAt(At(e.now)), Threshold: 1}, signing.Install)
	if err == nil {
		err = e.notRevoked(verdict, "the key that signed the release is revoked")
	}
	if err != nil {
		return "", hintPublisher(err, r.Namespace, s.Signature)
	}
	return verdict.Signer().Primary, e.list(r, s)
}

// hintPublisher adds to the refusal of a release's signature the command that lets
// its key publish. The fingerprint is what the signature says of itself: it counts
// only if somebody told the same one.
func hintPublisher(err error, namespace string, signature []byte) error {
	e, ok := errors.AsType[*abi.Error](err)
	switch {
	case !ok || e.Reason == abi.ReasonKeyRevoked:
		return err
	case e.Reason == abi.ReasonUnsigned:
		return e.WithHint("drawbridge connector sign OUT --key KEY")
	}
	if by := signing.Issuers(signature); e.Reason == abi.ReasonUnknownKey && len(by) == 1 {
		return e.WithHint("drawbridge registry add-publisher DIR %s CERTIFICATE %s lets that key publish here, if its owner told you this fingerprint", namespace, by[0])
	}
	return e.WithHint("drawbridge registry add-publisher DIR %s CERTIFICATE FINGERPRINT lets a key publish here", namespace)
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
	if err := m.push(ctx, to, branch+":"+branch, "--dry-run"); err != nil {
		return err // before any module goes to another registry
	}
	const modules = "refs/drawbridge/artifacts/"
	some, err := m.repo.run(ctx, nil, "for-each-ref", "--count=1", modules)
	if err == nil && some != "" { // git takes it for a fault if nothing matches
		if err = m.push(ctx, to, modules+"*:"+modules+"*"); err != nil {
			err = m.push(ctx, to, modules+"*:refs/tags/drawbridge/artifacts/*")
		}
	}
	if err != nil {
		return err
	}
	return m.push(ctx, to, branch+":"+branch)
}

func (m *Maintainer) push(ctx context.Context, to, refs string, flags ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	args := slices.Concat([]string{"push", "--quiet", "--no-verify"}, flags, []string{"--", to, refs})
	cmd := m.repo.command(ctx, args...)
	cmd.Args = append([]string{"git", "-c", "core.hooksPath=" + os.DevNull, "--git-dir=" + m.repo.dir},
		cmd.Args[slices.Index(cmd.Args, "push"):]...)
	cmd.Env = os.Environ()
	stderr := &capped{}
	cmd.Stderr = stderr
	if err := cmd.Run(); err != nil {
		return pushFailure(&gitError{[]string{"push"}, stderr.String(), err}, m.repo.dir, to)
	}
	return nil
}
