package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// transferTimeout bounds one fetch from another machine. One that stands still
// ends sooner, by hardened's low speed limit.
const transferTimeout = 3 * time.Minute

// fetch brings one ref of another repository, without its history, under the
// name to. What arrives is hostile.
func (r repository) fetch(ctx context.Context, from address, ref, to string) error {
	return r.fetchAs(ctx, from, []string{"+" + ref + ":" + to}, fetchHow{})
}

// fetchAll is fetch for any number of refspecs; none comes if one isn't there.
func (r repository) fetchAll(ctx context.Context, from address, refspecs []string) error {
	return r.fetchAs(ctx, from, refspecs, fetchHow{})
}

// A fetchHow departs from what installs need.
type fetchHow struct {
	whole     bool // with the history
	unchecked bool // without git's own checks: for looking at what they refuse
}

func (r repository) fetchAs(ctx context.Context, from address, refspecs []string, as fetchHow) error {
	r.via = from.via
	timeout, how := gitTimeout, hardLimits
	if from.via != fromFile {
		timeout = transferTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	report := transferOf(ctx)
	noise := "--quiet"
	if report != nil {
		noise = "--progress"
	}
	depth := "--depth=1"
	if as.whole {
		depth = "--update-shallow" // of a repository that is itself shallow
	}
	args := []string{
		"fetch", noise, depth, "--no-tags", "--no-recurse-submodules",
		"--no-write-fetch-head", "--force", "--", from.url,
	}
	args = append(args, refspecs...)
	cmd := r.command(ctx, append(as.config(), args...)...)
	if from.via == overHTTPS {
		extra, err := userSettings(ctx)
		if err != nil {
			return err
		}
		cmd.Env, how = append(cmd.Env, extra...), helpersFree
	}
	said := &capped{}
	cmd.Stderr = &progressFilter{next: said, report: report}
	err := toEnd(cmd, how)
	if ctx.Err() != nil {
		return fmt.Errorf("git fetch: %w", ctx.Err())
	}
	if err != nil {
		return &gitError{args, said.String(), err}
	}
	return nil
}

func (h fetchHow) config() []string {
	if h.unchecked {
		return []string{"-c", "transfer.fsckObjects=false", "-c", "fetch.fsckObjects=false"}
	}
	return nil
}

// transferKey is the context key of what WithTransfer sets.
type transferKey struct{}

// WithTransfer returns a context whose fetches tell how far they are: what is one
// of "receiving" and "resolving", percent goes from 0 to 100. report may not block.
func WithTransfer(ctx context.Context, report func(what string, percent int)) context.Context {
	return context.WithValue(ctx, transferKey{}, report)
}

// withoutTransfer returns a context whose fetches tell nothing.
func withoutTransfer(ctx context.Context) context.Context {
	return context.WithValue(ctx, transferKey{}, (func(string, int))(nil))
}

func transferOf(ctx context.Context) func(string, int) {
	report, _ := ctx.Value(transferKey{}).(func(string, int))
	return report
}

// progressLine matches what git says of a transfer. What the other side says
// begins with "remote:", and is nobody's progress.
var progressLine = regexp.MustCompile(`^(Receiving objects|Resolving deltas|Unpacking objects|Checking connectivity): +([0-9]{1,3})%`)

// A progressFilter takes progress out of what git and ssh say. A line that a
// carriage return ends will be written over, unless a line feed follows: so ends
// ssh its lines.
type progressFilter struct {
	next   *capped
	report func(what string, percent int) // may be nil
	line   []byte
	held   []byte // ended by a carriage return, what follows is not known yet
}

// maxMessageLine is how much of one line is waited for.
const maxMessageLine = 4 << 10

func (f *progressFilter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		i := bytes.IndexAny(rest, "\r\n")
		if i < 0 {
			if f.line = append(f.line, rest...); len(f.line) > maxMessageLine {
				f.flush('\n')
			}
			break
		}
		f.line = append(f.line, rest[:i]...)
		f.flush(rest[i])
		rest = rest[i+1:]
	}
	return len(p), nil
}

// flush passes on a line that ended with end.
func (f *progressFilter) flush(end byte) {
	line := f.line
	f.line = f.line[:0]
	if len(line) == 0 && end == '\n' {
		line = f.held
	}
	f.held = nil
	m := progressLine.FindSubmatch(line)
	if m == nil {
		if end == '\n' {
			_, _ = f.next.Write(append(line, '\n')) // it never fails
		} else {
			f.held = bytes.Clone(line)
		}
		return
	}
	percent, err := strconv.Atoi(string(m[2]))
	if f.report == nil || err != nil || percent > 100 {
		return
	}
	switch string(m[1]) {
	case "Receiving objects":
		f.report("receiving", percent)
	case "Resolving deltas":
		f.report("resolving", percent)
	}
}

// clearInterrupted removes what a git that was killed left behind: half a pack,
// and lock files that would stop every later one. The caller holds the registry
// directory, so that no git of ours runs in it.
func (r repository) clearInterrupted() error {
	for _, pattern := range []string{
		"*.lock", "refs/*/*.lock", "objects/pack/tmp_*", "objects/pack/.tmp-*", "objects/tmp_*", "objects/incoming-*", "objects/??/tmp_*",
	} {
		list, err := filepath.Glob(filepath.Join(r.dir, filepath.FromSlash(pattern)))
		if err != nil {
			return fmt.Errorf("BUG: pattern %q: %w", pattern, err)
		}
		for _, path := range list {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("clearing an interrupted fetch away: %w", err)
			}
		}
	}
	return nil
}

// fetchError tells a user why a fetch failed.
func fetchError(err error, from address) error {
	var ge *gitError
	if e, ok := errors.AsType[*abi.Error](err); ok {
		return e // it was not git that failed
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return abi.Errorf(abi.ErrTimeout, "fetch", "registry %q didn't answer in time: %w", from.url, err)
	case errors.As(err, &ge) && rejected(ge.stderr):
		return refuseFor(err, abi.ReasonMalformed, nil, "git refuses what %q sends: %s", from.url, cause(ge.stderr))
	case errors.As(err, &ge):
		return fetchFailure(ge, from)
	}
	return fmt.Errorf("fetching %q: %w", from.url, err)
}

// fetchFailure explains what went wrong before anything of the registry arrived.
func fetchFailure(ge *gitError, from address) error {
	says := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(ge.stderr, p) {
				return true
			}
		}
		return false
	}
	switch {
	case says("could not read Username", "could not read Password", "terminal prompts disabled"):
		return abi.Errorf(abi.ErrForbidden, "fetch", "registry %q asks who you are, and git has no credential helper that knows: %w", from.url, ge).
			WithHint("git ls-remote %s, in a terminal, with a credential helper set (git help credentials)", from.url)
	case says("Authentication failed", "returned error: 401", "returned error: 403"):
		return abi.Errorf(abi.ErrForbidden, "fetch", "registry %q refuses what git's credential helper says: %w", from.url, ge).
			WithHint("git ls-remote %s", from.url)
	case says("Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED"):
		return refuseFor(ge, abi.ReasonUnknownKey, nil, "the host key of %q is not among your known hosts", from.url).
			WithHint("ssh to the host once, and compare its fingerprint with what its owner told you")
	case says("Permission denied (", "Too many authentication failures"):
		return abi.Errorf(abi.ErrForbidden, "fetch", "registry %q accepts none of your ssh keys: %w", from.url, ge).
			WithHint("ssh-add -l in this terminal, then again: its agent is the one that is asked")
	case says("returned error: 30"):
		return abi.Errorf(abi.ErrNotFound, "fetch", "registry %q leads to another address, which is not followed: %w", from.url, ge).
			WithHint("drawbridge registry add that address")
	case says("SSL certificate problem", "server certificate verification failed"):
		return abi.Errorf(abi.ErrNotFound, "fetch", "registry %q has a certificate that this machine doesn't trust: %w", from.url, ge).
			WithHint("git config --global http.%s.sslCAInfo FILE", from.url)
	case says("Could not resolve host", "Failed to connect to", "Couldn't connect to server", "Connection refused", "Connection timed out",
		"Operation timed out", "No route to host", "Network is unreachable"):
		return abi.Errorf(abi.ErrTimeout, "fetch", "no answer from registry %q: %w", from.url, ge).
			WithHint("git ls-remote %s", from.url)
	}
	return abi.Errorf(abi.ErrNotFound, "fetch", "registry %q can't be fetched: %w", from.url, ge).
		WithHint("git ls-remote %s", from.url)
}

// rejected reports whether git itself found the objects bad.
func rejected(stderr string) bool {
	for _, s := range []string{"fsck error", "index-pack failed", "unpack-objects failed", "invalid index-pack output", "did not send all necessary objects"} {
		if strings.Contains(stderr, s) {
			return true
		}
	}
	return false
}

// noRemoteRef is what git says of a ref that isn't there.
const noRemoteRef = "couldn't find remote ref"

// noSuchRef reports whether a fetch failed because the ref isn't there.
func noSuchRef(err error) bool {
	var ge *gitError
	return errors.As(err, &ge) && strings.Contains(ge.stderr, noRemoteRef)
}
