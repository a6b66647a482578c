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

// whole reports whether git takes a name at its word. Any other that isn't there it
// looks for below refs/tags, refs/heads and refs/remotes too, even a full one: a tag
// "refs/heads/main" would be the branch of a repository that has none. So whether a
// full name is there is found out first.
func whole(full string) bool { return full == "HEAD" || objectID.MatchString(full) }

// fetchNamed is fetch of whatever a name means, and says which ref that is. The error
// satisfies noSuchRef if it means nothing there.
func (r repository) fetchNamed(ctx context.Context, from address, ref, to string, how fetchHow) (full string, err error) {
	full, err = r.namedAt(ctx, from, ref)
	if err != nil {
		return full, err
	}
	return full, r.fetchAs(ctx, from, []string{"+" + full + ":" + to}, how)
}

// namedAt finds the full name of what a name means in another repository.
func (r repository) namedAt(ctx context.Context, from address, ref string) (full string, err error) {
	names := refNames(ref)
	if whole(names[0]) {
		return names[0], nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	text, err := r.refsAt(ctx, from, names...)
	if err != nil && !noRefs(err) {
		return names[0], err
	}
	for _, full := range names {
		for line := range strings.Lines(text) {
			if _, there, _ := strings.Cut(strings.TrimSpace(line), "\t"); there == full {
				return full, nil
			}
		}
	}
	return names[0], &gitError{[]string{"ls-remote"}, noRemoteRef + " " + ref, errNoObject}
}

// commitOf finds the commit that a name means in this repository.
func (r repository) commitOf(ctx context.Context, ref string) (string, error) {
	if err := checkRefName(ref); err != nil {
		return "", err
	}
	for _, full := range refNames(ref) {
		if !r.hasRef(ctx, full) {
			continue
		}
		if id, err := r.run(ctx, nil, "rev-parse", "--verify", "--quiet", full+"^{commit}"); err == nil {
			return strings.TrimSpace(id), nil
		}
	}
	return "", abi.Errorf(abi.ErrNotFound, "", "%q has no %q", r.dir, ref)
}

// hasRef reports whether a full name, and none that only ends so, is there.
func (r repository) hasRef(ctx context.Context, full string) bool {
	if whole(full) {
		return true
	}
	_, err := r.run(ctx, nil, "show-ref", "--verify", "--quiet", full)
	return err == nil
}
