package registry

import (
	"context"
	"regexp"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// refPattern is what a ref may be called that is given to git: nothing that it takes
// for an option, a range or another part of a refspec.
var refPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}$`)

func checkRefName(ref string) error {
	if !refPattern.MatchString(ref) || strings.Contains(ref, "..") || strings.Contains(ref, "//") || strings.HasSuffix(ref, ".lock") || strings.HasSuffix(ref, "/") {
		return abi.Errorf(abi.ErrInvalidArgs, "", "%q isn't the name of a branch, tag or commit", ref)
	}
	return nil
}

// objectID is a commit by its id.
var objectID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// refNames are the full names that a ref may mean, the first that is there. git has
// another order, in which a tag called "main" comes before the branch: whoever may
// push a tag would say what a proposal is compared with.
func refNames(ref string) []string {
	if ref == "HEAD" || strings.HasPrefix(ref, "refs/") || objectID.MatchString(ref) {
		return []string{ref}
	}
	return []string{"refs/heads/" + ref, "refs/remotes/" + ref, "refs/tags/" + ref}
}

// fetchNamed is fetch of whatever a name means, and says which ref that is.
func (r repository) fetchNamed(ctx context.Context, from address, ref, to string, how fetchHow) (full string, err error) {
	for _, full = range refNames(ref) {
		if err = r.fetchAs(ctx, from, []string{"+" + full + ":" + to}, how); !noSuchRef(err) {
			return full, err
		}
	}
	return full, err
}

// commitOf finds the commit that a name means in this repository.
func (r repository) commitOf(ctx context.Context, ref string) (string, error) {
	if err := checkRefName(ref); err != nil {
		return "", err
	}
	for _, full := range refNames(ref) {
		if id, err := r.run(ctx, nil, "rev-parse", "--verify", "--quiet", full+"^{commit}"); err == nil {
			return strings.TrimSpace(id), nil
		}
	}
	return "", abi.Errorf(abi.ErrNotFound, "", "%q has no %q", r.dir, ref)
}
