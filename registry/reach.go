package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// reachTimeout bounds one look whether a registry answers.
const reachTimeout = 15 * time.Second

// Reach looks whether a registry answers at its address and has a branch to fetch.
// It fetches nothing and changes nothing. Errors are like [Client.Refresh]'s.
func (c *Client) Reach(ctx context.Context, id string) error {
	s, dir, err := c.registryState(id)
	if err != nil {
		return err
	}
	from, err := c.source(ctx, s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := (repository{filepath.Join(dir, "git"), from.via}).reach(ctx, from); err != nil {
		return fetchError(err, from)
	}
	return nil
}

// reach asks another repository for its main branch, with what a fetch may use.
func (r repository) reach(ctx context.Context, from address) error {
	_, err := r.refsAt(ctx, from, branch)
	return err
}

// proposedAt names some of the proposals' branches that another repository has.
func (r repository) proposedAt(ctx context.Context, from address) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	const most = 8
	text, _ := r.refsAt(ctx, from, "refs/heads/propose/*") // none is an error too
	for line := range strings.Lines(text) {
		_, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		name, ok := strings.CutPrefix(ref, "refs/heads/")
		if ok && checkRefName(name) == nil && len(names) < most {
			names = append(names, name)
		}
	}
	return names
}

// maxRefList bounds a list of refs: a registry has one for each module.
const maxRefList = 16 << 20

// refsAt lists refs of another repository, as git ls-remote prints them. None is an
// error too.
func (r repository) refsAt(ctx context.Context, from address, patterns ...string) (string, error) {
	args := append([]string{"ls-remote", "--exit-code", "--quiet", "--", from.url}, patterns...)
	cmd, how := r.command(ctx, args...), hardLimits
	if from.via == overHTTPS {
		extra, err := userSettings(ctx)
		if err != nil {
			return "", err
		}
		cmd.Env, how = append(cmd.Env, extra...), helpersFree
	}
	out, said := &capped{most: maxRefList}, &capped{}
	cmd.Stdout, cmd.Stderr = out, said
	err := toEnd(cmd, how)
	if ctx.Err() != nil {
		return "", fmt.Errorf("git ls-remote: %w", ctx.Err())
	}
	if err != nil {
		return "", &gitError{args, said.String(), err}
	}
	if out.Len() == maxRefList {
		return "", abi.Errorf(abi.ErrLimitExceeded, "fetch", "%q has more refs than %d bytes list", from.url, maxRefList)
	}
	return out.String(), nil
}

// noRefs reports whether refsAt failed because there is none.
func noRefs(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == 2
}

// artifactsAt lists the modules that another repository has: sha256 > object id. As
// for a client, a ref comes before a tag of the same name.
func (r repository) artifactsAt(ctx context.Context, from address) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	text, err := r.refsAt(ctx, from, artifactRef("*"), artifactTag("*"))
	if err != nil && !noRefs(err) {
		return nil, fetchError(err, from)
	}
	refs, tags := map[string]string{}, map[string]string{}
	for line := range strings.Lines(text) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if sha, ok := strings.CutPrefix(strings.TrimSuffix(name, "^{}"), artifactRef("")); ok && validHash(sha) {
			refs[sha] = id // what a tag object means stands below it
		}
		if sha, ok := strings.CutPrefix(strings.TrimSuffix(name, "^{}"), artifactTag("")); ok && validHash(sha) {
			tags[sha] = id
		}
	}
	maps.Copy(tags, refs)
	return tags, nil
}
