package registry

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// gitTimeout bounds one run of the git program.
const gitTimeout = 60 * time.Second

// maxGitOutput bounds what is kept of a run's output.
const maxGitOutput = 64 << 10

// hardened is the configuration of every run: no protocol but the one that is
// asked for, no hooks, no helpers, no redirects, no threads, no background work,
// objects checked on arrival, and large blobs streamed rather than held in memory.
// System and user configuration is not read (gitEnv), but for the few settings of
// the user that a fetch over https takes from it (usersettings.go).
func hardened(via transport) []string {
	config := []string{
		"protocol.allow=never", "protocol." + string(via) + ".allow=always",
		"core.hooksPath=" + os.DevNull, "core.attributesFile=" + os.DevNull, "core.symlinks=false",
		"core.fsmonitor=false", "core.bigFileThreshold=1m", "core.packedGitLimit=128m",
		"core.deltaBaseCacheLimit=16m", "pack.threads=1", "pack.windowMemory=64m",
		"transfer.fsckObjects=true", "fetch.fsckObjects=true", "fetch.unpackLimit=1", "fetch.writeCommitGraph=false",
		"credential.protectProtocol=true", "credential.interactive=false", "http.followRedirects=false", "http.sslVerify=true",
		"http.lowSpeedLimit=1000", "http.lowSpeedTime=20",
		"submodule.recurse=false", "gc.auto=0", "maintenance.auto=false", "advice.detachedHead=false",
		"init.defaultBranch=main", "protocol.version=2",
	}
	args := make([]string, 0, 2*len(config))
	for _, c := range config {
		args = append(args, "-c", c)
	}
	return args
}

// sshCommand is ssh with the user's own configuration, but for what would give the
// registry's server more than a login: the user's agent, the display, ports of this
// machine; or would run a command or leave a connection behind.
const sshCommand = "ssh -oBatchMode=yes -oStrictHostKeyChecking=yes -oForwardAgent=no -oForwardX11=no -oClearAllForwardings=yes" +
	" -oPermitLocalCommand=no -oControlMaster=no"

// UserVars are the variables by which a user's git reaches other machines: an ssh
// agent, a proxy, certificates.
func UserVars() []string {
	return []string{"SSH_AUTH_SOCK", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "GIT_SSL_CAINFO"}
}

// userVarsKey is the context key of what WithUserVars sets.
type userVarsKey struct{}

// WithUserVars returns a context in which git has these of UserVars in place of
// this process's own, which may have been started where the user is not.
func WithUserVars(ctx context.Context, vars map[string]string) context.Context {
	return context.WithValue(ctx, userVarsKey{}, vars)
}

// userVar looks one of UserVars up. What the user's terminal has comes first.
func userVar(ctx context.Context, name string) (string, bool) {
	vars, _ := ctx.Value(userVarsKey{}).(map[string]string)
	if v := vars[name]; v != "" && !strings.Contains(v, "\x00") {
		return v, true
	}
	return os.LookupEnv(name)
}

// gitEnv is the whole environment of a run. ssh needs its agent and the user's
// known hosts; nothing else of the user's reaches git.
func gitEnv(ctx context.Context, via transport, dir string) []string {
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0",
		"LC_ALL=C", "GIT_SSH_COMMAND=" + sshCommand,
	}
	pass := []string{"PATH", "TMPDIR", "SystemRoot", "TEMP", "TMP"}
	var users []string
	switch via {
	case overSSH:
		pass, users = append(pass, "HOME", "USERPROFILE"), UserVars()[:1]
	case overHTTPS:
		users = UserVars()[1:]
		env = append(env, "HOME="+dir) // no .netrc
	case fromFile:
		env = append(env, "HOME="+dir)
	}
	for _, name := range pass {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range users {
		if v, ok := userVar(ctx, name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// A repository is a bare Git repository of ours and the way to run git in it.
type repository struct {
	dir string
	via transport
}

// command prepares git in a process group of its own. The caller runs it through
// start, which sets the limits.
func (r repository) command(ctx context.Context, args ...string) *exec.Cmd {
	all := append(hardened(r.via), "--git-dir="+r.dir)
	cmd := exec.CommandContext(ctx, "git", append(all, args...)...)
	cmd.Dir = os.TempDir()
	if r.dir != "" {
		cmd.Dir = r.dir
	}
	cmd.Env = gitEnv(ctx, r.via, r.dir)
	cmd.WaitDelay = 2 * time.Second
	inOwnGroup(cmd)
	return cmd
}

// limits says who else a command's limits bind.
type limits int

const (
	// hardLimits bind git and all that it starts.
	hardLimits limits = iota
	// helpersFree binds git, and lets the user's credential helpers, which may
	// be of any size, lift the one on memory for themselves.
	helpersFree
)

// start starts a prepared command under the limits.
func start(cmd *exec.Cmd, how limits) error {
	err := cmd.Start()
	if _, gone := os.Stat(cmd.Dir); err != nil && errors.Is(gone, fs.ErrNotExist) {
		return abi.Errorf(abi.ErrNotFound, "", "there is no folder %q", cmd.Dir)
	}
	if err != nil {
		return abi.Errorf(abi.ErrUnsupportedAction, "git", "git does not run: %w", err).WithHint("sudo apt-get install git, then drawbridge doctor")
	}
	if err := limit(cmd.Process, how); err != nil {
		killGroup(cmd)
		_ = cmd.Wait()
		return fmt.Errorf("limiting git: %w", err)
	}
	return nil
}

// A gitError is a run that failed.
type gitError struct {
	args   []string
	stderr string
	err    error
}

func (e *gitError) Error() string {
	return fmt.Sprintf("git %s: %v: %s", e.args[0], e.err, cause(e.stderr))
}

func (e *gitError) Unwrap() error { return e.err }

// cause is the line of what a run said that tells most: the last one, but for the
// advice that git ends with, its own or when another program has said why.
func cause(stderr string) string {
	said, _, _ := strings.Cut(stderr, "fatal: Could not read from remote repository.")
	if said = strings.TrimSpace(said); said == "" {
		said = strings.TrimSpace(stderr)
	}
	last := ""
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && (last == "" || !strings.HasPrefix(line, "hint:")) {
			last = line
		}
	}
	return last
}

// run runs git to its end and returns the start of its output.
func (r repository) run(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	cmd := r.command(ctx, args...)
	stdout, stderr := &capped{}, &capped{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	err := toEnd(cmd, hardLimits)
	if ctx.Err() != nil {
		return "", fmt.Errorf("git %s: %w", args[0], ctx.Err())
	}
	if err != nil {
		return "", &gitError{args, stderr.String(), err}
	}
	return stdout.String(), nil
}

// toEnd starts a prepared command under limits and waits for its end. A helper that
// git leaves behind, such as one that keeps passwords or a connection for a while,
// may keep git's output open: what it says is not waited for, and is no fault.
func toEnd(cmd *exec.Cmd, how limits) error {
	if err := start(cmd, how); err != nil {
		return err
	}
	err := cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // git itself ended well
	}
	return err
}

// capped keeps the first bytes and drops the rest.
type capped struct {
	bytes.Buffer
	most int // bytes; 0 means maxGitOutput
}

func (c *capped) Write(p []byte) (int, error) {
	if room := cmp.Or(c.most, maxGitOutput) - c.Len(); room > 0 {
		_, _ = c.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// create makes an empty bare repository in dir.
func create(ctx context.Context, dir string, via transport) (repository, error) {
	r := repository{dir, via}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return r, fmt.Errorf("making %q: %w", dir, err)
	}
	if _, err := r.run(ctx, nil, "init", "--bare", "--quiet", "--template="); err != nil {
		return r, fmt.Errorf("making a repository: %w", err)
	}
	return r, nil
}
