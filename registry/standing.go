package registry

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Exists refuses a directory in which no registry can be: one that isn't there, that
// isn't a Git repository, or whose Git directory is another one. It asks no git, so
// that nobody types a passphrase for it.
func (m *Maintainer) Exists() error { return m.repo.exists() }

func (r repository) exists() error {
	info, err := os.Stat(r.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return brings(r.dir, abi.Errorf(abi.ErrNotFound, "", "there is no folder %q", r.dir))
	case err != nil:
		return err
	case !info.IsDir():
		return brings(r.dir, abi.Errorf(abi.ErrInvalidArgs, "", "%q is a file, want the folder of a registry", r.dir))
	case isGitDir(r.dir):
		return nil
	case isGitDir(filepath.Join(r.dir, ".git")):
		return abi.Errorf(abi.ErrInvalidArgs, "", "%q is a clone with files beside it, want the registry's bare repository", r.dir).
			WithHint("git clone --mirror URL %s.git, and that one's folder here", r.dir)
	}
	return brings(r.dir, abi.Errorf(abi.ErrNotFound, "", "%q is no Git repository", r.dir))
}

// noRegistry says that a repository has no branch of a registry.
func noRegistry(dir string) error {
	return brings(dir, abi.Errorf(abi.ErrNotFound, "", "the repository %q holds no registry: it has no branch main", dir))
}

// brings is err with how a registry comes into a folder.
func brings(dir string, err *abi.Error) error {
	return err.WithHint("git clone --mirror URL %[1]s, or drawbridge registry init %[1]s --id ID --key KEY for a new one", dir)
}

// isGitDir reports whether dir is the Git directory of a repository.
func isGitDir(dir string) bool {
	head, err := os.Stat(filepath.Join(dir, "HEAD"))
	objects, oerr := os.Stat(filepath.Join(dir, "objects"))
	return err == nil && oerr == nil && head.Mode().IsRegular() && objects.IsDir()
}

// pushFailure tells a maintainer why a push failed. git names the refs that a server
// took and refused in lines of their own, before its last words.
func pushFailure(ge *gitError, dir, to string) error {
	switch {
	case strings.Contains(ge.stderr, "[rejected]"):
		return abi.Errorf(abi.ErrInvalidArgs, "", "%q holds another registry, or a newer state of this one: nothing was pushed", to).
			WithHint("git --git-dir=%s fetch %s main:main brings a newer state here, and refuses another registry", dir, to)
	case strings.Contains(ge.stderr, "[remote rejected]"):
		return abi.Errorf(abi.ErrForbidden, "", "%q refuses the push: %s", to, remoteReason(ge.stderr)).
			WithHint("give the account that you push as the right to write there")
	}
	told, ok := errors.AsType[*abi.Error](fetchFailure(ge, address{url: to}))
	if !ok || told.Code != abi.ErrNotFound {
		return told
	}
	return abi.Errorf(abi.ErrNotFound, "", "%q can't be pushed to: %s", to, cause(ge.stderr)).
		WithHint("git ls-remote %s; it has to be a repository that you may write to, such as git init --bare makes", to)
}

// remoteReason is what a server said of the first ref that it refused.
func remoteReason(stderr string) string {
	for line := range strings.Lines(stderr) {
		if _, why, ok := strings.Cut(line, "[remote rejected]"); ok {
			return strings.TrimSpace(why)
		}
	}
	return cause(stderr)
}
