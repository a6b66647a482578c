package registry

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
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
	from, err := s.source(ctx)
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

// refsAt lists refs of another repository, as git ls-remote prints them.
func (r repository) refsAt(ctx context.Context, from address, pattern string) (string, error) {
	args := []string{"ls-remote", "--exit-code", "--quiet", "--", from.url, pattern}
	cmd, how := r.command(ctx, args...), hardLimits
	if from.via == overHTTPS {
		extra, err := userSettings(ctx)
		if err != nil {
			return "", err
		}
		cmd.Env, how = append(cmd.Env, extra...), helpersFree
	}
	out, said := &capped{}, &capped{}
	cmd.Stdout, cmd.Stderr = out, said
	err := toEnd(cmd, how)
	if ctx.Err() != nil {
		return "", fmt.Errorf("git ls-remote: %w", ctx.Err())
	}
	if err != nil {
		return "", &gitError{args, said.String(), err}
	}
	return out.String(), nil
}
