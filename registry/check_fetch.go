package registry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// scratch makes a repository below the check's directory.
func (c *checker) scratch(ctx context.Context, via transport) (repository, error) {
	c.scratches++
	return create(ctx, filepath.Join(c.dir, fmt.Sprintf("git%d", c.scratches)), via)
}

// repo is the repository into which everything from an address comes.
func (c *checker) repo(ctx context.Context, from address) (repository, error) {
	if repo, have := c.repos[from.url]; have {
		return repo, nil
	}
	repo, err := c.scratch(ctx, from.via)
	if err == nil {
		c.repos[from.url] = repo
	}
	return repo, err
}

// bring fetches a ref. What git itself refuses is a problem, and is then fetched
// without git's checks, so that the policy can say more: it is refused already.
func (c *checker) bring(ctx context.Context, from address, ref, to string) (*objects, error) {
	repo, err := c.repo(ctx, from)
	if err != nil {
		return nil, err
	}
	full, err := repo.fetchNamed(ctx, from, ref, to, fetchHow{})
	if ge, ok := errors.AsType[*gitError](err); ok && rejected(ge.stderr) {
		c.refuse("", fetchError(err, from))
		if repo, err = c.scratch(ctx, from.via); err == nil {
			c.repos[from.url] = repo
			err = repo.fetchAs(ctx, from, []string{"+" + full + ":" + to}, fetchHow{unchecked: true})
		}
		if err != nil {
			return nil, nil //nolint:nilerr // the report has a problem already
		}
	}
	if noSuchRef(err) {
		return nil, noRef(from, ref, repo.proposedAt(ctx, from))
	}
	if err != nil {
		return nil, fetchError(err, from)
	}
	return repo.open(ctx)
}

// noRef says that a ref isn't there, and which proposals are.
func noRef(from address, ref string, proposed []string) error {
	err := abi.Errorf(abi.ErrNotFound, "check", "%q has no %q", from.url, ref)
	if len(proposed) == 0 {
		return err.WithHint("drawbridge registry check DIR --ref REF --base REF; no branch there is called propose/…")
	}
	return err.WithHint("what is proposed there: %s", strings.Join(proposed, ", "))
}

// bringBase fetches the state in force. In a clone with a work tree, such as a
// forge's runner has, the branch may be there as origin's alone.
func (c *checker) bringBase(ctx context.Context) (*objects, error) {
	base, err := c.bring(ctx, c.home, c.baseRef, refBase)
	if errors.Is(err, abi.ErrNotFound) && c.opts.Base == "" && c.home.via == fromFile {
		return c.bring(ctx, c.home, "refs/remotes/origin/main", refBase)
	}
	return base, err
}
