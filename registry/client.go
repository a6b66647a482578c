package registry

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Config says where a Client keeps its files and what it may use.
type Config struct {
	Dir       string       // made with mode 0700; holds registries/, store/, lock.json
	Clock     Clock        // nil means time.Now
	MaxModule int64        // bytes of a module; 0 means abi.MaxModule
	HTTP      *http.Client // for modules by URL; nil means one with limits
	Events    Events
	Builtin   *Builtin // what EnsureBuiltin adds; nil if the program carries nothing
}

// Events tell a user interface how far an operation is. Each may be nil; none may
// block. The package itself prints nothing.
type Events struct {
	Fetching    func(registry, url string)               // before Git is asked
	Verified    func(registry string, snapshot int64)    // a snapshot passed every check
	Downloading func(plugin, version string, size int64) // before a module is fetched
	Installed   func(Entry)                              // the lock file names it
	Warning     func(registry, message string)           // something works, and soon won't
}

// A Client finds, installs and loads plugins for one user. It is safe for
// concurrent use, and on Unix two processes may share its directory.
type Client struct {
	cfg  Config
	mu   sync.Mutex              // one change at a time
	step func(name string) error // tests fail here; nil otherwise

	markets markets
}

// New returns a client for a directory, which it makes if it is missing.
func New(cfg Config) (*Client, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.MaxModule == 0 {
		cfg.MaxModule = abi.MaxModule
	}
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{Timeout: gitTimeout}
	}
	if !filepath.IsAbs(cfg.Dir) {
		return nil, fmt.Errorf("registry directory %q isn't absolute", cfg.Dir)
	}
	if err := os.MkdirAll(filepath.Join(cfg.Dir, "registries"), 0o700); err != nil {
		return nil, fmt.Errorf("making the registry directory: %w", err)
	}
	return &Client{cfg: cfg}, nil
}

func (c *Client) store() store     { return store{filepath.Join(c.cfg.Dir, "store")} }
func (c *Client) lockPath() string { return filepath.Join(c.cfg.Dir, "lock.json") }

// exclusive runs f while nobody else changes the directory.
func (c *Client) exclusive(f func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	guard, err := os.OpenFile(filepath.Join(c.cfg.Dir, ".guard"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("opening the guard file: %w", err)
	}
	defer func() { _ = guard.Close() }()
	if err := lockFile(guard); err != nil {
		return fmt.Errorf("locking the registry directory: %w", err)
	}
	if err := c.sweepScratch(); err != nil {
		return err
	}
	return f()
}

// sweepScratch removes scratch directories whose maker was killed: they are made
// and removed only while the directory is held. A Git that outlived its maker may
// still write into one; that one is left for the next time.
func (c *Client) sweepScratch() error {
	list, err := filepath.Glob(filepath.Join(c.cfg.Dir, ".scratch-*"))
	if err != nil {
		return fmt.Errorf("clearing an interrupted install away: %w", err)
	}
	for _, dir := range list {
		if err := os.RemoveAll(dir); err != nil && c.cfg.Events.Warning != nil {
			c.cfg.Events.Warning("", fmt.Sprintf("an interrupted install is not cleared away yet: %v", err))
		}
	}
	return nil
}

// at is called before each step that changes a file.
func (c *Client) at(name string) error {
	if c.step == nil {
		return nil
	}
	return c.step(name)
}

// scratch makes a directory that lives as long as f.
func (c *Client) scratch(f func(dir string) error) error {
	dir, err := os.MkdirTemp(c.cfg.Dir, ".scratch-*")
	if err != nil {
		return fmt.Errorf("making a scratch directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return f(dir)
}

// withCatalog runs f on a registry's newest verified snapshot, from the copy that
// the last refresh left. It needs no network and writes nothing, so it runs beside
// a refresh.
func (c *Client) withCatalog(ctx context.Context, id string, f func(*catalog) error) error {
	s, dir, err := c.registryState(id)
	if err != nil {
		return err
	}
	repo := repository{filepath.Join(dir, "git"), fromFile}
	return c.verifyRef(ctx, repo, refVerified, s, f)
}

// verifyRef verifies the snapshot that a ref of our copy points to.
func (c *Client) verifyRef(ctx context.Context, repo repository, ref string, s *state, f func(*catalog) error) error {
	objects, err := repo.open(ctx)
	if err != nil {
		return err
	}
	defer objects.close()
	t, err := readTree(objects, ref)
	if err != nil {
		return err
	}
	cat, err := verifyCatalog(t, s, c.cfg.Clock())
	if err != nil {
		return err
	}
	c.freshen(cat)
	if warning := cmp.Or(cat.expired, cat.ageing); warning != "" && c.cfg.Events.Warning != nil {
		c.cfg.Events.Warning(cat.root.Registry, warning)
	}
	return f(cat)
}
